/**
 * Products with the Hessian of a loss, by forward over reverse: tangents go along with the run, and the
 * sweep back is taken with its own tangent (adjoint/hessian.ts). Exact for the discrete scheme, in double
 * precision.
 */
import type * as tf from '@tensorflow/tfjs';
import type {Gradient} from '../adjoint/gradient.js';
import {StepHistory} from '../adjoint/step-history.js';
import type {SavedStates} from '../adjoint/step-history.js';
import type {SecondOrder} from '../adjoint/hessian.js';
import type {SecondOrderCotangent} from '../adjoint/directions.js';
import {sweepBackSecondOrder} from '../adjoint/hessian.js';
import {byDirection} from '../adjoint/sweep-forward.js';
import {TimedSecondOrder} from '../adjoint/timed-hessian.js';
import {noCounts} from '../integrate/counters.js';
import {restart} from '../integrate/history/integrator.js';
import {toUserTimes} from '../step/time-direction.js';
import {gradientNotFinite, notFinitePart} from '../adjoint/not-finite.js';
import type {Directions} from '../adjoint/directions.js';
import {OptionError} from '../errors.js';
import {finish} from './finish.js';
import {checkGradient, checkProducts, withRightTangents} from './gradient-check.js';
import type {LossArguments, LossAt, SeriesLoss} from './loss.js';
import {requireLoss, TracedLoss} from './loss.js';
import type {AnySystem, Cotangent, NamedValues, Pullback, SavedTangent, Tangent} from './kinds.js';
import {namedGradient, packDirections, runCotangents} from './named.js';
import type {PreparedRun} from './prepare.js';
import type {Run} from '../integrate/path.js';
import {run} from '../integrate/run.js';
import {column, seriesOf} from './series.js';
import type {AnyTrajectory, Trajectory} from './trajectory.js';
import {SecondOrderCheckpointer} from './second-order.js';
import type {System} from '../step/formulation.js';
import {numbersOf} from '../read.js';

/** A loss given by its own derivative functions. */
export interface CotangentLoss<S extends AnySystem = System> {
  /** If absent, the result's value is NaN. */
  value?(trajectory: Trajectory<S>): number;
  /** The gradient of the loss with respect to the saved values. */
  cotangent(trajectory: Trajectory<S>): Cotangent<S>;
  /**
   * The Hessian of the loss with respect to the saved values, times a tangent of them. Absent if the loss is linear in
   * them.
   */
  tangent?(tangent: SavedTangent<S>, trajectory: Trajectory<S>): Cotangent<S>;
}

/** A loss at a run, its gradient, and the product of its Hessian with each of several directions. */
export interface Hvps<S extends AnySystem = System, G = Pullback<S>, T = Trajectory<S>> {
  readonly trajectory: T;
  /** The loss; NaN if it has no `value`. */
  readonly value: number;
  readonly gradient: G;
  /** The Hessian times each direction. */
  readonly products: readonly G[];
}

/** A loss at a run, its gradient, and the product of its Hessian with one direction. */
export interface Hvp<S extends AnySystem = System, G = Pullback<S>, T = Trajectory<S>> extends Omit<
  Hvps<S, G, T>,
  'products'
> {
  /** The Hessian times the direction. */
  readonly product: G;
}

/** @throws OptionError 'bad-adjoint' or 'bad-loss' where this run has no product with a Hessian */
function check({options: {adjoint}, traced}: PreparedRun, loss: unknown, directions: readonly Tangent[]): void {
  requireLoss(loss);
  if (adjoint.secondOrder === undefined)
    throw new OptionError(
      'bad-adjoint',
      'hvp uses the implicit adjoint: omit adjoint, or use implicitAdjoint({memory}).',
    );
  if (traced.functions.observed !== undefined)
    throw new OptionError(
      'bad-hvp',
      'hvp: omit observe, and compute its values in the loss, as a function of the saved series.',
    );
  if (directions.length === 0) throw new OptionError('bad-tangent', 'hvps: give one direction at least.');
}

export function hvpsOn(given: PreparedRun, loss: SeriesLoss | CotangentLoss, along: readonly Tangent[]): Hvps {
  check(given, loss, along);
  const isSensitive = given.options.plan?.control.sensitivities === true;
  const {prepared: base, factor} = isSensitive ? withRightTangents(given, true) : {prepared: given};
  const found = secondOrderOf(base, loss, along);
  const {trajectory, prepared, gradient, products, value} = found;
  try {
    const done = {...found.done, tightened: factor};
    const {matrix: series, happened} = found.cotangents;
    checkGradient(given, done, {series, happened}, found.ofRun);
    checkProducts({...prepared, options: given.options}, done, series, found, options => {
      const fine = secondOrderOf({...given, options}, loss, along);
      fine.trajectory.dispose();
      return fine;
    });
    return {
      trajectory,
      value: value ?? NaN,
      gradient: namedGradient(prepared, gradient),
      products: products.map(product => namedGradient(prepared, product)),
    };
  } catch (error) {
    trajectory.dispose();
    throw error;
  }
}

/** A run, its loss and the derivatives of it. */
interface RunOfSecondOrder extends SecondOrder {
  /** With what the loss captures among the parameters. */
  readonly prepared: PreparedRun;
  readonly done: Run;
  readonly trajectory: AnyTrajectory;
  readonly directions: Directions;
  readonly value?: number;
  readonly cotangents: LossArguments;
  /** The gradient without what the loss adds to the parameters' by itself. */
  readonly ofRun: Gradient;
}

function secondOrderOf(
  base: PreparedRun,
  loss: SeriesLoss | CotangentLoss,
  along: readonly Tangent[],
): RunOfSecondOrder {
  const found = base.options.plan === undefined ? undefined : historyOf(base);
  const saved = found?.history.saved ?? {after: base.options.saved};
  const traced =
    typeof loss === 'function'
      ? new TracedLoss(base, loss, saved.after.length, found?.run.events?.length ?? 0)
      : undefined;
  const prepared = traced === undefined ? base : withParameters(base, traced);
  const directions = packDirections(prepared, along);
  const memory = base.options.adjoint.secondOrder?.memory ?? Infinity;
  const {done, checkpointer} =
    found === undefined
      ? alongGrid(prepared, saved, directions, memory)
      : alongHistory(prepared, found, directions, memory);
  const trajectory = finish(base, done, false);
  try {
    const at =
      typeof loss === 'function'
        ? traced?.at(argumentsOf(done), prepared.parameterValues, directions.count)
        : lossBy(loss, prepared, trajectory, done);
    if (at === undefined) throw new Error('a loss is a function or gives cotangents');
    const {value, cotangents} = at;
    const derivatives = goBack(prepared, done, checkpointer, found?.history, at, directions);
    return {prepared, done, trajectory, directions, value, cotangents, ...derivatives};
  } catch (error) {
    trajectory.dispose();
    throw error;
  }
}

/** A run, and what a product with the Hessian keeps of it. */
interface KeptRun {
  readonly done: Run;
  readonly checkpointer: SecondOrderCheckpointer;
}

/** A run along its grid, with its tangents. */
function alongGrid(prepared: PreparedRun, saved: SavedStates, directions: Directions, memory: number): KeptRun {
  let checkpointer: SecondOrderCheckpointer | undefined;
  const done = run(prepared, {
    begin: (context, start) => (checkpointer = new SecondOrderCheckpointer(context, start, saved, directions, memory)),
  });
  if (done.error !== undefined) throw done.error;
  if (checkpointer === undefined) throw new Error('a run has its companion');
  return {done, checkpointer};
}

/** A run and its step history. */
interface FoundHistory {
  readonly run: Run;
  readonly history: StepHistory;
}

/** The step history of a run: what it passes is taken again with its tangents, when it is known how much there is. */
function historyOf(prepared: PreparedRun): FoundHistory {
  let history = new StepHistory();
  const found = run(prepared, {
    begin: (_context, _start, _saved, its = history) => {
      history = its;
      return {record: undefined, independentSteps: true, reach: () => undefined, finish: () => undefined};
    },
  });
  if (found.error !== undefined) throw found.error;
  return {run: found, history};
}

function alongHistory(
  prepared: PreparedRun,
  {run: done, history}: FoundHistory,
  directions: Directions,
  memory: number,
): KeptRun {
  const {redundancy, pivotStates, start} = done;
  // A first step that was refused left a start for a shorter one.
  const h0 = start.count > 0 ? start.length(0) : prepared.h0;
  const context = {...prepared, redundancy, h0, options: {...prepared.options, onProgress: undefined}};
  prepared.compiled.matrices.restorePivots(pivotStates);
  const checkpointer = new SecondOrderCheckpointer(context, start, history.saved, directions, memory, history);
  checkpointer.takeAll();
  return {done, checkpointer};
}

/** With what the loss alone captures among the parameters. */
function withParameters(prepared: PreparedRun, {parameters}: TracedLoss): PreparedRun {
  const known = prepared.parameterValues;
  const values = parameters.map(({tensor}, i) => known[i] ?? numbersOf(tensor as tf.Tensor));
  return {...prepared, traced: {...prepared.traced, parameters}, parameterValues: values};
}

const argumentsOf = ({states, times, events = []}: Run): LossArguments => ({
  matrix: states,
  times,
  happened: Float64Array.from(events, ({t}) => t),
});

function lossBy(loss: CotangentLoss, prepared: PreparedRun, trajectory: AnyTrajectory, done: Run): LossAt {
  const {blocks, width} = seriesOf(prepared);
  const {times, events = []} = done;
  const none = prepared.parameterValues.map(() => undefined);
  const named = ({matrix, happened}: LossArguments): NamedValues => ({
    ...Object.fromEntries(blocks.map(block => [block.name, column(matrix, width, block)])),
    ...(prepared.options.events.length > 0 ? {events: happened} : {}),
  });
  const packed = (cotangent: Cotangent): LossArguments => {
    const {series, happened = new Float64Array(events.length)} = runCotangents(prepared, done, cotangent);
    return {matrix: series, times: new Float64Array(times.length), happened};
  };
  return {
    value: loss.value?.(trajectory),
    cotangents: packed(loss.cotangent(trajectory)),
    parameters: none,
    along: tangents => ({
      cotangents: tangents.map(tangent => packed(loss.tangent?.(named(tangent), trajectory) ?? {})),
      parameters: none,
    }),
  };
}

/** Row i of each matrix, as a cotangent and its change along directions. */
function pairAt(
  cotangents: Float64Array,
  changes: readonly Float64Array[],
  i: number,
  size: number,
): SecondOrderCotangent {
  const row = (matrix: Float64Array): Float64Array => matrix.subarray(i * size, (i + 1) * size);
  const change = new Float64Array(changes.length * size);
  changes.forEach((matrix, d) => change.set(row(matrix), d * size));
  return {cotangent: row(cotangents), change};
}

function goBack(
  base: PreparedRun,
  done: Run,
  checkpointer: SecondOrderCheckpointer,
  history: StepHistory | undefined,
  at: LossAt,
  directions: Directions,
): SecondOrder & Pick<RunOfSecondOrder, 'ofRun'> {
  const prepared = {...base, redundancy: done.redundancy};
  const {count} = directions;
  const {traced} = prepared;
  const tangents = byDirection(checkpointer.finished());
  const part = (all: Float64Array, d: number): Float64Array =>
    all.subarray((d * all.length) / count, ((d + 1) * all.length) / count);
  const changes = at.along(
    Array.from({length: count}, (_, d) => ({
      matrix: part(tangents.states, d),
      times: part(tangents.times, d),
      happened: part(tangents.happened, d),
    })),
    directions,
  );
  const saved = history?.saved ?? {after: prepared.options.saved};
  const cotangent = (index: number): SecondOrderCotangent =>
    pairAt(
      at.cotangents.matrix,
      changes.cotangents.map(({matrix}) => matrix),
      index,
      traced.state.size,
    );
  /** Cotangents of times, by the clock of the loops. */
  const timePairs = (name: 'times' | 'happened'): SecondOrderCotangent[] => {
    const along = changes.cotangents.map(one => toUserTimes(traced, one[name]));
    return Array.from(at.cotangents[name], (_, i) => pairAt(toUserTimes(traced, at.cotangents[name]), along, i, 1));
  };
  const times = timePairs('times');
  prepared.compiled.matrices.restorePivots(done.pivotStates);
  const {timed} = checkpointer;
  const {gradient, products} = sweepBackSecondOrder(
    prepared,
    done.start,
    directions,
    checkpointer.backwards(prepared),
    saved,
    cotangent,
    times.filter((_, i) => saved.after[i] === 0),
    history === undefined || timed === undefined
      ? undefined
      : (steps, moving) =>
          new TimedSecondOrder(
            ...([prepared, history, restart(prepared, noCounts()), directions, steps, timed] as const),
            {saved: times, happened: timePairs('happened')},
            moving,
          ),
  );
  const found = {
    ofRun: gradient,
    gradient: plus(gradient, at.parameters, 0, 1),
    products: products.map((product, d) => plus(product, changes.parameters, d, count)),
  };
  for (const part of [found.gradient, ...found.products]) {
    const bad = notFinitePart(prepared, part);
    if (bad !== undefined)
      throw gradientNotFinite(part === found.gradient ? bad : {...bad, name: `the Hessian's product by ${bad.name}`});
  }
  return found;
}

/** With what the loss adds to the parameters' gradients by itself: part d of so many. */
function plus(gradient: Gradient, own: readonly (Float64Array | undefined)[], d: number, count: number): Gradient {
  const parameters = gradient.parameters.map((cotangent, p) => {
    const more = own[p];
    return more === undefined ? cotangent : cotangent.map((value, i) => value + more[(d * more.length) / count + i]);
  });
  return {...gradient, parameters};
}
