/**
 * Whether an iteration ended at a minimum, judged at its end and not by how short its steps had become: the relative
 * offset of Bates & Watts (A relative offset orthogonality convergence criterion for nonlinear least squares,
 * Technometrics 23, 1981), the part of the residuals that the parameters could still take away to first order, against
 * the part that they cannot. It is the same in every choice of coordinates, so a logarithm that runs off to −∞, where
 * its derivative vanishes, does not look like a minimum; and it does not see the damping of a step.
 */
import type {Factorization} from './row-qr.js';

export interface Offset {
  /**
   * Root mean square distance from the linear model's minimum in standard errors, over the directions that the
   * residuals see: (‖Q₁ᵀr‖/√rank) / (‖Q₂ᵀr‖/√(m − rank)), Q₁ spanning the Jacobian. Infinite without degrees of
   * freedom.
   */
  readonly offset: number;
  /** ‖Dδ‖ of the Gauss–Newton step δ in units of residuals; D the norms of the Jacobian's columns. */
  readonly move: number;
  /** ‖Dδ‖ / ‖Dx‖. */
  readonly step: number;
}

/** Bates & Watts' own: the confidence region moves by a thousandth of its radius. */
export const GAUSS_NEWTON_OFFSET = 1e-3;

/** Gradient methods end earlier in flat valleys; a tenth of a standard error changes no conclusion. */
export const DESCENT_OFFSET = 0.1;

/** Share of the start's cost: a fit that lost the data has residuals larger than a millionth of the first ones. */
const NEGLIGIBLE = 1e-12;

export function offsetOf(factor: Factorization, residuals: Float64Array, x: Float64Array): Offset {
  const norms = factor.columnNorms();
  const {delta, inside, rank} = factor.projected(norms);
  // Where a measurement has no weight its residual is 0, and counts for nothing.
  let [total, observations] = [0, 0];
  for (const value of residuals) {
    total += value ** 2;
    if (value !== 0) observations++;
  }
  const free = observations - rank;
  const outside = Math.max(total - inside, 0);
  const norm = (of: (j: number) => number): number => Math.sqrt(norms.reduce((sum, _, j) => sum + of(j) ** 2, 0));
  const move = norm(j => delta[j]);
  return {
    offset: inside === 0 ? 0 : free > 0 ? Math.sqrt(inside / rank / (outside / free)) : Infinity,
    move,
    step: move / norm(j => norms[j] * x[j]),
  };
}

/**
 * A step too short to matter although it is not short beside x, whose solution may be 0: the model meets the data but
 * for rounding, and the step moves residuals by less than this share of those at the start.
 * @param move ‖Dδ‖
 */
export function isNegligible(
  move: number,
  cost: {readonly start: number; readonly end: number},
  tolerance: number,
): boolean {
  return cost.end <= NEGLIGIBLE * cost.start && move <= tolerance * Math.sqrt(2 * cost.start);
}

/**
 * @param cost where the iteration ended, ½‖r‖², and at its start
 * @param tolerance the offset that counts as none, and the relative step
 */
export function isMinimum(
  {offset, move, step}: Offset,
  cost: {readonly start: number; readonly end: number},
  tolerance: {readonly offset: number; readonly step: number},
): boolean {
  if (offset <= tolerance.offset) return true;
  // Where the model meets the data but for rounding, residuals have any direction, and only the step can be judged.
  const short = step <= tolerance.step && cost.end <= NEGLIGIBLE * cost.start;
  return short || isNegligible(move, cost, tolerance.step);
}
