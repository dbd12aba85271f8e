/** Equations from data by sparse regression (SINDy: Brunton, Proctor & Kutz, PNAS 113, 2016). */
export {differences, polynomials, sparseRegression as fit} from './sparse-regression.js';
