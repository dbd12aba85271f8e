/**
 * `npm run bench [-- --only chain,net,mlp,rods,stiff,training (or one of its rows: spiral, …),dense,cold,trace,growth,fill,large,adjoints,batch,checked] [-- --sizes 8,32] [-- --rounds 12] [-- --without jax-js]`: every workload on
 * every contestant that is there, in turns within one run, so that what else the machine does falls on all of
 * them alike; then what only this project has. Writes bench/results/latest.json and docs/benchmarks.md,
 * and what docs/adjoints.md says was measured.
 *
 * Peers are found as `cc` and `python3` on PATH; STIFFGRAD_BENCH_PYTHON names another Python with casadi,
 * jax and diffrax, STIFFGRAD_BENCH_MODULES a folder where @jax-js/jax is installed.
 */
import {execFileSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {availableParallelism, cpus, loadavg, tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import type {Entry, Preparation} from './contestant.js';
import {Contestant} from './contestant.js';
import {writeAdjoints} from './adjoints-page.js';
import {writePage} from './page.js';
import {raceStiff} from './stiff.js';
import type {Results, Row} from './results.js';
import {trainingNumbers} from './training-rows.js';
import type {WorkloadName} from './workloads.js';
import {chainReference, isTraining, trainingNames} from './workloads.js';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const built = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const argument = (name: string): string | undefined => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
};
const only = argument('only')?.split(',');
const wanted = (name: string): boolean => only === undefined || only.includes(name);
const rounds = Number(argument('rounds') ?? 12);
const chosen = argument('sizes')?.split(',').map(Number);

/** A batch of runs lasts about this long, so that turns are short beside what disturbs them. */
const batchMilliseconds = 60;
/** Runs before anything is timed, in milliseconds: V8 has optimised what it will by then. */
const warmUpMilliseconds = 1500;

const sizes: Readonly<Record<WorkloadName, readonly number[]>> = {
  chain: chosen ?? [8, 32, 128, 1024, 16384],
  net: chosen ?? [20, 40, 60, 100],
  mlp: [8],
  rods: chosen ?? [10, 100, 1000, 10000],
  spiral: [32],
  'spiral-adaptive': [32],
  'small-net': [1],
  'latent-ode': [32],
  hybrid: [4],
  'lotka-volterra': [1],
  dense: [512],
};

const isDense = (name: WorkloadName): boolean => name === 'dense';

/** Those who take part in training and in the dense network alone. @param numbers the file that its numbers are in, for Python */
function training(python: string, peer: (name: string) => string, numbers: string): Entry[] {
  const env = {STIFFGRAD_BENCH_NUMBERS: numbers};
  const bits = [
    ['', '64'],
    [', single precision', '32'],
  ] as const;
  return [
    ...bits.flatMap(([suffix, size]) => [
      {name: `diffrax${suffix}`, command: python, args: [peer('training_diffrax.py'), size], env, enters: isTraining},
      {name: `PyTorch${suffix}`, command: python, args: [peer('training_torch.py'), size], env, enters: isTraining},
    ]),
    {
      name: 'stiffgrad, single precision',
      command: process.execPath,
      args: [built('peers/stiffgrad.js'), 'single'],
      enters: name => isTraining(name) || isDense(name),
    },
    ...(['prepared', 'single'] as const).flatMap((way, i) => [
      {
        name: `stiffgrad, two threads${bits[i][0]}`,
        command: process.execPath,
        args: [built('peers/stiffgrad.js'), way, '2'],
        enters: isDense,
      },
      ...[1, 2].map(threads => ({
        name: `PyTorch, ${threads === 1 ? 'one thread' : 'two threads'}${bits[i][0]}`,
        command: python,
        args: [peer('products_torch.py'), 'serve', bits[i][1], String(threads)],
        enters: isDense,
      })),
    ]),
    ...['cpu', 'wasm'].map(backend => ({
      name: `tfjs, ${backend}`,
      command: process.execPath,
      args: [built('peers/plain-training.js'), backend],
      enters: (name: WorkloadName) => name === 'spiral' || name === 'hybrid',
    })),
  ];
}

function contestants(workspace: string): Entry[] {
  const python = process.env.STIFFGRAD_BENCH_PYTHON ?? 'python3';
  const peer = (name: string): string => join(root, 'bench/peers', name);
  const program = join(workspace, 'chain');
  const numbers = join(workspace, 'training.json');
  writeFileSync(numbers, JSON.stringify(trainingNumbers()));
  try {
    execFileSync('cc', ['-O3', '-march=native', '-o', program, peer('chain.c'), '-lm']);
  } catch {
    // The contestant then says that it is not there.
  }
  return [
    ...training(python, peer, numbers),
    {name: 'C', command: program, args: [], enters: name => name === 'chain'},
    {
      name: 'stiffgrad, prepared',
      command: process.execPath,
      args: [built('peers/stiffgrad.js'), 'prepared'],
      enters: () => true,
    },
    {
      name: 'stiffgrad',
      command: process.execPath,
      args: [built('peers/stiffgrad.js'), 'plain'],
      enters: (name, n) => !isTraining(name) && !isDense(name) && name !== 'rods' && n < 10000,
    },
    {
      name: 'CasADi',
      command: python,
      args: [peer('casadi_peer.py')],
      enters: (name, n) => !isTraining(name) && !isDense(name) && name !== 'rods' && n <= (name === 'net' ? 40 : 1024),
    },
    {
      name: 'diffrax, Newton',
      command: python,
      args: [peer('diffrax_peer.py'), 'newton'],
      enters: (name, n) => (name === 'chain' || name === 'mlp') && n <= 128,
    },
    {
      name: 'diffrax, chord',
      command: python,
      args: [peer('diffrax_peer.py'), 'chord'],
      enters: (name, n) => (name === 'chain' || name === 'mlp') && n <= 128,
    },
    {
      name: 'jax-js',
      command: process.execPath,
      args: [peer('jax-js.mjs'), built('peers/protocol.js')],
      enters: (name, n) => name === 'chain' && n <= 8,
    },
    {
      name: 'tfjs, naive',
      command: process.execPath,
      args: [built('peers/naive-tfjs.js')],
      enters: (name, n) => name === 'chain' && n <= 8,
    },
  ];
}

/**
 * The reference numbers of the chain have five digits; other workloads are compared with each other. Single precision has four
 * at best, where an implicit scheme's loss is small; runs of different step lengths differ by their tolerance.
 */
const adaptiveRows: readonly WorkloadName[] = ['spiral-adaptive', 'latent-ode', 'lotka-volterra'];
const digits = (workload: WorkloadName, single: boolean): number =>
  single ? 1e-2 : workload === 'chain' ? 5e-5 : adaptiveRows.includes(workload) ? 1e-3 : 1e-6;

function stiffEntries(): Entry[] {
  const python = process.env.STIFFGRAD_BENCH_PYTHON ?? 'python3';
  const peer = (name: string): string => join(root, 'bench/peers', name);
  const enters = (): boolean => true;
  return [
    ...['kvaerno5', 'radauIIA5', 'kvaerno3'].map(scheme => ({
      name: `stiffgrad, ${scheme}`,
      command: process.execPath,
      args: [built('peers/stiff-stiffgrad.js'), scheme],
      enters,
    })),
    ...['Radau', 'BDF'].map(method => ({
      name: `SciPy, ${method}`,
      command: python,
      args: [peer('stiff_scipy.py'), method],
      enters,
    })),
    {name: 'diffrax, Kvaerno5, Newton', command: python, args: [peer('stiff_diffrax.py'), 'newton'], enters},
    {name: 'diffrax, Kvaerno5, VeryChord', command: python, args: [peer('stiff_diffrax.py'), 'chord'], enters},
  ];
}

const near = (a: number, b: number, digits: number): boolean => Math.abs(a - b) <= digits * Math.abs(b);

/** What a contestant found against the reference and against this project; a sentence where it is something else. */
function differs(
  answer: {loss: number; gradientNorm: number},
  reference: {loss: number; gradientNorm: number},
  digits: number,
): string | undefined {
  if (near(answer.loss, reference.loss, digits) && near(answer.gradientNorm, reference.gradientNorm, digits))
    return undefined;
  return `finds loss ${answer.loss.toPrecision(6)} and gradient norm ${answer.gradientNorm.toPrecision(6)} instead of ${reference.loss.toPrecision(6)} and ${reference.gradientNorm.toPrecision(6)}`;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1];

async function race(workload: WorkloadName, n: number, entries: readonly Entry[]): Promise<Row> {
  const started: {
    contestant: Contestant;
    preparation: Exclude<Preparation, {skip: string}>;
    forward: number[];
    gradient: number[];
    ratios: number[];
    processor: number[];
  }[] = [];
  const skipped: Record<string, string> = {};
  for (const entry of entries.filter(({enters}) => enters(workload, n))) {
    const contestant = new Contestant(entry);
    const preparation = await contestant.prepare(workload, n);
    if ('skip' in preparation) {
      skipped[entry.name] = String(preparation.skip);
      contestant.end();
    } else started.push({contestant, preparation, forward: [], gradient: [], ratios: [], processor: []});
  }
  const own = started.find(({contestant}) => contestant.entry.name === 'stiffgrad, prepared');
  const reference = (workload === 'chain' ? chainReference.get(n) : undefined) ?? own?.preparation;
  const sound = started.filter(({contestant, preparation}) => {
    const word =
      reference === undefined || preparation.loss === null
        ? undefined
        : differs(preparation, reference, digits(workload, preparation.single === true));
    if (word === undefined) return true;
    skipped[contestant.entry.name] = word;
    contestant.end();
    return false;
  });
  const batches = new Map<Contestant, {forward: number; gradient: number}>();
  for (const {contestant} of sound) {
    const first = {forward: await contestant.time('forward', 1), gradient: await contestant.time('gradient', 1)};
    const warm = async (what: 'forward' | 'gradient'): Promise<number> => {
      let spent = 0;
      let last = first[what][0];
      for (let count = 1; spent < warmUpMilliseconds; count *= 2) {
        const times = await contestant.time(what, count);
        spent += times.reduce((sum, x) => sum + x, 0);
        last = Math.min(...times);
      }
      return Math.max(1, Math.round(batchMilliseconds / last));
    };
    batches.set(contestant, {forward: await warm('forward'), gradient: await warm('gradient')});
  }
  // What takes seconds is run a few times only.
  const slowest = Math.max(...[...batches.values()].map(({gradient}) => (gradient === 1 ? 1 : 0)));
  for (let round = 0; round < (slowest === 1 ? Math.max(3, Math.ceil(rounds / 2)) : rounds); round++) {
    for (const {contestant, forward, gradient, ratios, processor} of sound) {
      const batch = batches.get(contestant);
      if (batch === undefined) continue;
      const [there, back] = [
        await contestant.time('forward', batch.forward),
        await contestant.time('gradient', batch.gradient),
      ];
      forward.push(...there);
      gradient.push(...back);
      ratios.push(median(back) / median(there));
      if (isTraining(workload) || isDense(workload))
        processor.push(...(await contestant.time('processor', batch.gradient)));
    }
  }
  for (const {contestant} of sound) contestant.end();
  return {
    workload,
    n,
    skipped,
    load: loadavg()[0],
    contestants: sound.map(
      ({
        contestant,
        preparation: {loss, gradientNorm, first, scale = 1, ...details},
        forward,
        gradient,
        ratios,
        processor,
      }) => ({
        name: contestant.entry.name,
        loss,
        gradientNorm,
        first,
        details,
        forward: {min: (scale as number) * Math.min(...forward), median: (scale as number) * median(forward)},
        gradient: {min: (scale as number) * Math.min(...gradient), median: (scale as number) * median(gradient)},
        ratios: {median: median(ratios), least: Math.min(...ratios), most: Math.max(...ratios)},
        ...(processor.length > 0 ? {processor: Math.min(...processor)} : {}),
      }),
    ),
  };
}

/** A script of its own process, and the JSON it ends with. */
function measure<T>(script: string, args: readonly string[] = [], nodeArgs: readonly string[] = []): T {
  const text = execFileSync(process.execPath, [...nodeArgs, built(script), ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return JSON.parse(text.trim().split('\n').at(-1) ?? '') as T;
}

/** The fastest of several new processes, as a start is disturbed by everything; the files are those of the package, bundled. */
async function coldStarts(): Promise<Results['cold']> {
  const folder = join(root, 'reports/bench/package');
  const {bundle} = (await import(pathToFileURL(join(root, '.ci/bundle.js')).href)) as {
    bundle: (folder: string, more: readonly string[]) => Promise<void>;
  };
  await bundle(folder, ['bench/cold-start.ts']);
  const start = <T>(what: 'all' | 'tfjs'): T => measure<T>(join(folder, 'bench/cold-start.js'), [what]);
  const runs = Array.from({length: 7}, () => start<NonNullable<Results['cold']>>('all'));
  const tfjs = Math.min(...Array.from({length: 7}, () => start<{total: number}>('tfjs').total));
  const least = (pick: (run: NonNullable<Results['cold']>) => number): number => Math.min(...runs.map(pick));
  return {
    tfjs,
    total: least(run => run.total),
    imported: least(run => run.imported),
    gradient: least(run => run.gradient),
    second: least(run => run.second),
  };
}

const workspace = mkdtempSync(join(tmpdir(), 'stiffgrad-bench-'));
const path = join(root, 'bench/results/latest.json');
const before = ((): Partial<Results> => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Results;
  } catch {
    return {};
  }
})();

let results: Results = {
  machine: {
    node: process.version,
    processor: cpus()[0].model.trim(),
    cores: availableParallelism(),
    load: loadavg()[0],
  },
  rows: before.rows ?? [],
  stiff: before.stiff,
  cold: before.cold,
  tracing: before.tracing,
  growth: before.growth,
  fill: before.fill,
  large: before.large,
  adjoints: before.adjoints,
  batch: before.batch,
  checked: before.checked,
};

/** Kept after every workload: a run of everything takes half an hour. */
function keep(news: Partial<Results>): void {
  results = {...results, ...news};
  writeFileSync(path, `${JSON.stringify(results, null, 1)}\n`);
  writePage(results, join(root, 'docs'));
  writeAdjoints(results, join(root, 'docs'));
}

function report({workload, n, load, contestants: all, skipped}: Row): void {
  console.log(`${workload} ${n} (load ${load.toFixed(1)})`);
  for (const {name, forward, gradient, processor, details} of all) {
    console.log(
      `  ${name.padEnd(20)} ${forward.min.toPrecision(3).padStart(8)} / ${gradient.min.toPrecision(3).padStart(8)} ms   median ${forward.median.toPrecision(3)} / ${gradient.median.toPrecision(3)}  ${processor === undefined ? '' : `processor ${processor.toPrecision(3)}  `}${JSON.stringify(details)}`,
    );
  }
  for (const [name, why] of Object.entries(skipped)) console.log(`  ${name.padEnd(20)} skipped: ${why}`);
}

const order = ['chain', 'net', 'mlp', 'rods', ...trainingNames, 'dense'] as const;
const place = ({workload, n}: Row): number => 1e6 * order.indexOf(workload) + n;
const without = argument('without')?.split(',') ?? [];
const entries = contestants(workspace).filter(({name}) => !without.some(part => name.includes(part)));
const chosenOf = (name: WorkloadName): boolean => wanted(name) || (isTraining(name) && wanted('training'));
for (const name of order.filter(chosenOf)) {
  for (const n of sizes[name]) {
    const row = await race(name, n, entries);
    report(row);
    keep({
      rows: [...results.rows.filter(other => place(other) !== place(row)), row].sort((a, b) => place(a) - place(b)),
    });
  }
}
rmSync(workspace, {recursive: true});

if (wanted('stiff'))
  keep({
    stiff: await raceStiff(
      stiffEntries().filter(({name}) => !without.some(part => name.includes(part))),
      Math.ceil(rounds / 3),
    ),
  });
if (wanted('cold')) keep({cold: await coldStarts()});
if (wanted('trace')) keep({tracing: measure<NonNullable<Results['tracing']>>('growth.js', ['tracing'])});
if (wanted('fill')) keep({fill: measure<NonNullable<Results['fill']>>('fill.js', ['20', '40', '60', '100', '200'])});
// 200² masses: some minutes.
if (wanted('large'))
  keep({large: [100, 200].map(rows => measure<NonNullable<Results['large']>[number]>('large.js', [String(rows)]))});
if (wanted('adjoints')) {
  const names = measure<string[]>('adjoints.js', ['names']);
  const memory = names.map(name => ({
    name,
    bytes: [10000, 100000].map(steps => ({
      steps,
      held: measure<number>('adjoints.js', ['memory', name, String(steps)], ['--expose-gc']),
    })),
  }));
  keep({adjoints: {...measure<Omit<NonNullable<Results['adjoints']>, 'memory'>>('adjoints.js', ['all']), memory}});
}
if (wanted('batch')) keep({batch: measure<NonNullable<Results['batch']>>('batch.js', [])});
if (wanted('checked')) keep({checked: measure<NonNullable<Results['checked']>>('checked.js', [])});
if (wanted('growth')) keep({growth: measure<NonNullable<Results['growth']>>('growth.js', ['heap'], ['--expose-gc'])});
console.log(
  JSON.stringify({
    cold: results.cold,
    tracing: results.tracing,
    growth: results.growth,
    fill: results.fill,
    large: results.large,
  }),
);
