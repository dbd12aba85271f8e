/** How a gradient goes back through a run: values, chosen in the options of `simulate`. */
import {OptionError} from '../errors.js';

export interface Adjoint {
  readonly kind: 'implicit' | 'unrolled';
  /** Bytes of states kept for the sweep back. */
  readonly memory?: number;
}

/** 1 GiB: a quarter of what Node gives a process by default, and more than most browsers' pages may take. */
const defaultMemory = 2 ** 30;

/**
 * The adjoint of the implicit function (equations.md §5): one transposed solve and one vector–Jacobian
 * product a step, exact for a step that converged, independent of how it did. Steps beyond `memory` (in
 * bytes, default 1 GiB) are taken again from kept states by a binomial schedule; the gradient is the
 * same to the last bit, whatever the budget. It keeps Jacobians of one step from serving the next.
 */
export function implicitAdjoint({memory = defaultMemory}: {readonly memory?: number} = {}): Adjoint {
  if (!(memory > 0)) throw new OptionError('bad-adjoint', `implicitAdjoint: memory must be a positive number of bytes, not ${memory}.`);
  return {kind: 'implicit', memory};
}

/** The derivative of Newton's iterations themselves: that of what was computed, for steps truncated on purpose. */
export function unrolledAdjoint(): Adjoint {
  return {kind: 'unrolled'};
}
