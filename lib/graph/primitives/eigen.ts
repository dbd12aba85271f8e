/**
 * Eigenvalues and eigenvectors of a small symmetric matrix by cyclic Jacobi rotations (Golub & Van Loan,
 * Matrix Computations, §8.5): short, without special cases for equal eigenvalues, and accurate to the
 * last digits of the largest. For n ≤ 12, as blocks of elements are, it takes 4 to 8 sweeps, for n = 100 up to 10.
 */

/** Rotations square what is off the diagonal in every sweep: thirty are never needed, and end a NaN. */
const mostSweeps = 30;

/** Share ε²/4 of all squares above the diagonal: eigenvalues are off by less than ε of the largest. */
function isDiagonal(a: Float64Array, n: number): boolean {
  let beside = 0;
  let all = 0;
  for (let i = 0; i < n; i++) {
    all += a[i * n + i] * a[i * n + i];
    for (let j = i + 1; j < n; j++) beside += a[i * n + j] * a[i * n + j];
  }
  return !(beside > (Number.EPSILON / 2) ** 2 * (all + 2 * beside));
}

/** A ← GᵀAG with the rotation of p and q that makes a_pq zero; V ← VG. Row and column p, q are kept alike. */
function rotate(a: Float64Array, v: Float64Array, n: number, p: number, q: number): void {
  const apq = a[p * n + q];
  if (apq === 0) return;
  const theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
  // The smaller root of t² + 2θt − 1; θ² may overflow, where t is 1/(2θ).
  const t =
    Math.abs(theta) > 1e150 ? 0.5 / theta : Math.sign(theta || 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const c = 1 / Math.sqrt(t * t + 1);
  const s = t * c;
  for (let i = 0; i < n; i++) {
    const ip = i * n + p;
    const iq = i * n + q;
    const vip = v[ip];
    const viq = v[iq];
    v[ip] = c * vip - s * viq;
    v[iq] = s * vip + c * viq;
    if (i === p || i === q) continue;
    const aip = a[ip];
    const aiq = a[iq];
    a[ip] = a[p * n + i] = c * aip - s * aiq;
    a[iq] = a[q * n + i] = s * aip + c * aiq;
  }
  a[p * n + p] -= t * apq;
  a[q * n + q] += t * apq;
  a[p * n + q] = a[q * n + p] = 0;
}

/**
 * The symmetric matrix `a` [n, n] becomes diagonal, its eigenvalues on it in no order; column i of `v`
 * becomes the eigenvector of the i-th, of length 1.
 */
export function diagonalize(a: Float64Array, v: Float64Array, n: number): void {
  v.fill(0);
  for (let i = 0; i < n; i++) v[i * n + i] = 1;
  for (let sweep = 0; sweep < mostSweeps && !isDiagonal(a, n); sweep++) {
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) rotate(a, v, n, p, q);
  }
}

/** The places of the keys in ascending order, equal ones as they come, by insertion: no allocation. */
export function ascending(keys: Float64Array, order: Int32Array): void {
  for (let i = 0; i < keys.length; i++) {
    let at = i;
    for (; at > 0 && keys[order[at - 1]] > keys[i]; at--) order[at] = order[at - 1];
    order[at] = i;
  }
}

/** Scratch of `sortedEigen`. */
export class EigenWorkspace {
  readonly matrix: Float64Array;
  readonly vectors: Float64Array;
  readonly order: Int32Array;
  readonly keys: Float64Array;

  constructor(readonly n: number) {
    this.matrix = new Float64Array(n * n);
    this.vectors = new Float64Array(n * n);
    this.order = new Int32Array(n);
    this.keys = new Float64Array(n);
  }
}

/**
 * Of the symmetric part of the n × n numbers of `a` from `at` on: eigenvalues, ascending, into `values` from
 * `toValues` on, and the vectors that belong to them into the columns of the n × n numbers of `vectors` from
 * `toVectors` on. A matrix that is not finite has NaN for both.
 */
export function sortedEigen(
  a: Float64Array,
  at: number,
  workspace: EigenWorkspace,
  values: Float64Array,
  toValues: number,
  vectors: Float64Array,
  toVectors: number,
): void {
  const {n, matrix, vectors: v, order, keys} = workspace;
  let check = 0;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      matrix[i * n + j] = 0.5 * (a[at + i * n + j] + a[at + j * n + i]);
      check += 0 * matrix[i * n + j];
    }
  }
  if (check !== 0) {
    values.fill(NaN, toValues, toValues + n);
    vectors.fill(NaN, toVectors, toVectors + n * n);
    return;
  }
  diagonalize(matrix, v, n);
  for (let i = 0; i < n; i++) keys[i] = matrix[i * n + i];
  ascending(keys, order);
  for (let k = 0; k < n; k++) {
    values[toValues + k] = matrix[order[k] * n + order[k]];
    for (let i = 0; i < n; i++) vectors[toVectors + i * n + k] = v[i * n + order[k]];
  }
}
