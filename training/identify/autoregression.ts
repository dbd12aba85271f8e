/**
 * Autoregressions by their partial autocorrelations, which always belong to a stationary process; and the whitening of
 * a series by them, exact from its first sample on, and over samples that are missing. Of series without gaps they are
 * found by Burg's method (1975; Percival & Walden, Spectral Analysis for Physical Applications, §9.5), and sample k < p
 * is whitened by the best predictor of order k (Levinson's recursion). With gaps they are those of the largest
 * likelihood, and each sample is predicted from all before it by a Kalman filter, whose state is the last p values,
 * known where they were measured (Jones, Maximum likelihood fitting of ARMA models to time series with missing
 * observations, Technometrics 22, 1980).
 */
import {levenbergMarquardt} from './least-squares.js';
import {LARGEST_MEMORY} from './long-run-covariance.js';

/** Rows of one output in time, those that were measured. */
export interface SeriesStretch {
  readonly rows: readonly number[];
  /** Samples from the row before to each, the first one's 0. Not given: nothing is missing in between. */
  readonly lags?: readonly number[];
}

/** The values of a stretch. */
export interface ScalarSeries {
  readonly values: Float64Array;
  readonly lags?: readonly number[];
}

/** The best linear predictors of orders 0 … p, and by how much each one's errors exceed the last one's. */
export interface Predictors {
  /** [order][i]: the weight of the sample i + 1 before. */
  readonly weights: readonly Float64Array[];
  /** Standard deviation of the last predictor's error over each one's. */
  readonly gain: Float64Array;
}

/** Levinson's recursion. @param partial autocorrelations of lags 1 … p */
export function predictorsOf(partial: Float64Array): Predictors {
  const weights: Float64Array[] = [new Float64Array(0)];
  const variance = [1];
  partial.forEach((kappa, m) => {
    const last = weights[m];
    weights.push(Float64Array.from({length: m + 1}, (_, i) => (i === m ? kappa : last[i] - kappa * last[m - 1 - i])));
    variance.push(variance[m] * (1 - kappa * kappa));
  });
  return {weights, gain: Float64Array.from(variance, v => Math.sqrt(variance[variance.length - 1] / v))};
}

/** Partial autocorrelations of lags 1 … order by Burg's method; zeros where the series are too short. */
export function burg(series: readonly Float64Array[], order: number): Float64Array {
  const partial = new Float64Array(order);
  const forward = series.map(values => values.slice());
  const backward = series.map(values => values.slice());
  for (let m = 0; m < order; m++) {
    let [product, power] = [0, 0];
    forward.forEach((f, s) => {
      for (let k = m + 1; k < f.length; k++) {
        product += f[k] * backward[s][k - 1];
        power += f[k] ** 2 + backward[s][k - 1] ** 2;
      }
    });
    const kappa = power > 0 ? (2 * product) / power : 0;
    partial[m] = kappa;
    forward.forEach((f, s) => {
      const b = backward[s];
      for (let k = f.length - 1; k > m; k--) {
        const [ahead, behind] = [f[k], b[k - 1]];
        f[k] = ahead - kappa * behind;
        b[k] = behind - kappa * ahead;
      }
    });
  }
  return partial;
}

/** Starts of the first partial autocorrelation: from one of them the likelihood rises to its largest value. */
const STARTS = [0.1, 0.3, 0.5, 0.7, 0.9];

/**
 * A first partial autocorrelation below zero is taken where the likelihood says so with 95 %, which is this difference
 * of 2 ln L: where every second sample is missing but for a few, these few decide between φ and −φ, and errors in time
 * are rarely of alternating sign.
 */
const TOLD = 3.84;

/** Central differences err by h² and by ε/h: their optimum, the cube root of ε. */
const DIFFERENCE = Number.EPSILON ** (1 / 3);

/** The cost decides later than in a fit, so that turns of fit and noise settle. */
const SEARCH = {tolerance: {cost: 1e-18}, maxIterations: 40};

/**
 * Partial autocorrelations of lags 1 … order of the largest likelihood. Whatever the scale, n ln Σ z² + Σ ln S, z the
 * innovations over their deviations √S, is least where Σ (z G)² is, G the geometric mean of √S. With a known scale s it
 * is Σ (z/s)² + Σ ln S, whose second sum is the square of one more row. Of two processes that
 * differ by the sign of odd lags, which samples at even lags do not tell apart, the one that begins with a positive
 * correlation, unless the likelihood tells against it. Zeros where the series are too short to tell.
 */
export function likeliest(series: readonly ScalarSeries[], order: number, scale?: number): Float64Array {
  const count = series.reduce((sum, {values}) => sum + values.length, 0);
  if (count <= order + 1 || series.every(({values}) => values.every(value => value === 0)))
    return new Float64Array(order);
  const rows = scale === undefined ? count : count + 1;
  const residuals = (x: Float64Array): Float64Array => {
    const predictors = predictorsOf(x.map(Math.tanh));
    const all = new Float64Array(rows);
    let [first, logGain] = [0, 0];
    for (const {values, lags} of series) {
      const own = all.subarray(first, first + values.length);
      own.set(values);
      logGain += whiten(own, 1, {rows: Array.from(own.keys()), lags}, predictors);
      first += values.length;
    }
    if (scale === undefined) return all.map(value => value * Math.exp(-logGain / count));
    return all.map((value, k) => (k === count ? Math.sqrt(Math.max(-2 * logGain, 0)) : value / scale));
  };
  const problem = {
    residuals,
    linearize: (x: Float64Array) => {
      const jacobian = new Float64Array(rows * order);
      for (let j = 0; j < order; j++) {
        const at = (sign: number): Float64Array =>
          residuals(x.map((value, i) => (i === j ? value + sign * DIFFERENCE : value)));
        const [above, below] = [at(1), at(-1)];
        above.forEach((value, k) => (jacobian[k * order + j] = (value - below[k]) / (2 * DIFFERENCE)));
      }
      return {residuals: residuals(x), jacobian};
    },
  };
  const costAt = (x: Float64Array): number => residuals(x).reduce((sum, r) => sum + r * r, 0);
  const best = (sign: number): {readonly x: Float64Array; readonly cost: number} =>
    STARTS.map(kappa => new Float64Array(order).fill(Math.atanh(sign * kappa), 0, 1))
      .map(x => ({x, cost: costAt(x)}))
      .reduce((least, start) => (start.cost < least.cost ? start : least));
  const [positive, negative] = [best(1), best(-1)];
  const told = scale === undefined ? positive.cost * Math.exp(-TOLD / count) : positive.cost - TOLD;
  const start = negative.cost < told ? negative.x : positive.x;
  return levenbergMarquardt(SEARCH).minimize(problem, start).x.map(Math.tanh);
}

/**
 * Partial autocorrelations without what the fit and the estimate take from them.
 * @param share of parameters in the residuals
 */
export function unbiased(partial: Float64Array, series: readonly ScalarSeries[], share: number): Float64Array {
  const samples = series.reduce((sum, {values}) => sum + values.length, 0);
  if (partial.length === 0 || samples === 0) return partial;
  return partial.length === 1
    ? Float64Array.of(unbiasedFirst(partial[0], series, share, samples))
    : unbiasedSeveral(partial, share, samples);
}

/**
 * Order 1: each smooth regressor takes (1 + φ)/n, as a mean does, and the estimate 2φ/n (Marriott & Pope, Biometrika
 * 1954). Where most samples are k after the one before, it is φᵏ that they tell, and from which it is taken.
 */
function unbiasedFirst(found: number, series: readonly ScalarSeries[], share: number, samples: number): number {
  const k = medianLag(series);
  const told = found ** k;
  const corrected = told + share * (1 + told) + (2 * told) / samples;
  const bounded = Math.min(Math.max(corrected, -LARGEST_MEMORY), LARGEST_MEMORY);
  const negative = k % 2 === 0 ? found < 0 : bounded < 0;
  return (negative ? -1 : 1) * Math.abs(bounded) ** (1 / k);
}

/**
 * Higher orders: a smooth regressor takes what there is at low frequency, the sum f of all autocovariances, over n
 * from each of them; of order 1 that is the (1 + φ)/n above. From the estimate itself φ₂ loses (1 + 3φ₂)/n and φ₁ φ₁/n
 * where the order is 2 (Shaman & Stine, The bias of autoregressive coefficient estimators, JASA 83, 1988); beyond it is
 * left.
 */
function unbiasedSeveral(partial: Float64Array, share: number, samples: number): Float64Array {
  const {weights} = predictorsOf(partial);
  const order = partial.length;
  // Autocorrelations 1 … p by the predictors of each order, and f over the variance.
  const rho = new Float64Array(order + 1);
  rho[0] = 1;
  for (let k = 1; k <= order; k++) rho[k] = weights[k].reduce((sum, weight, i) => sum + weight * rho[k - 1 - i], 0);
  const innovation = partial.reduce((product, kappa) => product * (1 - kappa * kappa), 1);
  const low = innovation / (1 - weights[order].reduce((sum, weight) => sum + weight, 0)) ** 2;
  // At most as much as there is: φ near 1 sums up to more than the samples hold.
  const taken = Math.min(share * low, 1);
  const whole = partialOf(rho.map(value => (value + taken) / (1 + taken)));
  if (order === 2) {
    const [first, second] = whole;
    whole[0] += (first * (2 + 3 * second)) / ((1 - second) * samples);
    whole[1] += (1 + 3 * second) / samples;
  }
  return whole.map(kappa => Math.min(Math.max(kappa, -LARGEST_MEMORY), LARGEST_MEMORY));
}

/** Levinson's recursion. @param rho autocorrelations of lags 0 … p */
function partialOf(rho: Float64Array): Float64Array {
  const partial = new Float64Array(rho.length - 1);
  for (let m = 1; m < rho.length; m++) {
    const {weights} = predictorsOf(partial.subarray(0, m - 1));
    const last = weights[m - 1];
    const [told, left] = last.reduce(
      ([sum, rest], weight, i) => [sum + weight * rho[m - 1 - i], rest - weight * rho[i + 1]],
      [0, 1],
    );
    partial[m - 1] = (rho[m] - told) / left;
  }
  return partial;
}

function medianLag(series: readonly ScalarSeries[]): number {
  if (series.every(({lags}) => lags === undefined)) return 1;
  const lags = Int32Array.from(
    series.flatMap(({values, lags: own}) => (own ?? new Array<number>(values.length).fill(1)).slice(1)),
  ).sort();
  return lags.length === 0 ? 1 : lags[Math.floor(lags.length / 2)];
}

/**
 * W·rows in place: each of a stretch becomes what its past does not tell, in the deviation of the last predictor.
 * @returns ln of W's determinant
 */
export function whiten(
  rows: Float64Array,
  width: number,
  {rows: stretch, lags}: SeriesStretch,
  predictors: Predictors,
): number {
  if (lags !== undefined) return whitenOver(rows, width, stretch, filterOf(lags, predictors));
  const {weights, gain} = predictors;
  let logGain = 0;
  for (let k = stretch.length - 1; k >= 0; k--) {
    const order = Math.min(k, weights.length - 1);
    const at = stretch[k] * width;
    logGain += Math.log(gain[order]);
    for (let j = 0; j < width; j++) {
      let value = rows[at + j];
      for (let i = 0; i < order; i++) value -= weights[order][i] * rows[stretch[k - 1 - i] * width + j];
      rows[at + j] = gain[order] * value;
    }
  }
  return logGain;
}

/** Wᵀ·values in place: cotangents on their way back. */
export function whitenBack(values: Float64Array, {rows: stretch, lags}: SeriesStretch, predictors: Predictors): void {
  if (lags !== undefined) {
    whitenOverBack(values, stretch, filterOf(lags, predictors));
    return;
  }
  const {weights, gain} = predictors;
  stretch.forEach((row, k) => {
    const order = Math.min(k, weights.length - 1);
    const bar = gain[order] * values[row];
    values[row] = bar;
    for (let i = 0; i < order; i++) values[stretch[k - 1 - i]] -= weights[order][i] * bar;
  });
}

/** A Kalman filter of the last p values, which are measured exactly: what is not of the values themselves. */
interface Filter {
  readonly lags: readonly number[];
  /** φ₁ … φₚ. */
  readonly phi: Float64Array;
  /** By row: 1 over the deviation of its innovation, in that of the last predictor. */
  readonly gain: Float64Array;
  /** By row, [p]: how the last p values are corrected by its innovation. */
  readonly correction: Float64Array;
}

function filterOf(lags: readonly number[], {weights, gain: last}: Predictors): Filter {
  const p = weights.length - 1;
  const phi = weights[p];
  let covariance = stationary(weights, last);
  const gain = new Float64Array(lags.length);
  const correction = new Float64Array(lags.length * p);
  lags.forEach((lag, k) => {
    for (let step = 0; step < lag; step++) covariance = predicted(covariance, phi);
    const variance = covariance[0];
    gain[k] = 1 / Math.sqrt(variance);
    const own = Float64Array.from({length: p}, (_, i) => covariance[i * p] / variance);
    correction.set(own, k * p);
    // What was measured is known: to zero, so that after p samples without a gap nothing but zeros is left.
    covariance = covariance.map((value, index) => {
      const [i, j] = [Math.floor(index / p), index % p];
      return i === 0 || j === 0 ? 0 : value - own[i] * own[j] * variance;
    });
  });
  return {lags, phi, gain, correction};
}

/** Autocovariances of lags 0 … p − 1, [p, p], of innovations of variance 1, by Yule and Walker. */
function stationary(weights: readonly Float64Array[], gain: Float64Array): Float64Array {
  const p = weights.length - 1;
  const lagged = new Float64Array(p);
  for (let m = 0; m < p; m++)
    lagged[m] = m === 0 ? 1 / gain[0] ** 2 : weights[m].reduce((sum, w, i) => sum + w * lagged[m - 1 - i], 0);
  return new Float64Array(p * p).map((_, index) => lagged[Math.abs(Math.floor(index / p) - (index % p))]);
}

/** F P Fᵀ + 1 for the newest value, F the companion matrix of φ. */
function predicted(covariance: Float64Array, phi: Float64Array): Float64Array {
  const p = phi.length;
  const next = new Float64Array(p * p);
  next[0] = 1;
  for (let j = 0; j < p; j++) {
    let mixed = 0;
    for (let i = 0; i < p; i++) mixed += phi[i] * covariance[i * p + j];
    next[0] += phi[j] * mixed;
    if (j + 1 < p) next[j + 1] = next[(j + 1) * p] = mixed;
    for (let i = 0; i + 1 < p && j + 1 < p; i++) next[(i + 1) * p + j + 1] = covariance[i * p + j];
  }
  return next;
}

/** @returns ln of the determinant */
function whitenOver(
  rows: Float64Array,
  width: number,
  stretch: readonly number[],
  {lags, phi, gain, correction}: Filter,
): number {
  const p = phi.length;
  const state = new Float64Array(p);
  for (let j = 0; j < width; j++) {
    state.fill(0);
    stretch.forEach((row, k) => {
      for (let step = 0; step < lags[k]; step++) {
        const newest = phi.reduce((sum, value, i) => sum + value * state[i], 0);
        state.copyWithin(1, 0);
        state[0] = newest;
      }
      const innovation = rows[row * width + j] - state[0];
      for (let i = 0; i < p; i++) state[i] += correction[k * p + i] * innovation;
      rows[row * width + j] = gain[k] * innovation;
    });
  }
  return gain.reduce((sum, value) => sum + Math.log(value), 0);
}

/** The transpose, from the last row to the first. */
function whitenOverBack(values: Float64Array, stretch: readonly number[], {lags, phi, gain, correction}: Filter): void {
  const p = phi.length;
  const bar = new Float64Array(p);
  for (let k = stretch.length - 1; k >= 0; k--) {
    let own = gain[k] * values[stretch[k]];
    for (let i = 0; i < p; i++) own += correction[k * p + i] * bar[i];
    values[stretch[k]] = own;
    bar[0] -= own;
    for (let step = 0; step < lags[k]; step++) {
      const [newest] = bar;
      bar.copyWithin(0, 1);
      bar[p - 1] = 0;
      phi.forEach((value, i) => (bar[i] += value * newest));
    }
  }
}
