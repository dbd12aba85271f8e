/** stiffgrad/robots: models of robots read from files, MJCF and URDF. Loaded by nobody who does not ask for it. */
export {readMjcf, type MjcfOptions, type ReadOptions} from './mjcf.js';
export type {RobotJoint, RobotLink, RobotModel, RobotSolid} from './model.js';
export {readUrdf, type UrdfOptions} from './urdf.js';
export type {Note} from './xml.js';
