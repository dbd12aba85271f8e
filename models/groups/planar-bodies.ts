/** Rigid bodies in the plane, q [bodies, 3]: (x, y, angle) of each; their mass, weight, pins and points. */
export {bodyPoints, lumpedMass, pins, weight} from '../planar-bodies.js';
