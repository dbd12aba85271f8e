/** Obstacles that do not deform. */
export {ball, halfSpace} from './grounds.js';
