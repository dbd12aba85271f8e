/** The system of equations that Newton's iteration solves. */
import type {NewtonCalls} from '../engine/engine.js';
import type {Vectors} from '../engine/vectors.js';
import type {Factor} from '../linear/index.js';

/** Work vectors of an iteration. */
export const workVectors = ['delta', 'nextDelta', 'base', 'weights', 'rowScale'] as const;

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
   * The size of what each unknown is computed from, in its own unit: z cannot be determined more precisely than its
   * rounding. After a factorization. Default: z itself.
   */
  readonly extents?: (extents: Float64Array) => void;
  /** The factor is a Krylov method on products: it costs nothing to renew, and all to solve with. */
  readonly matrixFree: boolean;
  /** Whether there is a model of the Jacobian that corrections are made with far from the root (descent.ts). */
  readonly modelled: boolean;
  /** Parts of an iteration as one call, if the Jacobian is factored at every z, has been checked, and has no model. */
  readonly calls?: NewtonCalls;
  /** Whether the last requested factorization was already available. */
  readonly wasKept?: boolean;
  /** Whether a Jacobian is so expensive, compared with a residual, that it is kept as long as possible. */
  readonly dear?: boolean;
  /** Unit roundoff of the arithmetic in use. */
  readonly epsilon: number;
  /** Arithmetic for z, residual and work vectors, where these lie in one compiled memory; plain loops otherwise. */
  readonly compiled?: {readonly vectors: Vectors; work(name: (typeof workVectors)[number]): Float64Array};
}
