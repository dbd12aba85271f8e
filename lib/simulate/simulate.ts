/** The public API of this layer: a run as a tfjs operation, and its derivatives in double precision. */
import {abortSignal, any, finite, object, refuseUnknownOptions, requireValue, throwIfAborted} from '../checks.js';
import type {System} from '../step/formulation.js';
import type {NumericParamsOf, Params} from '../system/params.js';
import {contentsOf, type SimulationContents} from './contents.js';
import {finish} from './finish.js';
import type {CotangentLoss, Hvp, Hvps} from './hessian.js';
import {hvpsOn} from './hessian.js';
import type {SeriesLoss} from './loss.js';
import type {
  AnySystem,
  Cotangent,
  Initial,
  NamedValues,
  ParamsOf,
  StatesOf,
  Pullback,
  SavedTangent,
  Tangent,
} from './kinds.js';
import {namedGradient, namedTangents, packDirections, readPullbackOptions, runCotangents} from './named.js';
import {taping} from './operation.js';
import type {SimulateOptions, Stretch} from './options.js';
import type {PreparedRun} from './prepare.js';
import {prepare, refill, requireRead} from './prepare.js';
import {run} from '../integrate/run.js';
import {pullOf, runAndPushChecked} from './derivatives.js';
import {jvpsThere, runThere, vjpThere, type RunThreads} from './threads.js';
import type {Objective, ObjectiveValues, ValueAndGradient, ValueAndVariables} from './objective-kinds.js';
import {Objectives} from './objective.js';
import type {SavedState} from './steps.js';
import {steps} from './steps.js';
import type {Status} from '../integrate/counters.js';
import type {AnyTrajectory, Trajectory} from './trajectory.js';

/**
 * Runs a system from its initial state: see `Simulate`.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {mechanics, simulate} from 'stiffgrad';
 *
 * const system = mechanics({mass: 1, forces: ({q}) => tf.neg(q)});
 * const path = simulate(system, {q: 1, v: 0}, {dt: 0.01, steps: 100});
 * console.log(path.values('q')[100].toFixed(3)); // → 0.540
 * ```
 */
export const simulate: Simulate = /* @__PURE__ */ Object.assign(
  (system: System, initial: Initial, options: SimulateOptions): AnyTrajectory =>
    runOn(prepare(system, initial, options)),
  {
    vjp: (system: System, initial: Initial, options: SimulateOptions): Vjp => vjpOn(prepare(system, initial, options)),
    jvp(system: System, initial: Initial, options: SimulateOptions, tangent: Tangent): Jvp {
      const {trajectory, tangents} = jvpsOn(prepare(system, initial, options), [tangent]);
      return {trajectory, tangent: tangents[0]};
    },
    jvps: (system: System, initial: Initial, options: SimulateOptions, directions: readonly Tangent[]): Jvps =>
      jvpsOn(prepare(system, initial, options), directions),
    hvp(
      system: System,
      initial: Initial,
      options: SimulateOptions,
      loss: SeriesLoss | CotangentLoss,
      direction: Tangent,
    ): Hvp {
      const {products, ...rest} = hvpsOn(prepare(system, initial, options), loss, [direction]);
      return {...rest, product: products[0]};
    },
    hvps: (
      system: System,
      initial: Initial,
      options: SimulateOptions,
      loss: SeriesLoss | CotangentLoss,
      directions: readonly Tangent[],
    ): Hvps => hvpsOn(prepare(system, initial, options), loss, directions),
    // Made once for what a loop brings, it may have parameters that this system leaves alone.
    prepare: (system: System, initial: Initial, options: SimulateOptions): Simulation =>
      simulationOf(prepare(system, initial, options)),
    steps,
  },
) as Simulate;

/** The type of `simulate`. */
export interface Simulate {
  /**
   * Runs a system from its initial state. States q and v (or y) have one shape, which may be any; `dt` and times are
   * in the system's unit of time. Inside tf.grad, tf.variableGrads or optimizer.minimize the result
   * carries gradients to `initial`, `params` and every captured variable, through every implicit step.
   *
   * @throws ShapeError, TraceError, OptionError if the model or the options cannot be run; unless `throw: false`,
   *   InconsistentStateError, SingularMatrixError and NewtonError if the start or a step fails; AbortError
   */
  <S extends AnySystem>(
    system: S,
    initial: Initial<S>,
    options: SimulateOptions<ParamsOf<S>, StatesOf<S>>,
  ): Trajectory<S>;
  /**
   * The run, and the map from cotangents of its saved values to those of everything it depends on, in double precision.
   */
  vjp<S extends AnySystem>(system: S, initial: Initial<S>, options: SimulateOptions<ParamsOf<S>, StatesOf<S>>): Vjp<S>;
  /** The run, and the tangents of its saved values along one direction, in double precision. */
  jvp<S extends AnySystem>(
    system: S,
    initial: Initial<S>,
    options: SimulateOptions<ParamsOf<S>, StatesOf<S>>,
    tangent: Tangent<S>,
  ): Jvp<S>;
  /** As `jvp`, along several directions in one sweep. */
  jvps<S extends AnySystem>(
    system: S,
    initial: Initial<S>,
    options: SimulateOptions<ParamsOf<S>, StatesOf<S>>,
    directions: readonly Tangent<S>[],
  ): Jvps<S>;
  /**
   * A loss of the saved values, its gradient, and the product of its Hessian with one direction, all in double
   * precision: forward over reverse, exact for the discrete scheme. The loss is a tensor function of the saved
   * series that returns a scalar; it is traced, and may use params and captured variables. Or it consists of functions
   * that return cotangents and their change along a tangent. Gradient and product are like a pullback's, with respect
   * to the initial state, params and variables. Costs about three gradients, and stays within implicitAdjoint({memory})
   * by recomputing steps; the numbers do not depend on it.
   * It goes through events, switches, adaptive steps and states between steps. Where events move saved times, the
   * loss's `t` moves with them; `events` are the times of what happened.
   * @throws as `simulate`, for a failed run also if `throw` is false; OptionError 'bad-adjoint', 'bad-hvp', 'bad-loss',
   *   'bad-tangent'; EventError 'grazing', 'jumping' or 'too-few-events'
   */
  hvp<S extends AnySystem>(
    system: S,
    initial: Initial<S>,
    options: SimulateOptions<ParamsOf<S>, StatesOf<S>>,
    loss: SeriesLoss<ParamsOf<S>, StatesOf<S>> | CotangentLoss<S>,
    direction: Tangent<S>,
  ): Hvp<S>;
  /** As `hvp`, along several directions in one sweep: unit directions give the Hessian's columns. */
  hvps<S extends AnySystem>(
    system: S,
    initial: Initial<S>,
    options: SimulateOptions<ParamsOf<S>, StatesOf<S>>,
    loss: SeriesLoss<ParamsOf<S>, StatesOf<S>> | CotangentLoss<S>,
    directions: readonly Tangent<S>[],
  ): Hvps<S>;
  /**
   * This simulation for many initial states and parameters, traced once, for loops over data.
   * Captured variables are read at every call. Numbers that the system's functions take from their
   * scope are those at the time of preparation; after changing one, prepare again.
   */
  prepare<S extends AnySystem>(
    system: S,
    initial: Initial<S>,
    options: SimulateOptions<ParamsOf<S>, StatesOf<S>>,
  ): Simulation<S>;
  /**
   * A generator of the states that `saveAt` selects; the run advances as they are requested. The
   * return value is the run's status.
   * @throws as `simulate`, when the run cannot continue, or is continued after its signal was aborted
   */
  steps<S extends AnySystem>(
    system: S,
    initial: Initial<S>,
    options: SimulateOptions<ParamsOf<S>, StatesOf<S>>,
  ): Generator<SavedState, Status, undefined>;
}

/** A run, and its pullback, which returns G. */
export interface Vjp<S extends AnySystem = System, G = Pullback<S>, T = Trajectory<S>, C = Cotangent<S>> {
  readonly trajectory: T;
  /**
   * The gradient of Σ cotangent · saved value, with respect to everything the run depends on. It may be called again.
   * @param also `t0`: the derivative by the time of the start, too, at a fixed initial state; all other times of the
   *   run stay, and the first step begins earlier or later
   * @throws OptionError 'bad-cotangent', 'bad-adjoint'; ShapeError
   */
  pullback(cotangent: C, also?: {readonly t0?: boolean}): G;
}

/** As `Vjp`, asynchronous in both directions. */
export type VjpAsync<S extends AnySystem = System> = Vjp<S, Promise<Pullback<S>>>;

/** A run, and the derivatives of its saved values along one direction. */
export interface Jvp<S extends AnySystem = System> {
  readonly trajectory: Trajectory<S>;
  readonly tangent: SavedTangent<S>;
}

/** A run, and the derivatives of its saved values along each of several directions. */
export interface Jvps<S extends AnySystem = System> {
  readonly trajectory: Trajectory<S>;
  /** One for each direction. */
  readonly tangents: SavedTangent<S>[];
}

/**
 * Values that may differ from one run of a prepared simulation to the next; absent ones are those it was prepared with.
 */
export interface Values<S extends AnySystem = System> {
  readonly initial?: Initial<S>;
  readonly params?: NumericParamsOf<ParamsOf<S>>;
}

/** Values of one run, with its own signal; if absent, the signal it was prepared with. */
export type RunValues<S extends AnySystem = System> = Values<S> & {readonly signal?: AbortSignal};

/** A traced simulation, made by `simulate.prepare`. */
export interface Simulation<S extends AnySystem = System> {
  /**
   * A loss of the saved series, parameters and data, and its gradient with respect to the initial state, `params` and
   * all captured variables, in double precision and without tfjs's tape: encoder (`initial` as a function), run,
   * observations and loss are compiled, and traced once per function and shapes of its data. Pass the same function in
   * every call: a function written inside a loop is a new one each time.
   * @throws as `simulate`, for a failed run also if `throw` is false; TraceError; ShapeError 'loss-shape',
   *   'initial-shape', 'variable-shape'; GradientError 'loss-not-finite', 'gradient-not-finite'
   */
  valueAndGrad<D = Params, E = Params>(
    loss: Objective<ParamsOf<S>, D>,
    values?: ObjectiveValues<S, E>,
  ): ValueAndGradient<S>;
  /**
   * As `valueAndGrad`, with respect to captured variables alone, for training loops: the next call may overwrite the
   * arrays.
   * @throws as `valueAndGrad`
   */
  valueAndVariables<D = Params, E = Params>(
    loss: Objective<ParamsOf<S>, D>,
    values?: ObjectiveValues<S, E>,
  ): ValueAndVariables;
  /** Only the loss, which may be NaN. @throws as `valueAndGrad`, except GradientError */
  value<D = Params, E = Params>(loss: Objective<ParamsOf<S>, D>, values?: ObjectiveValues<S, E>): number;
  /** As `simulate`. */
  run(values?: RunValues<S>): Trajectory<S>;
  /** As `simulate.vjp`. */
  vjp(values?: RunValues<S>): Vjp<S>;
  /** As `simulate.jvps`. */
  jvps(directions: readonly Tangent<S>[], values?: RunValues<S>): Jvps<S>;
  /** As `simulate.hvps`. */
  hvps(
    loss: SeriesLoss<ParamsOf<S>, StatesOf<S>> | CotangentLoss<S>,
    directions: readonly Tangent<S>[],
    values?: RunValues<S>,
  ): Hvps<S>;
  /**
   * This simulation over another time interval, for example for each segment of a record: traced and compiled
   * programs are shared, and the numbers are those of a simulation prepared for that interval. Initial states without a
   * t start at t0.
   * @throws OptionError 'bad-time', 'bad-save'; 'bad-initial' if this simulation continues from a saved state
   */
  over(stretch: Stretch): Simulation<S>;
  /**
   * What was traced, as data: equal for simulations whose system, scheme, observations, events, inputs and parameters
   * compute the same. A hash of it tells whether a stored result is that of this simulation. The initial state, the
   * times and the tolerances are not part of it.
   */
  contents(): SimulationContents;
  /**
   * As `run`, asynchronously in a worker thread: the same numbers to the last bit. Several concurrent runs
   * share the threads. If none can be started, or the run cannot be sent to one (see `batch`), it runs in this thread.
   * @throws (rejects) as `run`; OptionError 'bad-workers'
   */
  runAsync(values?: AsyncRunValues<S>): Promise<Trajectory<S>>;
  /** As `vjp`, in worker threads in both directions. */
  vjpAsync(values?: AsyncRunValues<S>): Promise<VjpAsync<S>>;
  /** As `jvps`, in a worker thread. */
  jvpsAsync(directions: readonly Tangent<S>[], values?: AsyncRunValues<S>): Promise<Jvps<S>>;
}

function simulationOf(made: PreparedRun): Simulation {
  const prepared: PreparedRun = {...made, unread: undefined};
  const filled = (values: RunValues = {}): PreparedRun => {
    refuseUnknownOptions(
      values,
      {initial: object, params: object, signal: abortSignal},
      'a run of a prepared simulation',
    );
    return refill(prepared, values.initial, values.params, values.signal);
  };
  const onThreads = ({workers, ...values}: AsyncRunValues = {}): [PreparedRun, RunThreads] => [
    requireRead(filled(values)),
    {workers},
  ];
  const objectives = new Objectives(prepared);
  return {
    valueAndGrad: (loss, values) => objectives.at(loss as Objective, values as ObjectiveValues),
    valueAndVariables: (loss, values) => objectives.ofVariables(loss as Objective, values as ObjectiveValues),
    value: (loss, values) => objectives.valueAt(loss as Objective, values as ObjectiveValues),
    run: values => runOn(filled(values)),
    vjp: values => vjpOn(filled(values)),
    jvps: (directions, values) => jvpsOn(filled(values), directions),
    hvps: (loss, directions, values) => hvpsOn(filled(values), loss, directions),
    contents: () => contentsOf(prepared),
    runAsync: async values => runThere(...onThreads(values)),
    vjpAsync: async values => vjpThere(...onThreads(values)),
    jvpsAsync: async (directions, values) => jvpsThere(...onThreads(values), directions),
    over(stretch) {
      refuseUnknownOptions(stretch, {t0: finite, steps: any, t1: any, saveAt: any}, 'over');
      requireValue(stretch.t0, finite, 'over: t0', 'bad-time');
      return simulationOf(prepared.over(stretch));
    },
  };
}

/** Values of an asynchronous run. */
export type AsyncRunValues<S extends AnySystem = System> = RunValues<S> & RunThreads;

function runOn(prepared: PreparedRun): AnyTrajectory {
  requireRead(prepared);
  return finish(prepared, taping(prepared) ? prepared.adjoint.run(prepared) : run(prepared), true);
}

function vjpOn(prepared: PreparedRun): Vjp {
  requireRead(prepared);
  const result = prepared.adjoint.run(prepared);
  const pull = pullOf(prepared, result);
  return {
    trajectory: finish(prepared, result, false),
    pullback(cotangent, also) {
      throwIfAborted(prepared.options.signal);
      const asked = readPullbackOptions(also);
      return namedGradient(prepared, pull({...runCotangents(prepared, result, cotangent), asked}));
    },
  };
}

function jvpsOn(prepared: PreparedRun, directions: readonly Tangent[]): Jvps {
  requireRead(prepared);
  const packed = packDirections(prepared, directions);
  const {run: result, tangents, happened} = runAndPushChecked(prepared, packed, prepared.options.throw);
  // The tensors come last: nothing that could fail is left to lose them.
  const trajectory = finish(prepared, result, false);
  const times = (k: number): NamedValues => (result.events === undefined ? {} : {events: happened[k].slice()});
  return {
    trajectory,
    tangents: namedTangents(prepared, tangents).map((named, k) => ({...named, ...times(k)})),
  };
}
