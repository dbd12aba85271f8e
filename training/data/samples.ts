/** Sampled series: an even clock, fewer or more samples, units of times, the still start of a record. */
export {decimate, resample, stillSamples as still, upsample} from './resample.js';
export {sampleTimes as times} from './sample-times.js';
export {segments} from '../train/segments.js';
