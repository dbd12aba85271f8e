/** The adjoints, as values for the options of `simulate`. */
export type {Adjoint, AdjointMethod, PreparedAdjoint} from './adjoint.js';
export {backsolveAdjoint} from './backsolve.js';
export {forwardSensitivity} from './forward.js';
export {implicitAdjoint} from './implicit.js';
export {unrolledAdjoint} from './unrolled.js';
