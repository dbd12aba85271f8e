/** The public API of this layer: schemes, one file a family. */
export {bdf2} from './bdf2.js';
export {kvaerno3, kvaerno5, sdirk2} from './diagonally-implicit.js';
// The method has three names in the literature: without constraints, with them, and with more stages.
export {explicitEuler, lobattoIIIAB, rattle, rk4, symplecticEuler, verlet} from './explicit.js';
export {dopri5, tsit5} from './explicit-pairs.js';
export {generalizedAlpha, hht} from './generalized-alpha.js';
export {moreau, type ImpactLaw} from './moreau.js';
export {newmark} from './newmark.js';
export {gaussLegendre, radauIIA5} from './runge-kutta.js';
export {defineScheme, type Scheme, type SchemeSpec, type StepPoint} from './scheme.js';
export {blendedEuler, implicitEuler, implicitMidpoint, theta, trapezoid, type ThetaOptions} from './theta.js';
