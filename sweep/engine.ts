/** What an engine is: it takes jobs one after another, has them computed somewhere, and says when each is settled in the store. */
import {count, positive, type Checks} from '../lib/checks.js';
import type {Cause, Failure, Store} from './store.js';
import type {AttemptOptions, Outcome, TaskPool} from './task-pool.js';
import type {Job} from './task.js';

/** Number of attempts of a case, by the cause of its failures. */
export type Attempts = Readonly<Record<Cause, number>>;

/**
 * What is a task's own doing comes again: once is enough. A process that was killed from outside says nothing about its
 * case; three times in a row it does, as where the system kills what outgrows its memory.
 */
export const usualAttempts: Attempts = {thrown: 1, timeout: 1, memory: 1, exited: 1, refused: 1, lost: 3};

/** Limits for every case of a sweep. */
export interface Rules {
  readonly timeout?: number;
  readonly memory?: number;
  readonly attempts: Attempts;
}

/** How a case ended: the result in canonical form where this process saw it, or why there is none. */
export type Settled =
  | {readonly kind: 'done'; readonly result?: string}
  | {readonly kind: 'failed'; readonly failure: Pick<Failure, 'cause' | 'error'>};

/** The argument of an engine. */
export interface EngineContext {
  readonly store: Store;
  readonly rules: Rules;
  /** The seed of the sweep, a part of every case's name. */
  readonly seed: number;
  readonly signal: AbortSignal;
  /** The next case to compute; undefined if there are no more. It may wait for results of earlier cases. */
  next(): Promise<Job | undefined>;
  /** To be called once for each job. */
  settled(job: Job, how: Settled): void;
  progress(job: Job, value: unknown): void;
}

/** Where cases are computed. Made by `local`, `indexed` and `bullmq`. */
export interface Engine {
  readonly name: string;
  /** The part of the list that this process takes: cases index, index + of, index + 2 of, …; default all. */
  readonly share?: {readonly index: number; readonly of: number};
  /** Until no job is left, or the signal comes. */
  run(context: EngineContext): Promise<void>;
}

/** Options that every engine with processes has. */
export const poolChecks: Checks = {workers: count};
export const ruleChecks: Checks = {timeout: positive, memory: positive};
export const attemptChecks: Checks = {
  thrown: count,
  timeout: count,
  memory: count,
  exited: count,
  refused: count,
  lost: count,
};
/**
 * Computes a case until it has a result or may not be tried again, and keeps either. A result that another process had
 * first is as good.
 */
export async function settle(
  job: Job,
  pool: TaskPool,
  {store, attempts, ...options}: AttemptOptions & {readonly store: Store; readonly attempts: Attempts},
): Promise<Settled | undefined> {
  const tried: Partial<Record<Cause, number>> = {};
  for (const {cause} of await store.failures(job.name)) tried[cause] = (tried[cause] ?? 0) + 1;
  for (;;) {
    const outcome: Outcome = await pool.run(job, options);
    if (outcome.kind === 'aborted') return undefined;
    if (outcome.kind === 'done') {
      await store.accept(job, outcome.result, outcome.seconds);
      return {kind: 'done', result: outcome.result};
    }
    const {cause, error} = outcome;
    await store.fail(job, cause, error);
    tried[cause] = (tried[cause] ?? 0) + 1;
    if (tried[cause] >= attempts[cause]) return {kind: 'failed', failure: {cause, error}};
  }
}

/** The last failure of a case that may not be tried again. */
export function exhausted(failures: readonly Failure[], attempts: Attempts): Failure | undefined {
  const last = failures.at(-1);
  if (last === undefined) return undefined;
  return failures.filter(({cause}) => cause === last.cause).length >= attempts[last.cause] ? last : undefined;
}
