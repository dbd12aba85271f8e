/** The system of equations that Newton's iteration solves. */
import type {Executable} from '../engine/engine.js';
import type {Vectors} from '../engine/vectors.js';
import type {VectorKernels} from '../engine/wasm/kernels.js';
import type {Factor} from '../linear/index.js';
import type {Element, Callee, RoutineBuilder} from '../routine/routine.js';

/** Work vectors of an iteration. */
export const workVectors = ['delta', 'nextDelta', 'base', 'weights', 'rowScale', 'typicalSizes'] as const;

/** Factors and solves in a compiled routine; in JavaScript if the kernels do not suit the matrix. */
export interface CompiledFactorization {
  /** @param general factors in JavaScript; its argument is whether it is the first iteration */
  factor(general: Callee): Callee;
  /** @param general solves in JavaScript for `to` */
  solve(general: Callee, to: Float64Array): Callee;
  scaleRows(general: Callee, weights: Float64Array, scale: Float64Array): Callee;
}

/** The equations of one step, or of an equilibrium. All arrays stay the same objects. */
export interface NonlinearSystem {
  readonly z: Float64Array;
  readonly residual: Float64Array;
  /** Numbers beside z from which the residual is computed: their rounding shows in it, too. */
  readonly data?: Float64Array;
  evaluateResidual(): void;
  /** Evaluates the residual of the first iteration, if the guess asks for one of its own. */
  readonly evaluateFirstResidual?: () => void;
  /** Factors the Jacobian at z, or its approximation. May throw SingularMatrixError. */
  factor(first: boolean, approximate: boolean): Factor;
  /** Σ_j |J_ij| w_j of the Jacobian last factored; false where it is not at hand (matrix-free). */
  scaleRows(weights: Float64Array, scale: Float64Array): boolean;
  /**
   * Writes the size of what each unknown is computed from, in its own unit, to an array: z cannot be determined more
   * precisely than its rounding. After a factorization. Default: z itself.
   * @param system the one whose functions in JavaScript are called
   */
  readonly emitTypicalSizes?: (b: RoutineBuilder, to: Float64Array, system: () => NonlinearSystem) => void;
  /** The factor is a Krylov method on products: renewing it is free, and solving with it is expensive. */
  readonly matrixFree: boolean;
  /** There is an approximate Jacobian for corrections far from the root (approximate-jacobian.ts). */
  readonly hasApproximateJacobian: boolean;
  /** `evaluateResidual` as routines call it, if that is not the function itself. */
  readonly residualCallee?: Callee;
  /**
   * Factorization by compiled kernels, for a matrix that is factored at every z.
   * @param tries a flag: the kernels may be tried
   * @param general a flag: the present factor was made in JavaScript; the kernels clear it
   * @param count the number of factorizations, which the kernels increase
   */
  readonly compiledFactorization?: (
    tries: Element,
    general: Element,
    count: Element,
  ) => CompiledFactorization | undefined;
  /**
   * The programs, with the arrays of the system: iterations on them share their routines. Default: none are shared.
   */
  readonly executable?: Executable;
  /** Whether the Jacobian has been checked. */
  readonly jacobianChecked?: boolean;
  /** Whether the last requested factorization was already available. */
  readonly reusedFactor?: boolean;
  /** Whether a Jacobian is so expensive, compared with a residual, that it is to be kept as long as possible. */
  readonly expensiveJacobian?: boolean;
  /** Machine epsilon of the arithmetic in use. */
  readonly epsilon: number;
  /** Arithmetic for z, residual and work vectors, where these lie in one compiled memory; plain loops otherwise. */
  readonly compiled?: {
    readonly vectors: Vectors;
    kernels(): VectorKernels | undefined;
    work(name: (typeof workVectors)[number]): Float64Array;
    /** `frameSize` numbers, in the same memory. */
    readonly frame: Float64Array;
  };
}
