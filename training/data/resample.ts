/**
 * Records made fit for a fit: an even clock, fewer samples without aliases of what they cannot hold, and without the
 * part before anything moves.
 */
import * as tf from '@tensorflow/tfjs';
import type {Numeric, SignalKind} from '../../lib/index.js';
import {explicitEuler, ode, OptionError, signal, simulate} from '../../lib/index.js';
import {positiveInteger, nonNegative, positive, requireValue} from '../../lib/checks.js';
import {columnOf, readSeries} from './series.js';

/** A record at evenly spaced times. */
export interface Resampled {
  /** [samples], from the first time on. */
  readonly t: Float64Array;
  /** [samples, ...shape], row-major. */
  readonly values: Float64Array;
}

/** At rest; what is observed beside it is what is wanted. */
const clock = ode(({y}) => tf.zerosLike(y));

/** A new time beyond the last sample by less than this part of an interval is that sample's, rounded. */
const endSlack = 1e-9;

/**
 * A record at evenly spaced times, interpolated between its samples by a `signal` of the given kind. It does not
 * filter: for a larger interval use `decimate` on an evenly spaced record.
 * @param t [samples], strictly increasing
 * @param values [samples, ...shape]
 * @param interval between samples, in the unit of t
 * @throws OptionError; ShapeError, DataError as `signal`
 * @example
 * ```ts
 * import {samples} from 'stiffgrad/training';
 *
 * const {t, values} = samples.resample([0, 1, 3], [0, 1, 3], 0.5);
 * console.log(t.length); // → 7
 * console.log(values[3]); // → 1.5
 * ```
 */
export function resample(t: Numeric, values: Numeric, interval: number, kind: SignalKind = 'linear'): Resampled {
  requireValue(interval, positive, 'resample: the interval');
  const known = signal(t, values, kind);
  const [first, last] = [known.t[0], known.t[known.t.length - 1]];
  const steps = Math.floor((last - first) / interval + endSlack);
  const times = Float64Array.from({length: steps + 1}, (_, i) => first + i * interval);
  if (steps === 0) return {t: times, values: known.values.slice(0, known.values.length / known.t.length)};
  const path = simulate(
    clock,
    {y: 0, t: first},
    {scheme: explicitEuler(), dt: interval, steps, inputs: {known}, observe: ({params}) => params.known as tf.Tensor},
  );
  const resampled = path.values('observed');
  path.dispose();
  return {t: times, values: resampled};
}

/** Kept samples in the filter: transition 3.3/20 of the band, aliases −53 dB (Oppenheim & Schafer, §7.5). */
const tapsEach = 20;

/**
 * Every `factor`-th sample of an evenly spaced record, after a filter without delay has removed frequencies that the
 * result cannot represent: a windowed sinc (Hamming) with cutoff at the new Nyquist frequency, as in
 * scipy.signal.decimate(…, ftype='fir'). Beyond its ends the record is extended by reflection at its end points.
 * @param values [samples]
 * @returns the samples 0, factor, 2·factor, …
 * @throws OptionError if the record is shorter than half the filter; ShapeError for several columns; DataError
 *   'not-finite'
 */
export function decimate(values: Numeric, factor: number): Float64Array {
  requireValue(factor, positiveInteger, 'decimate: the factor');
  const {values: samples} = readSeries(values, 'decimate: values', {outputs: 'one', missing: false});
  const half = (tapsEach / 2) * factor;
  if (samples.length <= half)
    throw new OptionError(
      'bad-option',
      `decimate needs a series of more than ${half} numbers for a factor of ${factor}, not ${samples.length}.`,
      {factor, samples: samples.length},
    );
  if (factor === 1) return samples.slice();
  const filter = lowPass(half, factor);
  const at = reflected(samples);
  return Float64Array.from({length: Math.floor((samples.length - 1) / factor) + 1}, (_, k) =>
    filter.reduce((sum, tap, j) => sum + tap * at(k * factor + j - half), 0),
  );
}

/** 2·half + 1 taps with a sum of 1. */
function lowPass(half: number, factor: number): Float64Array {
  const taps = Float64Array.from({length: 2 * half + 1}, (_, j) => {
    const x = (j - half) / factor;
    const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
    return sinc * (0.54 + 0.46 * Math.cos((Math.PI * (j - half)) / half));
  });
  const sum = taps.reduce((total, tap) => total + tap, 0);
  return taps.map(tap => tap / sum);
}

/** Half the filter in samples: with β = 8 images stay below −80 dB (Oppenheim & Schafer, §7.6). */
const reach = 32;
const kaiserBeta = 8;

/**
 * An evenly spaced record with `factor` times as many samples, including its own: band-limited interpolation
 * (windowed sinc, Kaiser). A spline through few samples per period has larger errors: 1 % at five, 10 % at three.
 * Beyond its ends the record is extended by reflection at its end points.
 * @param values [samples]
 * @returns [(samples − 1)·factor + 1]
 * @throws OptionError if the record is shorter than the filter; ShapeError for several columns; DataError 'not-finite'
 */
export function upsample(values: Numeric, factor: number): Float64Array {
  requireValue(factor, positiveInteger, 'upsample: the factor');
  const {values: samples} = readSeries(values, 'upsample: values', {outputs: 'one', missing: false});
  if (samples.length <= reach)
    throw new OptionError(
      'bad-option',
      `upsample needs a series of more than ${reach} numbers, not ${samples.length}.`,
      {samples: samples.length},
    );
  const at = reflected(samples);
  const between = Array.from({length: factor}, (_, phase) =>
    Float64Array.from({length: 2 * reach}, (__, j) => sincTap(j - reach + 1 - phase / factor)),
  );
  return Float64Array.from({length: (samples.length - 1) * factor + 1}, (_, i) => {
    const [sample, phase] = [Math.floor(i / factor), i % factor];
    return phase === 0
      ? samples[sample]
      : between[phase].reduce((sum, tap, j) => sum + tap * at(sample + j - reach + 1), 0);
  });
}

function sincTap(x: number): number {
  const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
  return (sinc * besselI0(kaiserBeta * Math.sqrt(Math.max(0, 1 - (x / reach) ** 2)))) / besselI0(kaiserBeta);
}

/** By its power series, which converges fast for arguments as small as these. */
function besselI0(x: number): number {
  let [term, sum] = [1, 1];
  for (let k = 1; term > Number.EPSILON * sum; k++) sum += term *= (x / (2 * k)) ** 2;
  return sum;
}

/** A record continued beyond its ends. */
function reflected(samples: Float64Array): (i: number) => number {
  const last = samples.length - 1;
  return i =>
    i < 0 ? 2 * samples[0] - samples[-i] : i > last ? 2 * samples[last] - samples[2 * last - i] : samples[i];
}

/** A hundredth of its range: a motion is seen by then, and the noise of a usable record stays below. */
const stillShare = 0.01;

/**
 * The number of samples at the start during which a record does not move, for example until a pendulum is released;
 * they can be cut off.
 * @param values [samples, ...]: still are samples of which no number moves. NaN is a missing number, which does not
 *   move.
 * @param tolerance allowed deviation from the first measured number, in the unit of the values; default a hundredth of
 *   the range, column by column
 * @throws ShapeError for a single number; DataError 'not-finite' for an infinite value
 */
export function still(values: Numeric, tolerance?: number): number {
  if (tolerance !== undefined) requireValue(tolerance, nonNegative, 'samples.still: the tolerance');
  const series = readSeries(values, 'samples.still: values', {outputs: 'any', missing: true});
  return Array.from({length: series.outputs}, (_, k) => stillIn(columnOf(series, k), tolerance)).reduce(
    (least, still) => Math.min(least, still),
    series.samples,
  );
}

function stillIn(column: Float64Array, tolerance?: number): number {
  const there = column.filter(value => !Number.isNaN(value));
  const [low, high] = there.reduce(
    ([least, most], value) => [Math.min(least, value), Math.max(most, value)],
    [Infinity, -Infinity],
  );
  const allowed = tolerance ?? stillShare * (high - low);
  const moved = column.findIndex(value => Math.abs(value - there[0]) > allowed);
  return moved < 0 ? column.length : moved;
}
