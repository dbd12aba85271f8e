/**
 * Factorizations of one small dense matrix in double precision, row-major, in place, without tensors.
 * Gaussian elimination with partial pivoting and Cholesky's row version, as in Golub & Van Loan,
 * "Matrix Computations" (4th ed.), algorithms 3.4.1 and 4.2.1; rank decisions after Higham,
 * "Accuracy and Stability of Numerical Algorithms" (2nd ed.), theorems 9.3 and 10.3.
 */
import {substitute} from '../graph/primitives/factorization.js';

/** Unit roundoff of double precision, 2⁻⁵³. */
const UNIT_ROUNDOFF = Number.EPSILON / 2;

/** A factorization that met a pivot it could not use says at which stage; `none` otherwise. */
export const none = -1;

export function isFinite(values: ArrayLike<number>): boolean {
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) {
      return false;
    }
  }
  return true;
}

/**
 * PA = LU in place: `a` becomes L (unit diagonal, not stored) below and U on and above the diagonal,
 * and `p[i]` the row of A that stands in row i of PA. Returns the first stage at which no row has a
 * usable pivot, or `none`; the factors are complete either way.
 *
 * An entry counts as zero when it is below n·u·(|L||U|)ᵢⱼ: by Higham's theorem 9.3 the computed
 * factors are exact for a matrix that differs from A by about that much, so such a pivot cannot be
 * told from zero. `|L||U|` is accumulated entry by entry next to the elimination, so the decision does not
 * change when rows or columns are scaled, as a bound by a norm of A would.
 */
export function factorLu(a: Float64Array, n: number, p: Int32Array): number {
  const magnitude = a.map(Math.abs);
  const isNoise = (at: number) => Math.abs(a[at]) <= n * UNIT_ROUNDOFF * magnitude[at];
  let failed = none;
  for (let i = 0; i < n; i++) {
    p[i] = i;
  }
  for (let k = 0; k < n; k++) {
    const pivot = pivotRow(a, n, k, isNoise);
    if (isNoise(pivot * n + k) && failed === none) {
      failed = k;
    }
    if (pivot !== k) {
      swapRows(a, n, k, pivot);
      swapRows(magnitude, n, k, pivot);
      const row = p[k];
      p[k] = p[pivot];
      p[pivot] = row;
    }
    const diagonal = a[k * n + k];
    if (diagonal === 0) {
      continue; // the whole column below is zero too: nothing to eliminate, L's column is zero
    }
    for (let i = k + 1; i < n; i++) {
      const factor = (a[i * n + k] /= diagonal);
      if (factor === 0) {
        continue;
      }
      for (let j = k + 1; j < n; j++) {
        const product = factor * a[k * n + j];
        a[i * n + j] -= product;
        magnitude[i * n + j] += Math.abs(product);
      }
    }
  }
  return failed;
}

/** The largest entry of column k on or below the diagonal, among those that are not rounding noise. */
function pivotRow(a: Float64Array, n: number, k: number, isNoise: (at: number) => boolean): number {
  let best = k;
  let bestIsNoise = true;
  for (let i = k; i < n; i++) {
    const noise = isNoise(i * n + k);
    const larger = Math.abs(a[i * n + k]) > Math.abs(a[best * n + k]);
    if ((bestIsNoise && !noise) || (bestIsNoise === noise && larger)) {
      best = i;
      bestIsNoise = noise;
    }
  }
  return best;
}

function swapRows(a: Float64Array, n: number, i: number, j: number): void {
  for (let k = 0; k < n; k++) {
    const value = a[i * n + k];
    a[i * n + k] = a[j * n + k];
    a[j * n + k] = value;
  }
}

/**
 * The lower Cholesky factor in place, from the lower triangle; the upper one is set to zero.
 * Returns the first row whose pivot is not positive, or `none`. A pivot counts as positive above
 * k·u·aₖₖ, the rounding error of the sum that forms it (Higham, theorem 10.3).
 */
export function factorCholesky(a: Float64Array, n: number): number {
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = a[i * n + j];
      for (let k = 0; k < j; k++) {
        sum -= a[i * n + k] * a[j * n + k];
      }
      if (j < i) {
        a[i * n + j] = sum / a[j * n + j];
      } else if (sum <= (i + 1) * UNIT_ROUNDOFF * Math.abs(a[i * n + i])) {
        return i;
      } else {
        a[i * n + i] = Math.sqrt(sum);
      }
    }
    a.fill(0, i * n + i + 1, (i + 1) * n);
  }
  return none;
}

/** A triangle of a square matrix, and how to read it. */
export interface Triangle {
  lower: boolean;
  /** Use the transpose of the triangle. */
  adjoint: boolean;
  /** Take the diagonal as ones, whatever is stored there. */
  unit: boolean;
}

/** Solves T x = b for the k columns of b in place, T the named triangle of `a`. */
export function solveTriangular(
  a: Float64Array,
  n: number,
  b: Float64Array,
  k: number,
  {lower, adjoint, unit}: Triangle,
): void {
  substitute(a, 0, n, b, 0, k, lower, adjoint, unit);
}

/** x from A x = b, or Aᵀ x = b, with `lu` and `p` of `factorLu`. From PA = LU: Aᵀ = Uᵀ Lᵀ P. */
export function solveLu(
  lu: Float64Array,
  p: Int32Array,
  n: number,
  b: Float64Array,
  k: number,
  adjoint: boolean,
): Float64Array {
  const x = new Float64Array(n * k);
  const lower: Triangle = {lower: true, adjoint, unit: true};
  const upper: Triangle = {lower: false, adjoint, unit: false};
  if (adjoint) {
    const y = b.slice();
    solveTriangular(lu, n, y, k, upper);
    solveTriangular(lu, n, y, k, lower);
    for (let i = 0; i < n; i++) {
      x.set(y.subarray(i * k, (i + 1) * k), p[i] * k);
    }
  } else {
    for (let i = 0; i < n; i++) {
      x.set(b.subarray(p[i] * k, (p[i] + 1) * k), i * k);
    }
    solveTriangular(lu, n, x, k, lower);
    solveTriangular(lu, n, x, k, upper);
  }
  return x;
}

/**
 * The rows of a matrix that depend on the rows above them, found by reducing each row with the ones
 * before it: what remains of a dependent row is rounding noise, in the sense of `factorLu`.
 */
export function dependentRows(matrix: Float64Array, n: number): number[] {
  const a = matrix.slice();
  const magnitude = a.map(Math.abs);
  const pivots: {row: number; column: number}[] = [];
  const dependent: number[] = [];
  for (let i = 0; i < n; i++) {
    for (const {row, column} of pivots) {
      const factor = a[i * n + column] / a[row * n + column];
      for (let j = 0; j < n; j++) {
        a[i * n + j] -= factor * a[row * n + j];
        magnitude[i * n + j] += Math.abs(factor * a[row * n + j]);
      }
      a[i * n + column] = 0;
    }
    let column = none;
    for (let j = 0; j < n; j++) {
      const noise = Math.abs(a[i * n + j]) <= n * UNIT_ROUNDOFF * magnitude[i * n + j];
      if (!noise && (column === none || Math.abs(a[i * n + j]) > Math.abs(a[i * n + column]))) {
        column = j;
      }
    }
    if (column === none) {
      dependent.push(i);
    } else {
      pivots.push({row: i, column});
    }
  }
  return dependent;
}
