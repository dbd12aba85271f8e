/** Quantities over time, for `drivenBy` and `motor`. */
export {harmonic, ramp} from './drive.js';
