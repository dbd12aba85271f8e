/** The system of equations that Newton's iteration solves. */
import type {Vectors} from '../engine/vectors.js';
import type {VectorKernels} from '../engine/wasm/kernels.js';
import type {Factor} from '../linear/index.js';
import type {Element, Part, RoutineBuilder} from '../routine/routine.js';

/** Work vectors of an iteration. */
export const workVectors = ['delta', 'nextDelta', 'base', 'weights', 'rowScale', 'extents'] as const;

/** A search, and the iteration whose functions in JavaScript it calls. */
export interface SearchText {
  readonly host: {iteration: object};
  readonly search: () => number;
}

/** Factors and solves in a compiled routine; in JavaScript where the matrix is not one for the kernels. */
export interface DirectFactor {
  /** @param general factors in JavaScript, of (first) */
  factor(general: Part): Part;
  /** @param general solves in JavaScript for what belongs in `to` */
  solve(general: Part, to: Float64Array): Part;
  scaleRows(general: Part, weights: Float64Array, scale: Float64Array): Part;
}

/** The equations of one step, or of an equilibrium. All arrays stay the same objects. */
export interface NonlinearSystem {
  readonly z: Float64Array;
  readonly residual: Float64Array;
  /** What the residual is computed from beside z: its rounding shows there too. */
  readonly data?: Float64Array;
  evaluateResidual(): void;
  /** The residual of the first iteration, where the guess asks for one of its own. */
  readonly evaluateFirstResidual?: () => void;
  /** The Jacobian at z, or the model of it, factored. May throw SingularMatrixError. */
  factor(first: boolean, model: boolean): Factor;
  /** Σ_j |J_ij| w_j of the Jacobian last factored; false where it is not at hand (matrix-free). */
  scaleRows(weights: Float64Array, scale: Float64Array): boolean;
  /**
   * Writes the size of what each unknown is computed from, in its own unit, to an array: z cannot be determined more
   * precisely than its rounding. After a factorization. Default: z itself.
   * @param system the one whose functions in JavaScript are called
   */
  readonly writeExtents?: (b: RoutineBuilder, to: Float64Array, system: () => NonlinearSystem) => void;
  /** The factor is a Krylov method on products: it costs nothing to renew, and all to solve with. */
  readonly matrixFree: boolean;
  /** Whether there is a model of the Jacobian that corrections are made with far from the root (descent.ts). */
  readonly modelled: boolean;
  /** `evaluateResidual` for routines, if it is more than a function. */
  readonly residualPart?: Part;
  /**
   * Where a matrix that is factored at every z has kernels for that.
   * @param tries a flag: the kernels may be tried
   * @param general a flag: the factor at hand is one in JavaScript; it is cleared where it is not
   * @param count is increased by each factorization that the kernels make
   */
  readonly direct?: (tries: Element, general: Element, count: Element) => DirectFactor | undefined;
  /** Texts of iterations on the same arrays and functions, by their settings; one for each iteration where absent. */
  readonly texts?: Map<string, SearchText>;
  /** Whether the Jacobian has been checked. */
  readonly isChecked?: boolean;
  /** Whether the last requested factorization was already available. */
  readonly wasKept?: boolean;
  /** Whether a Jacobian is so expensive, compared with a residual, that it is kept as long as possible. */
  readonly dear?: boolean;
  /** Unit roundoff of the arithmetic in use. */
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
