/**
 * Eigenvalues and eigenvectors of a small symmetric matrix by cyclic Jacobi rotations (Golub & Van Loan,
 * Matrix Computations, §8.5): short, without special cases for equal eigenvalues, and accurate to the
 * last digits of the largest. For n ≤ 12, as blocks of elements are, it takes 4 to 8 sweeps.
 */

/** Rotations square what is left off the diagonal in every sweep: thirty are never needed, and end what is not a number. */
const mostSweeps = 30;

/** Sum of squares above the diagonal. */
function offDiagonal(a: Float64Array, n: number): number {
  let sum = 0;
  for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) sum += a[i * n + j] * a[i * n + j];
  return sum;
}

/** A ← GᵀAG with the rotation of p and q that makes a_pq zero; V ← VG. Row and column p, q are kept alike. */
function rotate(a: Float64Array, v: Float64Array, n: number, p: number, q: number): void {
  const apq = a[p * n + q];
  if (apq === 0) return;
  const theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
  // The smaller root of t² + 2θt − 1; θ² may overflow, where t is 1/(2θ).
  const t = Math.abs(theta) > 1e150 ? 0.5 / theta : Math.sign(theta || 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
  const c = 1 / Math.sqrt(t * t + 1);
  const s = t * c;
  for (let i = 0; i < n; i++) {
    const [ip, iq] = [i * n + p, i * n + q];
    const [vip, viq] = [v[ip], v[iq]];
    v[ip] = c * vip - s * viq;
    v[iq] = s * vip + c * viq;
    if (i === p || i === q) continue;
    const [aip, aiq] = [a[ip], a[iq]];
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
  let size = 0;
  for (let i = 0; i < n * n; i++) size += a[i] * a[i];
  // Eigenvalues then differ from the diagonal by less than ε of the largest.
  const enough = (Number.EPSILON / 2) ** 2 * size;
  for (let sweep = 0; sweep < mostSweeps && offDiagonal(a, n) > enough; sweep++) {
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) rotate(a, v, n, p, q);
  }
}
