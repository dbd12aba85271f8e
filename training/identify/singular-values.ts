/**
 * Singular values and right singular vectors of a small square matrix by one-sided Jacobi rotations
 * (Hestenes 1958; Golub & Van Loan §8.6.3). Chosen because it finds small singular values of a matrix
 * with scaled columns to full relative accuracy (Demmel & Veselić 1992), where eigenvalues of JᵀJ lose
 * everything below √ε: which parameters cannot be told apart is decided by exactly those.
 */

export interface SingularValues {
  /** Descending. */
  readonly values: Float64Array;
  /** [n, n] row-major; column k belongs to values[k]. */
  readonly vectors: Float64Array;
}

/** Columns count as orthogonal when the cosine between them is roundoff. */
const ORTHOGONAL = 4 * Number.EPSILON;

/** Convergence is quadratic: some six sweeps are usual, thirty have never been needed (LAPACK dgesvj's limit). */
const SWEEPS = 30;

export function singularValues(matrix: Float64Array, n: number): SingularValues {
  const a = matrix.slice();
  const v = identity(n);
  for (let sweep = 0; sweep < SWEEPS; sweep++) if (!rotateAllPairs(a, v, n)) break;
  const norms = Array.from({length: n}, (_, j) => columnNorm(a, n, j));
  const order = norms.map((_, j) => j).sort((i, j) => norms[j] - norms[i]);
  const vectors = new Float64Array(n * n);
  order.forEach((from, to) => {
    for (let i = 0; i < n; i++) vectors[i * n + to] = v[i * n + from];
  });
  return {values: Float64Array.from(order, j => norms[j]), vectors};
}

function rotateAllPairs(a: Float64Array, v: Float64Array, n: number): boolean {
  let rotated = false;
  for (let i = 0; i < n - 1; i++) for (let j = i + 1; j < n; j++) rotated = orthogonalize(a, v, n, i, j) || rotated;
  return rotated;
}

function orthogonalize(a: Float64Array, v: Float64Array, n: number, i: number, j: number): boolean {
  let ii = 0;
  let jj = 0;
  let ij = 0;
  for (let k = 0; k < n * n; k += n) {
    ii += a[k + i] ** 2;
    jj += a[k + j] ** 2;
    ij += a[k + i] * a[k + j];
  }
  if (ij === 0 || Math.abs(ij) <= ORTHOGONAL * Math.sqrt(ii) * Math.sqrt(jj)) return false;
  const zeta = (jj - ii) / (2 * ij);
  const t = (zeta >= 0 ? 1 : -1) / (Math.abs(zeta) + Math.hypot(1, zeta)); // the smaller of the two rotations
  const cosine = 1 / Math.hypot(1, t);
  rotate(a, n, i, j, cosine, cosine * t);
  rotate(v, n, i, j, cosine, cosine * t);
  return true;
}

function rotate(m: Float64Array, n: number, i: number, j: number, cosine: number, sine: number): void {
  for (let k = 0; k < n * n; k += n) {
    const x = m[k + i];
    const y = m[k + j];
    m[k + i] = cosine * x - sine * y;
    m[k + j] = sine * x + cosine * y;
  }
}

function columnNorm(m: Float64Array, n: number, j: number): number {
  let norm = 0;
  for (let k = 0; k < n * n; k += n) norm = Math.hypot(norm, m[k + j]);
  return norm;
}

function identity(n: number): Float64Array {
  const v = new Float64Array(n * n);
  for (let i = 0; i < n; i++) v[i * n + i] = 1;
  return v;
}
