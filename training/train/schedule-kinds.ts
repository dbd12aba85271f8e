/** Learning rates by step, for `train` and `trainingStep`. */
export {cosineDecay as cosine, exponentialDecay as exponential} from './schedules.js';
