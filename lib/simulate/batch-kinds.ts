/** What a prepared batch is asked and what it gives, for the compiler. */
import type * as tf from '@tensorflow/tfjs';
import type {System} from '../step/formulation.js';
import type {GradientOf, NumericParams, NumericParamsOf, Params} from '../system/params.js';
import type {AnySystem, Cotangent, Initial, ParamsOf, StateOf} from './kinds.js';
import type {Encoder, Objective} from './objective-kinds.js';
import type {SimulateOptions} from './options.js';
import type {MemberTimes} from './timed.js';
import type {Trajectory} from './trajectory.js';

/** Options of a prepared batch: those of its members' runs. Its times apply to members without times of their own. */
export type PreparedBatchOptions<P = Params, Z extends string = never> = SimulateOptions<P, Z> & {
  /**
   * Members that go side by side through one program, where the scheme is explicit. Default as many as the largest
   * batch so far has, 32 at most; a larger one compiles the program once more, a shorter one leaves lanes idle. Results
   * do not depend on it but for rounding; 1: one after another.
   */
  readonly lanes?: number;
};

/** One member; absent entries are those that the batch was prepared with. */
export interface TimedMember<S extends AnySystem = System, D = Params> extends MemberTimes {
  /** Its initial state, or an encoder that computes it from its params and data. */
  readonly initial?: Initial<S> | Encoder<S, D>;
  readonly params?: NumericParamsOf<ParamsOf<S>>;
  /** See `ObjectiveInputs.data`; the same shapes for all members. */
  readonly data?: NumericParams;
}

/** Values shared by all members. */
export interface BatchValues {
  /** See `ObjectiveInputs.variables`. */
  readonly variables?: ReadonlyMap<tf.Variable, Float64Array>;
  readonly signal?: AbortSignal;
}

/** Gradients of a batch in double precision. */
export interface MembersGradient<S extends AnySystem = System> {
  readonly members: readonly MemberGradient<S>[];
  /** A tree like `options.params`: sums over all members. */
  readonly params: GradientOf<ParamsOf<S>>;
  /** Sums over all members. */
  readonly variables: Map<tf.Variable, Float64Array>;
  readonly tensors: Map<tf.Tensor, Float64Array>;
}

/** The part of a gradient that belongs to one member. */
export interface MemberGradient<S extends AnySystem = System> {
  /** Gradients in the shape of its initial state, row-major; absent with an encoder. */
  readonly initial?: StateOf<S, Float64Array>;
  /** With respect to parameters that have differed between members in some batch so far. */
  readonly params: Partial<GradientOf<ParamsOf<S>>>;
  /** By the time of its start, where it was asked for. */
  readonly t0?: number;
}

/** A loss of a batch, the mean over its members. */
export interface BatchLoss<S extends AnySystem = System> {
  readonly value: number;
  /** One per member. */
  readonly values: Float64Array;
  /** The gradient of the mean. */
  readonly gradient: MembersGradient<S>;
  /** Those of the runs and of their gradients, each once: see `Trajectory.warnings`. */
  readonly warnings: readonly string[];
}

/** A traced simulation for batches, made by `batch.prepare`. */
export interface PreparedBatch<S extends AnySystem = System> {
  readonly kind: 'batch';
  /**
   * The runs, each equal to that of `simulate` with these times, up to rounding. Not recorded on tfjs's tape.
   * @throws as `simulate`, the error of a member with `data.member`; OptionError 'on-tape'
   */
  run(members: readonly TimedMember<S>[], values?: BatchValues): Trajectory<S>[];
  /**
   * The runs, and the map from cotangents of their saved values to gradients; undefined for a member without a
   * cotangent. With {t0: true} the gradients have the derivative by the time of each member's start; members that went
   * side by side then run once more, one after another.
   */
  vjp(
    members: readonly TimedMember<S>[],
    values?: BatchValues,
  ): {
    readonly trajectories: Trajectory<S>[];
    pullback(cotangents: readonly (Cotangent<S> | undefined)[], also?: {readonly t0?: boolean}): MembersGradient<S>;
  };
  /**
   * The mean over the members of a loss of one member, and its gradient: see `Simulation.valueAndGrad`. The loss is
   * traced once for a number of saved states and the shapes of data.
   * @throws as `run`, for a failed run also if `throw` is false; as `Simulation.valueAndGrad`
   */
  valueAndGrad<D = Params>(
    loss: Objective<ParamsOf<S>, D>,
    members: readonly TimedMember<S>[],
    values?: BatchValues,
  ): BatchLoss<S>;
  /** Only the mean loss, which may be NaN. */
  value<D = Params>(loss: Objective<ParamsOf<S>, D>, members: readonly TimedMember<S>[], values?: BatchValues): number;
}
