/** Terms and constraints between particles, q [particles, 2 or 3]: along edges, or with a plane. */
export {cables, contacts, distanceConstraints, planeContact} from './links.js';
export {dampers, springs} from './springs.js';
export {edgeLengths} from './edges.js';
