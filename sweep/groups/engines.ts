/** Engines run the cases of a sweep: on this machine, in the jobs of a cluster, or by the workers of a queue. */
export {bullmq} from '../bullmq.js';
export {clusterScripts} from '../cluster-script.js';
export {indexed, local} from '../local.js';
export {startWorker} from '../queue-worker.js';
