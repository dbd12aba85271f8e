/** Sampled series: an even clock, fewer or more samples, units of times, the still start, rows at their own times. */
export {decimate, resample, still, upsample} from '../data/resample.js';
export {times} from '../data/sample-times.js';
export {ofRows} from '../train/row-samples.js';
