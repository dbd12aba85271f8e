/** Where the cases of a sweep run. */
export {bullmq} from './bullmq.js';
export {indexed, local} from './local.js';
