/** Further update rules for `trainingStep`, beside `adam`. */
export {adamW, sgd} from './update-rules.js';
