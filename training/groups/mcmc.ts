/** Markov chain Monte Carlo: the sampler alone, and diagnostics of chains from any source. */
export {bulkSize, meanSize, rHat, tailSize} from '../estimate/draws.js';
export {sample} from '../estimate/sample-density.js';
