/** Learning rates by step, for `train` and `trainingStep`. */
export {cosine, exponential} from '../train/schedules.js';
