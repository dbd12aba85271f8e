/**
 * Cases on this machine: a process for each processor. A share of them where an index variable of a cluster says which:
 * Slurm's job arrays, Kubernetes' indexed jobs, or --index K --of N.
 */
import {positiveInteger, optional, readOptions, nonNegativeInteger, type Options} from '../lib/checks.js';
import {OptionError} from '../lib/errors.js';
import {attempt, exhausted, type Engine, type EngineContext, type Settled} from './engine.js';
import {TaskPool} from './task-pool.js';
import type {Job} from './task.js';

/** Cases in flight beyond the processes' own: their files are written while others are computed. */
const ahead = 32;

const localOptions = {
  /** Number of processes; default one per processor. */
  workers: optional(positiveInteger),
};

/** Options of `local`. @interface */
export type LocalOptions = Options<typeof localOptions>;

const indexedOptions = {
  ...localOptions,
  /** From 0; default by SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX. */
  index: optional(nonNegativeInteger),
  /**
   * How many shares there are; default by SLURM_ARRAY_TASK_COUNT, or JOB_COMPLETIONS where a job's template sets it.
   */
  of: optional(positiveInteger),
};

/** Options of `indexed`: the share of this process. @interface */
export type IndexedOptions = Options<typeof indexedOptions>;

/** Computes cases in processes of this machine: nothing to install. @throws OptionError */
export function local(options: LocalOptions = {}): Engine {
  const read = readOptions(options, localOptions, 'local');
  return {name: 'local', run: context => runHere(context, read)};
}

/**
 * Computes a share of the cases in processes of this machine; other machines have the other shares and the same store.
 * @throws OptionError if neither the options nor the environment define the share
 */
export function indexed(options: IndexedOptions = {}): Engine {
  const read = readOptions(options, indexedOptions, 'indexed');
  const given = fromEnvironment();
  const {index = given.index, of = given.of} = read;
  if (index === undefined || of === undefined)
    throw new OptionError(
      'no-share',
      `indexed does not know ${index === undefined ? 'which share this is' : 'how many shares there are'}: `
        + 'give index and of, or set SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT, '
        + 'or JOB_COMPLETION_INDEX and JOB_COMPLETIONS.',
    );
  if (index >= of)
    throw new OptionError('no-share', `indexed: index goes from 0 to ${of - 1} for ${of} shares, not to ${index}.`);
  return {name: 'indexed', share: {index, of}, run: context => runHere(context, read)};
}

function fromEnvironment(): {index?: number; of?: number} {
  const {env} = process;
  const number = (name: string): number | undefined =>
    env[name] === undefined || env[name] === '' ? undefined : Number(env[name]);
  const slurm = number('SLURM_ARRAY_TASK_ID');
  if (slurm !== undefined) {
    // --array=5-20:5 gives the tasks 5, 10, 15, 20.
    const index = (slurm - (number('SLURM_ARRAY_TASK_MIN') ?? 0)) / (number('SLURM_ARRAY_TASK_STEP') ?? 1);
    return {index, of: number('SLURM_ARRAY_TASK_COUNT')};
  }
  return {index: number('JOB_COMPLETION_INDEX'), of: number('JOB_COMPLETIONS')};
}

async function runHere(context: EngineContext, {workers}: LocalOptions): Promise<void> {
  const {rules, signal, store} = context;
  const pool = new TaskPool({workers, memory: rules.memory, signal});
  const one = async (job: Job): Promise<void> => {
    let how: Settled | undefined;
    do {
      how = await attempt(job, pool, store, {timeout: rules.timeout, progress: value => context.progress(job, value)});
    } while (how?.kind === 'failed' && exhausted(await store.failures(job.name), rules.attempts) === undefined);
    if (how !== undefined) context.settled(job, how);
  };
  try {
    await inFlight(context, pool.workers + ahead, one);
  } finally {
    pool.end();
  }
}

/**
 * Starts jobs as long as fewer than `limit` are on their way; ends when all have ended. The first error ends it, too.
 */
export async function inFlight(
  {next, signal}: Pick<EngineContext, 'next' | 'signal'>,
  limit: number,
  start: (job: Job) => Promise<void>,
): Promise<void> {
  const ending = new AbortController();
  const ended = AbortSignal.any([signal, ending.signal]);
  const running = new Set<Promise<void>>();
  let broken: {readonly error: unknown} | undefined;
  const lane = async (): Promise<void> => {
    try {
      while (!ended.aborted) {
        const job = await next();
        if (job === undefined || ended.aborted) return;
        const started = start(job);
        running.add(started);
        await started.finally(() => running.delete(started));
      }
    } catch (error) {
      broken ??= {error};
      ending.abort();
    }
  };
  // Once it has ended, a generator of cases may wait for a result that does not come any more.
  const aborted = new Promise<void>(resolve => {
    if (ended.aborted) resolve();
    else ended.addEventListener('abort', () => resolve());
  });
  await Promise.race([Promise.all(Array.from({length: limit}, lane)), aborted]);
  await Promise.allSettled(running);
  // A lane records its error after its job has ended.
  await new Promise(resolve => setImmediate(resolve));
  if (broken !== undefined) throw broken.error;
}
