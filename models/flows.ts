/** Continuous normalizing flows, and what their training needs. */
export {flow as continuous, logNormal, rademacher} from './flow.js';
