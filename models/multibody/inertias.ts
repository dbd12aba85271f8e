/** Mass and inertia of a body by ten numbers without bounds, to identify them. */
export {logCholesky, logCholeskyOf} from './inertia.js';
