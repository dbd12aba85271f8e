/** Equations from data by sparse regression (SINDy: Brunton, Proctor & Kutz, PNAS 113, 2016). */
export {differences, fit, polynomials} from '../identify/sparse-regression.js';
