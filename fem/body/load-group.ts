/** What acts on a body. */
export {contact} from '../contact/contact.js';
export {bodyForce, elasticFoundation, gravity, pointLoad, pointMoment, pressure, traction} from './loads.js';
