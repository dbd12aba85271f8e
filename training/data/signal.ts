/**
 * A measured input as a function of time, for use inside forces: found by bisection among its
 * samples, interpolated in tfjs operations, so that it is traced like everything else. Outside its
 * samples it keeps its first and last value.
 */
import * as tf from '@tensorflow/tfjs';
import type {Numeric} from '../../lib/index.js';
import {constantTensor, DataError, OptionError, readNumeric, ShapeError} from '../../lib/index.js';
import {oneOf, positiveOrInfinite, refuseUnknownOptions} from '../../lib/given.js';

/** What a signal is between its samples. */
export type SignalKind = 'linear' | 'hold' | 'cubic';

/** A measured input, which has a value at any time; made by `signal`. */
export interface Signal {
  readonly kind: SignalKind;
  /** [samples], ascending. */
  readonly t: Float64Array;
  /** [samples, ...shape], row-major. */
  readonly values: Float64Array;
  /** Of one sample: [] for a number a time. */
  readonly shape: readonly number[];
  /** The value, [...shape], at a time []; inside a force in double precision. */
  at(t: tf.Tensor): tf.Tensor;
}

/** What `signal` may be told. */
export interface SignalOptions {
  /** A sample that is NaN: 'refuse' (default) is an error, 'bridge' leaves it out, so that its neighbours are joined as the kind joins them. */
  readonly missing?: 'refuse' | 'bridge';
  /** The longest stretch of time that may be bridged, from a sample that is there to the next; default any. */
  readonly longest?: number;
}

/**
 * 'linear' (default) joins samples by lines, 'hold' keeps each until the next (what a digital output
 * does), 'cubic' is the natural spline (twice continuously differentiable; de Boor 1978).
 * @param t [samples], strictly ascending, in the system's unit of time
 * @param values [samples, ...shape]: a number a time, or an array a time
 * @throws ShapeError where the lengths differ; DataError where times do not ascend, a number is not finite,
 *   or a gap is longer than allowed, with the sample's index
 */
export function signal(t: Numeric, values: Numeric, kind: SignalKind = 'linear', options: SignalOptions = {}): Signal {
  refuseUnknownOptions(options, {missing: oneOf('refuse', 'bridge'), longest: positiveOrInfinite}, 'signal');
  const read = {times: readNumeric(t, 'signal: t').values, ...readNumeric(values, 'signal: values')};
  const {times, values: samples, shape: given} = options.missing === 'bridge' ? bridged(read, options) : read;
  const shape = given.slice(1);
  check(times, samples, given, kind);
  const {at} = interpolators[kind](new Samples(times, samples, shape));
  return {kind, t: times, values: samples, shape, at: time => tf.tidy(() => at(time))};
}

interface Given {
  readonly times: Float64Array;
  readonly values: Float64Array;
  readonly shape: readonly number[];
}

/** Without the samples of which a number is NaN. */
function bridged(given: Given, {longest = Infinity}: SignalOptions): Given {
  const {times, values, shape} = given;
  const width = values.length / times.length;
  if (!Number.isInteger(width)) return given; // the lengths' own error comes first
  const kept = [...times.keys()].filter(i => !values.subarray(i * width, (i + 1) * width).some(Number.isNaN));
  if (kept.length === 0) throw new DataError('signal-not-finite', `signal: all ${times.length} samples are missing.`, {samples: times.length});
  const from = kept.findIndex((sample, k) => k > 0 && sample > kept[k - 1] + 1 && times[sample] - times[kept[k - 1]] > longest);
  if (from >= 0) {
    const [before, after] = [kept[from - 1], kept[from]];
    throw new DataError('signal-gap', `signal: samples ${before + 1} to ${after - 1} are missing, which leaves ${times[after] - times[before]} from ${times[before]} to ${times[after]} to be bridged; the longest allowed is ${longest}. Cut the record there, or measure anew.`, {index: before + 1, missing: after - before - 1});
  }
  return {times: Float64Array.from(kept, i => times[i]), values: Float64Array.from(kept.flatMap(i => [...values.subarray(i * width, (i + 1) * width)])), shape: shape.length === 0 ? shape : [kept.length, ...shape.slice(1)]};
}

function check(t: Float64Array, values: Float64Array, shape: readonly number[], kind: SignalKind): void {
  if (!Object.hasOwn(interpolators, kind)) throw new OptionError('signal-kind', `signal: kind must be 'linear', 'hold' or 'cubic', not '${String(kind)}'.`, {kind});
  const samples = shape[0] ?? 1;
  if (t.length !== samples || values.length === 0) {
    throw new ShapeError('signal-length', `signal: ${t.length} times, but values of shape [${shape.join(', ')}]; give one value (or one array) a time, and at least one.`, {times: t.length, values: [...shape]});
  }
  const outputs = values.length / samples;
  for (let i = 0; i < t.length; i++) {
    if (!Number.isFinite(t[i])) throw new DataError('signal-not-finite', `signal: the time of sample ${i} is ${t[i]}; every number must be finite.`, {index: i});
    if (i > 0 && !(t[i] > t[i - 1])) throw new DataError('signal-order', `signal: times must ascend, but sample ${i} is at ${t[i]} after ${t[i - 1]}. Sort the samples, and remove repeated ones.`, {index: i});
  }
  const bad = values.findIndex(value => !Number.isFinite(value));
  if (bad >= 0) throw new DataError('signal-not-finite', `signal: the value of sample ${Math.floor(bad / outputs)}, at ${t[Math.floor(bad / outputs)]}, is ${values[bad]}; every number must be finite.`, {index: Math.floor(bad / outputs)});
}

/** Where a time lies: in the interval from sample `index` on, `share` of its `width` behind its start. */
interface Place {
  readonly index: tf.Tensor;
  readonly share: tf.Tensor;
  readonly width: tf.Tensor;
}

/** The samples as constants of a program, and the search among them. */
class Samples {
  readonly count: number;
  /** Numbers of one sample. */
  readonly size: number;
  /** Of each sample to the next, in time and in value. */
  readonly widths: Float64Array;
  readonly rises: Float64Array;

  constructor(readonly t: Float64Array, readonly values: Float64Array, private readonly shape: readonly number[]) {
    this.count = t.length;
    this.size = values.length / t.length;
    this.widths = differences(t, 1);
    this.rises = differences(values, this.size);
  }

  /** The last sample at or before a time, −1 before the first; not an integer tensor, which has no arithmetic with others. */
  lastUpTo(time: tf.Tensor): tf.Tensor {
    const found = tf.searchSorted(constantTensor(this.t, [1, this.count]), tf.reshape(time, [1, 1]), 'right');
    return tf.sub(tf.cast(tf.reshape(found, []), 'float32'), 1);
  }

  /** The end intervals' ends for times beyond them. */
  place(time: tf.Tensor): Place {
    const inside = tf.clipByValue(time, this.t[0], this.t[this.count - 1]);
    const index = tf.clipByValue(this.lastUpTo(inside), 0, this.count - 2);
    const width = pick(this.widths, [], index);
    return {index, width, share: tf.div(tf.sub(inside, pick(this.t, [], index)), width)};
  }

  /** One row of a table of the signal's shape. */
  row(table: Float64Array, index: tf.Tensor): tf.Tensor {
    return pick(table, this.shape, index);
  }
}

function differences(values: Float64Array, size: number): Float64Array {
  return Float64Array.from({length: values.length - size}, (_, i) => values[i + size] - values[i]);
}

function pick(table: Float64Array, shape: readonly number[], index: tf.Tensor): tf.Tensor {
  const size = shape.reduce((product, n) => product * n, 1);
  return tf.gather(constantTensor(table, [table.length / size, ...shape]), tf.cast(index, 'int32'));
}

interface Interpolator {
  at(t: tf.Tensor): tf.Tensor;
}

/** Times computed as t₀ + n·h meet a sample's time up to rounding: this share of the shortest interval counts as met. */
const holdSlack = 1e-6;

function hold(samples: Samples): Interpolator {
  const {t, values, count} = samples;
  const shortest = samples.widths.reduce((least, width) => Math.min(least, width), Infinity);
  const slack = Number.isFinite(shortest) ? Math.max(holdSlack * shortest, 4 * Number.EPSILON * Math.max(Math.abs(t[0]), Math.abs(t[count - 1]))) : 0;
  return {at: time => samples.row(values, tf.clipByValue(samples.lastUpTo(tf.add(time, slack)), 0, count - 1))};
}

function linear(samples: Samples): Interpolator {
  if (samples.count === 1) return hold(samples);
  const {rises} = samples;
  return {
    at(time) {
      const {index, share} = samples.place(time);
      return tf.add(samples.row(samples.values, index), tf.mul(share, samples.row(rises, index)));
    },
  };
}

/** s = (1−u) a + u b + w²/6 · [((1−u)³ − (1−u)) A + (u³ − u) B], A and B the second derivatives at the ends. */
function cubic(samples: Samples): Interpolator {
  if (samples.count < 3) return linear(samples);
  const {values} = samples;
  const bends = secondDerivatives(samples);
  const hump = (x: tf.Tensor): tf.Tensor => tf.sub(tf.mul(x, tf.square(x)), x);
  return {
    at(time) {
      const {index, share: u, width} = samples.place(time);
      const next = tf.add(index, 1);
      const w = tf.sub(1, u);
      const line = tf.add(tf.mul(w, samples.row(values, index)), tf.mul(u, samples.row(values, next)));
      const bend = tf.add(tf.mul(hump(w), samples.row(bends, index)), tf.mul(hump(u), samples.row(bends, next)));
      return tf.add(line, tf.mul(tf.div(tf.square(width), 6), bend));
    },
  };
}

/** Of the natural spline, [samples, ...shape]: a tridiagonal system, diagonally dominant, solved without pivoting (Thomas). */
function secondDerivatives({count: n, size, values, widths}: Samples): Float64Array {
  const bends = new Float64Array(n * size);
  const upper = new Float64Array(n);
  const slope = (i: number, k: number): number => (values[(i + 1) * size + k] - values[i * size + k]) / widths[i];
  for (let i = 1; i < n - 1; i++) {
    const pivot = 2 * (widths[i - 1] + widths[i]) - widths[i - 1] * upper[i - 1];
    upper[i] = widths[i] / pivot;
    for (let k = 0; k < size; k++) {
      bends[i * size + k] = (6 * (slope(i, k) - slope(i - 1, k)) - widths[i - 1] * bends[(i - 1) * size + k]) / pivot;
    }
  }
  for (let i = n - 2; i > 0; i--) for (let k = 0; k < size; k++) bends[i * size + k] -= upper[i] * bends[(i + 1) * size + k];
  return bends;
}

const interpolators: {readonly [K in SignalKind]: (samples: Samples) => Interpolator} = {linear, hold, cubic};
