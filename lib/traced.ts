/**
 * For use inside traced functions: unrounded constants, products with a Jacobian, values with equations of their own,
 * divisors of a scheme's rows, comparisons that are no switches.
 */
export {rowScale} from './scheme/constrained.js';
export {noEvent} from './system/switches.js';
export {derivativeAlong} from './trace/differentials.js';
export {lifted} from './trace/lifted.js';
export {constantTensor} from './trace/trace.js';
