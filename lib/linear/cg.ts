/**
 * Conjugate gradients (Hestenes & Stiefel 1952) for symmetric positive definite matrices: two vectors
 * of memory beside the residual and one product a step. Curvature that is not positive is an error.
 */
import {dot, krylovSolver, norm, type Cycle, type KrylovMethod, type KrylovOptions, type SolverOf} from './krylov.js';
import {throwIndefinite, throwNotFinite} from './krylov-errors.js';

/** Conjugate gradients, for symmetric positive definite matrices (Hestenes & Stiefel 1952). */
export function cg<Options extends KrylovOptions = KrylovOptions>(options?: Options): SolverOf<Options>;
export function cg(options: KrylovOptions = {}): SolverOf<KrylovOptions> {
  return krylovSolver('cg', n => new ConjugateGradients(n), options);
}

export class ConjugateGradients implements KrylovMethod {
  readonly name = 'cg';
  readonly diagonal = 'positive';
  readonly size: number;
  private readonly direction: Float64Array;
  private readonly product: Float64Array;
  private readonly preconditioned: Float64Array;

  constructor(private readonly n: number) {
    this.direction = new Float64Array(n);
    this.product = new Float64Array(n);
    this.preconditioned = new Float64Array(n);
    this.size = 3 * n;
  }

  cycle({system, residual, correction}: Cycle, target: number, budget: number): number {
    const {n, direction: p, product: q, preconditioned: z} = this;
    correction.fill(0);
    system.precondition(residual, z);
    p.set(z);
    let inner = dot(residual, z);
    if (inner < 0) throwIndefinite(this.name, 'rᵀM⁻¹r is negative', {method: this.name, iterations: 0});
    let used = 0;
    while (used < budget && inner > 0) {
      system.multiply(p, q);
      used++;
      const curvature = dot(p, q);
      if (!Number.isFinite(curvature))
        throwNotFinite(this.name, `a search direction has curvature ${curvature}`, {
          method: this.name,
          iterations: used,
        });
      if (curvature <= 0)
        throwIndefinite(this.name, `a search direction has curvature ${curvature}`, {
          method: this.name,
          iterations: used,
          curvature,
        });
      const step = inner / curvature;
      for (let i = 0; i < n; i++) {
        correction[i] += step * p[i];
        residual[i] -= step * q[i];
      }
      if (norm(residual) <= target) break;
      system.precondition(residual, z);
      const next = dot(residual, z);
      if (next < 0) throwIndefinite(this.name, 'rᵀM⁻¹r is negative', {method: this.name, iterations: used});
      const ratio = next / inner;
      for (let i = 0; i < n; i++) p[i] = z[i] + ratio * p[i];
      inner = next;
    }
    return used;
  }
}
