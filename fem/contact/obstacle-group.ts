/** Obstacles that do not deform. */
export {ball, halfSpace} from './obstacles.js';
