/** Parts of routines of compiled programs (routine/compile.ts). Custom engines need none of it. */
import type {Analysis} from '../linear/index.js';
import type {Executable} from './engine.js';
import type {NumericKernels, VectorKernels} from './wasm/kernels.js';
import type {RoutineFactor} from './wasm/routine.js';

/** Programs and kernels to be called in one memory, of which a buffer's `byteOffset` is an address. */
export interface Routines {
  readonly memory: WebAssembly.Memory;
  /** The kernels of vectors, and all kernels. */
  readonly vectors: VectorKernels;
  readonly kernels: NumericKernels;
  /** undefined where the matrix has no compiled factor here. */
  factor(analysis: Analysis): RoutineFactor | undefined;
}

/** undefined where programs are not compiled. */
export const routinesOf = (executable: Executable): Routines | undefined =>
  (executable as Executable & {readonly routines?: Routines}).routines;
