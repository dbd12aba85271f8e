/**
 * Rest: q with f(q, 0, t; p) = 0 (or y with y' = 0), with constraints (q, λ) where f + Gᵀλ = 0 and
 * φ + Cλ = 0; differentiable like a step. An equilibrium is a scheme whose one step lands on it: its
 * residual is the force, so Newton, adjoint and tfjs operation are those of `simulate`.
 */
import * as tf from '@tensorflow/tfjs';
import {NewtonError, OptionError} from '../errors.js';
import {
  abortSignal,
  any,
  finite,
  object,
  oneOf,
  optional,
  readOptions,
  refuseUnknownOptions,
  typed,
} from '../checks.js';
import type {Options} from '../checks.js';
import type {Newton} from '../newton/index.js';
import {backtracking, newton} from '../newton/index.js';
import {constraintsOf, rowScale} from '../scheme/constrained.js';
import type {Scheme} from '../scheme/index.js';
import type {Formulation, StepPoint} from '../scheme/scheme.js';
import type {System} from '../step/formulation.js';
import type {Inputs} from '../system/inputs.js';
import type {MechanicalSystem} from '../system/mechanics.js';
import {pastUnknown} from '../system/delays.js';
import type {Numeric} from '../system/numeric.js';
import {readNumeric} from '../system/numeric.js';
import type {NumericParams, NumericParamsOf, Params} from '../system/params.js';
import type {SimulateOptions} from './options.js';
import type {AnySystem, ByKind, Initial, ParamsOf, Pullback, SomeStates, StatesOf} from './kinds.js';
import {simulate} from './simulate.js';
import type {AnyTrajectory, Stats} from './trajectory.js';

const equilibriumOptions = {
  params: optional(typed<NumericParams>(object)),
  /** As in `simulate`, evaluated at the time of the initial state. */
  inputs: optional(typed<Inputs>(object)),
  /**
   * Default: Newton's method with backtracking, for guesses far from rest, and up to 200 iterations. Where that does
   * not converge, whole steps are tried from the guess: those of slender structures raise the residual by far before
   * they lower it.
   */
  newton: optional(typed<Newton>()),
  engine: optional(typed<NonNullable<SimulateOptions['engine']>>()),
  precision: optional(oneOf('double', 'single')),
  /** If already aborted, an AbortError is thrown without a search. */
  signal: optional(abortSignal),
};

/** Options of `equilibrium`. @interface */
export type EquilibriumOptions<P = Params> = Omit<Options<typeof equilibriumOptions>, 'params'> & {
  /** Values of the system's `params`, by name. */
  readonly params?: NumericParamsOf<P>;
};

/**
 * The initial guess, and its time (default 0). A velocity is not needed: at rest it is zero. Only the shape of v is
 * used; it is required for systems with kinematics.
 */
export type EquilibriumStart<S extends AnySystem = System> = ByKind<
  S,
  {readonly q: Numeric; readonly v?: Numeric} & SomeStates<S, Numeric>,
  {readonly y: Numeric},
  {readonly q: Numeric; readonly v?: Numeric} | {readonly y: Numeric}
> & {readonly t?: number};

/** A state of rest: q of a mechanical system, y of an ode, as tensors (float32) and as numbers (double). */
export type Equilibrium<S extends AnySystem = MechanicalSystem> = RestOf<S, tf.Tensor> & {
  /**
   * In double precision, row-major.
   * @throws OptionError 'no-series' if there is no state of this name
   */
  values(name: ByKind<S, 'q' | 'lambda' | StatesOf<S>, 'y', RestName>): Float64Array;
  readonly stats: Stats;
  /** Frees the tensors; `values` stay. */
  dispose(): void;
};

/** The parts of a state of rest: the shapes of the start; multipliers, one a row; hidden states by name. */
type RestOf<S extends AnySystem, T> = ByKind<
  S,
  {readonly q: T; readonly lambda?: T; readonly states: {readonly [K in StatesOf<S>]: T}},
  {readonly y: T},
  {readonly q?: T; readonly y?: T; readonly lambda?: T; readonly states?: {readonly [name: string]: T}}
>;

/** A state of rest, and its pullback. */
export interface EquilibriumVjp<S extends AnySystem = System> {
  readonly equilibrium: Equilibrium<S>;
  /** The gradient of Σ cotangent · state at rest with respect to params and captured variables. */
  pullback(cotangent: RestCotangent<S>): Pick<Pullback<S>, 'params' | 'variables' | 'tensors'>;
}

/** Cotangents of a state of rest, of its shapes. */
export type RestCotangent<S extends AnySystem = System> = ByKind<
  S,
  {readonly q?: Numeric; readonly lambda?: Numeric} & SomeStates<S, Numeric>,
  {readonly y?: Numeric},
  {readonly q?: Numeric; readonly y?: Numeric; readonly lambda?: Numeric}
>;

/**
 * What gaps weigh beside forces where a line search adds up their squares: a gap of one unit of length
 * as much as the force that gives the whole an acceleration of one. Weighed one to one, the search for a
 * hanging chain of 64 unit masses crawls along the forces' valley (200 steps and not there; so 12).
 */
const wholeMass = ({mass, x}: StepPoint): tf.Tensor => tf.sum(tf.abs(mass(x.q, tf.onesLike(x.v))));

type RestName = 'q' | 'y' | 'lambda';

/** The position, and hidden states in a velocity of zero; both are parts of the unknown. */
const restAt = (q: tf.Tensor, {x, unknownPosition, zeroVelocity}: StepPoint): {q: tf.Tensor; v: tf.Tensor} => ({
  q: unknownPosition.at(x.q, q),
  v: zeroVelocity(x.v, q),
});

/** λ starts as that of the system let go where the search begins: without tension a chain has no stiffness. */
const held: Formulation = {
  unknown: ['q'],
  multipliers: ['lambda'],
  supports: {kinematics: true},
  residual: ({q, lambda}, at) => {
    const constraints = constraintsOf(at);
    const place = {...restAt(q, at), t: at.t};
    const way = at.unknownPosition.increment(at.x.q, q);
    return {
      q: tf.add(at.force(place.q, place.v, at.t), constraints.reaction(place, lambda)),
      lambda: tf.mul(wholeMass(at), constraints.restRows(place, way, lambda, rowScale(at, 1, 1))),
    };
  },
  update: ({q, lambda}, at) => ({...restAt(q, at), lambda}),
};

export const equilibriumScheme: Scheme = {
  name: 'equilibrium',
  order: 0,
  mechanics: {
    unknown: ['q'],
    supports: {kinematics: true},
    residual: (z, at) => {
      const {q, v} = restAt(z.q, at);
      return {q: at.force(q, v, at.t)};
    },
    update: ({q}, at) => restAt(q, at),
  },
  constrained: () => held,
  ode: {
    unknown: ['y'],
    supports: {mass: 2},
    residual: ({y}, {t, rightHandSide}) => ({y: rightHandSide({y}, t).y}),
    update: ({y}) => ({y}),
  },
};

function atRest(system: System, start: EquilibriumStart): Initial {
  if (system.kind === 'ode' && system.delays !== undefined) throw pastUnknown('equilibrium');
  const {states = {}, kinematics} =
    system.kind === 'mechanics' ? system : ({} as Partial<Pick<MechanicalSystem, 'states' | 'kinematics'>>);
  const own = {
    ...Object.fromEntries(Object.keys(states).map(name => [name, any])),
    ...(system.kind === 'mechanics' ? {v: any} : {}),
  };
  refuseUnknownOptions(start, {q: any, y: any, t: finite, ...own}, 'equilibrium: the start', 'bad-initial');
  if ('y' in start) return start;
  const given = (start as {v?: Numeric}).v;
  if (kinematics !== undefined && given === undefined)
    throw new OptionError(
      'bad-initial',
      'equilibrium: give v besides q, as zeros: with kinematics its shape does not follow from that of q.',
    );
  const {values, shape} = readNumeric(given ?? start.q, given === undefined ? 'initial.q' : 'initial.v');
  return {...start, v: nested(new Float64Array(values.length), shape)};
}

/** Zeros of a shape, as nested arrays. */
function nested(flat: Float64Array, shape: readonly number[]): Numeric {
  if (shape.length <= 1) return shape.length === 0 ? 0 : Array.from(flat);
  const step = flat.length / shape[0];
  return Array.from(
    {length: shape[0]},
    (_, i) => nested(flat.subarray(i * step, (i + 1) * step), shape.slice(1)) as number,
  );
}

/** The methods that are tried where the caller gives none. */
const methods = (): readonly Newton[] => [newton({step: backtracking(), maxIterations: 200}), newton()];

/**
 * By the caller's method, or by the first that finds a state of rest.
 * @throws what the first one threw, where none does
 */
function searched<T>(options: EquilibriumOptions, search: (given: SimulateOptions) => T): T {
  const given = optionsOf(options);
  if (given.newton !== undefined) return search(given);
  const [damped, whole] = methods().map(method => (): T => search({...given, newton: method}));
  try {
    return damped();
  } catch (error) {
    if (!(error instanceof NewtonError)) throw error;
    try {
      return whole();
    } catch {
      throw error;
    }
  }
}

const optionsOf = (options: EquilibriumOptions): SimulateOptions => ({
  ...readOptions(options, equilibriumOptions, 'equilibrium'),
  scheme: equilibriumScheme,
  dt: 1,
  steps: 1,
  saveAt: 'end',
});

function lastOf(trajectory: AnyTrajectory): Equilibrium<System> {
  const names = trajectory.y === undefined ? ['q', ...(trajectory.lambda === undefined ? [] : ['lambda'])] : ['y'];
  const last = (series: tf.Tensor): tf.Tensor =>
    tf.tidy(() => {
      const [, ...shape] = series.shape;
      return tf.reshape(tf.slice(series, [1], [1]), shape);
    });
  const tensors = Object.fromEntries(names.map(name => [name, last(trajectory[name as RestName] as tf.Tensor)]));
  const states =
    trajectory.states === undefined
      ? undefined
      : Object.fromEntries(Object.entries(trajectory.states).map(([name, series]) => [name, last(series)]));
  const result = {
    values: (asked: RestName) => {
      const both = trajectory.values(asked);
      return both.slice(both.length / 2);
    },
    stats: trajectory.stats,
    dispose: (): void => tf.dispose([tensors, states ?? {}]),
    ...tensors,
    ...(states === undefined ? {} : {states}),
  };
  // On a tape the intermediate tensors belong to it and go with its scope.
  if (tf.engine().state.gradientDepth === 0) trajectory.dispose();
  return result;
}

/**
 * Finds the state of rest near a guess: see `FindEquilibrium`.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {equilibrium, mechanics} from 'stiffgrad';
 *
 * const hanging = mechanics({mass: 2, forces: ({q}) => tf.sub(tf.mul(-40, q), 19.62)});
 * console.log(equilibrium(hanging, {q: 0}).values('q')[0]); // → -0.4905
 * ```
 */
export const equilibrium: FindEquilibrium = /* @__PURE__ */ Object.assign(
  (system: System, start: EquilibriumStart, options: EquilibriumOptions = {}): Equilibrium<System> =>
    lastOf(searched(options, given => simulate(system, atRest(system, start), given))),
  {
    vjp(system: System, start: EquilibriumStart, options: EquilibriumOptions = {}): EquilibriumVjp {
      const {trajectory, pullback} = searched(options, given => simulate.vjp(system, atRest(system, start), given));
      return {
        equilibrium: lastOf(trajectory),
        pullback(cotangent) {
          const padded = Object.fromEntries(
            Object.entries(cotangent).flatMap(([name, value]) => {
              if (value === undefined) return [];
              const {values} = readNumeric(value, `cotangent.${name}`);
              const both = new Float64Array(2 * values.length);
              both.set(values, values.length);
              return [[name, both]];
            }),
          );
          const {params, variables, tensors} = pullback(padded);
          return {params, variables, tensors};
        },
      };
    },
  },
) as FindEquilibrium;

/** The type of `equilibrium`. */
export interface FindEquilibrium {
  /**
   * The state of rest near a guess. `force` is evaluated at v = 0 and at the guess's time; the rates of hidden states
   * are zero. With constraints f + Gᵀλ = 0 and φ + Cλ = 0, unilateral rows by complementarity; the guess need not
   * satisfy them. A nonholonomic row applies to the displacement from the guess, ψ(q, q − q₀, t) = ψ(q, 0, t): a wheel
   * comes to rest where it can roll to, and drives stand still. Differentiable on tfjs's tape with respect to params
   * and captured variables, by the implicit function theorem; the guess has no gradient.
   * @throws NewtonError if the search does not converge; SingularMatrixError if the equilibrium is
   *   not isolated (a free motion: `data.rows`)
   */
  <S extends AnySystem>(
    system: S,
    start: EquilibriumStart<S>,
    options?: EquilibriumOptions<ParamsOf<S>>,
  ): Equilibrium<S>;
  /** The equilibrium, and the map from a cotangent of it to those of params and variables, in double precision. */
  vjp<S extends AnySystem>(
    system: S,
    start: EquilibriumStart<S>,
    options?: EquilibriumOptions<ParamsOf<S>>,
  ): EquilibriumVjp<S>;
}
