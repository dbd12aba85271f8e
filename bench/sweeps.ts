/**
 * Sweeps on this machine: the same bits from all engines, what a case costs beside its task, a million cases, two workers
 * beside one. What needs a queue is skipped where neither Redis nor Valkey is installed.
 *
 *   npx tsx bench/sweeps.ts [same | overhead | workers | million] [--cases 10000]
 */
import {fork, type ChildProcess} from 'node:child_process';
import {createHash} from 'node:crypto';
import {mkdtemp, rm, stat} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {parseArgs} from 'node:util';
import {collect, engines, openStore, sweep, type Case, type Engine, type Row, type Sweep} from '../sweep/index.js';
import {bullmq} from '../sweep/bullmq.js';
import {indexed, local} from '../sweep/local.js';
import {grid, linspace, uniform} from '../sweep/cases.js';
import {findTask, jobOf} from '../sweep/task.js';
import {freePort, serverProgram, startServer, type Server} from '../spec/sweep/server.js';

const module = new URL('./sweep-tasks.ts', import.meta.url);
const identifications = (count: number) => uniform(count, {k: [5, 20], c: [0.1, 0.6]}, 1);
const seconds = (from: number): number => (performance.now() - from) / 1000;
const gib = (bytes: number): string => `${(bytes / 2 ** 30).toFixed(2)} GiB`;

async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(tmpdir(), 'stiffgrad-sweeps-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, {recursive: true, maxRetries: 5});
  }
}

/** What all results have in common with those of another engine: a hash of cases, seeds and results. */
async function bits(run: Sweep): Promise<{count: number; hash: string}> {
  const hash = createHash('sha256');
  let count = 0;
  for await (const {case: one, name, result, seed} of run.results() as AsyncIterable<Row>) {
    hash.update(JSON.stringify([one, name, result, seed]));
    count++;
  }
  return {count, hash: hash.digest('hex').slice(0, 16)};
}

/** This script in a process of its own. */
function part(...args: string[]): ChildProcess {
  return fork(fileURLToPath(import.meta.url), args, {stdio: 'inherit'});
}
const ended = (child: ChildProcess): Promise<number | null> => new Promise(resolve => child.once('exit', resolve));

/** With a server and worker processes of one task process each. */
async function withQueue<T>(workers: number, store: string, use: (engine: Engine) => Promise<T>): Promise<T> {
  const port = await freePort();
  const server: Server = await startServer(port);
  const children = Array.from({length: workers}, () => part('worker', String(port), store));
  try {
    return await use(bullmq({connection: {url: `redis://127.0.0.1:${port}`}}));
  } finally {
    await Promise.all(
      children.map(child => {
        const end = ended(child);
        child.kill('SIGTERM');
        return end;
      }),
    );
    await server.stop();
  }
}

/** The same identifications by three engines: the same results to the bit, one a case. */
async function same(count: number): Promise<void> {
  const task = {module, export: 'identification'};
  const cases = identifications(count);
  const report = async (name: string, run: Sweep, from: number): Promise<void> => {
    const time = seconds(from);
    const {count: results, hash} = await bits(run);
    console.log(`${name.padEnd(32)} ${results} results, ${run.failed} failed, bits ${hash}, ${time.toFixed(0)} s`);
  };
  await inFolder(async store => {
    const from = performance.now();
    await report('local, two workers', await sweep({task, cases, store, engine: local({workers: 2})}), from);
  });
  await inFolder(async store => {
    const from = performance.now();
    const shards = Array.from({length: 8}, (_, i) => part('shard', String(i), '8', store, String(count)));
    const codes = await Promise.all(shards.map(ended));
    if (codes.some(code => code !== 0)) throw new Error(`Shards ended with ${codes.join(' ')}.`);
    // Nothing is left to compute; a second run of everything must find it all in the store.
    const run = await sweep({task, cases, store, engine: local({workers: 1})});
    if (run.resumed !== count) throw new Error(`${run.resumed} of ${count} cases were in the store.`);
    await report('indexed, eight shards', run, from);
  });
  if (serverProgram === undefined) return console.log('Neither redis-server nor valkey-server is installed: no queue.');
  await inFolder(async store => {
    const from = performance.now();
    await withQueue(4, store, async engine =>
      report('bullmq, four workers', await sweep({task, cases, store, engine}), from),
    );
  });
}

/** What a case costs beside its task, which is a multiplication. */
async function overhead(count: number): Promise<void> {
  const task = {module, export: 'square'};
  const cases = grid({x: linspace(0, 1, count)});
  // The first cases of a run wait for the processes to start: these are computed before the clock starts.
  const one = async (name: string, store: string, engine: Engine): Promise<void> => {
    await sweep({task, cases: grid({x: linspace(2, 3, 64)}), store, engine});
    const before = process.cpuUsage();
    const from = performance.now();
    const run = await sweep({task, cases, store, engine});
    const time = seconds(from);
    const {user, system} = process.cpuUsage(before);
    console.log(
      `${name.padEnd(32)} ${run.done} cases, ${((1000 * time) / count).toFixed(2)} ms a case, of it ${((user + system) / 1000 / count).toFixed(2)} ms of processor in the program`,
    );
  };
  await inFolder(store => one('local, two workers', store, local({workers: 2})));
  if (serverProgram === undefined) return console.log('Neither redis-server nor valkey-server is installed: no queue.');
  await inFolder(store => withQueue(2, store, engine => one('bullmq, two workers', store, engine)));
}

/** Two workers beside one, in turns. The time of many cases less that of few leaves the workers' start aside. */
async function workers(most: number): Promise<void> {
  const map =
    (millions: number) =>
    (n: number): Iterable<Case> =>
      grid({x: linspace(0, 1, n), millions: [millions]});
  const rows: readonly (readonly [name: string, cases: (n: number) => Iterable<Case>, count: number])[] = [
    ['logistic', map(100), Math.ceil(most / 10)],
    ['logistic', map(10), most],
    // V8 compiles it in threads beside its own, so that one worker is more than one processor's work.
    ['identification', identifications, most],
  ];
  for (const [name, cases, count] of rows) {
    const task = {module, export: name};
    const few = Math.ceil(count / 10);
    const time = async (n: number, howMany: number): Promise<number> =>
      inFolder(async store => {
        const from = performance.now();
        await sweep({task, cases: cases(howMany), store, engine: local({workers: n})});
        return seconds(from);
      });
    for (let round = 0; round < 3; round++) {
      const [one, two] = [(await time(1, count)) - (await time(1, few)), (await time(2, count)) - (await time(2, few))];
      const ms = (t: number): string => ((1000 * t) / (count - few)).toFixed(2);
      console.log(`${name}: one worker ${ms(one)} ms a case, two ${ms(two)}: ${(one / two).toFixed(2)} ×`);
    }
  }
}

/** Cases that have results: what listing, going on and collecting them takes. */
async function million(count: number): Promise<void> {
  const task = {module, export: 'square'};
  const cases = grid({x: linspace(0, 1, count)});
  await inFolder(async folder => {
    const store = openStore(path.join(folder, 'store'), {durable: false});
    const found = await findTask(task);
    const from = performance.now();
    let waiting: Promise<unknown>[] = [];
    for (const one of cases) {
      const job = jobOf(found, one, 0);
      waiting.push(store.accept(job, String(one.x ** 2), 0));
      if (waiting.length === 64) waiting = (await Promise.all(waiting), []);
    }
    await Promise.all(waiting);
    console.log(`written: ${seconds(from).toFixed(0)} s`);
    const child = part('resume', path.join(folder, 'store'), String(count));
    if ((await ended(child)) !== 0) throw new Error('The second process failed.');
  });
}

/** A process of its own, whose memory counts: lists the cases, goes on with a sweep that has them, and collects them. */
async function resume(folder: string, count: number): Promise<void> {
  const store = openStore(folder);
  const peak = (): string => gib(1024 * process.resourceUsage().maxRSS);
  let from = performance.now();
  let listed = 0;
  for await (const names of store.names()) listed += names.length;
  console.log(`listed ${listed}: ${seconds(from).toFixed(0)} s, at most ${peak()}`);
  from = performance.now();
  const run = await sweep({
    task: {module, export: 'square'},
    cases: grid({x: linspace(0, 1, count)}),
    store,
    engine: local({workers: 1}),
  });
  console.log(`went on, ${run.resumed} of ${run.done} in the store: ${seconds(from).toFixed(0)} s, at most ${peak()}`);
  for (const ending of ['csv', 'parquet']) {
    from = performance.now();
    const file = path.join(path.dirname(folder), `results.${ending}`);
    await collect(store, file);
    const {size} = await stat(file);
    console.log(
      `collected as .${ending}, ${(size / 1e6).toFixed(0)} MB: ${seconds(from).toFixed(0)} s, at most ${peak()}`,
    );
  }
}

const {positionals, values} = parseArgs({allowPositionals: true, options: {cases: {type: 'string'}}});
const [what = 'all', ...rest] = positionals;
const count = (usual: number): number => Number(values.cases ?? usual);
switch (what) {
  case 'shard': {
    const [index, of, store, n] = rest;
    await sweep({
      task: {module, export: 'identification'},
      cases: identifications(Number(n)),
      store,
      engine: indexed({index: Number(index), of: Number(of), workers: 1}),
    });
    break;
  }
  case 'worker': {
    const [port, store] = rest;
    const worker = await engines.startWorker({
      connection: {url: `redis://127.0.0.1:${port}`},
      tasks: [path.dirname(fileURLToPath(import.meta.url))],
      store: openStore(store),
      workers: 1,
    });
    process.once('SIGTERM', () => void worker.close().then(() => process.exit(0)));
    break;
  }
  case 'resume':
    await resume(rest[0], Number(rest[1]));
    break;
  default:
    if (what === 'all' || what === 'overhead') await overhead(count(10_000));
    if (what === 'all' || what === 'workers') await workers(count(2000));
    if (what === 'all' || what === 'same') await same(count(10_000));
    if (what === 'all' || what === 'million') await million(count(1_000_000));
}
