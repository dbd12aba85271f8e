/** The adjoints, as values for the options of `simulate`. */
export type {Adjoint, AdjointFactory, PreparedAdjoint} from './adjoint.js';
export type {AdjointMethod, StateRecorder, StepReplay} from './method.js';
export {backsolveAdjoint} from './backsolve.js';
export {customAdjoint, isAdjointMethod} from './custom.js';
export {forwardSensitivity} from './forward.js';
export {implicitAdjoint} from './implicit.js';
export {unrolledAdjoint} from './unrolled.js';
