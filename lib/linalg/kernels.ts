/**
 * Four tfjs kernels under names of our own, for every backend: the double-precision loops of dense.ts
 * between a synchronous read and a write, or TensorFlow's native operation where there is one.
 *
 * | kernel                | inputs                       | attributes     | outputs                               |
 * | --------------------- | ---------------------------- | -------------- | ------------------------------------- |
 * | LinalgSolve           | a [..., n, n], b [..., n, k] | adjoint        | x [..., n, k]: A x = b, or Aᵀ x = b   |
 * | LinalgTriangularSolve | a [..., n, n], b [..., n, k] | lower, adjoint | x [..., n, k], one triangle of a read |
 * | LinalgCholesky        | a [..., n, n], symmetric     |                | lower factor [..., n, n], zeros above |
 * | LinalgLu              | a [..., n, n]                |                | lu [..., n, n]; p [..., n], int32     |
 *
 * This table is the contract with whoever registers them for another backend: inputs are float32,
 * the batch dimensions of a and b are already equal, b is a matrix, n = shape[rank − 2] of a.
 * LinalgCholesky reads the lower triangle; LinalgLu gives A[p] = LU with unit L, also for a singular A
 * (then U has a zero on its diagonal). A matrix with an entry that is not finite gives NaN.
 */
import * as tf from '@tensorflow/tfjs';
import type {NamedTensorInfoMap, NamedAttrMap, TensorInfo} from '@tensorflow/tfjs';
import {SingularMatrixError} from '../errors.js';
import {dependentRows, factorCholesky, factorLu, isFinite, none, solveLu, solveTriangular} from './dense.js';
import {isNative, nativeCholesky, nativeLu, nativeSolve, nativeTriangularSolve} from './native.js';
import type {NativeBackend} from './native.js';
import {readFrom} from '../read.js';

export const LinalgSolve = 'LinalgSolve';
export const LinalgTriangularSolve = 'LinalgTriangularSolve';
export const LinalgCholesky = 'LinalgCholesky';
export const LinalgLu = 'LinalgLu';

/** The backends tfjs has; registering for one that is never loaded costs a map entry. */
export const backends = ['cpu', 'wasm', 'webgl', 'webgpu', 'tensorflow'] as const;

export interface Call {
  inputs: NamedTensorInfoMap;
  backend: tf.KernelBackend;
  attrs?: NamedAttrMap;
}

/** Values of a tensor in double precision, without moving it from its backend. */
export function read(backend: tf.KernelBackend, info: TensorInfo): Float64Array {
  return readFrom(backend, info);
}

/** `Float32Array` is looked up at the call on purpose: a trace lets it stand for `Float64Array`. */
export function write(backend: tf.KernelBackend, values: Float64Array, shape: number[]): TensorInfo {
  return {dataId: backend.write(new Float32Array(values), shape, 'float32'), shape, dtype: 'float32'};
}

export function input(inputs: NamedTensorInfoMap, name: string): TensorInfo {
  const info = inputs[name];
  if (info === undefined) {
    throw new TypeError(`A linalg kernel was run without its input '${name}'.`);
  }
  return info;
}

/** n and k of a [..., n, n] and b [..., n, k], and the number of matrices in the batch. */
function sizes(a: TensorInfo, b: TensorInfo): {n: number; k: number; batch: number} {
  const n = a.shape[a.shape.length - 1];
  const k = b.shape[b.shape.length - 1];
  return {n, k, batch: a.shape.slice(0, -2).reduce((count, size) => count * size, 1)};
}

function solve({inputs, backend, attrs}: Call): TensorInfo[] {
  const [a, b] = [input(inputs, 'a'), input(inputs, 'b')];
  const adjoint = attrs?.['adjoint'] === true;
  return nativeOr(
    backend,
    native => [nativeSolve(native, a, b, adjoint)],
    () => {
      const {n, k, batch} = sizes(a, b);
      const matrices = read(backend, a);
      const x = read(backend, b);
      const p = new Int32Array(n);
      for (let i = 0; i < batch; i++) {
        const matrix = matrices.subarray(i * n * n, (i + 1) * n * n);
        const columns = x.subarray(i * n * k, (i + 1) * n * k);
        if (!isFinite(matrix)) {
          columns.fill(NaN);
          continue;
        }
        const factor = matrix.slice();
        if (factorLu(factor, n, p) !== none) {
          throw singular('linalg.solve', matrix, n, i, batch);
        }
        columns.set(solveLu(factor, p, n, columns, k, adjoint));
      }
      return [write(backend, x, b.shape)];
    },
  );
}

function triangularSolve({inputs, backend, attrs}: Call): TensorInfo[] {
  const [a, b] = [input(inputs, 'a'), input(inputs, 'b')];
  const triangle = {lower: attrs?.['lower'] !== false, adjoint: attrs?.['adjoint'] === true, unit: false};
  return nativeOr(
    backend,
    native => [nativeTriangularSolve(native, a, b, triangle.lower, triangle.adjoint)],
    () => {
      const {n, k, batch} = sizes(a, b);
      const matrices = read(backend, a);
      const x = read(backend, b);
      for (let i = 0; i < batch; i++) {
        const matrix = matrices.subarray(i * n * n, (i + 1) * n * n);
        const row = zeroOnDiagonal(matrix, n);
        if (row !== none) {
          throw new SingularMatrixError(
            'singular-triangular-matrix',
            `linalg.triangularSolve: ${which(n, i, batch)} has a zero on its diagonal, in row ${row}. `
              + 'A triangular matrix can be solved only where its whole diagonal is nonzero.',
            {batch: i, row, rows: [row], order: n},
          );
        }
        solveTriangular(matrix, n, x.subarray(i * n * k, (i + 1) * n * k), k, triangle);
      }
      return [write(backend, x, b.shape)];
    },
  );
}

function zeroOnDiagonal(matrix: Float64Array, n: number): number {
  for (let i = 0; i < n; i++) {
    if (matrix[i * n + i] === 0) {
      return i;
    }
  }
  return none;
}

function cholesky({inputs, backend}: Call): TensorInfo[] {
  const a = input(inputs, 'a');
  return nativeOr(
    backend,
    native => [nativeCholesky(native, a)],
    () => {
      const {n, batch} = sizes(a, a);
      const factors = read(backend, a);
      for (let i = 0; i < batch; i++) {
        const factor = factors.subarray(i * n * n, (i + 1) * n * n);
        if (!isFinite(factor)) {
          factor.fill(NaN);
          continue;
        }
        const row = factorCholesky(factor, n);
        if (row !== none) {
          throw new SingularMatrixError(
            'not-positive-definite',
            `linalg.cholesky: ${which(n, i, batch)} is not positive definite: its leading `
              + `${row + 1} × ${row + 1} block, up to row ${row}, is not. Add to its diagonal, or solve with `
              + 'linalg.solve.',
            {batch: i, row, rows: [row], order: n},
          );
        }
      }
      return [write(backend, factors, a.shape)];
    },
  );
}

function lu({inputs, backend}: Call): TensorInfo[] {
  const a = input(inputs, 'a');
  return nativeOr(
    backend,
    native => nativeLu(native, a),
    () => {
      const {n, batch} = sizes(a, a);
      const factors = read(backend, a);
      const permutations = new Int32Array(batch * n);
      for (let i = 0; i < batch; i++) {
        const factor = factors.subarray(i * n * n, (i + 1) * n * n);
        const p = permutations.subarray(i * n, (i + 1) * n);
        if (isFinite(factor)) {
          factorLu(factor, n, p);
        } else {
          factor.fill(NaN);
          p.forEach((_, row) => (p[row] = row));
        }
      }
      const shape = a.shape.slice(0, -1);
      return [
        write(backend, factors, a.shape),
        {dataId: backend.write(permutations, shape, 'int32'), shape, dtype: 'int32'},
      ];
    },
  );
}

/**
 * The native operation where there is one; where it refuses, with an error or with entries that are not finite (which
 * of the two differs between operations and versions), double precision decides and explains.
 */
export function nativeOr(
  backend: tf.KernelBackend,
  native: (backend: NativeBackend) => tf.Tensor[],
  double: () => TensorInfo[],
): TensorInfo[] {
  if (!isNative(backend)) {
    return double();
  }
  let outputs: tf.Tensor[];
  try {
    outputs = native(backend);
  } catch {
    return double();
  }
  if (outputs.every(output => isFinite(readFrom(backend, output)))) {
    return outputs;
  }
  tf.dispose(outputs);
  return double();
}

export const which = (n: number, index: number, batch: number): string =>
  batch === 1 ? `the ${n} × ${n} matrix` : `matrix ${index} of the batch of ${batch} (${n} × ${n})`;

function singular(
  operation: string,
  matrix: Float64Array,
  n: number,
  index: number,
  batch: number,
): SingularMatrixError {
  const rows = dependentRows(matrix, n);
  const named =
    rows.length === 0
      ? 'its rows are dependent within rounding error'
      : rows.length === 1
        ? `row ${rows[0]} depends on the rows above it`
        : `rows ${rows.join(', ')} depend on the rows above them`;
  return new SingularMatrixError(
    'singular-matrix',
    `${operation}: ${which(n, index, batch)} is singular: ${named}. Remove or change what makes the rows dependent.`,
    {batch: index, row: rows[0] ?? n - 1, rows, order: n},
  );
}

/** Registers kernels for every backend that has none of that name. */
export function register(kernels: Record<string, (call: Call) => TensorInfo[]>): void {
  for (const backendName of backends) {
    for (const [kernelName, kernel] of Object.entries(kernels)) {
      if (tf.getKernel(kernelName, backendName) !== undefined) continue;
      tf.registerKernel({
        kernelName,
        backendName,
        kernelFunc: ({inputs, backend, attrs}) => {
          const outputs = kernel({inputs, backend: backend as tf.KernelBackend, attrs});
          return outputs.length === 1 ? outputs[0] : outputs;
        },
      });
    }
  }
}

register({
  [LinalgSolve]: solve,
  [LinalgTriangularSolve]: triangularSolve,
  [LinalgCholesky]: cholesky,
  [LinalgLu]: lu,
});

export function runSolve(a: tf.Tensor, b: tf.Tensor, adjoint: boolean): tf.Tensor {
  return tf.engine().runKernel(LinalgSolve, {a, b}, {adjoint});
}

export function runTriangularSolve(a: tf.Tensor, b: tf.Tensor, lower: boolean, adjoint: boolean): tf.Tensor {
  return tf.engine().runKernel(LinalgTriangularSolve, {a, b}, {lower, adjoint});
}

export function runCholesky(a: tf.Tensor): tf.Tensor {
  return tf.engine().runKernel(LinalgCholesky, {a});
}

export function runLu(a: tf.Tensor): [lu: tf.Tensor, p: tf.Tensor] {
  return tf.engine().runKernel<[tf.Tensor, tf.Tensor]>(LinalgLu, {a});
}
