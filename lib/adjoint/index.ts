/** How a gradient goes back through a run: values, chosen in the options of `simulate`. */
import {positiveOrInfinite, refuseUnknownOptions} from '../given.js';

/** How gradients are taken: made by `implicitAdjoint`, `unrolledAdjoint`, `backsolveAdjoint` or `forwardSensitivity`. */
export interface Adjoint {
  readonly kind: 'implicit' | 'unrolled' | 'backsolve' | 'forward';
  /** Bytes of states kept for the sweep back. */
  readonly memory?: number;
  /** Of 'backsolve': how far the state may come back from where it was. */
  readonly drift?: number;
}

/** 1 GiB: a quarter of what Node gives a process by default, and more than most browsers' pages may take. */
const defaultMemory = 2 ** 30;

/**
 * The adjoint of the implicit function (equations.md §5): one transposed solve and one vector–Jacobian
 * product a step, exact for a step that converged, independent of how it did. Steps beyond `memory` (in
 * bytes, default 1 GiB) are taken again from kept states by a binomial schedule; the gradient is the
 * same to the last bit, whatever the budget. Two states are kept where it holds fewer (four along adaptive
 * steps), and then n steps are taken again some √(2n) times. It keeps Jacobians of one step from serving the next.
 */
export function implicitAdjoint(options: {readonly memory?: number} = {}): Adjoint {
  refuseUnknownOptions(options, {memory: positiveOrInfinite}, 'implicitAdjoint', 'bad-adjoint');
  const {memory = defaultMemory} = options;
  return {kind: 'implicit', memory};
}

/** The derivative of Newton's iterations themselves: that of what was computed, for steps truncated on purpose. */
export function unrolledAdjoint(): Adjoint {
  return {kind: 'unrolled'};
}

/** A state that comes back a tenth of its size away has one digit left, and the gradient made with it no more. */
const defaultDrift = 0.1;

/**
 * The continuous adjoint (Chen, Rubanova, Bettencourt & Duvenaud 2018; Kidger 2021, §5.1.2): state and
 * adjoint as one ode, integrated from each saved state back to the one before it, by the run's scheme and
 * steps. Nothing of the steps is kept. Approximate: the gradient has an error of the scheme's order in dt
 * (or in proportion to the tolerance of adaptive steps), beside that of the run. It fails where the motion
 * cannot be run backwards: what is damped at a rate r comes back with its errors grown by exp(r T).
 * `trajectory.warnings` says so, and after a pullback how far the states came back from where they were.
 * For `ode` and for mechanics without constraints, with schemes that integrate an ode; without events.
 * @param options.drift the departure of the state that is tolerated, as a share of the largest coordinate
 *   (default 0.1); beyond it the pullback throws an OptionError 'backsolve-drift'. Infinity takes any.
 * @throws OptionError 'bad-adjoint'
 */
export function backsolveAdjoint(options: {readonly drift?: number} = {}): Adjoint {
  refuseUnknownOptions(options, {drift: positiveOrInfinite}, 'backsolveAdjoint', 'bad-adjoint');
  const {drift = defaultDrift} = options;
  return {kind: 'backsolve', drift};
}

/**
 * Tangents that run beside the simulation, one for each number of the initial state, of the params and of
 * every captured variable, contracted with the cotangents in the end: exact, as `implicitAdjoint`. Costs a
 * solve and a tangent a step for each of these numbers, and memory for as many states as these numbers
 * times the saved states, whatever the number of steps (`saveAt: 'end'` keeps two). For few parameters and
 * long runs; each further pullback is a product.
 */
export function forwardSensitivity(): Adjoint {
  return {kind: 'forward'};
}
