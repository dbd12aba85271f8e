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
import {gradientNotFinite, notFinitePart} from '../adjoint/not-finite.js';
import type {Directions} from '../adjoint/directions.js';
import {OptionError} from '../errors.js';
import {finish} from './finish.js';
import type {LossAt, SeriesLoss} from './loss.js';
import {requireLoss, TracedLoss} from './loss.js';
import type {AnySystem, Cotangent, NamedValues, Pullback, SavedTangent, Tangent} from './kinds.js';
import {namedGradient, packCotangent, packDirections} from './named.js';
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
function check({options: {adjoint, events}, traced}: PreparedRun, loss: unknown, directions: readonly Tangent[]): void {
  requireLoss(loss);
  if (adjoint.secondOrder === undefined)
    throw new OptionError(
      'bad-adjoint',
      'hvp uses the implicit adjoint: omit adjoint, or use implicitAdjoint({memory}).',
    );
  if (events.length > 0)
    throw new OptionError(
      'bad-hvp',
      'hvp does not support events: remove them, or take differences of the gradients of simulate.vjp.',
    );
  if (traced.functions.observed !== undefined)
    throw new OptionError(
      'bad-hvp',
      'hvp: omit observe, and compute its values in the loss, as a function of the saved series.',
    );
  if (directions.some(direction => direction.t0 !== undefined))
    throw new OptionError('bad-hvp', 'hvp does not support directions of t0: take differences of simulate.jvp.');
  if (directions.length === 0) throw new OptionError('bad-tangent', 'hvps: give one direction at least.');
}

export function hvpsOn(base: PreparedRun, loss: SeriesLoss | CotangentLoss, along: readonly Tangent[]): Hvps {
  check(base, loss, along);
  const path = base.options.plan === undefined ? gridOf(base) : historyOf(base);
  const traced = typeof loss === 'function' ? new TracedLoss(base, loss, path.saved.after.length) : undefined;
  const {options, h0} = path;
  const prepared = {...(traced === undefined ? base : withParameters(base, traced)), options, h0};
  const directions = packDirections(prepared, along);
  let checkpointer: SecondOrderCheckpointer | undefined;
  const memory = base.options.adjoint.secondOrder?.memory ?? Infinity;
  const done = run(prepared, {
    begin: (context, start) =>
      (checkpointer = new SecondOrderCheckpointer(context, start, path.saved, directions, memory)),
  });
  if (done.error !== undefined) throw done.error;
  if (checkpointer === undefined) throw new Error('a run has its companion');
  const shown = path.run ?? done;
  const trajectory = finish(base, shown, false);
  try {
    const at =
      typeof loss === 'function'
        ? traced?.at(shown.states, shown.times, prepared.parameterValues, directions.count)
        : lossBy(loss, prepared, trajectory, shown);
    if (at === undefined) throw new Error('a loss is a function or gives cotangents');
    const {gradient, products} = goBack(prepared, done, checkpointer, path.saved, at, directions);
    return {
      trajectory,
      value: at.value ?? NaN,
      gradient: namedGradient(prepared, gradient),
      products: products.map(product => namedGradient(prepared, product)),
    };
  } catch (error) {
    trajectory.dispose();
    throw error;
  }
}

/** The steps that are to be differentiated: a grid, and what of it is saved. */
interface Differentiated {
  readonly options: PreparedRun['options'];
  /** Length of the step that the start was made for. */
  readonly h0: number;
  readonly saved: SavedStates;
  /** The run that found them, where they were not known before. */
  readonly run?: Run;
}

function gridOf({options, h0}: PreparedRun): Differentiated {
  return {options, h0, saved: {after: options.saved}};
}

/**
 * The step history of a run, which is then taken again as a grid: the lengths of its steps count as given, as in its
 * gradient.
 */
function historyOf(prepared: PreparedRun): Differentiated {
  const {options} = prepared;
  let history = new StepHistory();
  // The step history alone is of interest, not the states that it passes.
  const found = run(prepared, {
    begin: (_context, _start, _saved, its = history) => {
      history = its;
      return {record: undefined, independentSteps: true, reach: () => undefined, finish: () => undefined};
    },
  });
  if (found.error !== undefined) throw found.error;
  if (prepared.traced.switches !== undefined)
    throw new OptionError(
      'bad-hvp',
      `hvp does not support switches, such as '${prepared.traced.switches[0].name}': take differences of the gradients `
        + "of simulate.vjp, or switches: 'ignore'.",
    );
  if (history.jumps.size > 0)
    throw new OptionError(
      'bad-hvp',
      'hvp: an input jumps, and hvp does not support a scheme that makes anew there what it carries from step to '
        + 'step: choose one that carries nothing, such as rk4() or kvaerno5(), '
        + 'or take differences of the gradients of simulate.vjp.',
    );
  const {grid} = options;
  const steps = {
    ...grid,
    steps: history.count,
    time: (n: number) => (n < history.count ? history.t[n] : (found.resumeState?.t ?? NaN)),
    length: (n: number) => history.h[n],
  };
  return {
    run: found,
    // A first step that was refused left a start for a shorter one.
    h0: found.start.count > 0 ? found.start.length(0) : prepared.h0,
    saved: history.saved,
    options: {...options, grid: steps, plan: undefined, saved: new Float64Array(0), onProgress: undefined},
  };
}

/** With what the loss alone captures among the parameters. */
function withParameters(prepared: PreparedRun, {parameters}: TracedLoss): PreparedRun {
  const known = prepared.parameterValues;
  const values = parameters.map(({tensor}, i) => known[i] ?? numbersOf(tensor as tf.Tensor));
  return {...prepared, traced: {...prepared.traced, parameters}, parameterValues: values};
}

function lossBy(loss: CotangentLoss, prepared: PreparedRun, trajectory: AnyTrajectory, {times}: Run): LossAt {
  const {blocks, width} = seriesOf(prepared);
  const none = prepared.parameterValues.map(() => undefined);
  const named = (matrix: Float64Array): NamedValues =>
    Object.fromEntries(blocks.map(block => [block.name, column(matrix, width, block)]));
  return {
    value: loss.value?.(trajectory),
    cotangents: packCotangent(prepared, loss.cotangent(trajectory), times.length),
    parameters: none,
    along: matrices => ({
      cotangents: matrices.map(matrix =>
        loss.tangent === undefined
          ? new Float64Array(matrix.length)
          : packCotangent(prepared, loss.tangent(named(matrix), trajectory), times.length),
      ),
      parameters: none,
    }),
  };
}

/** Tangents of the saved states by direction, [saved, state] each. */
function byDirection({saved}: SecondOrderCheckpointer, count: number): Float64Array[] {
  return Array.from({length: count}, (_, d) => {
    const size = saved.length === 0 ? 0 : saved[0].length / count;
    const matrix = new Float64Array(saved.length * size);
    saved.forEach((tangents, i) => matrix.set(tangents.subarray(d * size, (d + 1) * size), i * size));
    return matrix;
  });
}

function goBack(
  base: PreparedRun,
  done: Run,
  checkpointer: SecondOrderCheckpointer,
  saved: SavedStates,
  at: LossAt,
  directions: Directions,
): SecondOrder {
  const prepared = {...base, redundancy: done.redundancy};
  const {count} = directions;
  const {size} = prepared.traced.state;
  const changes = at.along(byDirection(checkpointer, count), directions);
  const cotangent = (index: number): SecondOrderCotangent => {
    const row = (matrix: Float64Array): Float64Array => matrix.subarray(index * size, (index + 1) * size);
    const change = new Float64Array(count * size);
    changes.cotangents.forEach((cotangents, d) => change.set(row(cotangents), d * size));
    return {cotangent: row(at.cotangents), change};
  };
  prepared.compiled.matrices.restorePivots(done.pivotStates);
  const {gradient, products} = sweepBackSecondOrder(
    prepared,
    done.start,
    directions,
    checkpointer.backwards(prepared),
    saved,
    cotangent,
  );
  const found = {
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
