/**
 * Engines: they take jobs one after another, have them computed somewhere, and say when each is settled in the store.
 */
import {positiveInteger, optional, positive, type Check, type Options} from '../lib/checks.js';
import type {Cause, Failure, Store} from './store.js';
import type {AttemptOptions, Outcome, TaskPool} from './task-pool.js';
import type {Job} from './task.js';

/** Number of attempts of a case, by the cause of its failures. */
export type Attempts = Readonly<Record<Cause, number>>;

/**
 * The attempts of a case. What a task does itself happens again, so one attempt is enough. A process that was killed
 * from outside says nothing about its case, unless it happens three times: the system kills what outgrows its memory.
 */
export const attemptOptions = {
  thrown: optional(positiveInteger, 1),
  timeout: optional(positiveInteger, 1),
  memory: optional(positiveInteger, 1),
  exited: optional(positiveInteger, 1),
  refused: optional(positiveInteger, 1),
  lost: optional(positiveInteger, 3),
} satisfies Record<Cause, Check<number>>;

export const ruleOptions = {
  /** Seconds for one attempt of a case; default no limit. */
  timeout: optional(positive),
  /**
   * Memory limit of a task's process, in bytes; default: four fifths of the machine's memory, divided by the number of
   * workers.
   */
  memory: optional(positive),
};

/** Limits for every case of a sweep. */
export interface Rules extends Options<typeof ruleOptions> {
  readonly attempts: Attempts;
}

/** Why an attempt failed, and its number where it is in the store. */
export type FailedAttempt = Pick<Failure, 'cause' | 'error'> & Partial<Pick<Failure, 'attempt'>>;

/** How a case ended: the result in canonical form where this process saw it, or why there is none. */
export type Settled =
  {readonly kind: 'done'; readonly result?: string} | {readonly kind: 'failed'; readonly failure: FailedAttempt};

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

/** A place where cases are computed. Made by `local`, `indexed` and `bullmq`. */
export interface Engine {
  readonly name: string;
  /** The part of the list that this process takes: cases index, index + of, index + 2 of, …; default all. */
  readonly share?: {readonly index: number; readonly of: number};
  /** Until no job is left, or the signal comes. */
  run(context: EngineContext): Promise<void>;
}

/** Computes a case once and stores what came of it; undefined where it was aborted. */
export async function attempt(
  job: Job,
  pool: TaskPool,
  store: Store,
  options: AttemptOptions,
): Promise<Settled | undefined> {
  const outcome: Outcome = await pool.run(job, options);
  switch (outcome.kind) {
    case 'aborted':
      return undefined;
    case 'done':
      // A result that another process had first is as good.
      await store.accept(job, outcome.result, outcome.seconds);
      return {kind: 'done', result: outcome.result};
    case 'failed': {
      const {cause, error} = outcome;
      return {kind: 'failed', failure: {cause, error, attempt: await store.fail(job, cause, error)}};
    }
  }
}

/** The last failure of a case that may not be tried again. */
export function exhausted(failures: readonly Failure[], attempts: Attempts): Failure | undefined {
  const last = failures.at(-1);
  if (last === undefined) return undefined;
  return failures.filter(({cause}) => cause === last.cause).length >= attempts[last.cause] ? last : undefined;
}
