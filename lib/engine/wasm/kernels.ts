/**
 * Numerical kernels that work on addresses of one WebAssembly memory, that of a program's executable:
 * what Newton's iteration does between two runs of a program. Addresses are bytes, divisible by 8;
 * lengths count doubles; index arrays hold 32-bit integers. Nothing is checked: a wrong address
 * computes nonsense or traps. The memory must be smaller than 2 GiB (addresses are compared signed).
 */
import type {ModuleBytes} from '../../wasm/bytes.js';
import type {ValueType} from '../../wasm/assembler.js';
import {isShared, ModuleBuilder} from '../../wasm/assembler.js';
import {denseFactor, denseScales, denseSolve, denseSolveTransposed} from './kernels/dense.js';
import {rowsChanged, rowScales} from './kernels/rows.js';
import {tridiagonalSolveTransposedOnce} from './kernels/tridiagonal-once.js';
import {tridiagonalFactor, tridiagonalSolve, tridiagonalSolveTransposed} from './kernels/tridiagonal.js';
import {
  axpy,
  copy,
  saveAndStep,
  errorShare,
  largest,
  largestRatio,
  sumOfSquares,
  computeWeights,
} from './kernels/vectors.js';
import {Writer} from '../../wasm/writer.js';

export interface NumericKernels {
  sumOfSquares(x: number, n: number): number;
  /** max |xᵢ|, NaN where one is. */
  largest(x: number, n: number): number;
  /** max |xᵢ|/unitᵢ; 0/0 is 0, ∞ where a number is not one. */
  largestRatio(x: number, unit: number, n: number): number;
  /** weightsᵢ = absolute + relative·max(|zᵢ|, |baseᵢ|); returns max |xᵢ|/weightsᵢ as largestRatio does. */
  computeWeights(
    weights: number,
    z: number,
    base: number,
    x: number,
    n: number,
    absolute: number,
    relative: number,
  ): number;
  /** base = z, then z = z − delta */
  saveAndStep(z: number, base: number, delta: number, n: number): void;
  /** z = base − s·delta; base may be z. */
  axpy(z: number, base: number, delta: number, n: number, s: number): void;
  copy(to: number, from: number, n: number): void;
  /** The weighted root mean square of an error, see kernels/vectors.ts. */
  errorShare(
    error: number,
    x: number,
    next: number,
    absolute: number,
    judged: number,
    n: number,
    rtol: number,
    count: number,
  ): number;

  /** scaleᵢ = Σ |aᵢⱼ| weightsⱼ; row i has the columns i − band … i + band that there are, and all with a band of n. */
  rowScales(values: number, weights: number, scale: number, n: number, band: number): void;
  /** 1 where a diagonal entry is larger than `largest`, or a row's sum less than `least` of its sizes; else 0. */
  rowsChanged(values: number, largest: number, least: number, n: number, band: number): number;

  /** scale_i = 1/max_j |a_ij|, 0 for a row of zeros. */
  denseScales(a: number, n: number, scale: number): void;
  /** Factors a (n×n by rows) in place; `scale` is used up. The smallest pivot relative to its row's largest entry. */
  denseFactor(a: number, n: number, pivots: number, scale: number): number;
  denseSolve(a: number, n: number, pivots: number, x: number): void;
  denseSolveTransposed(a: number, n: number, pivots: number, x: number): void;

  /** See kernels/tridiagonal.ts for the bits it returns. */
  tridiagonalFactor(values: number, lower: number, reciprocals: number, upper: number, n: number): number;
  /** x = A⁻¹ b; b may be x. */
  tridiagonalSolve(lower: number, reciprocals: number, upper: number, n: number, b: number, x: number): void;
  tridiagonalSolveTransposed(lower: number, reciprocals: number, upper: number, n: number, b: number, x: number): void;
  /** x = A⁻ᵀ b for a matrix that is solved with once; b is not x, `onwards` is room for n numbers. */
  tridiagonalSolveTransposedOnce(values: number, b: number, x: number, onwards: number, n: number): number;
}

interface Kernel {
  readonly parameters: readonly ValueType[];
  readonly result?: ValueType;
  readonly write: (w: Writer) => void;
}

const integers = (count: number): ValueType[] => new Array<ValueType>(count).fill('i32');

export type VectorKernels = Pick<
  NumericKernels,
  'sumOfSquares' | 'largest' | 'largestRatio' | 'computeWeights' | 'saveAndStep' | 'axpy' | 'copy' | 'errorShare'
>;

const ofVectors: {readonly [K in keyof VectorKernels]: Kernel} = {
  sumOfSquares: {parameters: integers(2), result: 'f64', write: sumOfSquares},
  largest: {parameters: integers(2), result: 'f64', write: largest},
  largestRatio: {parameters: integers(3), result: 'f64', write: largestRatio},
  computeWeights: {parameters: [...integers(5), 'f64', 'f64'], result: 'f64', write: computeWeights},
  saveAndStep: {parameters: integers(4), write: saveAndStep},
  axpy: {parameters: [...integers(4), 'f64'], write: axpy},
  copy: {parameters: integers(3), write: copy},
  errorShare: {parameters: [...integers(6), 'f64', 'f64'], result: 'f64', write: errorShare},
};

const ofMatrices: {readonly [K in Exclude<keyof NumericKernels, keyof VectorKernels>]: Kernel} = {
  rowScales: {parameters: integers(5), write: rowScales},
  rowsChanged: {parameters: integers(5), result: 'i32', write: rowsChanged},
  denseScales: {parameters: integers(3), write: denseScales},
  denseFactor: {parameters: integers(4), result: 'f64', write: denseFactor},
  denseSolve: {parameters: integers(4), write: denseSolve},
  denseSolveTransposed: {parameters: integers(4), write: denseSolveTransposed},
  tridiagonalFactor: {parameters: integers(5), result: 'i32', write: tridiagonalFactor},
  tridiagonalSolve: {parameters: integers(6), write: tridiagonalSolve},
  tridiagonalSolveTransposed: {parameters: integers(6), write: tridiagonalSolveTransposed},
  tridiagonalSolveTransposedOnce: {parameters: integers(5), result: 'i32', write: tridiagonalSolveTransposedOnce},
};

/** A module with these kernels; it imports `env.memory`. */
export function kernelBytes(
  kernels: {readonly [name: string]: Kernel} = {...ofVectors, ...ofMatrices},
  shared = false,
): ModuleBytes {
  const builder = new ModuleBuilder();
  for (const [name, {parameters, result, write}] of Object.entries(kernels)) {
    const {index, body} = builder.define({parameters, results: result === undefined ? [] : [result]});
    write(new Writer(body));
    builder.export(name, index);
  }
  return builder.finish(undefined, shared);
}

/** Code is compiled once for all memories. A plain object: looking up an export takes longer than the call. */
function binding<K extends Partial<NumericKernels>>(kernels: {readonly [name: string]: Kernel}) {
  // For memories of one thread, and for those that threads share.
  const modules = new Map<boolean, WebAssembly.Module>();
  return (memory: WebAssembly.Memory): K => {
    const shared = isShared(memory);
    let module = modules.get(shared);
    if (module === undefined) modules.set(shared, (module = new WebAssembly.Module(kernelBytes(kernels, shared))));
    // The table of the kernels gives each its name and signature.
    return {...new WebAssembly.Instance(module, {env: {memory}}).exports} as unknown as K;
  };
}

/** The kernels of explicit schemes: writing and compiling the others takes most of the time. */
export const vectorKernels = binding<VectorKernels>(ofVectors);

const matrixKernels = binding<Omit<NumericKernels, keyof VectorKernels>>(ofMatrices);

/** @param vectors those on the same memory */
export const numericKernels = (memory: WebAssembly.Memory, vectors = vectorKernels(memory)): NumericKernels => ({
  ...vectors,
  ...matrixKernels(memory),
});
