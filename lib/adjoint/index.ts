/** How a gradient goes back through a run: values, chosen in the options of `simulate`. */
import {OptionError} from '../errors.js';

export interface Adjoint {
  readonly kind: 'implicit' | 'unrolled';
  /** Bytes of states kept for the sweep back. */
  readonly memory?: number;
}

/**
 * The adjoint of the implicit function (equations.md §5): one transposed solve and one vector–Jacobian
 * product a step, exact for a step that converged, independent of how it did.
 */
export function implicitAdjoint({memory}: {readonly memory?: number} = {}): Adjoint {
  if (memory !== undefined && !(memory > 0)) throw new OptionError('bad-adjoint', `implicitAdjoint: memory must be a positive number of bytes, not ${memory}.`);
  return {kind: 'implicit', memory};
}

/** The derivative of Newton's iterations themselves: that of what was computed, for steps truncated on purpose. */
export function unrolledAdjoint(): Adjoint {
  return {kind: 'unrolled'};
}
