/** Markov chain Monte Carlo: the sampler alone, and diagnostics of chains from any source. */
export {bulkSize, meanSize, rHat, tailSize} from './draws.js';
export {sampleDensity as sample} from './sample-density.js';
