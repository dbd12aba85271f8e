/**
 * A sweep through a queue whose workers, server and program are killed (SIGKILL) at random while it runs, and whose disk is full for a
 * while. `tsx spec/sweep/kills.ts` does it 100, 10 and 10 times; kills.spec.ts a few times. What must be true at the end:
 * every case has one whole result, and nothing else is in the store.
 */
import {execFileSync, spawn, type ChildProcess} from 'node:child_process';
import {mkdir, mkdtemp, readdir, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {openStore} from '../../sweep/index.js';
import {freePort, startServer} from './server.js';

export interface Kills {
  readonly cases: number;
  /** Milliseconds of one. */
  readonly ms: number;
  readonly workers: number;
  readonly killWorkers: number;
  readonly killServer: number;
  readonly killProgram: number;
  /** A small file system of its own for the store, which is filled once; needs the right to mount. */
  readonly fillDisk?: boolean;
  readonly seed?: number;
}

export interface Survived {
  readonly seconds: number;
  readonly results: number;
  readonly right: number;
  readonly failures: number;
  readonly parts: number;
  readonly killed: {readonly workers: number; readonly server: number; readonly program: number};
  /** Seconds of a full disk. */
  readonly full: number;
}

const program = fileURLToPath(new URL('./queue-program.ts', import.meta.url));
const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));
const ended = (child: ChildProcess): Promise<unknown> =>
  new Promise(resolve =>
    child.exitCode === null && child.signalCode === null ? child.once('exit', resolve) : resolve(0),
  );

export async function survive(options: Kills): Promise<Survived> {
  const place = await mkdtemp(path.join(tmpdir(), 'stiffgrad-kills-'));
  const store = path.join(place, 'store');
  await mkdir(store);
  if (options.fillDisk === true) execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m', 'tmpfs', store]);
  const port = await freePort();
  let server = await startServer(port);
  const start = (role: string): ChildProcess =>
    spawn(
      process.execPath,
      ['--import', 'tsx', program, role, String(port), store, String(options.cases), String(options.ms)],
      {stdio: ['ignore', 'ignore', role === 'program' ? 'inherit' : 'ignore']},
    );
  const workers = Array.from({length: options.workers}, () => start('worker'));
  let coordinator = start('program');
  const killed = {workers: 0, server: 0, program: 0};
  let full = 0;
  // Park & Miller's generator (1988): which is killed when can be repeated, as far as time can.
  let state = options.seed ?? 1;
  const random = (): number => (state = (state * 48271) % 2147483647) / 2147483647;
  const from = performance.now();
  const left = {
    workers: options.killWorkers,
    server: options.killServer,
    program: options.killProgram,
    disk: options.fillDisk === true ? 1 : 0,
  };
  const through = (): boolean => coordinator.exitCode === 0;
  try {
    await pause(3000);
    for (
      let total = (): number => left.workers + left.server + left.program + left.disk;
      total() > 0 && !through();
      await pause(300 + 600 * random())
    ) {
      let pick = random() * total();
      if ((pick -= left.workers) < 0) {
        left.workers--;
        const i = Math.floor(random() * workers.length);
        workers[i].kill('SIGKILL');
        workers[i] = start('worker');
        killed.workers++;
      } else if ((pick -= left.server) < 0) {
        left.server--;
        await server.stop('SIGKILL');
        await pause(500 * random());
        server = await startServer(port);
        killed.server++;
      } else if ((pick -= left.program) < 0) {
        left.program--;
        coordinator.kill('SIGKILL');
        await ended(coordinator);
        coordinator = start('program');
        killed.program++;
      } else {
        left.disk--;
        const since = performance.now();
        // All that is left, to the last page.
        await writeFile(path.join(store, 'filler'), Buffer.alloc(128 * 2 ** 20)).catch(() => {});
        await pause(3000);
        await rm(path.join(store, 'filler'));
        full = (performance.now() - since) / 1000;
      }
    }
    await ended(coordinator);
    const seconds = (performance.now() - from) / 1000;
    workers.forEach(worker => worker.kill('SIGKILL'));
    await Promise.all(workers.map(ended));
    const seen = new Set<number>();
    const opened = openStore(store);
    let results = 0;
    for await (const {case: one, result} of opened.rows()) {
      results++;
      if (one.x === result) seen.add(result as number);
    }
    const {failed} = await opened.status();
    await opened.prune({older: 0});
    const parts = (await readdir(path.join(store, 'tmp'))).length;
    return {seconds, results, right: seen.size, failures: failed, parts, killed, full};
  } finally {
    [...workers, coordinator].forEach(child => child.kill('SIGKILL'));
    await server.stop('SIGKILL');
    await pause(500); // the processes of killed workers see that their parents are gone
    if (options.fillDisk === true) execFileSync('umount', ['-l', store]);
    await rm(place, {recursive: true, force: true});
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const base = {cases: Number(process.argv[2] ?? 6000), ms: 100, workers: 4};
  console.log('undisturbed', JSON.stringify(await survive({...base, killWorkers: 0, killServer: 0, killProgram: 0})));
  console.log(
    'killed',
    JSON.stringify(
      await survive({
        ...base,
        killWorkers: 100,
        killServer: 10,
        killProgram: 10,
        fillDisk: process.argv[3] === '--disk',
      }),
    ),
  );
}
