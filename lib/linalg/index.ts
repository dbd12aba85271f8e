/**
 * The operations of TensorFlow's tf.linalg that tfjs lacks, named and shaped as there: matrices are the
 * last two dimensions, all others are a batch. They are ordinary tfjs operations: float32 in and out,
 * differentiable to any order on tfjs's tape, on every backend. Away from tfjs-node the values are read
 * synchronously and factored in double precision, so the result is the exact one rounded once (as far
 * as the matrix's condition lets doubles go); on tfjs-node TensorFlow's own float32 kernels run.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {runCholesky, runLu, runSolve, runTriangularSolve} from './kernels.js';
import {anyMatrices, squareMatrices, withRightSide} from './shape.js';
import {runEigh, runLeastSquares, runSvd} from './spectral-kernels.js';

type Input = tf.Tensor | tf.TensorLike;

/**
 * x from A x = b, or Aᵀ x = b with `adjoint`: a [..., n, n], b [..., n, k] (or [n]) → [..., n, k] (or [..., n]).
 * Batch dimensions broadcast. LU with partial pivoting.
 *
 * @throws ShapeError; SingularMatrixError with `data.batch`, `data.rows` (those that depend on the rows above them).
 */
export function solve(a: Input, b: Input, {adjoint = false}: {adjoint?: boolean} = {}): tf.Tensor {
  return tf.tidy(() =>
    withRightSide('linalg.solve', squareMatrices('linalg.solve', 'a', a), b, (left, right) =>
      runSolve(left, right, adjoint),
    ),
  );
}

/**
 * The lower triangular L with A = LLᵀ of a symmetric positive definite A, [..., n, n] → [..., n, n].
 * A is taken as ½(A + Aᵀ), which changes no symmetric matrix and makes the gradient the symmetric one
 * TensorFlow returns, exact in every direction.
 *
 * @throws ShapeError; SingularMatrixError (code 'not-positive-definite') with `data.batch`, `data.row`.
 */
export function cholesky(a: Input): tf.Tensor {
  return tf.tidy(() => symmetricFactor('linalg.cholesky', a));
}

function symmetricFactor(operation: string, a: Input): tf.Tensor {
  const matrices = squareMatrices(operation, 'a', a);
  return runCholesky(symmetricPart(matrices));
}

/**
 * x from LLᵀ x = b, with L of `cholesky`: l [..., n, n], b [..., n, k] (or [n]) → [..., n, k] (or [..., n]).
 *
 * @throws ShapeError; SingularMatrixError where L has a zero on its diagonal.
 */
export function choleskySolve(l: Input, b: Input): tf.Tensor {
  return tf.tidy(() =>
    withRightSide('linalg.choleskySolve', squareMatrices('linalg.choleskySolve', 'l', l), b, (left, right) =>
      runTriangularSolve(left, runTriangularSolve(left, right, true, false), true, true),
    ),
  );
}

/**
 * x from T x = b, or Tᵀ x = b with `adjoint`, T the lower (default) or upper triangle of `a`; the other
 * triangle is not read. Shapes and batch as in `solve`.
 *
 * @throws ShapeError; SingularMatrixError where the diagonal has a zero.
 */
export function triangularSolve(
  a: Input,
  b: Input,
  {lower = true, adjoint = false}: {lower?: boolean; adjoint?: boolean} = {},
): tf.Tensor {
  return tf.tidy(() =>
    withRightSide('linalg.triangularSolve', squareMatrices('linalg.triangularSolve', 'a', a), b, (left, right) =>
      runTriangularSolve(left, right, lower, adjoint),
    ),
  );
}

/**
 * LU with partial pivoting: `lu` [..., n, n] holds L (unit diagonal, not stored) and U, `p` [..., n] (int32) the
 * row of A in each row of the product, so that gather(A, p) = LU. A singular matrix has factors too:
 * U then has a zero, within rounding, on its diagonal; the gradient needs a regular one.
 *
 * @throws ShapeError.
 */
export function lu(a: Input): {lu: tf.Tensor; p: tf.Tensor} {
  return tf.tidy(() => {
    const [factors, p] = runLu(squareMatrices('linalg.lu', 'a', a));
    return {lu: factors, p};
  });
}

/**
 * A⁻¹, or A⁻ᵀ with `adjoint`, [..., n, n] → [..., n, n].
 *
 * @throws as `solve`.
 */
export function inv(a: Input, {adjoint = false}: {adjoint?: boolean} = {}): tf.Tensor {
  return tf.tidy(() => {
    const matrices = squareMatrices('linalg.inv', 'a', a);
    return withRightSide('linalg.inv', matrices, identity(matrices.shape[matrices.rank - 1]), (left, right) =>
      runSolve(left, right, adjoint),
    );
  });
}

/**
 * Determinants, [..., n, n] → [...]. Up to n = 3 the polynomial itself, which is differentiable everywhere;
 * above, the product of U's diagonal with the sign of the permutation, whose gradient, det(A)·A⁻ᵀ,
 * exists here where A is regular.
 *
 * @throws ShapeError; SingularMatrixError from the gradient of a singular matrix with n > 3.
 */
export function det(a: Input): tf.Tensor {
  return tf.tidy(() => {
    const matrices = squareMatrices('linalg.det', 'a', a);
    const n = matrices.shape[matrices.rank - 1];
    if (n === 0) {
      return tf.ones(matrices.shape.slice(0, -2));
    }
    return n <= 3 ? expandedDeterminant(matrices, n) : factoredDeterminant(matrices, n);
  });
}

function expandedDeterminant(a: tf.Tensor, n: number): tf.Tensor {
  if (n === 1) {
    return tf.reshape(a, a.shape.slice(0, -2));
  }
  const rows = tf.unstack(a, a.rank - 2).map(row => tf.unstack(row, row.rank - 1));
  const minor = (row: number, left: number, right: number): tf.Tensor =>
    tf.sub(tf.mul(rows[row][left], rows[row + 1][right]), tf.mul(rows[row][right], rows[row + 1][left]));
  if (n === 2) {
    return minor(0, 0, 1);
  }
  return tf.add(
    tf.sub(tf.mul(rows[0][0], minor(1, 1, 2)), tf.mul(rows[0][1], minor(1, 0, 2))),
    tf.mul(rows[0][2], minor(1, 0, 1)),
  );
}

function factoredDeterminant(a: tf.Tensor, n: number): tf.Tensor {
  const [factors, p] = runLu(a);
  return tf.mul(permutationSign(p, n), tf.prod(diagonal(factors, n), a.rank - 2));
}

/** (−1) to the number of inversions: the product of sign(pⱼ − pᵢ) over i < j. */
function permutationSign(p: tf.Tensor, n: number): tf.Tensor {
  const rows = tf.cast(p, 'float32');
  const order = tf.sign(tf.sub(tf.expandDims(rows, -2), tf.expandDims(rows, -1)));
  const above = triangles(n, {below: 0, diagonal: 0, above: 1});
  const rest = triangles(n, {below: 1, diagonal: 1, above: 0});
  return tf.prod(tf.reshape(tf.add(tf.mul(order, above), rest), [...p.shape.slice(0, -1), n * n]), p.rank - 1);
}

const diagonal = (a: tf.Tensor, n: number): tf.Tensor => tf.sum(tf.mul(a, identity(n)), a.rank - 1);

/**
 * log det A of a symmetric positive definite A, [..., n, n] → [...]: twice the sum of log Lᵢᵢ.
 *
 * @throws as `cholesky`.
 */
export function logdet(a: Input): tf.Tensor {
  return tf.tidy(() => {
    const l = symmetricFactor('linalg.logdet', a);
    return tf.mul(tf.sum(tf.log(diagonal(l, l.shape[l.rank - 1])), -1), 2);
  });
}

/** Transposes the last two dimensions. */
function transposed(a: tf.Tensor): tf.Tensor {
  const order = a.shape.map((_, axis) => axis);
  const last = order.length - 1;
  [order[last - 1], order[last]] = [order[last], order[last - 1]];
  return tf.transpose(a, order);
}

/** An n × n constant with a value for each side of the diagonal; multiplied, it selects triangles. */
function triangles(
  n: number,
  {below, diagonal: on, above}: {below: number; diagonal: number; above: number},
): tf.Tensor {
  const values = Array.from({length: n * n}, (_, at) => {
    const [row, column] = [Math.floor(at / n), at % n];
    return row > column ? below : row === column ? on : above;
  });
  return tf.tensor(values, [n, n], 'float32');
}

const identity = (n: number): tf.Tensor => triangles(n, {below: 0, diagonal: 1, above: 0});

/** A must be symmetric for TensorFlow; here its symmetric part is taken, as in `cholesky`. */
const symmetricPart = (a: tf.Tensor): tf.Tensor => tf.mul(tf.add(a, transposed(a)), 0.5);

/**
 * Eigenvalues and eigenvectors of a symmetric A, [..., n, n]: `values` [..., n], ascending, and `vectors`
 * [..., n, n], column j that of value j, orthonormal; their signs are not determined. A is taken as ½(A + Aᵀ).
 * Vectors of equal values are any basis of theirs, and have no derivative: terms that would divide by
 * their difference are left out of the gradient, as in TensorFlow.
 *
 * @throws ShapeError.
 */
export function eigh(a: Input): {values: tf.Tensor; vectors: tf.Tensor} {
  return tf.tidy(() => {
    const [values, vectors] = runEigh(symmetricPart(squareMatrices('linalg.eigh', 'a', a)));
    return {values, vectors};
  });
}

/**
 * Singular value decomposition A = U diag(s) Vᵀ of A [..., m, n], k = min(m, n): `s` [..., k], descending, `u` [..., m,
 * k] and `v` [..., n, k] (not its transpose, as in TensorFlow) with orthonormal columns; with `fullMatrices` u [..., m,
 * m] and v [..., n, n]. With `computeUv: false` there is s alone. Equal singular values as equal eigenvalues in `eigh`;
 * of the columns that complete u or v, and of those of singular values zero, only the space they span has a derivative.
 *
 * @throws ShapeError.
 */
export function svd(a: Input, options: {fullMatrices?: boolean; computeUv: false}): {s: tf.Tensor};
export function svd(
  a: Input,
  options?: {fullMatrices?: boolean; computeUv?: boolean},
): {s: tf.Tensor; u: tf.Tensor; v: tf.Tensor};
export function svd(
  a: Input,
  {fullMatrices = false, computeUv = true}: {fullMatrices?: boolean; computeUv?: boolean} = {},
): {s: tf.Tensor; u?: tf.Tensor; v?: tf.Tensor} {
  return tf.tidy(() => {
    const [s, u, v] = runSvd(anyMatrices('linalg.svd', 'a', a), computeUv && fullMatrices);
    return computeUv ? {s, u, v} : {s};
  });
}

/**
 * The x that makes ‖A x − b‖² + l2Regularizer ‖x‖² least: a [..., m, n], b [..., m, k] (or [m]) → [..., n, k] (or [...,
 * n]). Where A has full rank there is one, or with fewer rows than columns one of least norm. `fast` (default) solves
 * the normal equations in double precision. Without, singular values up to max(m, n) ε of the largest count as zero, ε
 * of the arithmetic in use (2⁻²³ in tensors, 2⁻⁵² in a simulation), and x is the solution of least norm for any rank;
 * its derivative is that of matrices of the same rank.
 *
 * @throws ShapeError; OptionError; SingularMatrixError (code 'rank-deficient') with `fast`. Inside a simulation the
 * last is a step that is not finite.
 */
export function lstsq(
  a: Input,
  b: Input,
  {l2Regularizer = 0, fast = true}: {l2Regularizer?: number; fast?: boolean} = {},
): tf.Tensor {
  if (!(l2Regularizer >= 0))
    throw new OptionError(
      'bad-regularizer',
      `linalg.lstsq: l2Regularizer must be a number of at least 0, not ${l2Regularizer}.`,
      {l2Regularizer},
    );
  return tf.tidy(() =>
    withRightSide('linalg.lstsq', anyMatrices('linalg.lstsq', 'a', a), b, (left, right) => {
      if (l2Regularizer === 0) return runLeastSquares(left, right, fast);
      // Least squares with √λ I below A and zeros below b.
      const [batch, n, k] = [left.shape.slice(0, -2), left.shape[left.rank - 1], right.shape[right.rank - 1]];
      const below = tf.mul(tf.broadcastTo(identity(n), [...batch, n, n]), Math.sqrt(l2Regularizer));
      return runLeastSquares(tf.concat([left, below], -2), tf.concat([right, tf.zeros([...batch, n, k])], -2), fast);
    }),
  );
}

/** All functions in one object, like tf.linalg. */
export const linalg = {solve, cholesky, choleskySolve, lu, triangularSolve, inv, det, logdet, lstsq, eigh, svd};
export {LinalgCholesky, LinalgLu, LinalgSolve, LinalgTriangularSolve} from './kernels.js';
export {LinalgEigh, LinalgLeastSquares, LinalgSvd} from './spectral-kernels.js';
