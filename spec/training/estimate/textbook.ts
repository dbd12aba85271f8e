/**
 * Kalman's equations as they stand in textbooks, with covariances written out and inverted: another way to the numbers
 * of the square-root filter. Särkkä, Bayesian Filtering and Smoothing, 2013: theorems 4.2 and 8.2, algorithms 5.4, 5.14.
 */
export type Matrix = number[][];

export const times = (a: Matrix, b: Matrix): Matrix =>
  a.map(row => b[0].map((_, j) => row.reduce((sum, value, k) => sum + value * b[k][j], 0)));
export const transposed = (a: Matrix): Matrix => a[0].map((_, j) => a.map(row => row[j]));
export const plus = (a: Matrix, b: Matrix, sign = 1): Matrix =>
  a.map((row, i) => row.map((x, j) => x + sign * b[i][j]));
export const columnOf = (x: ArrayLike<number>): Matrix => Array.from(x, value => [value]);

/** By Gauss–Jordan elimination with pivots. */
export function inverse(a: Matrix): Matrix {
  const n = a.length;
  const m = a.map((row, i) => [...row, ...row.map((_, j) => (i === j ? 1 : 0))]);
  for (let k = 0; k < n; k++) {
    let best = k;
    for (let i = k; i < n; i++) if (Math.abs(m[i][k]) > Math.abs(m[best][k])) best = i;
    [m[k], m[best]] = [m[best], m[k]];
    const pivot = m[k][k];
    m[k] = m[k].map(value => value / pivot);
    for (let i = 0; i < n; i++) {
      if (i === k) continue;
      const factor = m[i][k];
      m[i] = m[i].map((value, j) => value - factor * m[k][j]);
    }
  }
  return m.map(row => row.slice(n));
}

export function determinant(a: Matrix): number {
  if (a.length === 1) return a[0][0];
  return a[0].reduce(
    (sum, value, j) => sum + (-1) ** j * value * determinant(a.slice(1).map(row => row.filter((_, k) => k !== j))),
    0,
  );
}

export interface Estimate {
  mean: Matrix;
  covariance: Matrix;
}

export interface Step {
  predicted: Estimate;
  filtered: Estimate;
  /** Of the state before and this one's prediction, Cov(x, x⁺). */
  cross: Matrix;
  logDensity: number;
}

/** A function's image of a Gaussian: mean, covariance without noise, and the covariance of argument and value. */
export type Transform = (f: (x: number[]) => number[], from: Estimate) => Estimate & {cross: Matrix};

/** The Jacobian by central differences. */
export const byJacobian: Transform = (f, {mean, covariance}) => {
  const x = mean.map(([value]) => value);
  const h = 1e-5;
  const columns = x.map((_, i) => {
    const side = (sign: number): number[] => f(x.map((value, j) => (i === j ? value + sign * h : value)));
    const [ahead, behind] = [side(1), side(-1)];
    return ahead.map((value, k) => (value - behind[k]) / (2 * h));
  });
  const jacobian = transposed(columns);
  return {
    mean: columnOf(f(x)),
    covariance: times(times(jacobian, covariance), transposed(jacobian)),
    cross: times(covariance, transposed(jacobian)),
  };
};

/** Points along the columns of Cholesky's factor, with the weights of van der Merwe & Wan. */
export const byPoints =
  (alpha: number, beta: number, kappa: number): Transform =>
  (f, {mean, covariance}) => {
    const n = mean.length;
    const x = mean.map(([value]) => value);
    const lambda = alpha ** 2 * (n + kappa) - n;
    const lower = covariance.map(row => row.map(() => 0));
    for (let i = 0; i < n; i++)
      for (let j = 0; j <= i; j++) {
        let sum = covariance[i][j];
        for (let k = 0; k < j; k++) sum -= lower[i][k] * lower[j][k];
        lower[i][j] = i === j ? Math.sqrt(sum) : sum / lower[j][j];
      }
    const points = [x];
    for (const sign of [1, -1])
      for (let k = 0; k < n; k++) points.push(x.map((value, i) => value + sign * Math.sqrt(n + lambda) * lower[i][k]));
    const weight = points.map((_, i) => (i === 0 ? lambda / (n + lambda) : 1 / (2 * (n + lambda))));
    const images = points.map(f);
    const centre = images[0].map((_, i) => images.reduce((sum, image, k) => sum + weight[k] * image[i], 0));
    const spread = (a: number[][], from: number[]): Matrix =>
      from.map((_, i) =>
        centre.map((__, j) =>
          images.reduce((sum, image, k) => {
            const w = k === 0 ? weight[0] + 1 - alpha ** 2 + beta : weight[k];
            return sum + w * (a[k][i] - from[i]) * (image[j] - centre[j]);
          }, 0),
        ),
      );
    return {mean: columnOf(centre), covariance: spread(images, centre), cross: spread(points, x)};
  };

/** Prediction by f, and update by the measurement z of h. */
export function filterOf(
  start: Estimate,
  samples: readonly number[][],
  model: {f: (x: number[], k: number) => number[]; h: (x: number[]) => number[]; Q: Matrix; R: Matrix},
  transform: Transform,
): Step[] {
  let state = start;
  return samples.map((z, k) => {
    const moved = k === 0 ? {...state, cross: state.covariance} : transform(x => model.f(x, k - 1), state);
    const predicted = {mean: moved.mean, covariance: k === 0 ? moved.covariance : plus(moved.covariance, model.Q)};
    const seen = transform(model.h, predicted);
    const S = plus(seen.covariance, model.R);
    const gain = times(seen.cross, inverse(S));
    const e = plus(columnOf(z), seen.mean, -1);
    const filtered = {
      mean: plus(predicted.mean, times(gain, e)),
      covariance: plus(predicted.covariance, times(times(gain, S), transposed(gain)), -1),
    };
    state = filtered;
    const square = times(times(transposed(e), inverse(S)), e)[0][0];
    const logDensity = -(square + Math.log(determinant(S)) + z.length * Math.log(2 * Math.PI)) / 2;
    return {predicted, filtered, cross: moved.cross, logDensity};
  });
}

/** Rauch, Tung & Striebel's way back. */
export function smootherOf(steps: readonly Step[]): Estimate[] {
  const smoothed = steps.map(({filtered}) => filtered);
  for (let k = steps.length - 2; k >= 0; k--) {
    const {predicted, cross} = steps[k + 1];
    const gain = times(cross, inverse(predicted.covariance));
    smoothed[k] = {
      mean: plus(steps[k].filtered.mean, times(gain, plus(smoothed[k + 1].mean, predicted.mean, -1))),
      covariance: plus(
        steps[k].filtered.covariance,
        times(times(gain, plus(smoothed[k + 1].covariance, predicted.covariance, -1)), transposed(gain)),
      ),
    };
  }
  return smoothed;
}
