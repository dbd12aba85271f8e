/** State estimation: Kalman filter and smoother, and how they linearize. */
export {extended, unscented} from './linearization.js';
export {kalmanFilter as filter, kalmanSmoother as smoother} from './kalman.js';
export {identifyByInnovations as identify} from './innovations.js';
