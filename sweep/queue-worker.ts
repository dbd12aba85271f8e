/**
 * A worker of a queue: it computes the cases that come through it in processes of their own, so that its own thread can
 * keep telling the server that it lives, and writes results to the store. Whoever can write to the queue is not
 * trusted: the worker decides what may run. It loads modules that mark themselves as tasks, below the folders that it
 * was started for, never from node_modules, and only with the contents that the sweep has.
 */
import {realpath} from 'node:fs/promises';
import path from 'node:path';
import {
  positiveInteger,
  list,
  object,
  optional,
  positive,
  readOptions,
  shown,
  text,
  typed,
  type Options,
} from '../lib/checks.js';
import {OptionError} from '../lib/errors.js';
import {closed, reached} from './bullmq.js';
import {bullmqPackage, withDriver} from './bullmq-package.js';
import {attempt} from './engine.js';
import {absentAs} from './files.js';
import {clientOptions, defaultQueue, refusal, unqueued, type QueueConnection, type QueuedAnswer} from './queue.js';
import {storeOption} from './store.js';
import {TaskPool} from './task-pool.js';
import {requireTaskDirective, type Job} from './task.js';

const workerOptions = {
  connection: typed<QueueConnection>(object),
  /**
   * The folders of the tasks. The worker loads modules below them that begin with the directive 'use stiffgrad task',
   * and calls any function that these export. It loads nothing from node_modules.
   */
  tasks: typed<readonly string[]>(list),
  /**
   * The sweep's store: a folder that both can access, an address s3://bucket/prefix, or a store made by `openStore`.
   */
  store: storeOption,
  /** Default 'stiffgrad'. */
  queue: optional(text, defaultQueue),
  /** Number of processes; default one per processor. */
  workers: optional(positiveInteger),
  /**
   * Memory limit of one process, in bytes; default: four fifths of the machine's memory, divided by the number of
   * processes.
   */
  memory: optional(positive),
  /** Largest number of cases per second that all workers of the queue start together; default: no limit. */
  rate: optional(positive),
  /** Seconds without a heartbeat after which other workers take over a worker's cases; default 30, that of BullMQ. */
  stalled: optional(positive, 30),
};

/** Options of a worker. @interface */
export type WorkerOptions = Options<typeof workerOptions>;

/** A running worker. */
export interface QueueWorker {
  /** Stops the worker after its current cases. */
  close(): Promise<void>;
  /** Ids of its current processes. */
  readonly pids: readonly number[];
}

/**
 * How often one case may lose its worker before the queue gives it up, and the coordinator counts it as lost: a worker
 * that is killed says little about its case, for that runs in a process of its own.
 */
const maxStalledCount = 10;

/**
 * Starts a worker of a queue, as `npx stiffgrad worker` does.
 * @throws OptionError if an option is wrong, a folder does not exist, or the server cannot be reached
 */
export async function startWorker(options: WorkerOptions): Promise<QueueWorker> {
  const {connection, memory, queue, rate, stalled, store, tasks, workers} = readOptions(
    options,
    workerOptions,
    'engines.startWorker',
  );
  const folders = await Promise.all(tasks.map(existing));
  const {Worker, UnrecoverableError, backend} = await bullmqPackage(connection);
  const ended = new AbortController();
  const pool = new TaskPool({workers, memory});
  const worker = withDriver(
    connection,
    () =>
      new Worker(
        queue,
        async (queuedJob): Promise<QueuedAnswer> => {
          const {job, timeout} = await refusing(UnrecoverableError, () =>
            admitted(queuedJob.data, queuedJob.id ?? '', folders),
          );
          if (await store.has(job.name)) return {kind: 'done'};
          const how = await attempt(job, pool, store, {
            timeout,
            // Progress that is lost does no harm.
            progress: value => void queuedJob.updateProgress({value}).catch(() => {}),
          });
          if (how === undefined) throw new Error('The worker ended before the case was done.');
          return how.kind === 'done' ? {kind: 'done'} : how;
        },
        {
          connection: clientOptions(connection, ended.signal),
          concurrency: pool.workers,
          lockDuration: 1000 * stalled,
          stalledInterval: 1000 * stalled,
          maxStalledCount,
          ...(rate === undefined
            ? {}
            : {limiter: {max: Math.max(1, Math.round(rate)), duration: (1000 * Math.max(1, Math.round(rate))) / rate}}),
        },
        backend,
      ),
  );
  try {
    await reached([worker]);
  } catch (error) {
    await closed([{close: () => worker.close(true), disconnect: () => worker.disconnect()}], ended);
    throw error;
  }
  return {
    get pids() {
      return pool.pids;
    },
    async close() {
      // A server that is away is not waited for; one that is there hears of the cases that were begun.
      ended.abort();
      await worker.close();
      pool.end();
    },
  };
}

async function existing(folder: unknown): Promise<string> {
  const file = await absentAs(undefined, realpath(String(folder)));
  if (file === undefined)
    throw new OptionError('no-folder', `engines.startWorker: there is no folder ${String(folder)} with tasks.`);
  if (isInPackage(file))
    throw new OptionError(
      'no-folder',
      `engines.startWorker: ${file} is inside node_modules, from where a worker loads no task. `
        + 'Copy the tasks to a folder of your own.',
    );
  return file;
}

const isInPackage = (file: string): boolean => file.split(path.sep).includes('node_modules');

/**
 * The job of a queued case, if this worker may compute it.
 * @param folders their real paths
 * @throws OptionError 'no-task' or 'task-refused', or as `unqueued`
 */
export async function admitted(
  data: unknown,
  name: string,
  folders: readonly string[],
): Promise<{readonly job: Job; readonly timeout?: number}> {
  const {job, timeout} = unqueued(data, name);
  const given = shown(job.task.module);
  const refused = (why: string): OptionError => new OptionError('task-refused', `${given} ${why}.`);
  // A path with a null character would be an error of another kind.
  const file = job.task.module.includes('\0')
    ? undefined
    : await absentAs(undefined, realpath(path.resolve(job.task.module)), 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP');
  if (file === undefined)
    throw new OptionError('no-task', `there is no module ${given} below the worker's working folder.`);
  // Links are followed first: what counts is where the module is.
  if (!folders.some(folder => file.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep)))
    throw refused('is outside the folders that this worker was started for');
  if (isInPackage(file)) throw refused('is inside node_modules, from where a worker loads no task');
  await requireTaskDirective(file);
  return {job: {...job, task: {...job.task, module: file}}, ...(timeout === undefined ? {} : {timeout})};
}

/** Errors of a refused case tell the queue not to try it again. */
async function refusing<T>(Unrecoverable: new (message: string) => Error, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    throw new Unrecoverable(`${refusal}${error.message}`);
  }
}
