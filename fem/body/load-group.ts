/** What acts on a body. */
export {bodyForce, elasticFoundation, gravity, pointLoad, pointMoment, pressure, traction} from './loads.js';
