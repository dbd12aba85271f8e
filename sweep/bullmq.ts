/**
 * Cases through a queue: BullMQ has them done by workers anywhere, which write to one store. The store is what counts:
 * what a server that was killed has forgotten is queued again, and what was done meanwhile is found there.
 */
import type {EventEmitter} from 'node:events';
import {positiveInteger, object, optional, positive, readOptions, text, typed} from '../lib/checks.js';
import type {Options, OptionValues} from '../lib/checks.js';
import {DataError, OptionError} from '../lib/errors.js';
import {bullmqPackage, withDriver} from './bullmq-package.js';
import {exhausted, type Engine, type EngineContext, type FailedAttempt, type Settled} from './engine.js';
import {inFlight} from './local.js';
import {answerOf, clientOptions, defaultQueue, queued, refusal, type QueueConnection} from './queue.js';
import type {Failure} from './store.js';
import {longestTimer} from './task-pool.js';
import {requireTaskDirective, type Job} from './task.js';

const bullmqOptions = {
  connection: typed<QueueConnection>(object),
  /** The queue's name, the same as for its workers; default 'stiffgrad'. */
  queue: optional(text, defaultQueue),
  /** Number of cases in the queue at once; default 1000, enough for a thousand processors. */
  window: optional(positiveInteger, 1000),
  /** Seconds after which a case without a response is looked up in the store and queued again; default 10. */
  recheck: optional(positive, 10),
};

/** Options of `bullmq`. @interface */
export type BullmqOptions = Options<typeof bullmqOptions>;

/** Seconds in which the server must answer at first. */
const patience = 10;
/**
 * Seconds in which a worker's result must be seen here: shared file systems keep old lists of a folder for some
 * seconds.
 */
const visible = 30;

const pause = (seconds: number): Promise<void> => new Promise(resolve => setTimeout(resolve, 1000 * seconds));

/**
 * Computes cases in the workers of a queue, which `npx stiffgrad worker` starts. Needs the packages bullmq and ioredis,
 * or pg for a queue in PostgreSQL.
 * @throws OptionError
 */
export function bullmq(options: BullmqOptions): Engine {
  const read = readOptions(options, bullmqOptions, 'bullmq');
  clientOptions(read.connection);
  return {name: 'bullmq', run: context => runInQueue(context, read)};
}

async function runInQueue(context: EngineContext, options: OptionValues<typeof bullmqOptions>): Promise<void> {
  const {connection, queue: name, window} = options;
  const {Queue, QueueEvents, backend} = await bullmqPackage(connection);
  const ended = new AbortController();
  const client = {connection: clientOptions(connection, ended.signal)};
  const [queue, events] = withDriver(connection, () => [
    new Queue(name, client, backend),
    new QueueEvents(name, client, backend),
  ]);
  const cases = new QueuedCases(context, queue, events, 1000 * options.recheck);
  context.signal.addEventListener('abort', cases.endWaiting);
  try {
    await reached([queue, events]);
    // Workers refuse a task without a mark: said once here, before each case is refused there.
    let marked: Promise<void> | undefined;
    await inFlight(context, window, async job => {
      await (marked ??= requireTaskDirective(job.task.module));
      await cases.compute(job);
    });
  } finally {
    context.signal.removeEventListener('abort', cases.endWaiting);
    await closed([queue, events], ended);
  }
}

/** The parts of BullMQ's queue that are used. */
interface CaseQueue {
  add(name: string, data: unknown, options: object): Promise<unknown>;
  remove(id: string): Promise<unknown>;
}

class QueuedCases {
  /** Each ends the wait for one answer. */
  readonly #waiting = new Set<() => void>();

  /** @param recheck milliseconds */
  constructor(
    readonly context: EngineContext,
    readonly queue: CaseQueue,
    readonly events: EventEmitter,
    readonly recheck: number,
  ) {
    // Each case in the queue has its listeners.
    events.setMaxListeners(0);
  }

  readonly endWaiting = (): void => this.#waiting.forEach(end => end());

  /** Queues a case until it is settled in the store. */
  async compute(job: Job): Promise<void> {
    const {rules, signal, store} = this.context;
    for (;;) {
      const answer = await this.#answer(job);
      if (answer?.kind === 'done') {
        await this.#seen(job);
        return this.context.settled(job, answer);
      }
      // A waiting case is taken back; the result of a running one will be found in the store.
      if (signal.aborted) {
        await Promise.race([this.queue.remove(job.name).catch(() => {}), pause(patience)]);
        return;
      }
      // Events are lost with a connection, and cases with a server: the store tells what is done.
      if (answer === undefined && (await store.has(job.name))) return this.context.settled(job, {kind: 'done'});
      if (answer !== undefined) await this.#record(job, answer.failure);
      const failure = exhausted(await store.failures(job.name), rules.attempts);
      if (failure !== undefined) return this.context.settled(job, answer ?? {kind: 'failed', failure});
    }
  }

  /**
   * Adds a case to the queue, which changes nothing where it is there already, and waits; undefined: no answer in time.
   */
  #answer(job: Job): Promise<Settled | undefined> {
    const {context, events} = this;
    return new Promise(resolve => {
      // eslint-disable-next-line @typescript-eslint/no-explicit-any
      const listeners: [event: string, listener: (args: any) => void][] = [
        ['completed', ({returnvalue}: {returnvalue: unknown}) => settle(answerOf(returnvalue) ?? broken(foreign))],
        ['failed', ({failedReason}: {failedReason: string}) => settle(broken(failedReason))],
        ['progress', ({data}: {data?: {value?: unknown} | null}) => context.progress(job, data?.value)],
      ];
      const settle = (answer?: Settled): void => {
        clearTimeout(timer);
        this.#waiting.delete(settle);
        for (const [event, listener] of listeners) events.off(`${event}:${job.name}`, listener);
        resolve(answer);
      };
      let timer = setTimeout(settle, Math.min(this.recheck, longestTimer));
      this.#waiting.add(settle);
      for (const [event, listener] of listeners) events.on(`${event}:${job.name}`, listener);
      const data = queued(job, context.seed, context.rules.timeout);
      this.queue.add(job.task.name, data, {jobId: job.name, removeOnComplete: true, removeOnFail: true}).catch(() => {
        // The client makes its connection anew by itself.
        clearTimeout(timer);
        timer = setTimeout(settle, 200);
      });
    });
  }

  /** A worker says that a case is done: its result must be in this store, too. */
  async #seen({name}: Job): Promise<void> {
    const {store} = this.context;
    const until = performance.now() + 1000 * visible;
    for (let wait = 0.05; !(await store.has(name)); wait = Math.min(2 * wait, 2)) {
      if (performance.now() > until)
        throw new DataError(
          'other-store',
          `A worker has completed ${name}, but ${store.folder} has no such result: `
            + 'start the workers with --store of the same folder.',
          {folder: store.folder},
        );
      await pause(wait);
    }
  }

  /** Workers store their failures; what the queue or another program says is stored here. */
  async #record(job: Job, failure: FailedAttempt): Promise<void> {
    const {store} = this.context;
    const isStored = ({attempt, cause}: Failure): boolean => attempt === failure.attempt && cause === failure.cause;
    if (!(await store.failures(job.name)).some(isStored)) await store.fail(job, failure.cause, failure.error);
  }
}

/** The failure of a case that the queue gave up: its worker refused it, broke off, or was lost too often. */
function broken(reason: string): Settled {
  const [cause, message] = reason.startsWith(refusal)
    ? (['refused', reason.slice(refusal.length)] as const)
    : (['lost', reason] as const);
  return {kind: 'failed', failure: {cause, error: {name: 'QueueError', message}}};
}

const foreign =
  'A worker gave an answer that no worker of stiffgrad gives: another program takes jobs from this queue. '
  + 'Give the sweep and its workers a queue of their own (--queue).';

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
      `The queue's server cannot be used: ${reason}. Check that it is running, that address, user and password are `
        + 'right, and whether it requires TLS (rediss://, or ?sslmode=require).',
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
