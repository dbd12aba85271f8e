/**
 * A measured input as a function of time, for use inside forces: found by bisection among its
 * samples, interpolated in tfjs operations, so that it is traced like everything else. Outside its
 * samples it keeps its first and last value.
 */
import * as tf from '@tensorflow/tfjs';
import type {Numeric} from '../lib/index.js';
import {constantTensor, DataError, OptionError, readNumeric, ShapeError} from '../lib/index.js';

export type SignalKind = 'linear' | 'hold' | 'cubic';

export interface Signal {
  readonly kind: SignalKind;
  /** [samples], ascending. */
  readonly t: Float64Array;
  /** [samples] */
  readonly values: Float64Array;
  /** The value at a time, both scalars; inside a force, in double precision. */
  at(t: tf.Tensor): tf.Tensor;
}

/**
 * 'linear' (default) joins samples by lines, 'hold' keeps each until the next, 'cubic' is the natural
 * spline (twice continuously differentiable; de Boor 1978).
 * @param t [samples], strictly ascending
 * @param values [samples]
 * @throws ShapeError where the lengths differ; DataError where times do not ascend or a number is not
 *   finite, with the sample's index
 */
export function signal(t: Numeric, values: Numeric, kind: SignalKind = 'linear'): Signal {
  const times = readNumeric(t, 'signal t').values;
  const samples = readNumeric(values, 'signal values').values;
  check(times, samples, kind);
  return {kind, t: times, values: samples, at: interpolators[kind](times, samples)};
}

function check(t: Float64Array, values: Float64Array, kind: SignalKind): void {
  if (!(kind in interpolators)) throw new OptionError('signal-kind', `signal: kind must be 'linear', 'hold' or 'cubic', not '${String(kind)}'.`);
  if (t.length !== values.length || t.length === 0) {
    throw new ShapeError('signal-length', `signal: ${t.length} times and ${values.length} values; give one value a time, and at least one.`, {times: t.length, values: values.length});
  }
  for (let i = 0; i < t.length; i++) {
    if (!Number.isFinite(t[i]) || !Number.isFinite(values[i])) throw new DataError('signal-not-finite', `signal: sample ${i} is (${t[i]}, ${values[i]}): every number must be finite.`, {index: i});
    if (i > 0 && !(t[i] > t[i - 1])) throw new DataError('signal-order', `signal: times must ascend, but sample ${i} is at ${t[i]} after ${t[i - 1]}.`, {index: i});
  }
}

type Interpolate = (t: tf.Tensor) => tf.Tensor;

/** The samples' times, and the number of those up to a time (as a tensor []). */
function counter(t: Float64Array): (at: tf.Tensor) => tf.Tensor {
  return at => tf.reshape(tf.searchSorted(constantTensor(t, [1, t.length]), tf.reshape(at, [1, 1]), 'right'), []);
}

const pick = (values: Float64Array, index: tf.Tensor): tf.Tensor => tf.gather(constantTensor(values, [values.length]), tf.cast(index, 'int32'));

/** The interval [i, i + 1] that a time lies in, and where in it; the last one for times beyond. */
function interval(t: Float64Array): (at: tf.Tensor) => {index: tf.Tensor; share: tf.Tensor; width: tf.Tensor} {
  const count = counter(t);
  const widths = Float64Array.from({length: t.length - 1}, (_, i) => t[i + 1] - t[i]);
  return at => {
    const inside = tf.clipByValue(at, t[0], t[t.length - 1]);
    const index = tf.clipByValue(tf.sub(tf.cast(count(inside), 'float32'), 1), 0, t.length - 2);
    const width = pick(widths, index);
    return {index, width, share: tf.div(tf.sub(inside, pick(t, index)), width)};
  };
}

const constantly = (value: number): Interpolate => at => tf.add(tf.mul(at, 0), constantTensor(value, []));

/** Times computed as t₀ + n·h meet a sample's time up to rounding: this share of the shortest interval counts as met. */
const holdSlack = 1e-6;

function hold(t: Float64Array, values: Float64Array): Interpolate {
  let shortest = Infinity;
  for (let i = 1; i < t.length; i++) shortest = Math.min(shortest, t[i] - t[i - 1]);
  const count = counter(t);
  const slack = Number.isFinite(shortest) ? holdSlack * shortest : 0;
  return at => pick(values, tf.clipByValue(tf.sub(tf.cast(count(tf.add(at, slack)), 'float32'), 1), 0, t.length - 1));
}

function linear(t: Float64Array, values: Float64Array): Interpolate {
  if (t.length === 1) return constantly(values[0]);
  const find = interval(t);
  const slopes = Float64Array.from({length: t.length - 1}, (_, i) => values[i + 1] - values[i]);
  return at => {
    const {index, share} = find(at);
    return tf.add(pick(values, index), tf.mul(share, pick(slopes, index)));
  };
}

/** s = (1−u) a + u b + w²/6 · [((1−u)³ − (1−u)) A + (u³ − u) B], A and B the second derivatives at the ends. */
function cubic(t: Float64Array, values: Float64Array): Interpolate {
  if (t.length < 3) return linear(t, values);
  const find = interval(t);
  const bends = secondDerivatives(t, values);
  return at => {
    const {index, share: u, width} = find(at);
    const next = tf.add(index, 1);
    const w = tf.sub(1, u);
    const line = tf.add(tf.mul(w, pick(values, index)), tf.mul(u, pick(values, next)));
    const hump = (x: tf.Tensor): tf.Tensor => tf.sub(tf.mul(x, tf.square(x)), x);
    const bend = tf.add(tf.mul(hump(w), pick(bends, index)), tf.mul(hump(u), pick(bends, next)));
    return tf.add(line, tf.mul(tf.mul(tf.square(width), 1 / 6), bend));
  };
}

/** Of the natural spline: a tridiagonal system, diagonally dominant, solved without pivoting (Thomas). */
function secondDerivatives(t: Float64Array, values: Float64Array): Float64Array {
  const n = t.length;
  const bends = new Float64Array(n);
  const upper = new Float64Array(n);
  for (let i = 1; i < n - 1; i++) {
    const before = t[i] - t[i - 1];
    const after = t[i + 1] - t[i];
    const rhs = 6 * ((values[i + 1] - values[i]) / after - (values[i] - values[i - 1]) / before);
    const pivot = 2 * (before + after) - before * upper[i - 1];
    upper[i] = after / pivot;
    bends[i] = (rhs - before * bends[i - 1]) / pivot;
  }
  for (let i = n - 2; i > 0; i--) bends[i] -= upper[i] * bends[i + 1];
  return bends;
}

const interpolators: {readonly [K in SignalKind]: (t: Float64Array, values: Float64Array) => Interpolate} = {linear, hold, cubic};
