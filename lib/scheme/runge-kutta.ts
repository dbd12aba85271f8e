/**
 * The implicit Runge–Kutta methods by name: Gauss–Legendre, Radau IIA, and diagonally implicit ones.
 * Sources of coefficients stand with them, here and in collocation.ts.
 */
import {OptionError} from '../errors.js';
import {refuseUnknownOptions, shown} from '../given.js';
import {gaussTableau, radauTableau} from './collocation.js';
import {heldEnd, heldStages, stabilizedStages} from './constrained-runge-kutta.js';
import {firstOrder, mechanical} from './implicit-runge-kutta.js';
import type {Scheme} from './scheme.js';
import type {Tableau} from './tableau.js';

/** Held at their end, positions and velocities alike, whatever the stabilization: GGL's multiplier has no stages to act in. */
const endHeld = (tableau: Tableau): Pick<Scheme, 'constrained' | 'stabilized' | 'contacts'> => {
  const constrained = heldEnd(tableau);
  return {constrained, stabilized: {projection: constrained, 'projection-before': constrained, ggl: null}, contacts: 'none'};
};

/**
 * Gauss–Legendre collocation: order 2s with s stages, A- and B-stable, symmetric, symplectic; conserves
 * quadratic invariants. One stage is the implicit midpoint rule. What is so stiff that the step does not
 * resolve it is neither damped nor followed: take radauIIA5 there.
 * @param options.stages 1 to 8; default 2. Beyond 8 the weights' own rounding exceeds what order 18 gains
 * @throws OptionError where the number of stages is out of range
 */
export function gaussLegendre(options: {readonly stages?: number} = {}): Scheme {
  refuseUnknownOptions(options, ['stages'], 'gaussLegendre', 'bad-scheme');
  const {stages = 2} = options;
  if (!Number.isInteger(stages) || stages < 1 || stages > 8) throw new OptionError('bad-scheme', `gaussLegendre: stages must be a whole number from 1 to 8, not ${shown(stages)}.`);
  const tableau = gaussTableau(stages);
  return {name: tableau.name, order: tableau.order, mechanics: mechanical(tableau), ode: firstOrder(tableau), ...endHeld(tableau)};
}

/**
 * Radau IIA with three stages (Ehle 1969; the method of RADAU5): order 5, L-stable, stiffly accurate. With
 * constraints positions are held at all stages: q of order 5, v 3, λ 2 (Hairer, Lubich & Roche 1989);
 * `stabilization: 'ggl'` holds the velocities too. Of contacts it holds springs: what lands between its stages
 * may have left again at the last of them.
 */
export function radauIIA5(): Scheme {
  return {
    name: radauTableau.name, order: radauTableau.order, mechanics: mechanical(radauTableau), ode: firstOrder(radauTableau),
    constrained: heldStages(radauTableau), stabilized: {ggl: stabilizedStages(radauTableau)}, contacts: 'soft',
  };
}
