/**
 * Products with the Hessian of a loss, by forward over reverse: tangents go along with the run, and the
 * sweep back is taken with its own tangent (adjoint/hessian.ts). Exact for the discrete scheme, in double
 * precision.
 */
import type * as tf from '@tensorflow/tfjs';
import type {Gradient} from '../adjoint/backward.js';
import type {SecondOrder, TurningBar} from '../adjoint/hessian.js';
import {sweepBackTurning} from '../adjoint/hessian.js';
import type {Directions} from '../adjoint/tangent.js';
import {OptionError} from '../errors.js';
import {finish} from './finish.js';
import type {LossAt, SeriesLoss} from './loss.js';
import {requireLoss, TracedLoss} from './loss.js';
import type {Cotangent, NamedValues, Pullback, Tangent} from './named.js';
import {namedGradient, packCotangent, packDirections} from './named.js';
import type {Prepared} from './prepare.js';
import type {Run} from './run.js';
import {run} from './run.js';
import {column, seriesOf} from './series.js';
import type {Trajectory} from './trajectory.js';
import {TurningKeeper} from './turning.js';

/** A loss by functions of one's own. */
export interface CotangentLoss {
  /** Absent, the result's value is NaN. */
  value?(trajectory: Trajectory): number;
  /** The gradient of the loss with respect to the saved values. */
  cotangent(trajectory: Trajectory): Cotangent;
  /** How that changes along a tangent of the saved values: the loss's own Hessian times it. Absent where the loss is linear in them. */
  tangent?(tangent: NamedValues, trajectory: Trajectory): Cotangent;
}

export interface Hvps {
  readonly trajectory: Trajectory;
  readonly value: number;
  readonly gradient: Pullback;
  /** The Hessian times each direction. */
  readonly products: readonly Pullback[];
}

export interface Hvp extends Omit<Hvps, 'products'> {
  /** The Hessian times the direction. */
  readonly product: Pullback;
}

/** @throws OptionError 'bad-adjoint' or 'bad-loss' where this run has no product with a Hessian */
function check({options: {adjoint, plan}, traced}: Prepared, loss: unknown, directions: readonly Tangent[]): void {
  requireLoss(loss);
  if (adjoint.kind !== 'implicit') throw new OptionError('bad-adjoint', 'hvp goes back by the implicit adjoint: leave adjoint out, or take implicitAdjoint({memory}).');
  if (plan !== undefined) {
    throw new OptionError('bad-hvp', 'hvp goes with constant steps, saved at their ends, and without events: take steps of one length, and times of the grid in saveAt.');
  }
  if (traced.observed !== undefined) throw new OptionError('bad-hvp', 'hvp: leave observe out, and write what it computes into the loss, as a function of the saved series.');
  if (directions.length === 0) throw new OptionError('bad-tangent', 'hvps: give one direction at least.');
}

export function hvpsOn(base: Prepared, loss: SeriesLoss | CotangentLoss, along: readonly Tangent[]): Hvps {
  check(base, loss, along);
  const traced = typeof loss === 'function' ? new TracedLoss(base, loss, base.options.saved.length) : undefined;
  const prepared = traced === undefined ? base : withParameters(base, traced);
  const directions = packDirections(prepared, along);
  let keeper: TurningKeeper | undefined;
  const done = run(prepared, undefined, (context, start) => (keeper = new TurningKeeper(context, start, directions, prepared.options.adjoint.memory ?? Infinity)));
  if (done.error !== undefined) throw done.error;
  if (keeper === undefined) throw new Error('a run has its companion');
  const trajectory = finish(base, done, false);
  try {
    const at = typeof loss === 'function' ? traced?.at(done.states, done.times, prepared.parameterValues, directions.count) : lossBy(loss, prepared, trajectory, done);
    if (at === undefined) throw new Error('a loss is a function or gives cotangents');
    const {gradient, products} = goBack(prepared, done, keeper, at, directions);
    return {trajectory, value: at.value ?? NaN, gradient: namedGradient(prepared, gradient), products: products.map(product => namedGradient(prepared, product))};
  } catch (error) {
    trajectory.dispose();
    throw error;
  }
}

/** With what the loss alone captures among the parameters. */
function withParameters(prepared: Prepared, {parameters}: TracedLoss): Prepared {
  const known = prepared.parameterValues;
  const values = parameters.map(({tensor}, i) => known[i] ?? Float64Array.from((tensor as tf.Tensor).dataSync()));
  return {...prepared, traced: {...prepared.traced, parameters}, parameterValues: values};
}

function lossBy(loss: CotangentLoss, prepared: Prepared, trajectory: Trajectory, {times}: Run): LossAt {
  const {blocks, width} = seriesOf(prepared);
  const none = prepared.parameterValues.map(() => undefined);
  const named = (matrix: Float64Array): NamedValues => Object.fromEntries(blocks.map(block => [block.name, column(matrix, width, block)]));
  return {
    value: loss.value?.(trajectory), bars: packCotangent(prepared, loss.cotangent(trajectory), times.length), parameters: none,
    along: matrices => ({
      bars: matrices.map(matrix => (loss.tangent === undefined ? new Float64Array(matrix.length) : packCotangent(prepared, loss.tangent(named(matrix), trajectory), times.length))),
      parameters: none,
    }),
  };
}

/** Tangents of the saved states by direction, [saved, state] each. */
function byDirection({saved}: TurningKeeper, count: number): Float64Array[] {
  return Array.from({length: count}, (_, d) => {
    const size = saved.length === 0 ? 0 : saved[0].length / count;
    const matrix = new Float64Array(saved.length * size);
    saved.forEach((tangents, i) => matrix.set(tangents.subarray(d * size, (d + 1) * size), i * size));
    return matrix;
  });
}

function goBack(base: Prepared, done: Run, keeper: TurningKeeper, at: LossAt, directions: Directions): SecondOrder {
  const prepared = {...base, redundancy: done.redundancy};
  const {count} = directions;
  const {size} = prepared.traced.state;
  const turns = at.along(byDirection(keeper, count), directions);
  const savedAt = new Map(Array.from(prepared.options.saved, (n, index) => [n, index]));
  const addSaved = (n: number, {bar, turn}: TurningBar): void => {
    const index = savedAt.get(n);
    if (index === undefined) return;
    for (let i = 0; i < size; i++) bar[i] += at.bars[index * size + i];
    for (let d = 0; d < count; d++) for (let i = 0; i < size; i++) turn[d * size + i] += turns.bars[d][index * size + i];
  };
  prepared.compiled.recall(done.history);
  const {gradient, products} = sweepBackTurning(prepared, done.start, directions, keeper.backwards(prepared), addSaved, done.completed);
  return {
    gradient: plus(gradient, at.parameters, 0, 1),
    products: products.map((product, d) => plus(product, turns.parameters, d, count)),
  };
}

/** With what the loss adds to the parameters' gradients by itself: part d of so many. */
function plus(gradient: Gradient, own: readonly (Float64Array | undefined)[], d: number, count: number): Gradient {
  const parameters = gradient.parameters.map((bar, p) => {
    const more = own[p];
    return more === undefined ? bar : bar.map((value, i) => value + more[(d * more.length) / count + i]);
  });
  return {...gradient, parameters};
}
