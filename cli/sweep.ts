/** The commands of sweeps: running one, its store's counts and tables, a cluster's scripts, and a queue's workers. */
import {readFile} from 'node:fs/promises';
import {
  collect,
  engines,
  openStore,
  sweep as runSweep,
  writePage,
  type Engine,
  type QueueConnection,
  type SweepOptions,
  type SweepProgress,
} from '../sweep/index.js';
import {number, text, type Given, type Out} from './given.js';
import {loaded} from './loaded.js';
import {Usage} from './usage.js';

/** A password belongs into the environment: what stands on the command line is seen by all users of a machine. */
async function connection(given: Given): Promise<QueueConnection> {
  const url = text(given, 'server') ?? process.env.STIFFGRAD_SERVER;
  if (url === undefined)
    throw new Usage(
      'No server was given for the queue: use --server redis://host:port or postgres://host/database, '
        + 'or set STIFFGRAD_SERVER, with user and password, in the environment.',
    );
  const ca = text(given, 'ca');
  if (ca === undefined) return {url};
  const certificate = await readFile(ca, 'utf8').catch((error: Error) => {
    throw new Usage(`--ca: ${ca} cannot be read: ${error.message}.`);
  });
  return {url, tls: {ca: certificate}};
}

export async function sweep(given: Given, out: Out): Promise<number> {
  const [first, second] = given.positionals;
  const verbs = {status, collect: collected, prune};
  if (first !== undefined && Object.hasOwn(verbs, first)) {
    if (second === undefined) throw new Usage(`sweep ${first} needs the folder of a store.`);
    return verbs[first as keyof typeof verbs](second, given, out);
  }
  if (first === undefined)
    throw new Usage('This command needs a sweep, such as sweep.ts with export default {task, cases, store}.');
  if (second !== undefined)
    throw new Usage(
      `sweep takes one file, and has no use for '${second}'; before a store's folder it takes one of `
        + `${Object.keys(verbs).join(', ')}.`,
    );
  if (text(given, 'script') !== undefined) return script(first, given, out);
  const {default: options} = await loaded(first);
  if (typeof options !== 'object' || options === null || !('task' in options))
    throw new Usage(`${first} has no sweep: it should have export default {task, cases, store}.`);
  return run(options as SweepOptions, given, out);
}

async function run(options: SweepOptions, given: Given, out: Out): Promise<number> {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  process.once('SIGINT', end).once('SIGTERM', end);
  const page = text(given, 'page');
  let writing = Promise.resolve();
  const store = typeof options.store === 'string' ? openStore(options.store) : options.store;
  const showPage = (progress: SweepProgress, refresh?: number): void => {
    if (page === undefined) return;
    // A page that cannot be written is no reason to end the sweep.
    writing = writing
      .then(() => writePage(store, page, {progress, objective: options.objective, refresh}))
      .catch((error: unknown) => out.progress(`The page was not written: ${(error as Error).message}`));
  };
  let drawn = -Infinity;
  try {
    const ended = await runSweep({
      ...options,
      store,
      engine: (await engineOf(given)) ?? options.engine,
      signal: ending.signal,
      every: options.every ?? 2,
      onProgress: progress => {
        out.progress(line(progress));
        options.onProgress?.(progress);
        // A page is read from the store: less often than a line is printed.
        if (performance.now() - drawn < 5000) return;
        drawn = performance.now();
        showPage(progress);
      },
    });
    showPage(ended, 0);
    await writing;
    const {aborted, done, failed, resumed, seconds, best} = ended;
    const causes: string[] = [];
    for await (const {case: one, cause, error} of ended.failures())
      if (causes.push(`${cause}: ${error.message} (${JSON.stringify(one)})`) === 5) break;
    out.json({done, failed, resumed, seconds, aborted, ...(best === undefined ? {} : {best})});
    out.text(
      [
        String(ended),
        ...causes,
        ...(best === undefined ? [] : [`best ${best.value} at ${JSON.stringify(best.case)}`]),
      ].join('\n'),
    );
    return aborted || failed > 0 ? 1 : 0;
  } finally {
    process.off('SIGINT', end).off('SIGTERM', end);
  }
}

async function engineOf(given: Given): Promise<Engine | undefined> {
  const workers = number(given, 'workers');
  const [index, of] = [number(given, 'index'), number(given, 'of')];
  const queue = text(given, 'queue');
  if (given.values['on-queue'] === true || text(given, 'server') !== undefined)
    return engines.bullmq({connection: await connection(given), ...(queue === undefined ? {} : {queue})});
  if (index !== undefined || of !== undefined) return engines.indexed({index, of, workers});
  return workers === undefined ? undefined : engines.local({workers});
}

/** One line for a terminal. */
function line({best, done, failed, left, rate, total}: SweepProgress): string {
  const parts = [
    total === undefined ? `${done} done` : `${done} of ${total} done`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    `${rate.toPrecision(3)} a second`,
    ...(left === undefined ? [] : [`${Math.ceil(left)} s left`]),
    ...(best === undefined ? [] : [`best ${best.value.toPrecision(6)}`]),
  ];
  return parts.join(', ');
}

async function status(folder: string, given: Given, out: Out): Promise<number> {
  const store = openStore(folder);
  await store.requireThere();
  const counts = await store.status();
  const page = text(given, 'page');
  if (page !== undefined) await writePage(store, page);
  out.json(counts);
  const causes = Object.entries(counts.causes).map(([cause, count]) => `${count} ${cause}`);
  out.text(`${counts.done} done, ${counts.failed} failed${causes.length === 0 ? '' : ` (${causes.join(', ')})`}`);
  return 0;
}

async function collected(folder: string, given: Given, out: Out): Promise<number> {
  const to = text(given, 'to');
  if (to === undefined) throw new Usage('sweep collect needs --to file.jsonl, file.csv or file.parquet.');
  const rows = await collect(openStore(folder), to, {versions: text(given, 'versions')?.split(',')});
  out.json({rows, to});
  out.text(`${rows} rows in ${to}`);
  return 0;
}

async function prune(folder: string, given: Given, out: Out): Promise<number> {
  const versions = text(given, 'versions')?.split(',');
  const store = openStore(folder);
  await store.requireThere();
  const files = await store.prune({failures: given.values.failures === true, versions});
  out.json({files});
  out.text(`${files} files removed`);
  return 0;
}

function script(file: string, given: Given, out: Out): number {
  const kind = text(given, 'script') ?? '';
  if (!Object.hasOwn(engines.clusterScripts, kind))
    throw new Usage(
      `There is no script for '${kind}'; choose one of ${Object.keys(engines.clusterScripts).join(', ')}.`,
    );
  const shards = number(given, 'of');
  if (shards === undefined) throw new Usage('--script needs --of, the number of shares.');
  const written = engines.clusterScripts[kind as keyof typeof engines.clusterScripts]({
    file,
    shards,
    workers: number(given, 'workers') ?? 1,
  });
  out.json({script: written});
  out.text(written.trimEnd());
  return 0;
}

export async function worker(given: Given, out: Out): Promise<number> {
  const folders = text(given, 'tasks');
  const store = text(given, 'store');
  if (folders === undefined || store === undefined)
    throw new Usage('worker needs --tasks, a folder of tasks alone, and --store, the folder of the results.');
  const running = await engines.startWorker({
    connection: await connection(given),
    tasks: folders.split(','),
    store,
    queue: text(given, 'queue'),
    workers: number(given, 'workers'),
    memory: number(given, 'memory'),
    rate: number(given, 'rate'),
    stalled: number(given, 'stalled'),
  });
  out.progress(`A worker for the tasks in ${folders}; Ctrl-C ends it after its current cases.`);
  await new Promise<void>(resolve => process.once('SIGINT', resolve).once('SIGTERM', resolve));
  await running.close();
  out.json({ended: true});
  return 0;
}
