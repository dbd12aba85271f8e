/** One process of a queue, for tests that kill it: a worker, or the program that waits for the results. */
import {engines, openStore, sweep} from '../../sweep/index.js';
import {bullmq} from '../../sweep/bullmq.js';
import {grid, linspace} from '../../sweep/cases.js';

const [role, port, store, count, ms] = process.argv.slice(2);
const connection = {url: `redis://127.0.0.1:${port}`};
const module = new URL('./tasks/oscillator.ts', import.meta.url);

if (role === 'worker') {
  await engines.startWorker({
    connection,
    tasks: [new URL('./tasks', import.meta.url).pathname],
    store: openStore(store, {patience: 60}),
    workers: 2,
    stalled: 2,
  });
} else {
  const cases = grid({x: linspace(1, Number(count), Number(count)), ms: [Number(ms)]});
  // A worker is killed again and again: that it is lost says nothing of its cases.
  const run = await sweep({
    task: {module, export: 'slow'},
    cases,
    store,
    attempts: {lost: 1000},
    engine: bullmq({connection, recheck: 1}),
  });
  console.log(JSON.stringify({done: run.done, failed: run.failed}));
  process.exit(0);
}
