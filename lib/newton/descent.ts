/**
 * Corrections by a model of the Jacobian that is definite (blocks of element energies projected to
 * semidefinite): they go down the energy whose gradient the residual is, where ‖R‖ may well rise on the
 * way. So the length is judged by the work along the correction, and once the iteration is near a root
 * the Jacobian itself takes over, for a model converges linearly at best.
 */

/** ΔᵀR at z − sΔ divided by ΔᵀR at z, not finite where R is not; leaves z and the residual at that point. */
export type Work = (s: number) => number;

/**
 * Work that is regained is accepted up to this share of what was lost at first: along a parabola the
 * energy then has fallen by at least (1 − 0.8²) of the most it can. The usual value in finite elements
 * (Matthies & Strang 1979, "The solution of nonlinear finite element equations"; Crisfield 1991, §9.2.2).
 */
const regained = 0.8;

/**
 * A length at which the energy still falls, or has begun to rise only little: the whole correction where
 * that holds, else by the secant through the last point, each within [0.1, 0.5] of the last.
 * @param smallest the s below which z does not change
 * @returns s > 0, or 0 where no length will do
 */
export function searchByWork(work: Work, smallest: number): number {
  for (let s = 1; s > smallest;) {
    const share = work(s);
    if (Math.abs(share) < Infinity && share >= -regained) return s;
    const secant = Math.abs(share) < Infinity ? s / (1 - share) : 0;
    s = Math.min(Math.max(secant, 0.1 * s), 0.5 * s);
  }
  work(0);
  return 0;
}

/**
 * The share of |z| that a correction must fall below before the Jacobian is tried: there the energy is
 * close to its second-order model. Every failure asks for ten times less.
 */
const near = 1e-2;

/** Decides in each iteration whether Newton's matrix is the model or the Jacobian. */
export class MatrixChoice {
  model: boolean;
  /** ΔᵀR of the present iteration. */
  work = 0;
  private nearness = near;

  /** @param only without a matrix the Jacobian cannot be solved with in the model's place */
  constructor(
    private readonly modelled: boolean,
    private readonly only: boolean,
  ) {
    this.model = modelled;
  }

  restart(): void {
    this.model = this.modelled;
    this.nearness = near;
  }

  /**
   * ΔᵀR of the next correction. With the Jacobian it must have the same sign as with the model; otherwise it leads to a
   * saddle.
   */
  goesDown(work: number): boolean {
    if (!this.model && this.modelled && !(work * this.work > 0)) {
      this.failed();
      return false;
    }
    this.work = work;
    return true;
  }

  /**
   * After a whole correction by the model: is the next one, in units of |z|, so small that the Jacobian is to be tried?
   */
  approached(correction: number): boolean {
    if (!this.model || this.only || !(correction <= this.nearness)) return false;
    this.model = false;
    return true;
  }

  /** The Jacobian did not contract: use the model again. False if there is no model. */
  failed(): boolean {
    if (!this.modelled || this.model) return false;
    this.model = true;
    this.nearness *= 0.1;
    return true;
  }
}
