/** Hysteresis of a coordinate: friction with presliding, and the play and stop operators. */
export {boucWen, maxwellSlip, playOperator, stopOperator} from '../hysteresis.js';
export {luGre} from '../lugre.js';
