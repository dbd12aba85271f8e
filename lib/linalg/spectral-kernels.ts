/**
 * Three more tfjs kernels for every backend, as those of kernels.ts: double-precision loops between a
 * synchronous read and a write, or TensorFlow's native operation where there is one.
 *
 * | kernel             | inputs                       | attributes   | outputs                                       |
 * | ------------------ | ---------------------------- | ------------ | --------------------------------------------- |
 * | LinalgEigh         | a [..., n, n]                |              | values [..., n]; vectors [..., n, n]          |
 * | LinalgSvd          | a [..., m, n]                | fullMatrices | s [..., k]; u [..., m, k]; v [..., n, k]       |
 * | LinalgLeastSquares | a [..., m, n], b [..., m, k] | fast         | x [..., n, k]                                 |
 *
 * Eigenvalues ascend, with vectors as columns; singular values descend; with fullMatrices u and v have all m and n
 * columns. LinalgEigh takes the symmetric part of a. LinalgLeastSquares solves, with fast, by the normal equations, of
 * matrices of full rank; else by the singular values, for the solution of least norm. TensorFlow's MatrixSolveLs wants
 * its regularization in double precision, which no tensor of tfjs has: this one runs in double everywhere.
 */
import * as tf from '@tensorflow/tfjs';
import type {TensorInfo} from '@tensorflow/tfjs';
import {SingularMatrixError} from '../errors.js';
import {EigenWorkspace, sortedEigen} from '../graph/primitives/eigen.js';
import {leastNorm, SvdWorkspace, singularValues} from '../graph/primitives/singular-values.js';
import {rankShare, singularSize} from '../graph/primitives/spectral.js';
import {factorCholesky, isFinite, none, solveTriangular} from './dense.js';
import type {Call} from './kernels.js';
import {input, nativeOr, read, register, write} from './kernels.js';
import {nativeEigh, nativeSvd} from './native.js';

export const LinalgEigh = 'LinalgEigh';
export const LinalgSvd = 'LinalgSvd';
export const LinalgLeastSquares = 'LinalgLeastSquares';

/** ε of the numbers that tensors hold: those of a trace hold doubles. */
export const epsilonInUse = (): number => (new Float32Array(1).BYTES_PER_ELEMENT === 8 ? Number.EPSILON : 2 ** -23);

interface Sizes {
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly leading: number[];
}

function sizesOf({shape}: TensorInfo): Sizes {
  const leading = shape.slice(0, -2);
  return {
    leading,
    batch: leading.reduce((count, size) => count * size, 1),
    m: shape[shape.length - 2],
    n: shape[shape.length - 1],
  };
}

function eigh({inputs, backend}: Call): TensorInfo[] {
  const a = input(inputs, 'a');
  return nativeOr(
    backend,
    native => nativeEigh(native, a),
    () => {
      const {batch, n, leading} = sizesOf(a);
      const matrices = read(backend, a);
      const values = new Float64Array(batch * n);
      const vectors = new Float64Array(batch * n * n);
      const workspace = new EigenWorkspace(n);
      for (let i = 0; i < batch; i++) sortedEigen(matrices, i * n * n, workspace, values, i * n, vectors, i * n * n);
      return [write(backend, values, [...leading, n]), write(backend, vectors, a.shape)];
    },
  );
}

function svd({inputs, backend, attrs}: Call): TensorInfo[] {
  const a = input(inputs, 'a');
  const fullMatrices = attrs?.['fullMatrices'] === true;
  return nativeOr(
    backend,
    native => nativeSvd(native, a, fullMatrices),
    () => {
      const {batch, m, n, leading} = sizesOf(a);
      const matrices = read(backend, a);
      const workspace = new SvdWorkspace(m, n, fullMatrices);
      const {q, widths} = workspace;
      const one = new Float64Array(singularSize(m, n, fullMatrices));
      const parts = [
        [q, 1],
        [m, widths.u],
        [n, widths.v],
      ].map(([rows, columns]) => ({size: rows * columns, values: new Float64Array(batch * rows * columns)}));
      for (let i = 0; i < batch; i++) {
        singularValues(matrices, i * m * n, workspace, one, 0);
        let at = 0;
        for (const {size, values} of parts) {
          values.set(one.subarray(at, at + size), i * size);
          at += size;
        }
      }
      const [s, u, v] = parts.map(({values}) => values);
      return [
        write(backend, s, [...leading, q]),
        write(backend, u, [...leading, m, widths.u]),
        write(backend, v, [...leading, n, widths.v]),
      ];
    },
  );
}

function leastSquares({inputs, backend, attrs}: Call): TensorInfo[] {
  const [a, b] = [input(inputs, 'a'), input(inputs, 'b')];
  const {batch, m, n, leading} = sizesOf(a);
  const k = b.shape[b.shape.length - 1];
  const [matrices, right] = [read(backend, a), read(backend, b)];
  const x = new Float64Array(batch * n * k);
  const workspace = new SvdWorkspace(m, n, false);
  const factors = new Float64Array(singularSize(m, n, false));
  const share = rankShare(m, n, epsilonInUse());
  for (let i = 0; i < batch; i++) {
    if (attrs?.['fast'] === true) {
      const own = (values: Float64Array, size: number): Float64Array => values.subarray(i * size, (i + 1) * size);
      if (!normalEquations(own(matrices, m * n), m, n, own(right, m * k), own(x, n * k), k))
        throw deficient(m, n, i, batch);
    } else {
      leastNorm(matrices, i * m * n, workspace, factors, share, right, i * m * k, x, i * n * k, k);
    }
  }
  return [write(backend, x, [...leading, n, k])];
}

/** (AᵀA) x = Aᵀb, or x = Aᵀy with (AAᵀ) y = b where A has fewer rows than columns. False where A lacks full rank. */
function normalEquations(a: Float64Array, m: number, n: number, b: Float64Array, x: Float64Array, k: number): boolean {
  const q = Math.min(m, n);
  if (!isFinite(a)) {
    x.fill(NaN);
    return true;
  }
  const at = (vector: number, i: number): number => (m >= n ? a[i * n + vector] : a[vector * n + i]);
  const gram = new Float64Array(q * q);
  for (let i = 0; i < q; i++) {
    for (let j = 0; j <= i; j++) for (let r = 0; r < Math.max(m, n); r++) gram[i * q + j] += at(i, r) * at(j, r);
  }
  if (factorCholesky(gram, q) !== none) return false;
  const y = m >= n ? transposedTimes(a, m, n, b, k) : b.slice();
  solveTriangular(gram, q, y, k, {lower: true, adjoint: false, unit: false});
  solveTriangular(gram, q, y, k, {lower: true, adjoint: true, unit: false});
  x.set(m >= n ? y : transposedTimes(a, m, n, y, k));
  return true;
}

/** Aᵀb of A [m, n] and b [m, k]. */
function transposedTimes(a: Float64Array, m: number, n: number, b: Float64Array, k: number): Float64Array {
  const product = new Float64Array(n * k);
  for (let i = 0; i < m; i++)
    for (let j = 0; j < n; j++) for (let c = 0; c < k; c++) product[j * k + c] += a[i * n + j] * b[i * k + c];
  return product;
}

function deficient(m: number, n: number, index: number, batch: number): SingularMatrixError {
  const what = batch === 1 ? `the ${m} × ${n} matrix` : `matrix ${index} of the batch of ${batch} (${m} × ${n})`;
  return new SingularMatrixError(
    'rank-deficient',
    `linalg.lstsq: ${what} lacks full rank: some of its ${m >= n ? 'columns' : 'rows'} depend on others. Take `
      + '{fast: false}, which gives the solution of least norm, or an l2Regularizer.',
    {batch: index, rows: m, columns: n},
  );
}

register({[LinalgEigh]: eigh, [LinalgSvd]: svd, [LinalgLeastSquares]: leastSquares});

export const runEigh = (a: tf.Tensor): [values: tf.Tensor, vectors: tf.Tensor] =>
  tf.engine().runKernel<[tf.Tensor, tf.Tensor]>(LinalgEigh, {a});

export const runSvd = (a: tf.Tensor, fullMatrices: boolean): [s: tf.Tensor, u: tf.Tensor, v: tf.Tensor] =>
  tf.engine().runKernel<[tf.Tensor, tf.Tensor, tf.Tensor]>(LinalgSvd, {a}, {fullMatrices});

export const runLeastSquares = (a: tf.Tensor, b: tf.Tensor, fast: boolean): tf.Tensor =>
  tf.engine().runKernel(LinalgLeastSquares, {a, b}, {fast});
