/** Differences and losses that leave out NaN, for records with gaps. */
export {maskedDifference as difference, maskedMeanSquare as meanSquare} from './masked.js';
