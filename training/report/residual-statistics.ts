/** What residuals tell about a fit: their size, their distribution, and how long they remember. */

export interface GoodnessOfFit {
  /** Those that were measured. */
  readonly samples: number;
  /** Root of the mean square of measured − simulated. */
  readonly rmse: number;
  /** Greatest absolute residual, and where. */
  readonly worst: number;
  readonly worstAt: number;
  /** 1 − Σ residual² / Σ (measured − mean)²; NaN for a constant record. */
  readonly r2: number;
}

/** How far simulated values are from measured ones: root mean square and R². A measured NaN is a missing sample, and left out. */
export function goodnessOfFit(measured: ArrayLike<number>, simulated: ArrayLike<number>): GoodnessOfFit {
  const present = Array.from(measured, (_, i) => i).filter(i => !Number.isNaN(measured[i]));
  const {length: samples} = present;
  let mean = 0;
  for (const i of present) mean += measured[i] / samples;
  let [squares, spread, worst, worstAt] = [0, 0, 0, 0];
  for (const i of present) {
    const residual = measured[i] - simulated[i];
    squares += residual ** 2;
    spread += (measured[i] - mean) ** 2;
    if (Math.abs(residual) > worst) [worst, worstAt] = [Math.abs(residual), i];
  }
  return {samples, rmse: Math.sqrt(squares / samples), worst, worstAt, r2: spread > 0 ? 1 - squares / spread : NaN};
}

/** Counts in bins of one width. */
export interface Histogram {
  /** Middle of each bin. */
  readonly centers: Float64Array;
  /** The part of the values in each bin; they add up to 1. */
  readonly share: Float64Array;
  readonly width: number;
}

/** What a small plot can show. */
const MOST_BINS = 60;

/** Bins of Freedman and Diaconis's width 2·IQR/∛n (1981), over the values' own range; between 5 and 60, one for a constant. */
export function histogram(values: ArrayLike<number>): Histogram {
  const sorted = Float64Array.from(values).sort();
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
  /** 1.96/√n: what white noise stays within, 19 times in 20. */
  readonly band: number;
}

/** Lags shown: one for each pixel of a small plot. */
const LAGS = 400;

/** Correlation of the values with themselves some samples later, to where it has died away. */
export function autocorrelation(values: ArrayLike<number>): Autocorrelation {
  const n = values.length;
  let mean = 0;
  for (let i = 0; i < n; i++) mean += values[i] / n;
  const centered = Float64Array.from(values, value => value - mean);
  const covariance = (lag: number): number => {
    let sum = 0;
    for (let i = lag; i < n; i++) sum += centered[i] * centered[i - lag];
    return sum;
  };
  const variance = covariance(0);
  const at = (lag: number): number => (variance > 0 ? covariance(lag) / variance : 0);
  const reach = memory(at, n);
  const spacing = Math.max(1, Math.ceil(reach / LAGS));
  const lags = Float64Array.from({length: Math.floor(reach / spacing) + 1}, (_, i) => i * spacing);
  return {lags, values: lags.map(at), band: 1.96 / Math.sqrt(n)};
}

/** The share of the autocorrelations beyond the band of white noise; NaN for a single value. */
export function correlatedShare(values: ArrayLike<number>): number {
  const {values: all, band} = autocorrelation(values);
  const later = all.subarray(1);
  return later.length === 0 ? NaN : later.filter(value => Math.abs(value) > band).length / later.length;
}

/** Of white noise one autocorrelation in twenty leaves its band; of the forty lags that are shown at least, more than six do so once in 200 records (binomial). */
export const WHITE = 0.15;

/** Twice the lag, to a factor of two, at which the correlation first falls below a tenth; a quarter of the record at most. */
function memory(at: (lag: number) => number, n: number): number {
  const most = Math.max(1, Math.floor(n / 4));
  let lag = 1;
  while (lag < most && at(lag) > 0.1) lag *= 2;
  return Math.min(most, Math.max(2 * lag, 40));
}
