/**
 * Random systems, schemes and parameters for the tests of derivatives: masses of every kind, springs,
 * nets, dampers, drives, energies, small networks, in any shape of q; and the functions that run one at
 * any point of the space of everything it depends on.
 */
import * as tf from '@tensorflow/tfjs';
import fc from 'fast-check';
import type {
  ForceTerm,
  Initial,
  Mass,
  MechanicalSystem,
  Newton,
  Numeric,
  OdeSystem,
  Params,
  Pullback,
  SaveAt,
  Scheme,
  SeriesLoss,
  SimulateOptions,
  Tangent,
} from '../../lib/index.js';
import type {GuessName} from '../../lib/scheme/theta.js';
import type {RunSettings} from '../../lib/simulate/options.js';
import {
  backtracking,
  blendedEuler,
  explicitEuler,
  gmres,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  newmark,
  newton,
  ode,
  rk4,
  simulate,
  subSteps,
  symplecticEuler,
  theta,
  trapezoid,
  verlet,
} from '../../lib/index.js';
import {bdf2} from '../scheme/bdf2.js';
import {doubleEngines} from './engines.js';
import {dot, moved, stream} from './numbers.js';

/** Something the run depends on: a block of the initial state, a leaf of the parameters, or what a force captured. */
export interface Part {
  readonly name: string;
  readonly kind: 'initial' | 'parameter' | 'variable' | 'tensor';
  readonly shape: readonly number[];
  /**
   * Multiples of 1/256: float32 holds them exactly, and so it does the places a few 2⁻¹⁰ beside them
   * along directions that are multiples of 1/16.
   */
  readonly values: Float64Array;
}

/** A random system, with values for all its parts. */
export interface Sample {
  readonly parts: readonly Part[];
  readonly options: Pick<RunSettings, 'scheme' | 'dt' | 'saveAt' | 'engine' | 'newton'> & {steps: number};
  system(captured: ReadonlyMap<string, tf.Tensor>): MechanicalSystem | OdeSystem;
}

const choices = {
  masses: ['scalar', 'lumped', 'consistent', 'parameter', 'of q, lumped', 'of q, consistent', 'variable'],
  forces: ['spring', 'net', 'segments', 'damper', 'drive', 'energy', 'network'],
  schemes: [
    'theta',
    'trapezoid',
    'midpoint',
    'blended',
    'implicit Euler',
    'newmark',
    'explicitEuler',
    'symplecticEuler',
    'verlet',
    'rk4',
    'BDF2',
  ],
  guesses: ['rest', 'current', 'consistent', 'linearized', 'extrapolated'],
  unknowns: ['velocity', 'increment', 'acceleration'],
  solving: ['fresh', 'fresh', 'chord', 'auto', 'backtracking', 'subSteps', 'gmres'],
} as const;

/** Ways to the root of a step: where they converge, the gradient does not depend on them. */
const solvings: {readonly [S in (typeof choices.solving)[number]]: Newton} = {
  fresh: newton(),
  chord: newton({jacobian: 'chord'}),
  auto: newton({jacobian: 'auto'}),
  backtracking: newton({step: backtracking()}),
  subSteps: newton({step: subSteps(0.9)}),
  gmres: newton({linear: gmres()}),
};

export const recipe = fc.record({
  seed: fc.integer({min: 1, max: 1 << 20}),
  kind: fc.constantFrom('mechanics', 'mechanics', 'mechanics', 'ode'),
  shape: fc.constantFrom([], [1], [2], [3], [5], [2, 2], [2, 3]),
  mass: fc.constantFrom(...choices.masses),
  forces: fc.subarray([...choices.forces], {minLength: 1}),
  scheme: fc.constantFrom(...choices.schemes),
  guess: fc.constantFrom(...choices.guesses),
  form: fc.constantFrom('condensed', 'coupled'),
  unknown: fc.constantFrom(...choices.unknowns),
  saveAt: fc.constantFrom('all', 'end', {every: 2}, 'times'),
  steps: fc.integer({min: 1, max: 5}),
  engine: fc.constantFrom(...doubleEngines.map(({name}) => name)),
  solving: fc.constantFrom(...choices.solving),
});

export type Recipe = typeof recipe extends fc.Arbitrary<infer T> ? T : never;

export function schemeOf({
  scheme,
  guess,
  form,
  unknown,
  kind,
}: Pick<Recipe, 'scheme' | 'guess' | 'form' | 'unknown' | 'kind'>): Scheme {
  const options: {guess: GuessName; form: 'condensed' | 'coupled'} = {guess, form};
  const inUnknown = form === 'coupled' ? {...options} : {...options, unknown};
  const mechanical = kind === 'mechanics';
  switch (scheme) {
    case 'theta':
      return theta(0.7, options);
    case 'trapezoid':
      return trapezoid(options);
    case 'midpoint':
      return implicitMidpoint(options);
    case 'blended':
      return blendedEuler({alpha: 0.6, beta: 0.8, ...inUnknown});
    case 'implicit Euler':
      return implicitEuler(unknown === 'acceleration' && form === 'condensed' ? {guess, unknown} : options);
    case 'newmark':
      return mechanical ? newmark({beta: 0.3, gamma: 0.6}) : trapezoid(options);
    case 'explicitEuler':
      return explicitEuler();
    case 'symplecticEuler':
      return mechanical ? symplecticEuler() : explicitEuler();
    case 'verlet':
      return mechanical ? verlet() : explicitEuler();
    case 'rk4':
      return rk4();
    case 'BDF2':
      return mechanical ? bdf2 : implicitEuler(options);
  }
}

const count = (shape: readonly number[]): number => shape.reduce((product, n) => product * n, 1);

const param = (params: Params, ...path: string[]): tf.Tensor =>
  path.reduce<tf.Tensor | Params>((place, key) => (place as Params)[key], params) as tf.Tensor;

/** A sample from its recipe. */
export function sampleOf(chosen: Recipe): Sample {
  const {seed, kind, mass, saveAt, steps, forces} = chosen;
  const shape: readonly number[] = chosen.shape;
  const n = count(shape);
  const next = stream(seed);
  const parts: Part[] = [];
  /** A part with values within ±width of a centre. */
  const part = (name: string, how: Part['kind'], size: readonly number[], centre: number, width: number): void => {
    const values = Float64Array.from({length: count(size)}, () => Math.round(256 * (centre + width * next())) / 256);
    parts.push({name, kind: how, shape: size, values});
  };
  const dt = 0.02 + 0.03 * (1 + next());
  const reshape = (flat: tf.Tensor): tf.Tensor => tf.reshape(flat, [...shape]);
  const edges = Array.from({length: n + 1}, (_, k) => [k % n, (k * 2 + 1) % n] as const);

  if (kind === 'ode') part('y', 'initial', shape, 0, 1);
  else {
    part('q', 'initial', shape, 0, 1);
    part('v', 'initial', shape, 0, 1);
  }

  /** Forces as functions of (x, rate): of q and v, or of y and y. */
  type Term = (at: {
    x: tf.Tensor;
    rate: tf.Tensor;
    t: tf.Tensor;
    params: Params;
    captured: ReadonlyMap<string, tf.Tensor>;
  }) => tf.Tensor;
  const captured = (name: string, from: ReadonlyMap<string, tf.Tensor>): tf.Tensor => from.get(name) as tf.Tensor;
  const makers: {readonly [F in (typeof choices.forces)[number]]: () => Term} = {
    spring: () => {
      part('spring.k', 'parameter', n % 2 === 0 ? shape : [], 3, 1);
      part('spring.beta', 'parameter', [], 0.5, 0.3);
      return ({x, params}) =>
        tf.neg(
          tf.mul(
            param(params, 'spring', 'k'),
            tf.add(x, tf.mul(param(params, 'spring', 'beta'), tf.mul(x, tf.square(x)))),
          ),
        );
    },
    net: () => {
      part('net', 'parameter', [n + 1], 2, 1);
      const incidence = Float64Array.from({length: (n + 1) * n}, (_, i) => {
        const [from, to] = edges[Math.floor(i / n)];
        return (i % n === to ? 1 : 0) - (i % n === from ? 1 : 0);
      });
      return ({x, params}) => {
        const matrix = tf.tensor2d(Array.from(incidence), [n + 1, n]);
        const d = tf.matMul(matrix, tf.reshape(x, [n, 1]));
        const pull = tf.mul(tf.reshape(params.net as tf.Tensor, [n + 1, 1]), tf.tanh(d));
        return tf.neg(reshape(tf.matMul(matrix, pull, true)));
      };
    },
    segments: () => {
      part('stiffness', 'variable', [n + 1], 1, 0.5);
      return ({x, captured: from}) => {
        const flat = tf.reshape(x, [n]);
        const [first, second] = [0, 1].map(end =>
          tf.tensor1d(
            edges.map(edge => edge[end]),
            'int32',
          ),
        );
        const d = tf.sub(tf.gather(flat, second), tf.gather(flat, first));
        const pull = tf.mul(captured('stiffness', from), tf.add(d, tf.mul(d, tf.square(d))));
        return reshape(
          tf.sub(
            tf.unsortedSegmentSum(pull, first as tf.Tensor1D, n),
            tf.unsortedSegmentSum(pull, second as tf.Tensor1D, n),
          ),
        );
      };
    },
    damper: () => {
      part('damping', 'variable', [], 0.5, 0.3);
      return ({rate, captured: from}) =>
        tf.neg(tf.mul(captured('damping', from), tf.add(rate, tf.mul(0.3, tf.mul(rate, tf.square(rate))))));
    },
    drive: () => {
      part('drive.amplitude', 'parameter', shape, 1, 1);
      part('drive.omega', 'parameter', [], 2, 1);
      return ({t, params}) =>
        tf.mul(param(params, 'drive', 'amplitude'), tf.sin(tf.add(tf.mul(param(params, 'drive', 'omega'), t), 0.1)));
    },
    energy: () => {
      part('weights', 'tensor', shape, 1, 0.5);
      return ({x, captured: from}) => {
        const w = captured('weights', from);
        return tf.neg(
          tf.grad((q: tf.Tensor) => tf.sum(tf.add(tf.softplus(tf.mul(w, q)), tf.mul(0.5, tf.square(tf.tanh(q))))))(x),
        );
      };
    },
    network: () => {
      part('kernel', 'variable', [n, n], 0, 0.7);
      part('bias', 'tensor', [n], 0, 0.5);
      return ({x, rate, captured: from}) => {
        const inner = tf.add(
          tf.matMul(captured('kernel', from) as tf.Tensor2D, tf.reshape(tf.sub(x, rate), [n, 1])),
          tf.reshape(captured('bias', from), [n, 1]),
        );
        return reshape(tf.mul(2, tf.tanh(inner)));
      };
    },
  };
  const terms = forces.map(name => makers[name]());

  const massOf: {
    readonly [M in (typeof choices.masses)[number]]: () => (from: ReadonlyMap<string, tf.Tensor>) => Mass;
  } = {
    scalar: () => () => 1.3,
    lumped: () => {
      const lumped = nest(
        Float64Array.from({length: n}, (_, i) => 1 + 0.25 * i),
        shape,
      );
      return () => lumped;
    },
    consistent: () => () => matrix(n),
    parameter: () => {
      part('mass', 'parameter', shape, 1.5, 0.5);
      return () =>
        ({params}) =>
          params.mass as tf.Tensor;
    },
    'of q, lumped':
      () =>
      () =>
      ({q}) =>
        tf.add(1, tf.mul(0.5, tf.square(tf.sin(q)))),
    'of q, consistent':
      () =>
      () =>
      ({q}) => {
        const s = tf.sin(tf.reshape(q, [n, 1]));
        return tf.add(tf.tensor2d(matrix(n)), tf.matMul(s, s, false, true));
      },
    variable: () => {
      part('inertia', 'variable', [], 1.5, 0.5);
      return from => () => captured('inertia', from);
    },
  };
  const massFrom = kind === 'ode' ? undefined : massOf[mass]();

  const options = {
    scheme: schemeOf(chosen),
    dt,
    steps,
    engine: chosen.engine,
    newton: solvings[chosen.solving],
    saveAt: saveAt === 'times' ? Array.from({length: steps}, (_, k) => (k + 1) * dt) : (saveAt as SaveAt),
  };
  return {
    parts,
    options,
    system(from) {
      if (massFrom === undefined) {
        return ode(({y, t, params}) =>
          terms
            .map(term => term({x: y, rate: y, t, params, captured: from}))
            .reduce((sum, value) => tf.add(sum, value)),
        );
      }
      const forceTerms = terms.map(
        (term): ForceTerm =>
          ({q, v, t, params}) =>
            term({x: q, rate: v, t, params, captured: from}),
      );
      return mechanics({mass: massFrom(from), forces: forceTerms});
    },
  };
}

/** A symmetric positive definite matrix: 1 + i/4 on the diagonal, less beside it. */
const matrix = (n: number): number[][] =>
  Array.from({length: n}, (_, i) =>
    Array.from({length: n}, (__, j) => (i === j ? 1 + 0.25 * i : 0.2 / (1 + Math.abs(i - j)))),
  );

/** Flat numbers as nested arrays of a shape. */
export function nest(flat: Float64Array, shape: readonly number[]): Numeric {
  if (shape.length === 0) return flat[0];
  if (shape.length === 1) return flat;
  const step = flat.length / shape[0];
  return Array.from({length: shape[0]}, (_, i) => {
    const row = nest(flat.subarray(i * step, (i + 1) * step), shape.slice(1));
    return row instanceof Float64Array ? [...row] : (row as number[]);
  });
}

/** Values of all parts, one after another. */
export const pointOf = ({parts}: Sample): Float64Array => Float64Array.from(parts.flatMap(({values}) => [...values]));

/** A random direction in the space of all parts; multiples of 1/16. */
export function directionOf(sample: Sample, seed: number): Float64Array {
  const next = stream(seed);
  return pointOf(sample).map(() => Math.round(16 * next()) / 16);
}

interface Placed {
  readonly system: MechanicalSystem | OdeSystem;
  readonly initial: Initial;
  readonly options: SimulateOptions;
  readonly captured: Map<string, tf.Tensor>;
  dispose(): void;
}

function split(sample: Sample, point: Float64Array): Map<string, Float64Array> {
  const values = new Map<string, Float64Array>();
  let offset = 0;
  for (const {name, values: own} of sample.parts) {
    values.set(name, point.slice(offset, offset + own.length));
    offset += own.length;
  }
  return values;
}

/** Nested by the dots in their names. */
function tree(
  parts: readonly Part[],
  values: ReadonlyMap<string, Float64Array>,
): {[name: string]: Numeric | {[name: string]: Numeric}} {
  const result: {[name: string]: Numeric | {[name: string]: Numeric}} = {};
  for (const {name, shape} of parts) {
    const [outer, inner] = name.split('.');
    const value = nest(values.get(name) as Float64Array, shape);
    if (inner === undefined) result[outer] = value;
    else result[outer] = {...(result[outer] as {[name: string]: Numeric} | undefined), [inner]: value};
  }
  return result;
}

/** The sample as a run at a point. Captured variables and tensors are made for it, and hold the point's values. */
export function place(sample: Sample, point: Float64Array, more: Partial<RunSettings> = {}): Placed {
  const values = split(sample, point);
  const captured = new Map<string, tf.Tensor>();
  const of = (kind: Part['kind']): Part[] => sample.parts.filter(part => part.kind === kind);
  const single = ({name, shape}: Part): tf.Tensor =>
    tf.tensor(Float32Array.from(values.get(name) as Float64Array), [...shape]);
  for (const part of of('tensor')) captured.set(part.name, single(part));
  for (const part of of('variable'))
    captured.set(
      part.name,
      tf.tidy(() => tf.variable(single(part))),
    );
  return {
    system: sample.system(captured),
    initial: tree(of('initial'), values) as unknown as Initial,
    options: {...sample.options, params: tree(of('parameter'), values), ...more},
    captured,
    dispose: () => captured.forEach(tensor => (tensor instanceof tf.Variable ? tensor.dispose() : tf.dispose(tensor))),
  };
}

const blocks = (initial: Initial): readonly string[] => ('y' in initial ? ['y'] : ['q', 'v']);

type Evaluated = {readonly [name: string]: Float64Array};

/** The saved series at a point. */
export function evaluate(sample: Sample, point: Float64Array, more?: Partial<RunSettings>): Evaluated {
  const placed = place(sample, point, more);
  const trajectory = simulate(placed.system, placed.initial, placed.options);
  trajectory.dispose();
  placed.dispose();
  return Object.fromEntries(blocks(placed.initial).map(name => [name, trajectory.values(name as 'q')]));
}

/** Σ w y + ½ Σ y² over all that is saved, with given weights, and its cotangent. */
export function lossOf(series: Evaluated, weights: Evaluated): number {
  return Object.entries(series).reduce((sum, [name, y]) => sum + dot(weights[name], y) + dot(y, y) / 2, 0);
}

export const cotangentOf = (series: Evaluated, weights: Evaluated): Evaluated =>
  Object.fromEntries(Object.entries(series).map(([name, y]) => [name, moved(y, 1, weights[name])]));

export function weightsOf(series: Evaluated, seed: number): Evaluated {
  const next = stream(seed);
  return Object.fromEntries(Object.entries(series).map(([name, y]) => [name, y.map(() => next())]));
}

/** A gradient, or a Hessian's product, as numbers for all parts, one after another. */
function partsOf(sample: Sample, {captured}: Placed, {initial, params, variables, tensors}: Pullback): Float64Array {
  return Float64Array.from(
    sample.parts.flatMap(({name, kind, values}) => {
      switch (kind) {
        case 'initial':
          return [...(initial as Evaluated)[name]];
        case 'parameter':
          return [
            ...(name
              .split('.')
              .reduce<unknown>((at, key) => (at as {[key: string]: unknown})[key], params) as Float64Array),
          ];
        // What no formula reads has no gradient.
        case 'variable':
          return [...(variables.get(captured.get(name) as tf.Variable) ?? values.map(() => 0))];
        case 'tensor':
          return [...(tensors.get(captured.get(name) as tf.Tensor) ?? values.map(() => 0))];
      }
    }),
  );
}

/** The gradient with respect to all parts, of a loss whose cotangent is given by the series. */
export function gradientOf(
  sample: Sample,
  point: Float64Array,
  cotangent: (series: Evaluated) => Evaluated,
  more?: Partial<RunSettings>,
): Float64Array {
  const placed = place(sample, point, more);
  const {trajectory, pullback} = simulate.vjp(placed.system, placed.initial, placed.options);
  trajectory.dispose();
  const found = partsOf(
    sample,
    placed,
    pullback(cotangent(Object.fromEntries(blocks(placed.initial).map(name => [name, trajectory.values(name as 'q')])))),
  );
  placed.dispose();
  return found;
}

/** A direction of all parts, as tangents are given. */
function tangentFrom(sample: Sample, {captured}: Placed, direction: Float64Array): Tangent {
  const values = split(sample, direction);
  const of = (...kinds: Part['kind'][]): Part[] => sample.parts.filter(({kind}) => kinds.includes(kind));
  return {
    initial: tree(of('initial'), values) as Tangent['initial'],
    params: tree(of('parameter'), values),
    variables: new Map(
      of('variable', 'tensor').map(({name}) => [captured.get(name) as tf.Tensor, values.get(name) as Float64Array]),
    ),
  };
}

/** Value and gradient of a loss of the saved series, and the products of its Hessian with directions of all parts. */
export function hessianOf(
  sample: Sample,
  point: Float64Array,
  loss: SeriesLoss,
  directions: readonly Float64Array[],
  more?: Partial<RunSettings>,
): {value: number; gradient: Float64Array; products: Float64Array[]} {
  const placed = place(sample, point, more);
  const {value, gradient, products, trajectory} = simulate.hvps(
    placed.system,
    placed.initial,
    placed.options,
    loss,
    directions.map(direction => tangentFrom(sample, placed, direction)),
  );
  trajectory.dispose();
  const found = {
    value,
    gradient: partsOf(sample, placed, gradient),
    products: products.map(product => partsOf(sample, placed, product)),
  };
  placed.dispose();
  return found;
}

/** The tangent of the saved series along a direction of all parts. */
export function tangentOf(
  sample: Sample,
  point: Float64Array,
  direction: Float64Array,
  more?: Partial<RunSettings>,
): Evaluated {
  const placed = place(sample, point, more);
  const tangent = tangentFrom(sample, placed, direction);
  const result = simulate.jvp(placed.system, placed.initial, placed.options, tangent);
  result.trajectory.dispose();
  placed.dispose();
  return Object.fromEntries(blocks(placed.initial).map(name => [name, result.tangent[name]]));
}
