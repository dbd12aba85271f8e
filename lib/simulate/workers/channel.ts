/**
 * A thread and the way to it. On Node its answers can be waited for without leaving a synchronous
 * function: `Atomics.wait` on a number that every answer counts up, then `receiveMessageOnPort`. A page
 * may not wait, so there answers come by events alone.
 */
import type {Bivariant} from '../../system/params.js';
import type {Threads} from '../../builtin.js';
import {nodeFs, nodeThreads as threads} from '../../builtin.js';
import type {Reply, Request} from './messages.js';

export interface WorkerChannel {
  post(request: Request, transfer?: ArrayBuffer[]): void;
  /** An answer that has come; Node alone. */
  receive(): Reply | undefined;
  /** While it is held, the program does not end. */
  hold(held: boolean): void;
  end(): Promise<void>;
}

export interface Listener {
  /** By an event; not what `receive` took. */
  reply(reply: Reply): void;
  /** The thread has ended, or could not start. */
  lost(): void;
}

const {Worker: PageWorker} = globalThis as {readonly Worker?: typeof Worker};

/** A page's thread, as far as it is used: a Worker. */
export interface PageThread {
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
  addEventListener(type: string, listener: Bivariant<object, void>): void;
  terminate(): void;
}

let makeThread = (): PageThread => new Worker(new URL('./page-worker.js', import.meta.url), {type: 'module'});

/** How a page starts a thread from now on: see `batch.useWorker`. */
export function startThreadsBy(make: () => PageThread): void {
  makeThread = make;
}

/** Threads can be started here, and their answers be waited for. */
export const canStart =
  threads !== undefined
  || (PageWorker !== undefined && (globalThis as {readonly document?: unknown}).document !== undefined);
export const canWait = threads !== undefined;

/** @throws where a thread is forbidden, or its file is not there (a bundler may have left it behind) */
export function openChannel(signal: Int32Array, listener: Listener): WorkerChannel {
  return threads === undefined ? pageChannel(listener) : nodeChannel(threads, signal, listener);
}

function nodeChannel(
  {MessageChannel, receiveMessageOnPort, Worker: NodeWorker}: Threads,
  signal: Int32Array,
  listener: Listener,
): WorkerChannel {
  const {port1, port2} = new MessageChannel();
  const options = {workerData: {port: port2, signal}, transferList: [port2], ...threadOptions()};
  const worker = import.meta.url.endsWith('.ts')
    ? new NodeWorker(fromSources('./node-worker.ts'), {...options, eval: true})
    : new NodeWorker(present(new URL('./node-worker.js', import.meta.url)), options);
  port1.on('message', (reply: Reply) => listener.reply(reply));
  worker.on('error', () => listener.lost());
  worker.on('exit', () => listener.lost());
  const hold = (held: boolean): void => {
    for (const one of [port1, worker]) {
      if (held) one.ref();
      else one.unref();
    }
  };
  hold(false);
  return {
    post: (request, transfer = []) => port1.postMessage(request, transfer),
    receive: () => received(receiveMessageOnPort(port1)),
    hold,
    async end() {
      port1.close();
      await worker.terminate();
    },
  };
}

const received = (message: {message: unknown} | undefined): Reply | undefined => message?.message as Reply | undefined;

/**
 * A program given as text (node -e) was started with options that a thread with a file refuses; others are inherited.
 */
function threadOptions(): {execArgv?: string[]} {
  return globalThis.process.execArgv.some(option => /^(-e|-p|-pe|--eval|--print|--input-type)\b/.test(option))
    ? {execArgv: []}
    : {};
}

/** A thread whose file is missing would be missed only after a long wait. */
function present(file: URL): URL {
  if (file.protocol === 'file:' && nodeFs?.existsSync(file) === false) throw new Error(`${file.href} is not there`);
  return file;
}

/** The sources run under tsx, which threads do not inherit. */
function fromSources(file: string): string {
  const source = JSON.stringify(new URL(file, import.meta.url).href);
  return (
    `const load = require('node:module').createRequire(${source}); load('tsx/cjs'); `
    + `load(require('node:url').fileURLToPath(${source}));`
  );
}

function pageChannel(listener: Listener): WorkerChannel {
  const worker = makeThread();
  worker.addEventListener('message', ({data}: MessageEvent<Reply>) => listener.reply(data));
  worker.addEventListener('error', (event: Event) => {
    event.preventDefault();
    listener.lost();
  });
  return {
    post: (request, transfer = []) => worker.postMessage(request, transfer),
    receive: () => undefined,
    hold: () => undefined,
    end() {
      worker.terminate();
      return Promise.resolve();
    },
  };
}
