/**
 * Many runs of one system: traced once, each with its own Newton iterations, on several threads where that is faster.
 */
import type * as tf from '@tensorflow/tfjs';
import type {Gradient} from '../adjoint/gradient.js';
import {OptionError} from '../errors.js';
import {callable, list, object, refuseUnknownOptions, requireValue, shown} from '../checks.js';
import type {System} from '../step/formulation.js';
import type {GradientOf, Params} from '../system/params.js';
import {toTree} from '../system/params.js';
import {batchOnTape} from './batch-operation.js';
import type {Done} from './ensemble.js';
import {Ensemble} from './ensemble.js';
import {asTensors, taping} from './operation.js';
import type {SimulateOptions} from './options.js';
import type {AnySystem, Cotangent, Initial, ParamsOf, StatesOf, Pullback} from './kinds.js';
import type {PreparedRun} from './prepare.js';
import {prepare, refill, requireRead} from './prepare.js';
import {namedGradient, readPullbackOptions, runCotangents} from './named.js';
import {savedCount} from '../integrate/history/plan.js';
import type {PreparedBatch, PreparedBatchOptions} from './batch-kinds.js';
import {prepareBatch} from './prepared-batch.js';
import {requireSavedMemory} from '../integrate/memory.js';
import type {AskedGradient, SeriesCotangents} from './series.js';
import {seriesOf} from './series.js';
import type {Values} from './simulate.js';
import type {AnyTrajectory, Trajectory} from './trajectory.js';
import {trajectoryOf} from './trajectory.js';
import type {PageThread} from './workers/channel.js';
import {startThreadsBy} from './workers/channel.js';
import {inMember} from './workers/serialize-error.js';
import {pool} from './workers/pool.js';

/** An initial state, or one with parameters of its own (in place of those of the options). */
export type BatchMember<S extends AnySystem = System> = Initial<S> | (Values<S> & {readonly initial: Initial<S>});

/** Options of a batch: those of a run, and the number of threads. */
export type BatchOptions<P = Params, Z extends string = never> = SimulateOptions<P, Z> & BatchThreads;

/** The threads of a batch. */
export interface BatchThreads {
  /**
   * Worker threads. Default: as many as the machine runs at once, if the first runs show that they gain
   * more than they cost; 0 or 1: none, all runs in this thread. The results do not depend on it, to the last bit.
   */
  readonly workers?: number;
}

/** Gradients of a batch, in double precision. */
export interface BatchPullback<S extends AnySystem = System> {
  /** One per member, as returned by `simulate.vjp`. */
  readonly members: readonly Pullback<S>[];
  /** A tree like `options.params`: the sum over the members without parameters of their own. */
  readonly params: GradientOf<ParamsOf<S>>;
  /** Sums over all members. */
  readonly variables: Map<tf.Variable, Float64Array>;
  readonly tensors: Map<tf.Tensor, Float64Array>;
}

/** The runs, and their pullback, which returns G. */
export interface BatchVjp<S extends AnySystem = System, G = BatchPullback<S>> {
  readonly trajectories: Trajectory<S>[];
  /**
   * @param cotangents one per member; undefined if the loss does not depend on it
   * @param also `t0`: the derivatives by the time of each member's start, too
   */
  pullback(cotangents: readonly (Cotangent<S> | undefined)[], also?: {readonly t0?: boolean}): G;
}

/** As `BatchVjp`, with a promise. */
export type BatchVjpAsync<S extends AnySystem = System> = BatchVjp<S, Promise<BatchPullback<S>>>;

/**
 * Runs a system from many initial states: see `Batch`.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {batch, ode, rk4} from 'stiffgrad';
 *
 * const growth = ode(({y, params}) => tf.mul(params.k as tf.Tensor, y));
 * const members = [1, 2].map(k => ({initial: {y: 1}, params: {k}}));
 * const paths = batch(growth, members, {scheme: rk4(), dt: 0.01, steps: 100});
 * console.log(paths.map(path => path.values('y')[100])); // → [2.718, 7.389]
 * ```
 */
export const batch: Batch = /* @__PURE__ */ Object.assign(
  (system: System, members: readonly BatchMember[], options: BatchOptions): AnyTrajectory[] => {
    if (members.length === 0) return [];
    const ensemble = ensembleOf(system, members, options);
    const onTape = ensemble.members.some(taping);
    const done = ensemble.run(onTape);
    if (!onTape) return trajectories(ensemble, done);
    const tensors = batchOnTape(ensemble.members, done, cotangents => ensemble.pull(cotangents));
    return done.map(({run, matrix}, i) => trajectoryOf(ensemble.members[i], run, matrix, tensors[i]));
  },
  {
    vjp(system: System, members: readonly BatchMember[], options: BatchOptions): BatchVjp {
      const ensemble = ensembleOf(system, members, options);
      const done = ensemble.run(true);
      return {
        trajectories: trajectories(ensemble, done),
        pullback(cotangents, also) {
          const asked = readPullbackOptions(also);
          return gathered(ensemble, members, ensemble.pull(packed(ensemble, done, cotangents, asked)), asked);
        },
      };
    },
    prepare: prepareBatch,
    end: (): Promise<void> => pool.end(),
    useWorker(make: () => PageThread): void {
      requireValue(make, callable, 'batch.useWorker: the function that makes a Worker', 'bad-workers');
      startThreadsBy(make);
      pool.broken = false;
    },
  },
) as Batch;

/** The type of `batch`. */
export interface Batch {
  /**
   * Runs the system from every initial state; the results are independent, and each is that of `simulate`.
   * Differentiable on tfjs's tape like single runs. On Node long batches run on worker threads, for
   * which this call waits; they have neither tfjs nor your functions, only the traced step. All runs are in this
   * thread (see `stats.thread`) in a page, which may not wait (see `batchAsync`), with adaptive steps, events,
   * switches, inputs that jump within steps, states saved between steps or `backsolveAdjoint`, with engine 'tensor',
   * and with a custom linear solver or step length or a preconditioner that is a function.
   * @throws as `simulate`, the error of the first member that has one, with `data.member`; with `throw: false`
   *   every member has its own status. OptionError 'bad-workers'
   */
  <S extends AnySystem>(
    system: S,
    members: readonly BatchMember<S>[],
    options: BatchOptions<ParamsOf<S>, StatesOf<S>>,
  ): Trajectory<S>[];
  /**
   * The runs, and the map from cotangents of their saved values to everything they depend on, in double
   * precision, for training on many records. Threads as for `batch`, also in the backward pass.
   */
  vjp<S extends AnySystem>(
    system: S,
    members: readonly BatchMember<S>[],
    options: BatchOptions<ParamsOf<S>, StatesOf<S>>,
  ): BatchVjp<S>;
  /**
   * One traced simulation for all batches: any number of members, each with its own initial state, times, parameters
   * and data, also with missing samples, without tracing or compiling again. With an explicit scheme members run side
   * by side in one program, each with its own steps (also adaptive ones); with others, and with events and constraints,
   * one after another. All runs are in this thread.
   * @throws as `simulate.prepare`
   */
  prepare<S extends AnySystem>(
    system: S,
    initial: Initial<S>,
    options: PreparedBatchOptions<ParamsOf<S>, StatesOf<S>>,
  ): PreparedBatch<S>;
  /**
   * Ends the worker threads. This is rarely needed: they do not keep a program from ending, and the next
   * batch starts new ones. Running batches finish in this thread.
   */
  end(): Promise<void>;
  /**
   * How a page starts worker threads, for bundlers that do not follow `new URL(…, import.meta.url)` into a package:
   * `batch.useWorker(() => new Worker(url))`, where the script at `url` is made of the package's entry
   * 'stiffgrad/worker'. On Node it has no effect.
   */
  useWorker(make: () => PageThread): void;
}

/**
 * As `batch`, asynchronously: see `BatchAsync`.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {batchAsync, ode, rk4} from 'stiffgrad';
 *
 * const growth = ode(({y, params}) => tf.mul(params.k as tf.Tensor, y));
 * const members = [1, 2].map(k => ({initial: {y: 1}, params: {k}}));
 * const paths = await batchAsync(growth, members, {scheme: rk4(), dt: 0.01, steps: 100, workers: 0});
 * console.log(paths.map(path => path.values('y')[100])); // → [2.718, 7.389]
 * ```
 */
export const batchAsync: BatchAsync = /* @__PURE__ */ Object.assign(
  async (system: System, members: readonly BatchMember[], options: BatchOptions): Promise<AnyTrajectory[]> => {
    if (members.length === 0) return [];
    const ensemble = ensembleOf(system, members, options);
    requireNoTape(ensemble);
    return trajectories(ensemble, await ensemble.runAsync(false));
  },
  {
    async vjp(system: System, members: readonly BatchMember[], options: BatchOptions): Promise<BatchVjpAsync> {
      const ensemble = ensembleOf(system, members, options);
      const done = await ensemble.runAsync(true);
      // One at a time: the way back takes along what the next one needs.
      let last: Promise<unknown> = Promise.resolve();
      return {
        trajectories: trajectories(ensemble, done),
        pullback(cotangents, also) {
          const asked = readPullbackOptions(also);
          const rows = packed(ensemble, done, cotangents, asked);
          const pulled = last
            .then(() => ensemble.pullAsync(rows))
            .then(gradients => gathered(ensemble, members, gradients, asked));
          last = pulled.catch(() => undefined);
          return pulled;
        },
      };
    },
  },
) as BatchAsync;

/** The type of `batchAsync`. */
export interface BatchAsync {
  /**
   * As `batch`, but asynchronous, in Node and in a page: all runs that can be sent to worker threads (see `batch`) are
   * in these, and this thread stays free. Not recorded on tfjs's tape, which ends before the result is available.
   * @throws (rejects) as `batch`; OptionError 'async-tape' inside tf.grad
   */
  <S extends AnySystem>(
    system: S,
    members: readonly BatchMember<S>[],
    options: BatchOptions<ParamsOf<S>, StatesOf<S>>,
  ): Promise<Trajectory<S>[]>;
  /** As `batch.vjp`, asynchronous in both directions. */
  vjp<S extends AnySystem>(
    system: S,
    members: readonly BatchMember<S>[],
    options: BatchOptions<ParamsOf<S>, StatesOf<S>>,
  ): Promise<BatchVjpAsync<S>>;
}

function valuesOf(member: BatchMember, at = 0): Values & {readonly initial: Initial} {
  if (typeof (member as unknown) !== 'object' || (member as unknown) === null) {
    throw new OptionError(
      'bad-initial',
      `batch: member ${at} is ${shown(member)}: every member is an initial state, or {initial, params}.`,
      {member: at},
    );
  }
  if (!('initial' in member)) return {initial: member};
  refuseUnknownOptions(member, {initial: object, params: object}, `batch: member ${at}`);
  return member;
}

/** Everything read and checked, before anything runs. Members share the arrays of what they share. */
function ensembleOf(system: System, given: readonly BatchMember[], all: BatchOptions): Ensemble {
  if (typeof (all as unknown) !== 'object' || (all as unknown) === null)
    throw new OptionError('bad-time', `batch takes simulate's options and workers, not ${shown(all)}.`);
  requireValue(given, list, 'batch: members', 'bad-initial');
  const {workers, ...options} = all;
  if (workers !== undefined && !(Number.isInteger(workers) && workers >= 0)) {
    throw new OptionError(
      'bad-workers',
      `batch: workers must be a whole number of at least 0, not ${shown(workers)}.`,
      {workers},
    );
  }
  if (given.length === 0) throw new OptionError('bad-initial', 'batch.vjp: give one member at least.');
  const members = given.map((member, i) => valuesOf(member, i));
  if (members[0].initial === undefined)
    throw new OptionError('bad-initial', 'batch: every member is an initial state, or {initial, params}.');
  const own = members.every(({params}) => params !== undefined);
  const base = requireRead(
    prepare(system, members[0].initial, own ? {...options, params: members[0].params} : options),
  );
  requireSavedMemory(savedCount(base.options), seriesOf(base).width, members.length);
  const captured = base.leaves.length;
  const adjoint = base.adjoint.sharedAmong?.(members.length) ?? base.adjoint;
  return new Ensemble(
    members.map(({initial, params}, i): PreparedRun => {
      try {
        const member = refill(base, initial, params);
        return {
          ...member,
          adjoint,
          parameterValues: member.parameterValues.map((values, p) => (p < captured ? values : base.parameterValues[p])),
        };
      } catch (error) {
        throw inMember(error, i);
      }
    }),
    workers,
  );
}

function requireNoTape({members}: Ensemble): void {
  if (members.some(taping))
    throw new OptionError(
      'async-tape',
      "batchAsync was called inside tf.grad or an optimizer's minimize, whose tape ends before its result arrives: "
        + 'use batch, or batchAsync.vjp outside.',
    );
}

/** Off the tape. */
function trajectories({members}: Ensemble, done: readonly Done[]): AnyTrajectory[] {
  return done.map(({run, matrix}, i) =>
    trajectoryOf(members[i], run, matrix, asTensors(members[i], {...run, tape: undefined}, matrix)),
  );
}

function packed(
  {members}: Ensemble,
  done: readonly Done[],
  cotangents: readonly (Cotangent | undefined)[],
  asked: AskedGradient,
): (SeriesCotangents | undefined)[] {
  if (cotangents.length !== members.length) {
    throw new OptionError(
      'bad-cotangent',
      `pullback: ${members.length} members need one cotangent each (undefined for none), but got ${cotangents.length}.`,
      {members: members.length, cotangents: cotangents.length},
    );
  }
  return cotangents.map((cotangent, i) => {
    try {
      return cotangent === undefined ? undefined : {...runCotangents(members[i], done[i].run, cotangent), asked};
    } catch (error) {
      throw inMember(error, i);
    }
  });
}

function gathered(
  {members}: Ensemble,
  given: readonly BatchMember[],
  gradients: readonly Gradient[],
  {t0 = false}: AskedGradient,
): BatchPullback {
  const each = members.map((prepared, i) =>
    namedGradient(prepared, t0 ? {...gradients[i], t0: gradients[i].t0 ?? 0} : gradients[i]),
  );
  const {leaves, traced} = members[0];
  const shared = gradients.filter((_, i) => valuesOf(given[i]).params === undefined);
  const size = (p: number): number => members[0].parameterValues[p].length;
  const total = (from: readonly Gradient[], p: number): Float64Array => {
    const sum = new Float64Array(size(p));
    for (const {parameters} of from) for (let i = 0; i < sum.length; i++) sum[i] += parameters[p][i];
    return sum;
  };
  const sums = {
    initial: new Float64Array(members[0].start.traced.inputs.x.size),
    parameters: traced.parameters.map((_, p) => total(gradients, p)),
    recomputedSteps: 0,
  };
  const {variables, tensors} = namedGradient(members[0], sums);
  return {
    members: each,
    params: toTree(
      leaves,
      leaves.map((_, p) => total(shared, p)),
    ),
    variables,
    tensors,
  };
}
