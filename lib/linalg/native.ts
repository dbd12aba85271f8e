/**
 * The same operations as TensorFlow's own kernels, on the backend of tfjs-node. They are float32
 * throughout, and answer a matrix they cannot factor with an error that does not say which it was, or with
 * entries that are not finite: the caller then repeats the work in double precision, which either succeeds or
 * names the row.
 */
import type {Tensor, TensorInfo} from '@tensorflow/tfjs';

interface Attribute {
  name: string;
  type: number;
  value: number | boolean;
}

/** The part of tfjs-node's backend that is used here (its typings come with an optional package). */
export interface NativeBackend {
  binding: {TF_ATTR_BOOL: number; TF_ATTR_TYPE: number; TF_FLOAT: number; TF_INT32: number};
  executeSingleOutput(name: string, attributes: Attribute[], inputs: TensorInfo[]): Tensor;
  executeMultipleOutputs(name: string, attributes: Attribute[], inputs: TensorInfo[], outputs: number): Tensor[];
}

export function isNative(backend: object): backend is NativeBackend {
  return 'executeSingleOutput' in backend && 'binding' in backend;
}

const floatType = ({binding}: NativeBackend): Attribute => ({
  name: 'T',
  type: binding.TF_ATTR_TYPE,
  value: binding.TF_FLOAT,
});
const flag = ({binding}: NativeBackend, name: string, value: boolean): Attribute => ({
  name,
  type: binding.TF_ATTR_BOOL,
  value,
});

export const nativeSolve = (backend: NativeBackend, a: TensorInfo, b: TensorInfo, adjoint: boolean): Tensor =>
  backend.executeSingleOutput('MatrixSolve', [flag(backend, 'adjoint', adjoint), floatType(backend)], [a, b]);

export const nativeTriangularSolve = (
  backend: NativeBackend,
  a: TensorInfo,
  b: TensorInfo,
  lower: boolean,
  adjoint: boolean,
): Tensor =>
  backend.executeSingleOutput(
    'MatrixTriangularSolve',
    [flag(backend, 'lower', lower), flag(backend, 'adjoint', adjoint), floatType(backend)],
    [a, b],
  );

export const nativeCholesky = (backend: NativeBackend, a: TensorInfo): Tensor =>
  backend.executeSingleOutput('Cholesky', [floatType(backend)], [a]);

export const nativeLu = (backend: NativeBackend, a: TensorInfo): Tensor[] =>
  backend.executeMultipleOutputs(
    'Lu',
    [
      floatType(backend),
      {name: 'output_idx_type', type: backend.binding.TF_ATTR_TYPE, value: backend.binding.TF_INT32},
    ],
    [a],
    2,
  );

/** Eigenvalues, ascending, and vectors of symmetric matrices. */
export const nativeEigh = (backend: NativeBackend, a: TensorInfo): Tensor[] =>
  backend.executeMultipleOutputs('SelfAdjointEigV2', [flag(backend, 'compute_v', true), floatType(backend)], [a], 2);

/** s, U and V. */
export const nativeSvd = (backend: NativeBackend, a: TensorInfo, fullMatrices: boolean): Tensor[] =>
  backend.executeMultipleOutputs(
    'Svd',
    [flag(backend, 'compute_uv', true), flag(backend, 'full_matrices', fullMatrices), floatType(backend)],
    [a],
    3,
  );
