/**
 * For use inside traced functions: unrounded constants, products with a Jacobian, values with equations of their own.
 */
export {constantTensor as constant} from './trace/trace.js';
export {derivativeAlong} from './trace/differentials.js';
export {lifted} from './trace/lifted.js';
