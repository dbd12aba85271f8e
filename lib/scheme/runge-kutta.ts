/**
 * The implicit Runge–Kutta methods by name: Gauss–Legendre, Radau IIA, and diagonally implicit ones.
 * Sources of coefficients stand with them, here and in collocation.ts.
 */
import {positiveInteger, refuseUnknownOptions, type Check} from '../checks.js';
import {gaussTableau, radauTableau} from './collocation.js';
import {heldEnd, heldStages} from './constrained-runge-kutta.js';
import {isHolonomic, symplectic} from './constrained-symplectic.js';
import {heldAlgebraic} from './algebraic-end.js';
import {firstOrder, mechanical} from './implicit-runge-kutta.js';
import {byIncrements, bySlopes, collocationWeights} from './runge-kutta-dense.js';
import type {FilteredError} from './runge-kutta-error.js';
import {filtered} from './runge-kutta-error.js';
import {extrapolateAccelerations, extrapolateIncrements} from './runge-kutta-guess.js';
import type {Scheme} from './scheme.js';

const oneToEight: Check = {
  what: 'a whole number from 1 to 8',
  test: value => positiveInteger.test(value) && (value as number) <= 8,
};

/**
 * Gauss–Legendre collocation: order 2s with s stages, A- and B-stable, symmetric, symplectic; conserves
 * quadratic invariants. One stage is the implicit midpoint rule. What is so stiff that the step does not
 * resolve it is neither damped nor followed: take radauIIA5 there. Adaptive steps are compared with two of half
 * their length: what else could be made of the stages is of order s or less, and no measure of an error of order 2s.
 *
 * With bilateral constraints of positions it is symplectic too, of order 2s in q, v and λ: constraint forces act at
 * Lobatto's points (Jay, SIAM J. Sci. Comput. 20, 1998). With `nonholonomic` rows, kinematics, hidden states or forces
 * that read λ the end of each step is projected onto the constraints instead: the same order, but the energy of a
 * motion that conserves it drifts, and long runs warn of it.
 * @param options.stages 1 to 8; default 2. Beyond 8 the weights' own rounding exceeds what order 18 gains
 * @throws OptionError where the number of stages is out of range
 */
export function gaussLegendre(options: {readonly stages?: number} = {}): Scheme {
  refuseUnknownOptions(options, {stages: oneToEight}, 'gaussLegendre', 'bad-scheme');
  const {stages = 2} = options;
  const tableau = gaussTableau(stages);
  // Hermite's interpolation has order 3 for an ode, 5 for the positions of mechanics and 4 for their velocities.
  const between = (from: number): {dense?: ReturnType<typeof bySlopes>} =>
    stages < from ? {} : {dense: bySlopes(tableau)};
  return {
    name: tableau.name,
    order: tableau.order,
    mechanics: {...mechanical(tableau), ...between(4)},
    constrained: traits =>
      !isHolonomic(traits)
        ? heldEnd(tableau)(traits)
        : traits.stabilization === 'ggl'
          ? undefined
          : symplectic(stages, 'gauss', 'instant'),
    ode: ({mass}) => (mass ? heldAlgebraic(tableau) : {...firstOrder(tableau), ...between(3)}),
  };
}

/** Third order, of RADAU5 (Hairer & Wanner, Solving ODEs II, §IV.8): γ₀ is the real eigenvalue of A. */
const radauEstimate = ((): FilteredError => {
  const gamma = (6 + Math.cbrt(81) - Math.cbrt(9)) / 30;
  const r = Math.sqrt(6);
  return {gamma, start: gamma, stages: [-13 - 7 * r, -13 + 7 * r, -1].map(e => (gamma * e) / 3)};
})();

/**
 * Radau IIA with three stages (Ehle 1969; the method of RADAU5): order 5, L-stable, stiffly accurate. With
 * constraints positions are held at all stages: q of order 5, v 3, λ 2 (Hairer, Lubich & Roche 1989);
 * `stabilization: 'ggl'` holds the velocities too. Of contacts it holds springs: what lands between its stages
 * may have left again at the last of them.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {ode, radauIIA5, simulate} from 'stiffgrad';
 *
 * const stiff = ode(({y, t}) => tf.mul(-1e6, tf.sub(y, tf.cos(t))));
 * console.log(simulate(stiff, {y: 1}, {scheme: radauIIA5(), dt: 0.1, steps: 10}).values('y')[10]); // → 0.5403
 * ```
 */
export function radauIIA5(): Scheme {
  const weights = collocationWeights(radauTableau);
  const more = {error: filtered(radauTableau, radauEstimate, 4), dense: byIncrements(radauTableau, weights)};
  return {
    name: radauTableau.name,
    order: radauTableau.order,
    dissipative: true,
    mechanics: {...mechanical(radauTableau), ...more, stages: {extrapolate: extrapolateAccelerations(radauTableau)}},
    constrained: heldStages(radauTableau),
    ode: {...firstOrder(radauTableau), ...more, stages: {extrapolate: extrapolateIncrements(radauTableau, weights)}},
  };
}
