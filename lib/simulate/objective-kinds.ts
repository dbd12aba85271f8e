/** Losses of a run, encoders of its start, and what they are evaluated at. */
import type * as tf from '@tensorflow/tfjs';
import type {System} from '../step/formulation.js';
import type {GradientOf, Bivariant, NumericParams, NumericParamsOf, Params} from '../system/params.js';
import type {AnySystem, Initial, ParamsOf, StateOf} from './kinds.js';
import type {SavedSeries} from './loss.js';

/** The arguments of a loss: the saved series [saved, ...shape] that the run has, parameters P and data D. */
export interface ObjectiveAt<P = Params, D = Params> extends SavedSeries<P> {
  /** Values of the option `observe`, [saved, ...its shape]. */
  readonly observed: tf.Tensor;
  readonly data: D;
}

/** A scalar of the saved series, parameters and data; it is traced, and may use captured variables. */
export type Objective<P = Params, D = Params> = Bivariant<ObjectiveAt<P, D>, tf.Tensor>;

/**
 * The initial state, {q, v} or {y}, as a function of parameters and data; it is traced, and may use captured variables.
 */
export type Encoder<S extends AnySystem = System, D = Params> = Bivariant<
  EncoderAt<ParamsOf<S>, D>,
  StateOf<S, tf.Tensor>
>;

/** The arguments of an encoder: parameters P and data D. */
export interface EncoderAt<P = Params, D = Params> {
  readonly params: P;
  readonly data: D;
}

/** Values at which a loss is evaluated; absent ones are those that the simulation was prepared with. */
export type ObjectiveValues<S extends AnySystem = System, D = Params> = ObjectiveInputs<
  Initial<S>,
  NumericParamsOf<ParamsOf<S>>,
  Encoder<S, D>
>;

/** A start I, or an encoder E of it, and parameters P. */
export interface ObjectiveInputs<I, P, E> {
  readonly initial?: I | E;
  readonly params?: P;
  /**
   * Numbers by name, in a tree, that loss and encoder get as tensors: measurements, weights. NaN is allowed if
   * `tf.where` excludes it.
   */
  readonly data?: NumericParams;
  /** Values of variables in double precision, row-major, in place of those of tfjs. */
  readonly variables?: ReadonlyMap<tf.Variable, Float64Array>;
  readonly signal?: AbortSignal;
}

/** A loss and its gradient in double precision. */
export type ValueAndGradient<S extends AnySystem = System> = ValueAndGradientOf<
  StateOf<S, Float64Array>,
  GradientOf<ParamsOf<S>>
>;

/** A loss and its gradient, with respect to a start of the form State and parameters of the form Tree. */
export interface ValueAndGradientOf<State, Tree> {
  readonly value: number;
  readonly gradient: {
    /** Gradients in the shape of the start, row-major; absent with an encoder. */
    readonly initial?: State;
    /** A tree like `options.params`. */
    readonly params: Tree;
    readonly variables: Map<tf.Variable, Float64Array>;
    /** Captured tensors that are not variables. */
    readonly tensors: Map<tf.Tensor, Float64Array>;
  };
  /** Those of the run, and of its gradient: see `Trajectory.warnings`. */
  readonly warnings: readonly string[];
}

export type AnyEncoder = (at: {readonly params: Params; readonly data: Params}) => {
  readonly [block: string]: tf.Tensor;
};
export type AnyValues = ObjectiveInputs<Initial, NumericParams, AnyEncoder>;
export type AnyObjective = (at: ObjectiveAt) => tf.Tensor;
/** What a loss is a function of, and itself. */
export type LossArgument = 't' | 'q' | 'v' | 'y' | 'a' | 'lambda' | 'observed' | 'events' | 'loss';

/** A loss, and its gradient with respect to captured variables. */
export interface ValueAndVariables {
  readonly value: number;
  readonly variables: ReadonlyMap<tf.Variable, Float64Array>;
  /** Those of the run and of its gradient, as of `ValueAndGradientOf`; absent where one call gives all. */
  readonly warnings?: readonly string[];
}
