/** stiffgrad/robots: models of robots read from files, MJCF and URDF. A separate entry point. */
export {readMjcf, type MjcfOptions} from './mjcf.js';
export type {RobotJoint, RobotLink, RobotModel, RobotSolid} from './model.js';
export type {ReadOptions} from './read-options.js';
export {readUrdf, type UrdfOptions} from './urdf.js';
export type {Note} from './xml.js';
