/**
 * How exactly a Krylov method solves for a correction: only as far as Newton can use it (Eisenstat &
 * Walker 1996, "Choosing the forcing terms in an inexact Newton method", choice 2). Plain values, so that
 * a worker thread gets them as they are.
 */
import {OptionError} from '../errors.js';
import {positive, refuseUnknownOptions} from '../checks.js';

/** The accuracy to which corrections are computed; made by `eisenstatWalker`. */
export interface Forcing {
  /** η of the first correction: ‖R + JΔ‖ ≤ η‖R‖. */
  readonly first: number;
  /** η_k = γ (‖R_k‖/‖R_{k−1}‖)^α. */
  readonly gamma: number;
  readonly alpha: number;
  /** Upper bound of η. */
  readonly most: number;
}

/**
 * Forcing terms for newton({linear: gmres({...}), forcing: eisenstatWalker()}): η = γ(‖R‖/‖R before‖)^α,
 * kept from falling faster than γη^α while that is above 0.1, as in the paper, whose values are the
 * defaults (γ = 0.9, α = 2, first 0.5, most 0.9). The linear solver's own tolerance stays the least.
 * @throws OptionError 'bad-newton'
 */
export function eisenstatWalker(options: Partial<Forcing> = {}): Forcing {
  refuseUnknownOptions(
    options,
    {first: positive, gamma: positive, alpha: positive, most: positive},
    'eisenstatWalker',
    'bad-newton',
  );
  const {first = 0.5, gamma = 0.9, alpha = 2, most = 0.9} = options;
  const share = (name: string, value: number, top: number): void => {
    if (!(value > 0 && value <= top))
      throw new OptionError(
        'bad-newton',
        `eisenstatWalker: ${name} must lie above 0 and be at most ${top}, not ${value}.`,
        {[name]: value},
      );
  };
  share('gamma', gamma, 1);
  share('most', most, 0.99);
  share('first', first, most);
  if (!(alpha > 1 && alpha <= 2))
    throw new OptionError('bad-newton', `eisenstatWalker: alpha must lie above 1 and be at most 2, not ${alpha}.`, {
      alpha,
    });
  return {first, gamma, alpha, most};
}

/** If γη^α of the last correction is below this, it does not limit the decrease of η (§2.1 of the paper). */
const safeguardThreshold = 0.1;

/** η of the next correction. @param ratio ‖R‖ over that before @param last η of the correction between them */
export function nextForcing({gamma, alpha, most}: Forcing, ratio: number, last: number): number {
  const eta = gamma * ratio ** alpha;
  const safeguard = gamma * last ** alpha;
  return Math.min(most, safeguard > safeguardThreshold ? Math.max(eta, safeguard) : eta);
}
