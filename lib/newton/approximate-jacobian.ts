/**
 * Corrections with an approximate Jacobian that is definite (blocks of element energies projected to semidefinite):
 * they descend the energy whose gradient the residual is, while ‖R‖ may well rise. So the line search judges by the
 * energy's slope along the correction, and once the iteration is near a root the Jacobian itself takes over, as an
 * approximate one converges linearly at best.
 */

/** ΔᵀR at z − sΔ divided by ΔᵀR at z, not finite where R is not; leaves z and the residual at that point. */
export type RelativeWork = (s: number) => number;

/**
 * Work that is regained is accepted up to this share of what was lost at first: along a parabola the
 * energy then has fallen by at least (1 − 0.8²) of the most it can. The usual value in finite elements
 * (Matthies & Strang 1979, "The solution of nonlinear finite element equations"; Crisfield 1991, §9.2.2).
 */
const maxRegainedWork = 0.8;

/**
 * A length at which the energy still falls, or has begun to rise only little: the whole correction where
 * that holds, else by the secant through the last point, each within [0.1, 0.5] of the last.
 * @param minLength the s below which z does not change
 * @returns s > 0, or 0 where no length will do
 */
export function energyLineSearch(work: RelativeWork, minLength: number): number {
  for (let s = 1; s > minLength;) {
    const ratio = work(s);
    if (Math.abs(ratio) < Infinity && ratio >= -maxRegainedWork) return s;
    const secant = Math.abs(ratio) < Infinity ? s / (1 - ratio) : 0;
    s = Math.min(Math.max(secant, 0.1 * s), 0.5 * s);
  }
  work(0);
  return 0;
}

/**
 * The share of |z| that a correction must fall below before the Jacobian is tried: there the energy is
 * close to its second-order model. Every failure asks for ten times less.
 */
const initialSwitchSize = 1e-2;

/** Decides in each iteration whether Newton's matrix is the Jacobian or its approximation. */
export class JacobianSelector {
  approximate: boolean;
  /** ΔᵀR of the present iteration. */
  work = 0;
  private switchSize = initialSwitchSize;

  /** @param approximateOnly the Jacobian itself is never used (matrix-free) */
  constructor(
    private readonly hasApproximation: boolean,
    private readonly approximateOnly: boolean,
  ) {
    this.approximate = hasApproximation;
  }

  restart(): void {
    this.approximate = this.hasApproximation;
    this.switchSize = initialSwitchSize;
  }

  /**
   * Whether the next correction, with work ΔᵀR, descends. With the Jacobian it must have the sign that it has with the
   * approximation; otherwise it leads to a saddle, and the approximation is used again.
   */
  checkDescent(work: number): boolean {
    if (!this.approximate && this.hasApproximation && !(work * this.work > 0)) {
      this.revertToApproximation();
      return false;
    }
    this.work = work;
    return true;
  }

  /**
   * After a full step with the approximation: tries the Jacobian if the next correction, in units of |z|, is small.
   */
  trySwitchToJacobian(correction: number): boolean {
    if (!this.approximate || this.approximateOnly || !(correction <= this.switchSize)) return false;
    this.approximate = false;
    return true;
  }

  /** Returns to the approximation, as the Jacobian did not contract; false if there is none. */
  revertToApproximation(): boolean {
    if (!this.hasApproximation || this.approximate) return false;
    this.approximate = true;
    this.switchSize *= 0.1;
    return true;
  }
}
