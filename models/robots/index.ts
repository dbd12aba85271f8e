/** stiffgrad/robots: models of robots read from files, MJCF and URDF. A separate entry point. */
export {readMjcf} from './mjcf.js';
export type {RobotModel} from './model.js';
export {readUrdf} from './urdf.js';
