/**
 * Covariances by their square roots: P = RᵀR with R kept as rows of deviations, upper triangular after QR. No
 * covariance is ever subtracted, so none loses its definiteness by rounding, and condition numbers are those of R, the
 * root of P's (Bierman, Factorization Methods for Discrete Sequential Estimation, 1977; Kailath, Sayed & Hassibi,
 * Linear Estimation, 2000, ch. 12: array algorithms).
 */
import {RowQr, singularValues} from '../identify/row-qr.js';

/** Rows, row-major [count, columns]. */
export interface RowMatrix {
  readonly count: number;
  readonly columns: number;
  readonly values: Float64Array;
}

export const rowsOf = (values: Float64Array, columns: number): RowMatrix => ({
  count: values.length / columns,
  columns,
  values,
});

/** R of the stacked rows, [columns, columns] upper triangular with a diagonal that is not negative: RᵀR = Σ rowᵀrow. */
export function triangular(parts: readonly RowMatrix[]): Float64Array {
  const n = parts[0].columns;
  const factor = new RowQr(n, Math.max(...parts.map(({count}) => count)));
  for (const {count, values} of parts) factor.append(values, new Float64Array(count));
  const {r} = factor;
  for (let i = 0; i < n; i++) if (r[i * n + i] < 0) for (let j = i; j < n; j++) r[i * n + j] *= -1;
  return r;
}

/** Two blocks side by side; a missing one is zero. */
export function beside(left: RowMatrix, right: RowMatrix | number): RowMatrix {
  const width = typeof right === 'number' ? right : right.columns;
  const columns = left.columns + width;
  const values = new Float64Array(left.count * columns);
  for (let i = 0; i < left.count; i++) {
    values.set(left.values.subarray(i * left.columns, (i + 1) * left.columns), i * columns);
    if (typeof right !== 'number')
      values.set(right.values.subarray(i * width, (i + 1) * width), i * columns + left.columns);
  }
  return {count: left.count, columns, values};
}

/** The part of a square matrix [n, n] in rows from … and columns from …, [rows, columns]. */
export function block(
  matrix: Float64Array,
  n: number,
  [row, rows]: readonly [number, number],
  [column, columns]: readonly [number, number],
): Float64Array {
  const part = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) part[i * columns + j] = matrix[(row + i) * n + column + j];
  return part;
}

/** RᵀR of rows, [columns, columns]. */
export function covarianceOf({count, columns, values}: RowMatrix): Float64Array {
  const product = new Float64Array(columns * columns);
  for (let k = 0; k < count; k++) {
    const row = k * columns;
    for (let i = 0; i < columns; i++)
      for (let j = 0; j < columns; j++) product[i * columns + j] += values[row + i] * values[row + j];
  }
  return product;
}

/** Pivots below this share of the diagonal's greatest are what rounding leaves of zero. */
const ROUNDOFF = 1e-13;

/**
 * Upper triangular R with RᵀR = P by Cholesky's method, where P may be singular.
 * @returns undefined where P is not symmetric and positive semidefinite
 */
export function rootOf(covariance: Float64Array, n: number): Float64Array | undefined {
  const a = covariance.slice();
  const r = new Float64Array(n * n);
  const scale = Math.max(0, ...Array.from({length: n}, (_, i) => Math.abs(a[i * n + i])));
  for (let k = 0; k < n; k++) {
    for (let j = 0; j < k; j++) if (Math.abs(a[k * n + j] - a[j * n + k]) > 1e-9 * scale) return undefined;
    let pivot = a[k * n + k];
    for (let i = 0; i < k; i++) pivot -= r[i * n + k] ** 2;
    if (!(pivot >= -ROUNDOFF * scale)) return undefined;
    const zero = pivot <= ROUNDOFF * scale;
    r[k * n + k] = zero ? 0 : Math.sqrt(pivot);
    for (let j = k + 1; j < n; j++) {
      let rest = a[k * n + j];
      for (let i = 0; i < k; i++) rest -= r[i * n + k] * r[i * n + j];
      // A row of a semidefinite matrix whose diagonal is zero is zero.
      if (zero && Math.abs(rest) > Math.sqrt(ROUNDOFF) * scale) return undefined;
      r[k * n + j] = zero ? 0 : rest / r[k * n + k];
    }
  }
  return r;
}

/** Uᵀ x = b for upper triangular U without zeros on its diagonal; each column of b [n, columns] by itself. */
export function solveTransposed(u: Float64Array, b: Float64Array, n: number): Float64Array {
  const columns = b.length / n;
  const x = b.slice();
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < i; j++)
      for (let c = 0; c < columns; c++) x[i * columns + c] -= u[j * n + i] * x[j * columns + c];
    for (let c = 0; c < columns; c++) x[i * columns + c] /= u[i * n + i];
  }
  return x;
}

/** Below it, relative to the greatest, a pivot is taken to be zero: a direction in which the prediction is exact. */
const EXACT = 1e-12;

/** Least X with U X = B; U [n, n] is upper triangular, and singular where a direction has no variance. */
export function solveUpper(u: Float64Array, b: Float64Array, n: number): Float64Array {
  const columns = b.length / n;
  const diagonal = Array.from({length: n}, (_, i) => Math.abs(u[i * n + i]));
  if (Math.min(...diagonal) <= EXACT * Math.max(...diagonal)) return leastSolution(u, b, n);
  const x = b.slice();
  for (let i = n - 1; i >= 0; i--) {
    for (let j = i + 1; j < n; j++)
      for (let c = 0; c < columns; c++) x[i * columns + c] -= u[i * n + j] * x[j * columns + c];
    for (let c = 0; c < columns; c++) x[i * columns + c] /= u[i * n + i];
  }
  return x;
}

/** V Σ⁻² Vᵀ Uᵀ B over the singular values that are not roundoff. */
function leastSolution(u: Float64Array, b: Float64Array, n: number): Float64Array {
  const columns = b.length / n;
  const {values, vectors} = singularValues(u, n);
  const x = new Float64Array(b.length);
  for (let k = 0; k < n && values[k] > EXACT * values[0]; k++) {
    // U vₖ, whose length is σₖ
    const image = Float64Array.from({length: n}, (_, i) => {
      let sum = 0;
      for (let j = i; j < n; j++) sum += u[i * n + j] * vectors[j * n + k];
      return sum;
    });
    for (let c = 0; c < columns; c++) {
      let along = 0;
      for (let i = 0; i < n; i++) along += image[i] * b[i * columns + c];
      along /= values[k] ** 2;
      for (let i = 0; i < n; i++) x[i * columns + c] += vectors[i * n + k] * along;
    }
  }
  return x;
}
