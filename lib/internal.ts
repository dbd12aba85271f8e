/** What other folders of the project use of lib/ and users do not: no part of the public interface. */
export {compilePrograms} from './engine/compile-programs.js';
export type {Executable} from './engine/engine.js';
export type {TimedMember} from './simulate/batch-kinds.js';
export {displayRunsWith} from './simulate/display.js';
export type {AnySystem, ParamsOf, StatesOf} from './simulate/kinds.js';
export type {IntegrationOptions, RunSettings, Stretch} from './simulate/options.js';
export type {Jvps, VjpAsync} from './simulate/simulate.js';
export type {MemberTimes} from './simulate/timed.js';
export type {SeriesName} from './simulate/trajectory.js';
export type {Compliance} from './system/constraint-kinds.js';
export {InputReads} from './system/inputs.js';
export {massTensor, timesMass} from './system/mass.js';
export {type NestedNumbers, type NumericValue, readNumeric} from './system/numeric.js';
export type {Bivariant, Tree} from './system/params.js';
export {derivativeAlong, isElementwise} from './trace/differentials.js';
export {lifted} from './trace/lifted.js';
export {freeBodies} from './system/rotations.js';
export {constantTensor} from './trace/trace.js';
