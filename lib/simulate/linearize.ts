/**
 * A system linearized about a state: x' = A x for small deviations, in coordinates that the constraints leave free.
 * The derivatives are exact: those of one run that moves nothing, whose new velocity is the acceleration of the
 * instant. A deviation of the position is N(q)w, so that one of a body is a small rotation and not four numbers; its
 * rate is w' = N⁺(∂(Nv)/∂q Nw + Nδv − Ṅw).
 */
import * as tf from '@tensorflow/tfjs';
import {pastUnknown} from '../system/delays.js';
import {any, object, refuseUnknownOptions} from '../checks.js';
import {OptionError} from '../errors.js';
import {instantBalance} from '../scheme/constrained.js';
import type {Scheme} from '../scheme/scheme.js';
import type {System} from '../step/formulation.js';
import {holdsPosition, isContact} from '../system/constraint-kinds.js';
import type {Constraint} from '../system/constraint-kinds.js';
import type {Inputs} from '../system/inputs.js';
import {InputReads} from '../system/inputs.js';
import {motionOf} from '../system/kinematics.js';
import {mechanics, type MechanicalSystem} from '../system/mechanics.js';
import {readNumeric} from '../system/numeric.js';
import type {NumericParamsOf, Params} from '../system/params.js';
import {derivativeAlong} from '../trace/differentials.js';
import {constantTensor} from '../trace/trace.js';
import {dense} from '../linear/rank.js';
import type {OdeSystem} from '../system/ode.js';
import {massOf, matrixOf, reduced, rightHandSideAlone} from './linearize-mass.js';
import {eigenvaluesOf, type Eigenvalue} from './eigenvalues.js';
import type {AnySystem, Initial, ParamsOf, StartOf} from './kinds.js';
import {freeCoordinates} from './free-coordinates.js';
import {simulate} from './simulate.js';

/** Options of `linearize`. */
export interface LinearizeOptions<P = Params> {
  /** Values of the system's `params`, by name. */
  readonly params?: NumericParamsOf<P>;
  /** As in `simulate`, evaluated at the time of the state. */
  readonly inputs?: Inputs;
}

/** Made by `linearize`. */
export interface Linearization {
  /** [n][n]. */
  readonly A: readonly (readonly number[])[];
  /** Eigenvalues of A, by decreasing real part; of a conjugate pair, the one with positive imaginary part first. */
  readonly eigenvalues: readonly Eigenvalue[];
  /**
   * What the n numbers are: 'q[3]' a deviation of the position by the third unit velocity for a time of one, 'v[3]'
   * one of the velocity, 'y[3]'.
   */
  readonly coordinates: readonly string[];
  /** That the motion is not steady at this state, where it is not. */
  readonly warnings: readonly string[];
}

/** v⁺ is the acceleration, y⁺ the rate; nothing moves. */
const instant: Scheme = {
  name: 'linearize',
  order: 1,
  mechanics: {
    unknown: [],
    supports: {kinematics: true},
    update: (_, {x, t, acceleration}) => ({q: x.q, v: acceleration(x.q, x.v, t)}),
  },
  constrained: () => ({
    unknown: ['a'],
    multipliers: ['lambda'],
    supports: {kinematics: true},
    residual: ({a, lambda}, at) => instantBalance(at, {q: at.x.q, v: at.x.v, t: at.t}, a, lambda),
    update: ({a, lambda}, {x}) => ({q: x.q, v: a, lambda}),
  }),
  ode: {unknown: [], update: (_, {x, t, rate}) => rate(x, t)},
};

/**
 * A and its eigenvalues at a state of rest or of steady motion. With constraints, A is that of the coordinates which
 * they leave free; rigid contacts must be open, and have no part in it. In steady motion (a
 * rolling wheel), coordinates that do not rotate are preferred, in which A is constant. For M y' = f with a singular M,
 * it is that of the components which the algebraic equations leave free.
 * @throws OptionError 'bad-linearization' for a system with hidden states, and where a rigid contact touches;
 *   InconsistentStateError where the state breaks the constraints
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {linearize, mechanics} from 'stiffgrad';
 *
 * const system = mechanics({mass: 1, forces: ({q}) => tf.mul(-4, q)});
 * console.log(linearize(system, {q: 0, v: 0}).A.flat()); // → [0, 1, -4, 0]
 * ```
 */
export function linearize<S extends AnySystem>(
  system: S,
  state: Initial<S>,
  options: LinearizeOptions<ParamsOf<S>> = {},
): Linearization {
  refuseUnknownOptions(options, {params: object, inputs: any}, 'linearize');
  const given: System = system;
  const values = options as unknown as LinearizeOptions;
  if (given.kind === 'ode' && given.delays !== undefined) throw pastUnknown('linearize');
  if (given.kind === 'ode' && given.mass !== undefined) return withMass(given, state as StartOf<OdeSystem>, values);
  if (given.kind === 'ode') return ofOde(given, state as StartOf<OdeSystem>, values);
  if (given.states !== undefined)
    throw new OptionError(
      'bad-linearization',
      'linearize takes mechanical systems without hidden states: write such a system as ode({derivative, mass}).',
    );
  const start = state as StartOf<MechanicalSystem>;
  return ofMechanics(withoutContacts(given, start, values), start, values);
}

/** The system while its rigid contacts stay open. @throws OptionError where one of them touches */
function withoutContacts(
  system: MechanicalSystem,
  state: StartOf<MechanicalSystem>,
  options: LinearizeOptions,
): MechanicalSystem {
  const smoothed = system.constraints.findIndex(
    constraint => constraint.kind.oneSided === true && constraint.kind.law === undefined && !isContact(constraint),
  );
  if (smoothed >= 0)
    throw new OptionError(
      'bad-linearization',
      `linearize: constraints[${smoothed}], ${system.constraints[smoothed].kind.name} with smoothing, has no `
        + 'force of its own at an instant. Give it a compliance as well.',
      {constraint: smoothed},
    );
  const rigid = system.constraints.filter(isContact);
  if (rigid.length === 0) return system;
  const rest = {...system, constraints: system.constraints.filter(constraint => !isContact(constraint))};
  const trajectory = simulate(rest, state, {
    ...settings(options),
    steps: 0,
    observe: ({q, v, t, params}) => tf.concat(rigid.map(constraint => gapOf(constraint, {q, v, t, params}))),
  });
  trajectory.dispose();
  const gaps = trajectory.values('observed');
  const touches = gaps.findIndex(gap => !(gap > atRest * Math.max(1, largest(trajectory.values('q')))));
  if (touches < 0) return rest;
  throw new OptionError(
    'bad-linearization',
    `linearize needs rigid contacts to be open, but contact ${touches} of ${gaps.length} has a gap of `
      + `${gaps[touches]}: the motion about the state is not smooth. If the contact lasts, hold it by bilateral(); `
      + 'or give it a compliance.',
    {contact: touches, gap: gaps[touches]},
  );
}

/** φ or ψ, flat. */
function gapOf({gap}: Constraint, at: object): tf.Tensor {
  const value = (gap as (at: object) => tf.Tensor)(at);
  return tf.reshape(value, [value.size]);
}

const settings = ({params, inputs}: LinearizeOptions) => ({params, inputs, scheme: instant, dt: 1, steps: 1});

/** A unit vector a direction. */
const units = (size: number): Float64Array[] =>
  Array.from({length: size}, (_, i) => Float64Array.from({length: size}, (_x, j) => (i === j ? 1 : 0)));

function ofOde(system: OdeSystem, state: StartOf<OdeSystem>, options: LinearizeOptions): Linearization {
  const {shape, values} = readNumeric(state.y, 'the state');
  const directions = units(values.length).map(y => ({initial: {y: shaped(y, shape)}}));
  const {trajectory, tangents} = simulate.jvps(system, state, settings(options), directions);
  trajectory.dispose();
  const columns = tangents.map(tangent => tangent.y.subarray(values.length));
  const A = Array.from(values, (_, i) => columns.map(column => column[i]));
  const rate = trajectory.values('y').slice(values.length);
  return {
    ...{A, eigenvalues: eigenvaluesOf(A), coordinates: A.map((_, i) => `y[${i}]`)},
    warnings: unsteady("y''", combined(columns, rate), columns),
  };
}

/** M δy' = J δy, less what is algebraic. */
function withMass(system: OdeSystem, state: StartOf<OdeSystem>, options: LinearizeOptions): Linearization {
  const {shape, values} = readNumeric(state.y, 'the state');
  const n = values.length;
  const directions = units(n).map(y => ({initial: {y: shaped(y, shape)}}));
  const {trajectory, tangents} = simulate.jvps(
    system,
    state,
    {
      ...settings(options),
      scheme: rightHandSideAlone,
      observe: ({y, t, params}: {y: tf.Tensor; t: tf.Tensor; params: Params}) => massOf(system, {y, t, params}),
    },
    directions,
  );
  trajectory.dispose();
  const named: readonly {readonly y: Float64Array; readonly observed: Float64Array}[] = tangents as never;
  const saved = trajectory.values('observed');
  const [mass, f] = [saved.slice(0, saved.length / 2), trajectory.values('y').slice(n)];
  const moves = named.some(({observed}) => observed.subarray(0, mass.length).some(change => change !== 0));
  if (moves && largest(f) > atRest * Math.max(1, largest(values)))
    throw new OptionError(
      'bad-linearization',
      "linearize supports a mass that is a function of y only at a state of rest, f = 0: elsewhere M y' depends "
        + "on a rate that M y' = f need not determine.",
    );
  const {A, free} = reduced(
    matrixOf(mass, n),
    dense(n, n, (i, j) => named[j].y[n + i]),
  );
  return {A, eigenvalues: eigenvaluesOf(A), coordinates: free.map(i => `y[${i}]`), warnings: []};
}

/** f this small beside y is what an equilibrium leaves of it. */
const atRest = 1e-8;

function ofMechanics(
  system: MechanicalSystem,
  state: StartOf<MechanicalSystem>,
  options: LinearizeOptions,
): Linearization {
  const [q, v] = [readNumeric(state.q, 'the state: q'), readNumeric(state.v, 'the state: v')];
  const [nq, nv] = [q.values.length, v.values.length];
  const directions = [
    ...units(nq).map(unit => ({initial: {q: shaped(unit, q.shape)}})),
    ...units(nv).map(unit => ({initial: {v: shaped(unit, v.shape)}})),
  ];
  const {trajectory, tangents} = simulate.jvps(
    system,
    state,
    {...settings(options), observe: ({q: at, v: moving, t, params}) => ratesAndGaps(system, at, moving, t, params)},
    directions,
  );
  trajectory.dispose();
  const saved = trajectory.values('observed');
  const rate = saved.slice(0, nq);
  // Observed at the start: q', then the constraints; v of the end is the acceleration.
  const seen = tangents.map(tangent => (tangent.observed as Float64Array).slice(0, saved.length / 2));
  const accelerations = tangents.map(tangent => tangent.v.slice(nv));
  const positions = seen.slice(0, nq);
  const N = seen.slice(nq).map(column => column.slice(0, nq));
  const along = (columns: readonly Float64Array[], w: Float64Array): Float64Array => combined(columns, w);
  const turning = rateOfKinematics(system, state, rate, N, options);
  const inverse = leastSquares(N);
  const deviations = N.map((column, i) => {
    const moved = along(positions, column);
    const drift = moved.slice(0, nq).map((x, k) => x - turning[i][k]);
    return {rate: inverse(drift), acceleration: along(accelerations.slice(0, nq), column), gaps: moved.slice(nq)};
  });
  const one = units(nv);
  // Columns of the whole: deviations of the position, then of the velocity.
  const whole = [
    ...deviations.map(({rate: w, acceleration}) => [...w, ...acceleration]),
    ...one.map((unit, i) => [...unit, ...accelerations[nq + i]]),
  ];
  const gaps = [...deviations.map(deviation => deviation.gaps), ...seen.slice(nq).map(column => column.slice(nq))];
  const isTurning = turning.map(column => largest(column) > 1e-9 * (1 + largest(rate)));
  const {free, basis} = freeCoordinates(gaps, [...isTurning, ...isTurning]);
  const A = free.map(row => free.map((_, j) => basis.reduce((sum, z, k) => sum + whole[k][row] * z[j], 0)));
  return {
    A,
    eigenvalues: eigenvaluesOf(A),
    coordinates: free.map(k => (k < nv ? `q[${k}]` : `v[${k - nv}]`)),
    warnings: unsteady("v'", trajectory.values('v').slice(nv), accelerations),
  };
}

/** Accelerations this small beside what unit deviations make are those of a steady motion, known to so many digits. */
const steady = 1e-6;

/** @param columns what the same is for unit deviations of the state */
function unsteady(name: string, acceleration: Float64Array, columns: readonly Float64Array[]): string[] {
  const size = largest(acceleration);
  if (!(size > steady * Math.max(1, ...columns.map(largest)))) return [];
  return [
    `The motion is not steady at this state: ${name} is up to ${Number(size.toPrecision(3))}. A is that of this `
      + 'instant; unless the system is linear it changes along the motion, and its eigenvalues do not tell how '
      + 'deviations grow. Take a state of rest (equilibrium), or coordinates in which velocities stay constant, as '
      + 'minimal ones of a body that goes around.',
  ];
}

/** q', φ, φ' and ψ, flat. */
function ratesAndGaps(system: MechanicalSystem, q: tf.Tensor, v: tf.Tensor, t: tf.Tensor, params: Params): tf.Tensor {
  const rate = system.kinematics === undefined ? v : motionOf(system.kinematics, params).rate(q, v, t);
  const gap = (constraint: Constraint, place: {readonly [name: string]: tf.Tensor}): tf.Tensor =>
    gapOf(constraint, {q, v, t, ...place, params});
  const held = system.constraints.filter(({kind}) => kind.holds === 'always');
  const rows = held.flatMap(constraint => {
    if (!holdsPosition(constraint.kind)) return [gap(constraint, {})];
    return [
      gap(constraint, {}),
      derivativeAlong(place => gap(constraint, place), {q, t}, {q: rate, t: constantTensor(1, [])}),
    ];
  });
  return tf.concat([tf.reshape(rate, [rate.size]), ...rows]);
}

/**
 * dN/dt of every column of N, by differences of fourth order along q' and t: with quaternions N is linear in q, and
 * they are exact. Without kinematics N is one and does not move.
 */
function rateOfKinematics(
  {kinematics}: MechanicalSystem,
  {q, v, t}: StartOf<MechanicalSystem>,
  rate: Float64Array,
  N: readonly Float64Array[],
  options: LinearizeOptions,
): Float64Array[] {
  if (kinematics === undefined) return N.map(column => new Float64Array(column.length));
  // The places of the differences are off the manifold, by h².
  const {inputs, params: given} = options;
  const ofRun = inputs === undefined ? kinematics.rate : new InputReads(inputs).of(kinematics.rate);
  const moving = mechanics({mass: 1, forces: [], kinematics: {rate: ofRun}});
  const [at, velocity] = [readNumeric(q, 'q'), readNumeric(v, 'v')];
  // The fifth derivative of N counts with h⁴, rounding with ε/h: both are about 10⁻¹³ for a motion of size one.
  const h = 1e-3 / (1 + largest(rate));
  const directions = units(velocity.values.length).map(unit => ({initial: {v: shaped(unit, velocity.shape)}}));
  const columnsAt = (s: number): Float64Array[] => {
    const place = at.values.map((x, i) => x + s * rate[i]);
    const {trajectory, tangents} = simulate.jvps(
      moving,
      {q: shaped(place, at.shape), v, t: (t ?? 0) + s},
      {
        ...settings({params: given}),
        observe: ({q: here, v: w, t: when, params}) => {
          const value = motionOf({rate: ofRun}, {...params}).rate(here, w, when);
          return tf.reshape(value, [value.size]);
        },
        steps: 0,
      },
      directions,
    );
    trajectory.dispose();
    return tangents.map(tangent => tangent.observed as Float64Array);
  };
  const [a, b, c, d] = [-2 * h, -h, h, 2 * h].map(columnsAt);
  return N.map((_, i) => a[i].map((x, k) => (x - 8 * b[i][k] + 8 * c[i][k] - d[i][k]) / (12 * h)));
}

const largest = (values: Float64Array): number => values.reduce((most, x) => Math.max(most, Math.abs(x)), 0);

function combined(columns: readonly Float64Array[], weights: Float64Array): Float64Array {
  const out = new Float64Array(columns[0].length);
  columns.forEach((column, i) => {
    if (weights[i] !== 0) column.forEach((x, k) => (out[k] += weights[i] * x));
  });
  return out;
}

/** The w with N w = x, for x in the range of N: (NᵀN)⁻¹Nᵀ by Gram–Schmidt. */
function leastSquares(N: readonly Float64Array[]): (x: Float64Array) => Float64Array {
  const dot = (a: Float64Array, b: Float64Array): number => a.reduce((sum, x, k) => sum + x * b[k], 0);
  const R: number[][] = N.map(() => []);
  const Q = N.map(column => column.slice());
  Q.forEach((column, j) => {
    for (let i = 0; i < j; i++) {
      R[i][j] = dot(Q[i], column);
      column.forEach((_, k) => (column[k] -= R[i][j] * Q[i][k]));
    }
    R[j][j] = Math.sqrt(dot(column, column));
    column.forEach((_, k) => (column[k] /= R[j][j]));
  });
  return x => {
    const w = Float64Array.from(Q, column => dot(column, x));
    for (let i = w.length - 1; i >= 0; i--) {
      for (let j = i + 1; j < w.length; j++) w[i] -= R[i][j] * w[j];
      w[i] /= R[i][i];
    }
    return w;
  };
}

/** Numbers as nested arrays of a shape. */
function shaped(flat: ArrayLike<number>, shape: readonly number[]): never {
  const build = (values: number[], [n, ...rest]: readonly number[]): unknown => {
    if (n === undefined) return values[0];
    const width = values.length / n;
    return Array.from({length: n}, (_, i) => build(values.slice(i * width, (i + 1) * width), rest));
  };
  return build(Array.from(flat), shape) as never;
}
