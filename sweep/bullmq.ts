/**
 * Cases through a queue: BullMQ has them done by workers anywhere, which write to the same store. The store is what counts:
 * what a server that was killed has forgotten is queued again, and what was done meanwhile is found there.
 */
import {count, object, positive, refuseUnknownOptions, text} from '../lib/checks.js';
import {DataError, OptionError} from '../lib/errors.js';
import {bullmqPackage, withDriver} from './bullmq-package.js';
import {exhausted, type Engine, type EngineContext, type FailedAttempt, type Settled} from './engine.js';
import {inFlight} from './local.js';
import {answerOf, clientOptions, defaultQueue, queued, refusal, type QueueConnection} from './queue.js';
import type {Failure} from './store.js';
import {longestTimer} from './task-pool.js';
import {requireTaskDirective, type Job} from './task.js';

/** Options of `bullmq`. */
export interface BullmqOptions {
  readonly connection: QueueConnection;
  /** The queue's name, the same as for its workers; default 'stiffgrad'. */
  readonly queue?: string;
  /** Number of cases in the queue at once; default 1000, enough for a thousand processors. */
  readonly window?: number;
  /** Seconds after which a case without a response is looked up in the store and queued again; default 10. */
  readonly recheck?: number;
}

/** Seconds in which the server must answer at first. */
const patience = 10;
/** Seconds in which a result that a worker has written must be seen here: shared file systems keep old lists of a folder for some seconds. */
const visible = 30;

const pause = (seconds: number): Promise<void> => new Promise(resolve => setTimeout(resolve, 1000 * seconds));

/**
 * Computes cases in the workers of a queue, which `npx stiffgrad worker` starts. Needs the packages bullmq and ioredis,
 * or pg for a queue in PostgreSQL.
 * @throws OptionError
 */
export function bullmq(options: BullmqOptions): Engine {
  refuseUnknownOptions(options, {connection: object, queue: text, window: count, recheck: positive}, 'bullmq');
  if ((options.connection as unknown) === undefined)
    throw new OptionError('no-option', "bullmq needs a connection, such as {url: 'redis://127.0.0.1'}.", {
      option: 'connection',
    });
  clientOptions(options.connection);
  return {name: 'bullmq', run: context => new Coordinator(context, options).run()};
}

interface Waiting {
  readonly job: Job;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  since: number;
  busy: boolean;
}

class Coordinator {
  readonly #waiting = new Map<string, Waiting>();
  readonly #window: number;
  readonly #recheck: number;
  #toAdd: Waiting[] = [];
  #adding = false;
  #ended = false;
  #add: (jobs: readonly Job[]) => Promise<unknown> = () => Promise.resolve();

  constructor(
    readonly context: EngineContext,
    readonly options: BullmqOptions,
  ) {
    this.#window = options.window ?? 1000;
    this.#recheck = options.recheck ?? 10;
  }

  async run(): Promise<void> {
    const {context, options} = this;
    const {Queue, QueueEvents, backend} = await bullmqPackage(options.connection);
    const name = options.queue ?? defaultQueue;
    const ended = new AbortController();
    const connection = clientOptions(options.connection, ended.signal);
    const [queue, events] = withDriver(options.connection, () => [
      new Queue(name, {connection}, backend),
      new QueueEvents(name, {connection}, backend),
    ]);
    try {
      await reached([queue, events]);
      this.#add = jobs => queue.addBulk(jobs.map(job => this.#message(job)));
      events.on('completed', ({jobId, returnvalue}) => this.#heard(jobId, answerOf(returnvalue) ?? broken(foreign)));
      events.on('failed', ({failedReason, jobId}) => this.#heard(jobId, broken(failedReason)));
      events.on('progress', ({data, jobId}) => {
        const one = this.#waiting.get(jobId);
        if (one !== undefined) context.progress(one.job, (data as {value?: unknown} | null | undefined)?.value);
      });
      const looking = setInterval(() => void this.#look(), Math.min(500 * this.#recheck, longestTimer));
      const onAbort = (): void => {
        for (const one of this.#waiting.values()) one.resolve();
      };
      context.signal.addEventListener('abort', onAbort);
      try {
        // Workers refuse a task without a mark: said once here, before each case is refused there.
        let marked: Promise<void> | undefined;
        await inFlight(context, this.#window, async job => {
          await (marked ??= requireTaskDirective(job.task.module));
          await this.#done(job);
        });
        // What waits is not to be done; what is being done will be found in the store.
        if (context.signal.aborted)
          await Promise.race([
            Promise.allSettled([...this.#waiting.keys()].map(id => queue.remove(id))),
            pause(patience),
          ]);
      } finally {
        this.#ended = true;
        clearInterval(looking);
        context.signal.removeEventListener('abort', onAbort);
      }
    } finally {
      await closed([queue, events], ended);
    }
  }

  #message(job: Job): {name: string; data: unknown; opts: object} {
    const {rules, seed} = this.context;
    return {
      name: job.task.name,
      data: queued(job, seed, rules.timeout),
      opts: {jobId: job.name, removeOnComplete: true, removeOnFail: true},
    };
  }

  #done(job: Job): Promise<void> {
    return new Promise((resolve, reject) => {
      const one = {job, resolve, reject, since: performance.now(), busy: false};
      this.#waiting.set(job.name, one);
      this.#queue(one);
    });
  }

  /** Cases that come at the same moment are added together. */
  #queue(one: Waiting): void {
    this.#toAdd.push(one);
    if (this.#adding) return;
    this.#adding = true;
    setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    while (this.#toAdd.length > 0 && !this.#ended) {
      const some = this.#toAdd.splice(0);
      try {
        await this.#add(some.map(({job}) => job));
        for (const one of some) one.since = performance.now();
      } catch {
        // The connection is made anew by itself; adding a case that is there already changes nothing.
        this.#toAdd.push(...some);
        await pause(0.2);
      }
    }
    this.#adding = false;
  }

  #heard(id: string, answer: Settled): void {
    const one = this.#waiting.get(id);
    if (one === undefined || one.busy) return;
    one.busy = true;
    const after = async (): Promise<void> => {
      if (answer.kind === 'done') {
        await this.#seen(one.job);
        this.#settle(one, answer);
      } else await this.#failed(one, answer.failure);
    };
    after()
      .catch(one.reject)
      .finally(() => (one.busy = false));
  }

  /** A worker says that a case is done: its result must be in this store, too. */
  async #seen({name}: Job): Promise<void> {
    const {store} = this.context;
    const until = performance.now() + 1000 * visible;
    for (let wait = 0.05; !(await store.has(name)); wait = Math.min(2 * wait, 2)) {
      if (performance.now() > until)
        throw new DataError(
          'other-store',
          `A worker has completed ${name}, but ${store.folder} has no such result: start the workers with --store of the same folder.`,
          {folder: store.folder},
        );
      await pause(wait);
    }
  }

  /** Workers store their failures; what the queue or another program says is stored here. */
  async #failed(one: Waiting, failure: FailedAttempt): Promise<void> {
    const {rules, store} = this.context;
    const {job} = one;
    const isStored = ({attempt, cause}: Failure): boolean => attempt === failure.attempt && cause === failure.cause;
    if (!(await store.failures(job.name)).some(isStored)) await store.fail(job, failure.cause, failure.error);
    if (exhausted(await store.failures(job.name), rules.attempts) === undefined) this.#queue(one);
    else this.#settle(one, {kind: 'failed', failure});
  }

  #settle(one: Waiting, how: Settled): void {
    if (!this.#waiting.delete(one.job.name)) return;
    this.context.settled(one.job, how);
    one.resolve();
  }

  /** Events are lost with a connection, and cases with a server: both are found by looking. */
  async #look(): Promise<void> {
    const {rules, store} = this.context;
    const now = performance.now();
    for (const one of [...this.#waiting.values()]) {
      if (one.busy || now - one.since < 1000 * this.#recheck) continue;
      one.since = now;
      try {
        if (await store.has(one.job.name)) {
          this.#settle(one, {kind: 'done'});
          continue;
        }
        const failure = exhausted(await store.failures(one.job.name), rules.attempts);
        if (failure !== undefined) this.#settle(one, {kind: 'failed', failure});
        else this.#queue(one);
      } catch (error) {
        one.reject(error);
      }
    }
  }
}

/** What the queue says of a case that it gave up: its worker refused it, broke off, or was lost too often. */
function broken(reason: string): Settled {
  const [cause, message] = reason.startsWith(refusal)
    ? (['refused', reason.slice(refusal.length)] as const)
    : (['lost', reason] as const);
  return {kind: 'failed', failure: {cause, error: {name: 'QueueError', message}}};
}

const foreign =
  'A worker gave an answer that no worker of stiffgrad gives: another program takes jobs from this queue. Give the sweep and its workers a queue of their own (--queue).';

/** Later losses of a connection are mended by the client itself; a server that is not there at first is an error. */
export async function reached(
  clients: readonly {
    on(event: 'error', listener: (error: Error) => void): unknown;
    waitUntilReady(): Promise<unknown>;
  }[],
): Promise<void> {
  let last: Error | undefined;
  for (const client of clients) client.on('error', error => (last = error));
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(last ?? new Error('no answer')), 1000 * patience);
  });
  try {
    await Promise.race([Promise.all(clients.map(client => client.waitUntilReady())), late]);
  } catch (error) {
    const reason = (error as Error).message || (error as NodeJS.ErrnoException).code;
    throw new OptionError(
      'no-queue',
      `The queue's server cannot be used: ${reason}. Check that it is running, that address, user and password are right, and whether it requires TLS (rediss://, or ?sslmode=require).`,
    );
  } finally {
    clearTimeout(timer);
  }
}

interface Client {
  close(): Promise<void>;
  disconnect?(): Promise<unknown>;
}

/** A server that is away, or never was there, must not keep the program from its end. */
export async function closed(clients: readonly Client[], ended: AbortController): Promise<void> {
  ended.abort();
  const within = (ended: Promise<unknown>[]): Promise<boolean> =>
    Promise.race([Promise.allSettled(ended).then(() => true), pause(2).then(() => false)]);
  if (!(await within(clients.map(client => client.close()))))
    await within(clients.map(async client => client.disconnect?.()));
}
