/**
 * Autoregressions by their partial autocorrelations, which are found by Burg's method (1975; Percival & Walden, Spectral
 * Analysis for Physical Applications, §9.5) and always belong to a stationary process; and the whitening of a series by
 * them, exact from its first sample on: sample k < p by the best predictor of order k (Levinson's recursion).
 */

/** Rows that follow one another in time without a gap. */
export type Stretch = readonly number[];

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

/** Partial autocorrelations of lags 1 … order of all stretches together, by Burg's method; zeros where the series are too short to tell. */
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

/** A correlation nearer to 1 cannot be told from a drift in records of any length. */
const LARGEST = 0.97;

/**
 * The first partial autocorrelation without what the fit and the estimate take from it: each smooth regressor takes (1 + φ)/n, as
 * a mean does, and the estimate 2φ/n (Marriott & Pope, Biometrika 1954). Higher ones are left as they are found.
 * @param share of parameters in the residuals
 */
export function unbiased(partial: Float64Array, series: readonly Float64Array[], share: number): Float64Array {
  const samples = series.reduce((sum, values) => sum + values.length, 0);
  if (partial.length === 0 || samples === 0) return partial;
  const [phi] = partial;
  const corrected = phi + share * (1 + phi) + (2 * phi) / samples;
  return Float64Array.from(partial, (value, i) => (i > 0 ? value : Math.min(Math.max(corrected, -LARGEST), LARGEST)));
}

/** W·rows in place: each of a stretch becomes what its past does not tell, in the deviation of the last predictor. */
export function whiten(rows: Float64Array, width: number, stretch: Stretch, {weights, gain}: Predictors): void {
  for (let k = stretch.length - 1; k >= 0; k--) {
    const order = Math.min(k, weights.length - 1);
    const at = stretch[k] * width;
    for (let j = 0; j < width; j++) {
      let value = rows[at + j];
      for (let i = 0; i < order; i++) value -= weights[order][i] * rows[stretch[k - 1 - i] * width + j];
      rows[at + j] = gain[order] * value;
    }
  }
}

/** Wᵀ·values in place: cotangents on their way back. */
export function whitenBack(values: Float64Array, stretch: Stretch, {weights, gain}: Predictors): void {
  stretch.forEach((row, k) => {
    const order = Math.min(k, weights.length - 1);
    const bar = gain[order] * values[row];
    values[row] = bar;
    for (let i = 0; i < order; i++) values[stretch[k - 1 - i]] -= weights[order][i] * bar;
  });
}
