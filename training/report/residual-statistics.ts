/** Statistics of residuals: their size, their distribution, and their autocorrelation. */
import {DataError, ShapeError} from '../../lib/index.js';
import {columnOf, readSeries, type SeriesValues} from '../data/series.js';

/** How far simulated values are from measured ones. */
export interface GoodnessOfFit {
  /** Number of compared values: those that were measured. */
  readonly samples: number;
  /** Root mean square of measured − simulated. */
  readonly rmse: number;
  /** Greatest absolute residual, and its sample. */
  readonly worst: number;
  readonly worstAt: number;
  /**
   * 1 − Σ residual² / Σ (measured − mean)²; NaN for a constant record. Of several outputs: 1 − the mean of this
   * quotient over the outputs, each with its own mean and weighted by its number of values.
   */
  readonly r2: number;
}

/**
 * Root mean square error and R². A measured NaN is a missing sample, and left out; a simulated one makes the results
 * NaN.
 * @param measured [samples], or [samples, outputs]; flat numbers are taken as the shape of the other series
 * @param simulated as many
 * @throws ShapeError 'series-length' if they differ in size; DataError 'not-finite' for an infinite value
 * @example
 * ```ts
 * import {reports} from 'stiffgrad/training';
 *
 * console.log(reports.goodnessOfFit([1, 2, 3], [1, 2, 2.5]).rmse); // → 0.28868
 * ```
 */
export function goodnessOfFit(measured: SeriesValues, simulated: SeriesValues): GoodnessOfFit {
  const [a, b] = [
    readSeries(measured, 'goodnessOfFit: measured', {outputs: 'any', missing: true}),
    readSeries(simulated, 'goodnessOfFit: simulated', {outputs: 'any', missing: true}),
  ];
  const flat = a.outputs === 1 || b.outputs === 1;
  if (a.values.length !== b.values.length || (!flat && a.outputs !== b.outputs))
    throw new ShapeError(
      'series-length',
      `goodnessOfFit: ${a.samples} measured samples of ${a.outputs} and ${b.samples} simulated ones of ${b.outputs}; `
        + 'give as many of each.',
    );
  return together(goodnessByOutput(a.values, b.values, Math.max(a.outputs, b.outputs)));
}

/** Each output's, of series [samples, outputs], row-major. */
export function goodnessByOutput(measured: Float64Array, simulated: Float64Array, outputs: number): GoodnessOfFit[] {
  const samples = measured.length / outputs;
  return Array.from({length: outputs}, (_, k) =>
    goodness(columnOf({values: measured, samples, outputs}, k), columnOf({values: simulated, samples, outputs}, k)),
  );
}

function goodness(measured: Float64Array, simulated: Float64Array): GoodnessOfFit {
  const present = Array.from(measured.keys()).filter(i => !Number.isNaN(measured[i]));
  const {length: samples} = present;
  let mean = 0;
  for (const i of present) mean += measured[i] / samples;
  let [squares, spread, worst, worstAt] = [0, 0, 0, 0];
  for (const i of present) {
    const residual = measured[i] - simulated[i];
    squares += residual ** 2;
    spread += (measured[i] - mean) ** 2;
    // The first residual that is NaN stays the worst.
    if (Math.abs(residual) > worst || (Number.isNaN(residual) && !Number.isNaN(worst)))
      [worst, worstAt] = [Math.abs(residual), i];
  }
  return {samples, rmse: Math.sqrt(squares / samples), worst, worstAt, r2: spread > 0 ? 1 - squares / spread : NaN};
}

/** Several outputs as one: root mean squares over all values. */
export function together(outputs: readonly GoodnessOfFit[]): GoodnessOfFit {
  const samples = outputs.reduce((sum, one) => sum + one.samples, 0);
  const mean = (of: (one: GoodnessOfFit) => number): number =>
    outputs.reduce((sum, one) => sum + (one.samples === 0 ? 0 : one.samples * of(one)), 0) / samples;
  const {worst, worstAt} = outputs.reduce((most, one) =>
    one.worst > most.worst || (Number.isNaN(one.worst) && !Number.isNaN(most.worst)) ? one : most,
  );
  return {samples, rmse: Math.sqrt(mean(one => one.rmse ** 2)), worst, worstAt, r2: 1 - mean(one => 1 - one.r2)};
}

/** Counts in bins of one width. */
export interface Histogram {
  /** Middle of each bin. */
  readonly centers: Float64Array;
  /** The part of the values in each bin; they add up to 1. */
  readonly share: Float64Array;
  readonly width: number;
}

/** The most bins that a small plot can show. */
const MOST_BINS = 60;

/**
 * Bins of Freedman and Diaconis's width 2·IQR/∛n (1981), over the values' own range; between 5 and 60, one for a
 * constant.
 * @param values [samples]; NaN is a missing one, and left out
 * @throws ShapeError for several columns; DataError 'not-finite' for an infinite value, 'too-short' if there is none
 */
export function histogram(values: SeriesValues): Histogram {
  const read = readSeries(values, 'histogram: values', {outputs: 'one', missing: true}).values;
  const sorted = read.filter(value => !Number.isNaN(value)).sort();
  if (sorted.length === 0) throw new DataError('too-short', 'histogram: there are no values.');
  const n = sorted.length;
  const [low, high] = [sorted[0], sorted[n - 1]];
  const spread = sorted[Math.floor(0.75 * (n - 1))] - sorted[Math.floor(0.25 * (n - 1))];
  const wanted = Math.ceil((high - low) / ((2 * spread) / Math.cbrt(n)));
  const varies = (high - low) / MOST_BINS > 0; // false for differences at the end of the doubles' range, too
  const bins = varies ? Math.min(MOST_BINS, Math.max(5, wanted)) : 1;
  const width = varies ? (high - low) / bins : 1;
  const share = new Float64Array(bins);
  for (const value of sorted) share[Math.min(bins - 1, Math.floor((value - low) / width))] += 1 / n;
  return {centers: Float64Array.from({length: bins}, (_, i) => low + (i + 0.5) * width), share, width};
}

/** How residuals are related to those some samples later; 1 at lag 0. */
export interface Autocorrelation {
  readonly lags: Float64Array;
  readonly values: Float64Array;
  /** 1.96/√n, n the number of values that are not missing: what white noise stays within, 19 times in 20. */
  readonly band: number;
}

/** Lags shown: one for each pixel of a small plot. */
const LAGS = 400;

/**
 * Correlation of the values with themselves some samples later, to where it has died away.
 * @param values [samples]; NaN is a missing one: pairs with it are left out, and the mean product of m pairs at lag k
 *   is weighted by m/(m + k), as of a complete series
 * @throws ShapeError for several columns; DataError 'not-finite' for an infinite value
 */
export function autocorrelation(values: SeriesValues): Autocorrelation {
  const {values: read, samples: n} = readSeries(values, 'autocorrelation: values', {outputs: 'one', missing: true});
  const present = read.filter(value => !Number.isNaN(value));
  const mean = present.reduce((sum, value) => sum + value / present.length, 0);
  const centered = read.map(value => value - mean);
  const covariance = (lag: number): number => {
    let [sum, pairs] = [0, 0];
    for (let i = lag; i < n; i++) {
      const product = centered[i] * centered[i - lag];
      if (Number.isNaN(product)) continue;
      sum += product;
      pairs++;
    }
    return sum / Math.max(1, pairs + lag);
  };
  const variance = covariance(0);
  // With missing samples, a covariance and the variance are those of different samples; their quotient may exceed 1.
  const at = (lag: number): number => (variance > 0 ? Math.max(-1, Math.min(1, covariance(lag) / variance)) : 0);
  const reach = memory(at, n);
  const spacing = Math.max(1, Math.ceil(reach / LAGS));
  const lags = Float64Array.from({length: Math.floor(reach / spacing) + 1}, (_, i) => i * spacing);
  return {lags, values: lags.map(at), band: 1.96 / Math.sqrt(present.length)};
}

/** The share of the autocorrelations beyond the band of white noise; NaN for a single value. */
export function correlatedShare(values: SeriesValues): number {
  const {values: all, band} = autocorrelation(values);
  const later = all.subarray(1);
  return later.length === 0 ? NaN : later.filter(value => Math.abs(value) > band).length / later.length;
}

/** One autocorrelation of white noise in twenty leaves the band; more than six of forty once in 200 records. */
export const WHITE = 0.15;

/** Twice the lag at which the correlation falls below a tenth; at most a quarter of the record. */
function memory(at: (lag: number) => number, n: number): number {
  const most = Math.max(1, Math.floor(n / 4));
  let lag = 1;
  while (lag < most && at(lag) > 0.1) lag *= 2;
  return Math.min(most, Math.max(2 * lag, 40));
}
