/** What acts on a body. */
export {bodyForce, elasticFoundation, gravity, pointLoad, pressure, traction} from './loads.js';
