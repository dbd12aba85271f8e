/**
 * The program of a process that computes cases: it loads the task's module once and answers one case after another.
 * Started by task-pool.ts, imported by nothing. A second thread watches while the task keeps this one busy.
 */
import {Worker} from 'node:worker_threads';
import {canonical, parse} from './canonical.js';
import type {Case} from './cases.js';
import {loadModule} from './load-module.js';
import type {Answer, Order} from './messages.js';
import {contentHash, type TaskFunction} from './task.js';

/** A process that outgrows its memory says so on descriptor 4 and ends; one whose parent is gone ends, too. */
const watch = `
const {workerData: {limit, parent}} = require('node:worker_threads');
const {writeSync} = require('node:fs');
setInterval(() => {
  if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  if (process.memoryUsage.rss() > limit) {
    writeSync(4, 'memory');
    process.kill(process.pid, 'SIGKILL');
  }
}, 50);`;

const answer = (message: Answer): void => {
  process.send?.(message);
};
let abort = new AbortController();
/** Hashes of the modules as they were when they were loaded. */
const hashes = new Map<string, string>();

async function compute({
  case: content,
  export: exported,
  hash,
  module,
  name,
  seed,
}: Order & {kind: 'compute'}): Promise<void> {
  try {
    const own = hashes.get(module) ?? (await contentHash(module)) ?? 'of no file';
    if (own !== hash) return answer({kind: 'refused', hash: own});
    hashes.set(module, own);
    const all = await loadModule(module);
    answer({kind: 'loaded'});
    const task = Object.hasOwn(all, exported) ? all[exported] : undefined;
    if (typeof task !== 'function') throw new TypeError(`${module} exports no function '${exported}'.`);
    abort = new AbortController();
    const from = performance.now();
    const result = await (task as TaskFunction)(parse(content) as Case, {
      seed,
      name,
      signal: abort.signal,
      progress: value => answer({kind: 'progress', value: canonical(value, 'progress')}),
    });
    const seconds = (performance.now() - from) / 1000;
    answer({kind: 'done', result: canonical(result, "The task's result"), seconds});
  } catch (error) {
    const {
      name: kind,
      message,
      stack,
    } = error instanceof Error ? error : {name: 'Error', message: String(error), stack: undefined};
    // A task may throw an error whose name is no text.
    answer({
      kind: 'failed',
      error: {name: String(kind), message: String(message), ...(stack === undefined ? {} : {stack: String(stack)})},
    });
  }
}

process.on('message', (order: Order) => {
  if (order.kind === 'abort') abort.abort();
  else void compute(order);
});
process.on('disconnect', () => process.exit());
// Ctrl-C goes to all processes of a terminal; it is for the parent to end this one.
process.on('SIGINT', () => {});
new Worker(watch, {
  eval: true,
  execArgv: [],
  workerData: {limit: Number(process.env.STIFFGRAD_TASK_MEMORY ?? Infinity), parent: process.ppid},
}).unref();
