/** Differences and losses that leave out NaN, for records with gaps. */
export {difference, meanSquare} from '../train/masked.js';
