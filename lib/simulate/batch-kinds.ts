/** What a prepared batch is asked and what it gives, for the compiler. */
import type * as tf from '@tensorflow/tfjs';
import type {System} from '../step/formulation.js';
import type {GradientOf, NumericParams, NumericParamsOf, Params} from '../system/params.js';
import type {AnySystem, Cotangent, Initial, ParamsOf, StateOf} from './kinds.js';
import type {Encoder, Objective} from './objective.js';
import type {SimulateOptions} from './options.js';
import type {MemberTimes} from './timed.js';
import type {Trajectory} from './trajectory.js';

/** Options of a prepared batch: those of its members' runs. Times are those of members that have none of their own. */
export type PreparedBatchOptions<P = Params, Z extends string = never> = SimulateOptions<P, Z> & {
  /**
   * Members that go side by side through one program, where the scheme is explicit. Default as many as the largest batch so far
   * has, 32 at most; a larger one compiles the program once more, a shorter one leaves lanes idle. Results do not depend
   * on it but for rounding; 1: one after another.
   */
  readonly lanes?: number;
};

/** One member: what is absent is as the batch was prepared. */
export interface TimedMember<S extends AnySystem = System, D = Params> extends MemberTimes {
  /** Its start, or the start as a function of its params and data. */
  readonly initial?: Initial<S> | Encoder<S, D>;
  readonly params?: NumericParamsOf<ParamsOf<S>>;
  /** See `ObjectiveInputs.data`; of one shape for all members. */
  readonly data?: NumericParams;
}

/** What a whole batch is evaluated with. */
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

/** What of a gradient is one member's own. */
export interface MemberGradient<S extends AnySystem = System> {
  /** Of the shape of its start, row-major; absent where an encoder makes it. */
  readonly initial?: StateOf<S, Float64Array>;
  /** Of the parameters that members have of their own, those that differed among members of some batch so far. */
  readonly params: Partial<GradientOf<ParamsOf<S>>>;
}

/** A loss of a batch, the mean over its members. */
export interface BatchLoss<S extends AnySystem = System> {
  readonly value: number;
  /** By member. */
  readonly values: Float64Array;
  /** Of the mean. */
  readonly gradient: MembersGradient<S>;
}

/** A traced simulation for batches, made by `batch.prepare`. */
export interface PreparedBatch<S extends AnySystem = System> {
  readonly kind: 'batch';
  /**
   * The runs, each what `simulate` gives with these times, to rounding. Not on tfjs's tape.
   * @throws as `simulate`, the error of a member with `data.member`; OptionError 'on-tape'
   */
  run(members: readonly TimedMember<S>[], values?: BatchValues): Trajectory<S>[];
  /** The runs, and the map from cotangents of their saved values to gradients; undefined where a loss does not look. */
  vjp(
    members: readonly TimedMember<S>[],
    values?: BatchValues,
  ): {
    readonly trajectories: Trajectory<S>[];
    pullback(cotangents: readonly (Cotangent<S> | undefined)[]): MembersGradient<S>;
  };
  /**
   * The mean over the members of a loss of one, and its gradient: see `Simulation.valueAndGrad`. The loss is traced once for a
   * number of saved states and the shapes of data.
   * @throws as `run`, of a failed run also where `throw` is false; as `Simulation.valueAndGrad`
   */
  valueAndGrad<D = Params>(
    loss: Objective<ParamsOf<S>, D>,
    members: readonly TimedMember<S>[],
    values?: BatchValues,
  ): BatchLoss<S>;
  /** The mean loss alone, which may be NaN. */
  value<D = Params>(loss: Objective<ParamsOf<S>, D>, members: readonly TimedMember<S>[], values?: BatchValues): number;
}
