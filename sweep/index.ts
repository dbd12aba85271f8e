/**
 * stiffgrad/sweep: thousands of independent runs, on a laptop's processors, a cluster's nodes or a queue's workers,
 * with one store of results. For Node alone.
 */
export {bullmq, type BullmqOptions} from './bullmq.js';
export {
  grid,
  latinHypercube,
  linspace,
  logspace,
  sobol,
  tableCases,
  uniform,
  type Case,
  type CaseList,
  type Range,
  type Ranges,
} from './cases.js';
export {clusterScripts, type ClusterScript} from './cluster-script.js';
export {collect, type CollectOptions} from './collect.js';
export type {Attempts, Engine, EngineContext, FailedAttempt, Rules, Settled} from './engine.js';
export {fitSweep, type FitSweepOptions} from './fit-sweep.js';
export {successiveHalving, type HalvingOptions} from './halving.js';
export {indexed, local, type IndexedOptions, type LocalOptions} from './local.js';
export {sweepPage, writePage, type PageOptions} from './page.js';
export type {QueueConnection} from './queue.js';
export {startWorker, type QueueWorker, type WorkerOptions} from './queue-worker.js';
export type {S3Connection} from './s3-texts.js';
export {openStore, Store, type Cause, type Failure, type Row, type StoreOptions, type StoreStatus} from './store.js';
export {
  sweep,
  type CaseGenerator,
  type CaseOutcome,
  type Sweep,
  type SweepOptions,
  type SweepProgress,
} from './sweep.js';
export type {Job, Task, TaskContext, TaskFunction, TaskReference} from './task.js';
