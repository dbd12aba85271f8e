/**
 * A sweep: a deterministic list of cases, a task, a store of results, and an engine that computes what the store lacks.
 * It may be ended at any moment and started again; what is done is not done twice.
 */
import {
  abortSignal,
  callable,
  nonNegative,
  object,
  optional,
  readOptions,
  typed,
  nonNegativeInteger,
} from '../lib/checks.js';
import type {Check, Options, OptionValues} from '../lib/checks.js';
import {OptionError} from '../lib/errors.js';
import {parse} from './canonical.js';
import type {Case, CaseList} from './cases.js';
import {attemptOptions, exhausted, ruleOptions, type Attempts, type Engine, type Settled} from './engine.js';
import {local} from './local.js';
import {storeOption, type Cause, type Failure, type Row, type Store} from './store.js';
import {findTask, jobOf, type Job, type Task, type TaskReference} from './task.js';

/** The outcome of a case, for generators of cases. */
export type CaseOutcome<C extends Case = Case, R = unknown> =
  | {readonly status: 'done'; readonly case: C; readonly result: R}
  | {readonly status: 'failed'; readonly case: C; readonly cause: Cause; readonly error: Failure['error']};

/** A generator of cases: `outcome` waits for an earlier case. */
export type CaseGenerator<C extends Case = Case, R = unknown> = (
  outcome: (one: C) => Promise<CaseOutcome<C, R>>,
) => AsyncIterable<C>;

/** Progress of a sweep. */
export interface SweepProgress {
  readonly task: Task;
  /** Cases with a result, including those found in the store. */
  readonly done: number;
  readonly failed: number;
  /** How many of these were found in the store. */
  readonly resumed: number;
  /** Number of cases, if known in advance: not of generated ones. */
  readonly total?: number;
  readonly seconds: number;
  /** Cases per second since the start, without those found in the store. */
  readonly rate: number;
  /** Estimated seconds for the remaining cases at this rate. */
  readonly left?: number;
  /** The smallest value of `objective` in this process, and its case. */
  readonly best?: {readonly value: number; readonly case: Case};
  /** The last progress of a task. */
  readonly taskProgress?: {readonly case: Case; readonly value: unknown};
}

const isIterable = (value: unknown): boolean => typeof value === 'object' && value !== null && Symbol.iterator in value;
const casesOption: Check = {
  what: 'a list of cases, or a function that returns them from the results',
  test: value => typeof value === 'function' || isIterable(value),
};
const engineOption: Check<Engine> = {
  what: 'engines.local(), engines.indexed() or engines.bullmq()',
  test: value => typeof value === 'object' && value !== null && 'run' in value,
};

const sweepOptions = {
  task: typed<TaskReference>(object),
  cases: casesOption,
  /** A folder or an address s3://bucket/prefix, or a store made by `openStore`. */
  store: storeOption,
  /** Default `engines.local()`. */
  engine: optional(engineOption),
  /** A part of every case's name and seed; default 0. */
  seed: optional(nonNegativeInteger, 0),
  ...ruleOptions,
  /**
   * Number of attempts of a case, by cause of failure; default one, and three if its process was killed from outside.
   */
  attempts: optional(typed<Partial<Attempts>>(object), {}),
  objective: optional(callable),
  /** Called at most every `every` seconds, and at the end. If it throws, or rejects, the sweep ends with its error. */
  onProgress: optional(typed<(progress: SweepProgress) => void>(callable)),
  /** Default 1. */
  every: optional(nonNegative, 1),
  signal: optional(abortSignal),
};

/** Options of `sweep`. @interface */
export type SweepOptions<C extends Case = Case, R = unknown> = Omit<
  Options<typeof sweepOptions>,
  'cases' | 'objective'
> & {
  /** A list of cases, one made by `grid`, `sobol`, …, any repeatable iterable, or a generator that uses results. */
  readonly cases: Iterable<C> | CaseGenerator<C, R>;
  /** The objective, a number from a result; the smallest is best. If it throws, the sweep ends with its error. */
  readonly objective?: (result: R, one: C) => number;
};

/** A finished sweep. */
export interface Sweep<C extends Case = Case, R = unknown> extends SweepProgress {
  /** Whether its signal ended it before completion. */
  readonly aborted: boolean;
  readonly store: Store;
  /**
   * The results in the order of the cases, read from the store; only of this process's share. Cases without one are
   * omitted.
   */
  results(): AsyncGenerator<Row<C, R>, void>;
  /** The last failures of the cases without a result, in the order of the cases. */
  failures(): AsyncGenerator<Failure<C>, void>;
  toString(): string;
}

/**
 * Computes every case that has no result in the store. A case that fails is stored with its error; the others continue.
 * @throws OptionError if an option is wrong, or the task does not exist; DataError if the store cannot be read or
 *   written; what `objective` or `onProgress` throws, after which no further case is started
 */
export async function sweep<C extends Case = Case, R = unknown>(options: SweepOptions<C, R>): Promise<Sweep<C, R>> {
  const read = readOptions(options, sweepOptions, 'sweep');
  const attempts = readOptions(read.attempts, attemptOptions, 'sweep: attempts');
  const engine = read.engine ?? local();
  if (typeof options.cases === 'function' && engine.share !== undefined && engine.share.of > 1)
    throw new OptionError(
      'no-share',
      'sweep: a function of cases needs all results, but engines.indexed() gives each process only a part. '
        + 'Use engines.local() or engines.bullmq().',
    );
  const task = await findTask(read.task);
  const {cases, objective} = options;
  const run = new Run<C, R>({...read, cases, objective, attempts, engine}, task);
  await run.all();
  return run.ended();
}

/** Options of a sweep with their defaults. */
interface Known<C extends Case, R> extends Omit<
  OptionValues<typeof sweepOptions>,
  'cases' | 'objective' | 'attempts' | 'engine'
> {
  readonly cases: SweepOptions<C, R>['cases'];
  readonly objective?: SweepOptions<C, R>['objective'];
  readonly attempts: Attempts;
  readonly engine: Engine;
}

class Run<C extends Case, R> {
  #total?: number;
  #done = 0;
  #failed = 0;
  #resumed = 0;
  #best?: {value: number; case: C};
  #taskProgress?: {case: Case; value: unknown};
  readonly #from = performance.now();
  #showed = -Infinity;
  #shown: Promise<unknown> = Promise.resolve();
  #waiting = new Map<string, ((how: Settled) => void)[]>();
  #settled = new Map<string, Settled>();
  readonly #generated: boolean;
  /** The first error of a caller's function, which ends the sweep. */
  #thrown?: {readonly error: unknown};
  readonly #ending = new AbortController();

  constructor(
    readonly options: Known<C, R>,
    readonly task: Task,
  ) {
    this.#generated = typeof options.cases === 'function';
    const {length} = options.cases as Partial<CaseList>;
    const {index, of} = this.#share;
    if (!this.#generated && length !== undefined) this.#total = Math.ceil((length - index) / of);
  }

  get #share(): {readonly index: number; readonly of: number} {
    return this.options.engine.share ?? {index: 0, of: 1};
  }

  #job(one: C): Job {
    return jobOf(this.task, one, this.options.seed);
  }

  /** All cases of this process's share, each once. */
  async *#cases(): AsyncGenerator<Job, void> {
    const {cases} = this.options;
    const seen = new Set<string>();
    const {index, of} = this.#share;
    const source = typeof cases === 'function' ? cases(one => this.#outcome(one)) : cases;
    let place = 0;
    for await (const one of source) {
      if (place++ % of !== index) continue;
      const job = this.#job(one);
      if (seen.has(job.name)) {
        if (this.#total !== undefined) this.#total--;
        continue;
      }
      seen.add(job.name);
      yield job;
    }
  }

  async #outcome(one: C): Promise<CaseOutcome<C, R>> {
    const {name} = this.#job(one);
    const how =
      this.#settled.get(name)
      ?? (await new Promise<Settled>(resolve => {
        const waiting = this.#waiting.get(name);
        if (waiting === undefined) this.#waiting.set(name, [resolve]);
        else waiting.push(resolve);
      }));
    if (how.kind === 'failed') {
      const {cause, error} = how.failure;
      return {status: 'failed', case: one, cause, error};
    }
    const result = how.result === undefined ? (await this.options.store.read(name))?.result : parse(how.result);
    return {status: 'done', case: one, result: result as R};
  }

  /** The cases that have to be computed. */
  async *#jobs(): AsyncGenerator<Job, void> {
    const done = new Set<string>();
    const {attempts, store} = this.options;
    for await (const names of store.names()) for (const name of names) done.add(name);
    const failed = await store.failedNames();
    for await (const job of this.#cases()) {
      if (done.has(job.name)) {
        this.#resumed++;
        this.#count(job, {kind: 'done'});
        continue;
      }
      const failure = failed.has(job.name) ? exhausted(await store.failures(job.name), attempts) : undefined;
      if (failure !== undefined) this.#count(job, {kind: 'failed', failure});
      else yield job;
    }
  }

  async all(): Promise<void> {
    const jobs = this.#jobs();
    const {attempts, engine, memory, seed, signal, store, timeout} = this.options;
    const signals = [this.#ending.signal, ...(signal === undefined ? [] : [signal])];
    try {
      await engine.run({
        store,
        rules: {timeout, memory, attempts},
        seed,
        signal: AbortSignal.any(signals),
        next: async () => {
          const next = await jobs.next();
          return next.done === true ? undefined : next.value;
        },
        settled: (job, how) => this.#count(job, how),
        progress: (job, value) => {
          this.#taskProgress = {case: parse(job.case) as Case, value};
          this.#show(false);
        },
      });
    } finally {
      this.#show(true);
    }
    await this.#shown;
    if (this.#thrown !== undefined) throw this.#thrown.error;
  }

  #end = (error: unknown): void => {
    this.#thrown ??= {error};
    this.#ending.abort();
  };

  /** Calls a caller's function. */
  #called<T>(call: () => T): T | undefined {
    try {
      return call();
    } catch (error) {
      this.#end(error);
      return undefined;
    }
  }

  #count(job: Job, how: Settled): void {
    if (how.kind === 'done') this.#done++;
    else this.#failed++;
    const {objective} = this.options;
    if (objective !== undefined && how.kind === 'done' && how.result !== undefined) {
      const one = parse(job.case) as C;
      const value = this.#called(() => objective(parse(how.result!) as R, one));
      if (value !== undefined && (this.#best === undefined || value < this.#best.value))
        this.#best = {value, case: one};
    }
    if (this.#generated) {
      this.#settled.set(job.name, how);
      for (const resolve of this.#waiting.get(job.name) ?? []) resolve(how);
      this.#waiting.delete(job.name);
    }
    this.#show(false);
  }

  #show(last: boolean): void {
    const {every, onProgress} = this.options;
    const now = performance.now();
    if (onProgress === undefined || this.#thrown !== undefined || (!last && now - this.#showed < 1000 * every)) return;
    this.#showed = now;
    // The type lets an asynchronous function pass.
    const shown: unknown = this.#called(() => onProgress(this.#progress()));
    this.#shown = Promise.all([this.#shown, shown]).catch(this.#end);
  }

  #progress(): SweepProgress {
    const seconds = (performance.now() - this.#from) / 1000;
    const computed = this.#done + this.#failed - this.#resumed;
    const rate = computed / seconds;
    const total = this.#total;
    return {
      task: this.task,
      done: this.#done,
      failed: this.#failed,
      resumed: this.#resumed,
      seconds,
      rate,
      ...(total === undefined ? {} : {total, ...(rate > 0 ? {left: (total - this.#done - this.#failed) / rate} : {})}),
      ...(this.#best === undefined ? {} : {best: this.#best}),
      ...(this.#taskProgress === undefined ? {} : {taskProgress: this.#taskProgress}),
    };
  }

  ended(): Sweep<C, R> {
    const {signal, store} = this.options;
    const each = (): AsyncGenerator<Job, void> => this.#cases();
    return {
      ...this.#progress(),
      aborted: signal?.aborted === true,
      store,
      async *results() {
        for await (const {name} of each()) {
          const row = await store.read(name);
          if (row !== undefined) yield row as Row<C, R>;
        }
      },
      async *failures() {
        const failed = await store.failedNames();
        for await (const {name} of each()) {
          const last = failed.has(name) && !(await store.has(name)) ? (await store.failures(name)).at(-1) : undefined;
          if (last !== undefined) yield last as Failure<C>;
        }
      },
      toString() {
        const before = this.resumed > 0 ? `, ${this.resumed} of them before` : '';
        const failed = this.failed > 0 ? `, ${this.failed} failed` : '';
        const seconds = this.seconds.toPrecision(3);
        return `${this.done} of ${this.done + this.failed} cases done${before}${failed}, in ${seconds} s`;
      },
    };
  }
}
