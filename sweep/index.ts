/**
 * stiffgrad/sweep: thousands of independent runs, on a laptop's processors, a cluster's nodes or a queue's workers,
 * with one store of results. For Node alone.
 */
export type {Case} from './cases.js';
export {collect} from './collect.js';
export type {Engine} from './engine.js';
export {fitSweep} from './fit-sweep.js';
export {successiveHalving} from './halving.js';
export {writePage} from './page.js';
export type {QueueConnection} from './queue.js';
export type {QueueWorker} from './queue-worker.js';
export {openStore, type Failure, type Row, type Store, type StoreStatus} from './store.js';
export {sweep, type CaseGenerator, type Sweep, type SweepOptions, type SweepProgress} from './sweep.js';
export type {Job, Task, TaskContext, TaskFunction} from './task.js';
/** Lists of cases: grids, random and quasi-random designs, the rows of a table. */
export * as cases from './groups/cases.js';
/** Engines run the cases of a sweep: on this machine, in the jobs of a cluster, or by the workers of a queue. */
export * as engines from './groups/engines.js';
