/**
 * What differs between a run of a mechanical system and one of an ode, for the compiler: the one has q and v, the
 * other y. Each type asks the system for its kind; without one it is that of any system, with everything optional.
 */
import type * as tf from '@tensorflow/tfjs';
import type {System} from '../step/formulation.js';
import type {Numeric} from '../system/numeric.js';
import type {GradientOf, NumericParamsOf, Params} from '../system/params.js';
import type {RunState} from '../integrate/run-state.js';

/** Any system, whatever parameters its functions read. */
export type AnySystem = System<never>;

/** The parameters that the functions of a system read. */
export type ParamsOf<S> = S extends System<infer P> ? P : Params;

/** The names of a system's hidden states. */
export type StatesOf<S> = S extends {readonly states?: infer H} ? keyof NonNullable<H> & string : never;

/** Hidden states by name, which may be left out. */
export type SomeStates<S, T> = {readonly [K in StatesOf<S>]?: T};

/** `Any` where the kind of S is open, else `Mechanical` or `Ode`. */
export type ByKind<S extends AnySystem, Mechanical, Ode, Any> = [System['kind']] extends [S['kind']]
  ? Any
  : S['kind'] extends 'ode'
    ? Ode
    : Mechanical;

/** A state by its blocks: {q, v} of a mechanical system, {y} of an ode. */
export type StateOf<S extends AnySystem, T> = ByKind<
  S,
  {readonly q: T; readonly v: T} & {readonly [K in StatesOf<S>]: T},
  {readonly y: T},
  {readonly q?: T; readonly v?: T; readonly y?: T}
>;

/**
 * A start: {q, v} of one shape (of any shapes with kinematics), and hidden states that differ from the system's initial
 * values; or {y}, of any shape; at the time t (default 0).
 */
export type StartOf<S extends AnySystem> = ByKind<
  S,
  {readonly q: Numeric; readonly v: Numeric} & SomeStates<S, Numeric>,
  {readonly y: Numeric},
  {readonly q: Numeric; readonly v: Numeric} | {readonly y: Numeric}
> & {readonly t?: number};

/** An initial state: a start, or the state of another run. */
export type Initial<S extends AnySystem = System> = StartOf<S> | RunState;

/** Names of the series that a run may save, beside its observations. */
type Saved<S extends AnySystem> = ByKind<
  S,
  'q' | 'v' | 'a' | 'lambda' | StatesOf<S>,
  'y',
  'q' | 'v' | 'a' | 'lambda' | 'y'
>;

/** Cotangents of saved values: of the same shape as the saved values, [saved, ...shape]. */
export type Cotangent<S extends AnySystem = System> = {readonly [K in Saved<S>]?: Numeric} & {
  readonly observed?: Numeric;
  /** Cotangents of the times of the trajectory's events, one for each. */
  readonly events?: Numeric;
};

/**
 * A gradient in double precision with respect to the initial state, the parameters, and the tensors that the system's
 * functions capture.
 */
export interface Pullback<
  S extends AnySystem = System,
  State = StateOf<S, Float64Array>,
  Tree = GradientOf<ParamsOf<S>>,
> {
  /** Gradients in the shape of the start, row-major. */
  readonly initial: State;
  /** A tree like `options.params`. */
  readonly params: Tree;
  readonly variables: Map<tf.Variable, Float64Array>;
  /** Captured tensors that are not variables. */
  readonly tensors: Map<tf.Tensor, Float64Array>;
  /**
   * The derivative by the time of the start, where the pullback was called with {t0: true}, or a direction of `hvps`
   * has a t0.
   */
  readonly t0?: number;
  /**
   * Steps that were recomputed because they did not fit into implicitAdjoint({memory}); with backsolveAdjoint, the
   * steps taken backwards.
   */
  readonly recomputedSteps: number;
}

/** A direction in the space of everything that a run depends on; absent entries are zero. */
export interface Tangent<S extends AnySystem = System> {
  /** Directions in the shape of the start. */
  readonly initial?: Partial<StateOf<S, Numeric>>;
  /** Numbers like those of `options.params`. */
  readonly params?: NumericParamsOf<ParamsOf<S>>;
  /** Directions of captured variables. */
  readonly variables?: ReadonlyMap<tf.Tensor, Numeric>;
  /** How the time of the start moves: all other times stay, and the first step begins earlier or later. */
  readonly t0?: number;
}

/** Directional derivatives of the saved values: each [saved, ...shape], row-major. */
export type SavedTangent<S extends AnySystem = System> = ByKind<
  S,
  StateOf<S, Float64Array> & {readonly a?: Float64Array; readonly lambda?: Float64Array} & OtherTangents,
  StateOf<S, Float64Array> & OtherTangents,
  {[name: string]: Float64Array}
>;

type OtherTangents = {
  readonly observed?: Float64Array;
  /** Tangents of the times of the trajectory's events. */
  readonly events?: Float64Array;
};

/** Saved series by name. */
export type NamedValues = {[name: string]: Float64Array};
