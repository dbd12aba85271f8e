/** State estimation: Kalman filter and smoother, how they linearize, and parameters by their innovations. */
export {identifyByInnovations} from '../estimate/innovations.js';
export {filter, smoother} from '../estimate/kalman.js';
export {extended, unscented} from '../estimate/linearization.js';
