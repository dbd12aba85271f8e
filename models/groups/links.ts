/** Links between particles, q [particles, 2 or 3], along edges: of constant length, or taut; and lengths of edges. */
export {edgeLengths} from '../edges.js';
export {cables, distanceConstraints} from '../links.js';
