/** Where the cases of a sweep run: this machine, the jobs of a cluster, or the workers of a queue. */
export {bullmq} from '../bullmq.js';
export {clusterScripts} from '../cluster-script.js';
export {indexed, local} from '../local.js';
export {startWorker} from '../queue-worker.js';
