/** A random system from a seed: the same one in tensors for the library and in numbers for the evaluator, in random units. */
import * as tf from '@tensorflow/tfjs';
import type {
  Constraint,
  Event,
  MechanicalSystem,
  Numeric,
  NumericParams,
  OdeSystem,
  Scheme,
  SimulateOptions,
} from '../../../lib/index.js';
import {
  adaptive,
  bdf2,
  bilateral,
  blendedEuler,
  compliant,
  dopri5,
  event,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  ode,
  radauIIA5,
  rk4,
  sdirk2,
  theta,
  trapezoid,
  tsit5,
  unilateral,
} from '../../../lib/index.js';
import {nest} from '../../simulate/random.js';
import {stream} from '../../simulate/numbers.js';
import type {PlainSystem, Tableau, ThetaRule} from './evaluator.js';
import {tableaus} from './evaluator.js';
import type {Term} from './terms.js';
import {makers} from './terms.js';

/** How a scheme's steps are judged: by their own equation, or by the error of one step against a fine reference. */
export type Rule =
  | {readonly kind: 'theta'; readonly rule: ThetaRule}
  | {readonly kind: 'newmark'; readonly beta: number; readonly gamma: number}
  | {readonly kind: 'bdf2'}
  | {readonly kind: 'runge-kutta'; readonly tableau: Tableau}
  /** Order of the run's error. */
  | {readonly kind: 'order'; readonly order: number};

interface Choice {
  readonly name: string;
  readonly scheme: () => Scheme;
  readonly rule: Rule;
  readonly for?: 'mechanics';
  /** Takes constraints of positions. */
  readonly holds?: true;
}

const byTheta = (alpha: number, beta = alpha, midpoint = false): Rule => ({
  kind: 'theta',
  rule: {alpha, beta, midpoint},
});
const byTableau = (name: string): Rule => ({kind: 'runge-kutta', tableau: tableaus[name]});
export const choices: readonly Choice[] = [
  {name: 'implicitEuler', scheme: () => implicitEuler(), rule: byTheta(1), holds: true},
  {name: 'trapezoid', scheme: () => trapezoid(), rule: byTheta(0.5), holds: true},
  {name: 'theta(0.7)', scheme: () => theta(0.7), rule: byTheta(0.7), holds: true},
  {name: 'implicitMidpoint', scheme: () => implicitMidpoint(), rule: byTheta(0.5, 0.5, true), holds: true},
  {
    name: 'blendedEuler',
    scheme: () => blendedEuler({alpha: 0.6, beta: 0.8}),
    rule: byTheta(0.6, 0.8),
    for: 'mechanics',
    holds: true,
  },
  {name: 'newmark', scheme: () => newmark(), rule: {kind: 'newmark', beta: 0.25, gamma: 0.5}, for: 'mechanics'},
  {
    name: 'newmark damped',
    scheme: () => newmark({beta: 0.3025, gamma: 0.6}),
    rule: {kind: 'newmark', beta: 0.3025, gamma: 0.6},
    for: 'mechanics',
    holds: true,
  },
  {
    name: 'generalizedAlpha',
    scheme: () => generalizedAlpha({rhoInf: 0.8}),
    rule: {kind: 'order', order: 2},
    for: 'mechanics',
    holds: true,
  },
  {name: 'hht', scheme: () => hht({alpha: -0.1}), rule: {kind: 'order', order: 2}, for: 'mechanics', holds: true},
  {name: 'bdf2', scheme: () => bdf2(), rule: {kind: 'bdf2'}, holds: true},
  {name: 'sdirk2', scheme: () => sdirk2(), rule: byTableau('sdirk2'), holds: true},
  {name: 'kvaerno3', scheme: () => kvaerno3(), rule: {kind: 'order', order: 3}, holds: true},
  {name: 'kvaerno5', scheme: () => kvaerno5(), rule: {kind: 'order', order: 5}, holds: true},
  {name: 'gauss1', scheme: () => gaussLegendre({stages: 1}), rule: byTableau('gauss1'), holds: true},
  {name: 'gauss2', scheme: () => gaussLegendre({stages: 2}), rule: byTableau('gauss2'), holds: true},
  {name: 'gauss3', scheme: () => gaussLegendre({stages: 3}), rule: byTableau('gauss3'), holds: true},
  {name: 'radauIIA5', scheme: () => radauIIA5(), rule: byTableau('radau5'), holds: true},
  {name: 'rk4', scheme: () => rk4(), rule: byTableau('rk4')},
  {name: 'dopri5', scheme: () => dopri5(), rule: {kind: 'order', order: 5}},
  {name: 'tsit5', scheme: () => tsit5(), rule: {kind: 'order', order: 5}},
];

/** The state, the time, the mass and the parameters: what a run depends on, flat. */
export interface Point {
  readonly initial: {readonly [block: string]: Float64Array};
  readonly params: {readonly [name: string]: Float64Array};
}

export interface Sample {
  /** For people: what was drawn. */
  readonly description: string;
  readonly shape: readonly number[];
  readonly n: number;
  readonly system: MechanicalSystem | OdeSystem;
  readonly options: Omit<SimulateOptions, 'params'>;
  readonly rule: Rule;
  readonly start: Point;
  /** Sizes of one unit of position, velocity and time. */
  readonly units: {readonly q: number; readonly v: number; readonly t: number};
  readonly isAdaptive: boolean;
  readonly constraint: 'none' | 'bilateral' | 'compliant' | 'unilateral';
  readonly event: 'none' | 'bounce' | 'record';
  plain(params: Point['params']): PlainSystem;
}

type MassKind = 'scalar' | 'lumped' | 'full' | 'of q';

const identity = (n: number, value: (i: number) => number): number[][] =>
  Array.from({length: n}, (_, i) => Array.from({length: n}, (__, j) => (i === j ? value(i) : 0)));

export function sampleOf(seed: number): Sample {
  const next = stream(seed * 7919 + 13);
  const chance = (share: number): boolean => (next() + 1) / 2 < share;
  const pick = <T>(items: readonly T[]): T =>
    items[Math.min(items.length - 1, Math.floor(((next() + 1) / 2) * items.length))];

  const mechanical = chance(0.65);
  const constraint = mechanical && chance(0.25) ? pick(['bilateral', 'compliant', 'unilateral'] as const) : 'none';
  const shape =
    constraint === 'bilateral' || constraint === 'compliant'
      ? [pick([2, 3, 4])]
      : pick([[], [1], [2], [3], [4], [2, 2]]);
  const n = shape.reduce((size, length) => size * length, 1);
  const chosen = pick(
    choices.filter(
      choice => (mechanical || choice.for === undefined) && (constraint === 'none' || choice.holds === true),
    ),
  );
  const isAdaptive = chance(0.15);
  const kindOfEvent =
    mechanical && constraint === 'none' && chance(0.15) ? pick(['bounce', 'record'] as const) : 'none';
  const massKind = pick<MassKind>(['scalar', 'lumped', 'full', 'of q']);
  const rescaled = chance(0.3);
  const unit = (): number => (rescaled ? 10 ** Math.round(9 * next()) : 1);
  const [length, time, weight] = [unit(), unit(), unit()];

  const params: {[name: string]: Float64Array} = {};
  const shop = {
    n,
    shape,
    next,
    parameter(name: string, size: number, centre: number, width: number): string {
      params[name] = Float64Array.from({length: size}, () => centre + width * next());
      return name;
    },
  };
  const names = Object.keys(makers).filter(() => chance(0.18));
  if (names.length === 0) names.push(pick(Object.keys(makers)));
  const terms: Term[] = names.map(name => makers[name](shop));
  const forceUnit = mechanical ? (weight * length) / (time * time) : length / time;
  const velocity = length / time;
  const masses = Array.from({length: n}, (_, i) => 1 + 0.25 * i);
  const full = Array.from({length: n}, (_, i) => masses.map((m, j) => (i === j ? m : 0.2 / (1 + Math.abs(i - j)))));

  const force = ({
    q,
    v,
    t,
    params: given,
  }: {
    q: tf.Tensor;
    v: tf.Tensor;
    t: tf.Tensor;
    params: Parameters<Term['tensor']>[0]['params'];
  }): tf.Tensor => {
    const x = tf.div(q, length);
    const place = {x, w: mechanical ? tf.div(v, velocity) : x, s: tf.div(t, time), params: given};
    return tf.reshape(
      tf.mul(
        forceUnit,
        terms.map(term => term.tensor(place)).reduce((total, value) => tf.add(total, value)),
      ),
      [...shape],
    );
  };
  const mass = {
    scalar: weight * 1.3,
    lumped: nest(
      Float64Array.from(masses, m => weight * m),
      shape,
    ),
    full: full.map(row => row.map(m => weight * m)),
    'of q': ({q}: {q: tf.Tensor}) => tf.mul(weight, tf.add(1, tf.mul(0.5, tf.square(tf.sin(tf.div(q, length)))))),
  }[massKind];
  const plainMass = (q: readonly number[]): number[][] =>
    ({
      scalar: () => identity(n, () => weight * 1.3),
      lumped: () => identity(n, i => weight * masses[i]),
      full: () => full.map(row => row.map(m => weight * m)),
      'of q': () => identity(n, i => weight * (1 + 0.5 * Math.sin(q[i] / length) ** 2)),
    })[massKind]();

  const x0 = Float64Array.from({length: n}, () => (chance(0.15) ? 0.25 * Math.sign(next()) : next()));
  const w0 = Float64Array.from({length: n}, () => next());
  if (constraint === 'bilateral' || constraint === 'compliant') {
    // On the unit circle of the first two coordinates, moving along it.
    const angle = 3 * next();
    [x0[0], x0[1]] = [Math.cos(angle), Math.sin(angle)];
    const speed = w0[0];
    [w0[0], w0[1]] = [-speed * x0[1], speed * x0[0]];
  }
  if (constraint === 'unilateral') x0.forEach((value, i) => (x0[i] = 0.2 + Math.abs(value)));
  if (kindOfEvent !== 'none') x0[0] = Math.abs(x0[0]) + 0.05;
  const constraints: Constraint[] = [];
  const circle = ({q}: {q: tf.Tensor}): tf.Tensor =>
    tf.mul(length / 2, tf.sub(tf.sum(tf.square(tf.div(tf.slice(q, [0], [2]), length))), 1));
  if (constraint === 'bilateral') constraints.push(bilateral(circle));
  // A stiffness of 1e6 in the system's own units.
  if (constraint === 'compliant') constraints.push(compliant(circle, {compliance: (1e-6 * time * time) / weight}));
  if (constraint === 'unilateral') constraints.push(unilateral(({q}) => tf.reshape(q, [n])));

  // Not at 0, where x log x, √x and x/|x| have no derivative: of an event there gradients would be a matter of rounding.
  const floor = ({q}: {q: tf.Tensor}): tf.Tensor => tf.sub(tf.gather(tf.reshape(q, [n]), 0), 0.01 * length);
  const bounce = ({q, v}: {q: tf.Tensor; v: tf.Tensor}): {q: tf.Tensor; v: tf.Tensor} => ({q, v: tf.mul(-0.8, v)});
  const events: Event[] =
    kindOfEvent === 'none'
      ? []
      : [event({when: floor, direction: 'falling', then: kindOfEvent === 'bounce' ? bounce : 'record'})];

  const dt = time * 10 ** (-1.2 + 0.8 * next());
  const steps = 2 + Math.floor(2.5 * (1 + next()));
  const engine = 'wasm' as const;
  const control = isAdaptive
    ? {control: adaptive({rtol: 1e-6, atol: {q: 1e-6 * length, v: 1e-6 * velocity, y: 1e-6 * length}}), t1: dt * steps}
    : {steps};
  return {
    description: [
      mechanical ? `mechanics, mass ${massKind}` : 'ode',
      `shape [${shape.join(', ')}]`,
      names.join(' + '),
      chosen.name,
      isAdaptive ? 'adaptive' : 'constant',
      `dt ${dt.toPrecision(4)} × ${steps}`,
      constraint === 'none' ? '' : constraint,
      kindOfEvent === 'none' ? '' : `event ${kindOfEvent}`,
      rescaled ? `units of length ${length}, time ${time}, mass ${weight}` : '',
    ]
      .filter(text => text !== '')
      .join(', '),
    shape,
    n,
    system: mechanical
      ? mechanics({mass, forces: force, constraints})
      : ode(({y, t, params: given}) => force({q: y, v: y, t, params: given})),
    options: {scheme: chosen.scheme(), dt, engine, ...control, ...(events.length > 0 ? {events} : {})},
    rule: chosen.rule,
    start: {
      initial: mechanical
        ? {q: x0.map(value => value * length), v: w0.map(value => value * velocity)}
        : {y: x0.map(value => value * length)},
      params,
    },
    units: {q: length, v: velocity, t: time},
    isAdaptive,
    constraint,
    event: kindOfEvent,
    plain: given => {
      const numbers = Object.fromEntries(Object.entries(given).map(([name, values]) => [name, [...values]]));
      return {
        n,
        ...(mechanical ? {mass: plainMass} : {}),
        force: (q, v, t) => {
          const x = q.map(value => value / length);
          const place = {x, w: mechanical ? v.map(value => value / velocity) : x, s: t / time, params: numbers};
          const total = new Array<number>(n).fill(0);
          for (const term of terms) term.plain(place).forEach((value, i) => (total[i] += value));
          return total.map(value => forceUnit * value);
        },
      };
    },
  };
}

/** What simulate takes for a point. */
export function given(
  sample: Sample,
  {initial, params}: Point,
): {initial: {q: Numeric; v: Numeric} | {y: Numeric}; params: NumericParams} {
  const blocks = Object.fromEntries(
    Object.entries(initial).map(([name, values]) => [name, nest(values, sample.shape)]),
  );
  return {initial: blocks as {y: Numeric}, params};
}
