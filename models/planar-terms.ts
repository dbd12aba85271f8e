/** Rigid bodies in the plane, q [bodies, 3]: (x, y, angle) of each; their mass, weight, pins and points. */
export {bodyPoints, pins, planarGravity as gravity, planarMass as mass} from './planar-bodies.js';
