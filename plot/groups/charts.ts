/** Charts of runs, fits, trainings and matrices, as SVG. */
export {energy, loss, phase, residuals, workPrecision} from '../charts.js';
export {jacobianPattern, sparsity} from '../jacobian-pattern.js';
export {landscape} from '../landscape.js';
