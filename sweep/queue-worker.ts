/**
 * A worker of a queue: it computes the cases that come through it in processes of their own, so that its own thread can
 * keep telling the server that it lives, and writes results to the store. It loads tasks from the folders that it was
 * started for, and from nowhere else.
 */
import {realpathSync} from 'node:fs';
import path from 'node:path';
import {count, list, object, positive, refuseUnknownOptions, text} from '../lib/checks.js';
import {OptionError} from '../lib/errors.js';
import {closed, reached} from './bullmq.js';
import {bullmqPackage, withDriver} from './bullmq-package.js';
import {settle} from './engine.js';
import {clientOptions, defaultQueue, refusal, unqueued, type QueueConnection, type QueuedAnswer} from './queue.js';
import {Store} from './store.js';
import {TaskPool} from './task-pool.js';

/** Options of a worker. */
export interface WorkerOptions {
  readonly connection: QueueConnection;
  /** The folders whose modules it may load as tasks. */
  readonly tasks: readonly string[];
  /**
   * The sweep's store: a folder that both can access, an address s3://bucket/prefix, or a store made by `openStore`.
   */
  readonly store: string | Store;
  /** Default 'stiffgrad'. */
  readonly queue?: string;
  /** Number of processes; default one per processor. */
  readonly workers?: number;
  /**
   * Memory limit of one process, in bytes; default: four fifths of the machine's memory, divided by the number of
   * processes.
   */
  readonly memory?: number;
  /** Largest number of cases per second that all workers of the queue start together; default: no limit. */
  readonly rate?: number;
  /** Seconds without a heartbeat after which other workers take over a worker's cases; default 30, that of BullMQ. */
  readonly stalled?: number;
}

/** A running worker. */
export interface QueueWorker {
  /** Stops the worker after its current cases. */
  close(): Promise<void>;
  /** Ids of its current processes. */
  readonly pids: readonly number[];
}

/**
 * How often one case may lose its worker before the queue gives it up, and the coordinator counts it as lost: a worker that
 * is killed says little about its case, for that runs in a process of its own.
 */
const maxStalledCount = 10;

/**
 * Starts a worker of a queue, as `npx stiffgrad worker` does.
 * @throws OptionError if an option is wrong, a folder does not exist, or the server cannot be reached
 */
export async function startWorker(options: WorkerOptions): Promise<QueueWorker> {
  refuseUnknownOptions(
    options,
    {
      connection: object,
      tasks: list,
      store: {
        what: "a folder's path, or a store made by openStore",
        test: value => typeof value === 'string' || value instanceof Store,
      },
      queue: text,
      workers: count,
      memory: positive,
      rate: positive,
      stalled: positive,
    },
    'startWorker',
  );
  const {memory, rate, stalled = 30, workers} = options;
  const folders = options.tasks.map(existing);
  const {Worker, UnrecoverableError, backend} = await bullmqPackage(options.connection);
  const store = typeof options.store === 'string' ? new Store(options.store) : options.store;
  const ended = new AbortController();
  const pool = new TaskPool({workers, memory});
  const worker = withDriver(
    options.connection,
    () =>
      new Worker(
        options.queue ?? defaultQueue,
        async (queuedJob): Promise<QueuedAnswer> => {
          const {attempts, job, timeout} = refusing(UnrecoverableError, () =>
            unqueued(queuedJob.data, queuedJob.id ?? ''),
          );
          if (await store.has(job.name)) return {kind: 'done'};
          const module = refusing(UnrecoverableError, () => allowed(job.task.module, folders));
          const how = await settle({...job, task: {...job.task, module}}, pool, {
            store,
            attempts,
            timeout,
            progress: value => void queuedJob.updateProgress({value}).catch(() => {}), // progress that is lost does no harm
          });
          if (how === undefined) throw new Error('The worker ended before the case was done.');
          return how.kind === 'done' ? {kind: 'done'} : how;
        },
        {
          connection: clientOptions(options.connection, ended.signal),
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

function existing(folder: unknown): string {
  try {
    return realpathSync(String(folder));
  } catch {
    throw new OptionError('no-folder', `startWorker: there is no folder ${String(folder)} with tasks.`);
  }
}

/** The file of a task, links followed. @throws OptionError where it is in none of the folders */
function allowed(module: string, folders: readonly string[]): string {
  let file: string;
  try {
    file = realpathSync(path.resolve(module));
  } catch {
    throw new OptionError('no-task', `there is no module ${module} below the worker's working folder.`);
  }
  if (folders.some(folder => file.startsWith(folder + path.sep))) return file;
  throw new OptionError('task-refused', `${module} is outside the folders that this worker was started for.`);
}

/** What is refused once is refused always: the queue does not try it again. */
function refusing<T>(Unrecoverable: new (message: string) => Error, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw new Unrecoverable(`${refusal}${(error as Error).message}`);
  }
}
