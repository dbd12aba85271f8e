/** Errors of measurements, for `identify({noise})`. */
export {autoregressive, huber, quantized, studentT, white} from '../identify/noise.js';
