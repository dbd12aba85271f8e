/**
 * The protocol of nonlinearbenchmark.org, as its loader has it (Champneys et al., arXiv 2405.10779): a model is
 * trained on the training records, receives a test record's input and the first samples of its output to estimate the
 * state, simulates freely, and is assessed by the root mean square error of the rest. Test records are used for nothing
 * else.
 *
 *     npx tsx examples/benchmarks/NAME.ts TRAIN... [--test TEST...] [--seeds 10]
 *
 * prints a table beside the published errors and, last, a line of JSON. Without test records it judges itself by
 * cross-validation on the training records.
 */
import {OptionError, signal, type Signal} from '../../lib/index.js';
import {readTable, samples, type Identification, type MeasuredRecord} from '../../training/index.js';
import {printTable, program} from '../script.js';

/** An experiment: evenly spaced times in s, one input, one output. */
export interface Experiment {
  readonly name: string;
  readonly t: Float64Array;
  readonly u: Float64Array;
  readonly y: Float64Array;
}

/** A trained model. */
export interface Learnt {
  /** Final training cost: of several seeds, the one with the least is taken. */
  readonly cost: number;
  /** A line about it. */
  readonly note: string;
  /** Free run after the warm-up, in the unit of the record. */
  rmse(test: Experiment): Promise<number>;
}

/** Training records, and records held out from them for validation. */
export interface Split {
  readonly name: string;
  readonly train: readonly Experiment[];
  readonly test: Experiment;
}

/** One benchmark. */
export interface Benchmark {
  readonly name: string;
  /** The unit of errors, and how many of it make one unit of the record. */
  readonly unit: string;
  readonly scale: number;
  /** Names; or the interval in s where a record has no times. */
  readonly columns: {readonly t: string | number; readonly u: string; readonly y: string};
  /** Published errors, one for each test record or one for all. */
  readonly published: {readonly [model: string]: number | readonly number[]};
  /** Whether the result depends on the seed; if not, one run is enough. */
  readonly random?: boolean;
  learn(records: readonly Experiment[], seed: number): Promise<Learnt>;
  splits(records: readonly Experiment[]): Split[];
}

/** Estimated parameters by name, as a fit has them and as the next one starts from them. */
export type Estimate = {readonly [name: string]: number | Float64Array};

/** The estimated parameters as text, without initial states. */
export function parameterText({estimate}: Identification, digits = 3): string {
  const text = (value: number): string => value.toPrecision(digits);
  return Object.entries(estimate as Estimate)
    .filter(([name]) => !name.startsWith('initial'))
    .map(([name, value]) => `${name} ${typeof value === 'number' ? text(value) : Array.from(value, text).join(' ')}`)
    .join(', ');
}

/** Root mean square of a fit's errors over its records. */
export function trainingError({rmse}: Identification): number {
  const errors = Object.values(rmse);
  return Math.hypot(...errors) / Math.sqrt(errors.length);
}

/**
 * Error of a fit's free run over a record, in the unit of the record, after its initial state was estimated. What goes
 * far beyond the training records is printed.
 */
export async function freeRunError(fit: Identification, record: MeasuredRecord, warmUp = 50): Promise<number> {
  const [{rmse, warnings}] = await fit.validate(record, {warmUp});
  for (const warning of warnings) console.log(warning);
  return rmse;
}

/** Evenly spaced times from 0. */
export const clock = (samples: number, dt: number): Float64Array =>
  Float64Array.from({length: samples}, (_, i) => i * dt);

/** A sampled input with a bandwidth near its Nyquist frequency, interpolated to `finer` points per sample. */
export function bandLimited(u: Float64Array, dt: number, finer: number): Signal {
  const fine = samples.upsample(u, finer);
  return signal(clock(fine.length, dt / finer), fine, 'cubic');
}

/** Samples from … to − 1. */
export function part({name, t, u, y}: Experiment, from: number, to = t.length): Experiment {
  return {name: `${name} [${from}:${to}]`, t: t.slice(from, to), u: u.slice(from, to), y: y.slice(from, to)};
}

/** Holds out the samples from … to − 1 and tests on them, with `warmUp` samples before them. */
export function leftOut(record: Experiment, from: number, to: number, warmUp: number): Split {
  const y = record.y.map((value, i) => (i >= from && i < to ? NaN : value));
  return {name: `without [${from}:${to}]`, train: [{...record, y}], test: part(record, Math.max(0, from - warmUp), to)};
}

/** A record in so many blocks, each held out once; the first `warmUp` samples belong to none. */
export function blocks(record: Experiment, count: number, warmUp: number): Split[] {
  const bound = (k: number): number => warmUp + Math.round((k * (record.t.length - warmUp)) / count);
  return Array.from({length: count}, (_, k) => leftOut(record, bound(k), bound(k + 1), warmUp));
}

/** A slow or busy machine takes longer over a file of 1e5 rows than a reader allows by default. */
const readingTime = 600;

export async function readExperiment(path: string, {t, u, y}: Benchmark['columns']): Promise<Experiment> {
  const table = await readTable(path, {
    columns: typeof t === 'string' ? [t, u, y] : [u, y],
    limits: {seconds: readingTime},
  });
  const times = typeof t === 'string' ? table.column(t) : clock(table.rows, t);
  return {name: path.replace(/^.*[/\\]/, ''), t: times, u: table.column(u), y: table.column(y)};
}

export interface BenchmarkArguments {
  readonly train: readonly string[];
  readonly test: readonly string[];
  readonly seeds: number;
}

/** Positional names are training records, up to `--test`; those behind it are test records. */
export function readArguments(given: readonly string[]): BenchmarkArguments {
  const train: string[] = [];
  const test: string[] = [];
  let [list, seeds] = [train, 1];
  for (let i = 0; i < given.length; i++) {
    if (given[i] === '--test') list = test;
    else if (given[i] === '--seeds') seeds = Number(given[++i]);
    else if (given[i].startsWith('--'))
      throw new OptionError('unknown-option', `There is no option ${given[i]}; there are --test and --seeds.`);
    else list.push(given[i]);
  }
  if (train.length === 0)
    throw new OptionError(
      'missing-option',
      'Give the training records: NAME.ts TRAIN... [--test TEST...] [--seeds 10].',
    );
  if (!Number.isSafeInteger(seeds) || seeds < 1)
    throw new OptionError('bad-option', '--seeds is a number of at least 1.');
  return {train, test, seeds};
}

const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
};

/** The last line of a benchmark's output. */
export interface BenchmarkResult {
  readonly benchmark: string;
  readonly unit: string;
  /** One for each test record, of the seed with the least training cost. */
  readonly rmse: readonly number[];
  readonly seconds: number;
}

/** Trains, tests, and prints. */
export async function runBenchmark(
  benchmark: Benchmark,
  {train, test, seeds}: BenchmarkArguments,
  say: (line: string) => void = console.log,
): Promise<BenchmarkResult> {
  const began = performance.now();
  const {name, unit, scale, columns} = benchmark;
  const read = (paths: readonly string[]): Promise<Experiment[]> =>
    Promise.all(paths.map(path => readExperiment(path, columns)));
  const [records, tests] = [await read(train), await read(test)];
  const rmse =
    tests.length > 0
      ? await judged(benchmark, records, tests, seeds, say)
      : await crossValidated(benchmark, records, say);
  const result = {
    benchmark: name,
    unit,
    rmse: rmse.map(one => one * scale),
    seconds: Math.round((performance.now() - began) / 100) / 10,
  };
  say(JSON.stringify(result));
  return result;
}

const shownError = (value: number): string => value.toPrecision(3);

async function judged(
  {name, unit, scale, published, random = false, learn}: Benchmark,
  records: readonly Experiment[],
  tests: readonly Experiment[],
  asked: number,
  say: (line: string) => void,
): Promise<number[]> {
  const seeds = random ? asked : 1;
  if (seeds < asked) say(`${name}: nothing in it is random, and each of ${asked} seeds gives the same: learnt once.`);
  const all: {readonly cost: number; readonly rmse: number[]}[] = [];
  for (let seed = 1; seed <= seeds; seed++) {
    const learnt = await learn(records, seed);
    say(`${name}, seed ${seed}: ${learnt.note}`);
    const rmse: number[] = [];
    for (const test of tests) rmse.push(await learnt.rmse(test));
    all.push({cost: learnt.cost, rmse});
  }
  const best = all.reduce((least, one) => (one.cost < least.cost ? one : least));
  const column = (of: (k: number) => number): string[] => tests.map((_, k) => shownError(of(k) * scale));
  printTable(
    [
      [`RMSE in ${unit}`, ...tests.map(test => test.name)],
      ...Object.entries(published).map(([model, errors]) => [
        model,
        ...tests.map((_, k) => shownError(typeof errors === 'number' ? errors : (errors[k] ?? NaN))),
      ]),
      ['stiffgrad', ...column(k => best.rmse[k])],
      ...(seeds === 1
        ? []
        : [
            [`stiffgrad, median of ${seeds} seeds`, ...column(k => median(all.map(one => one.rmse[k])))],
            [`stiffgrad, best of ${seeds} seeds`, ...column(k => Math.min(...all.map(one => one.rmse[k])))],
          ]),
    ],
    say,
  );
  return best.rmse;
}

/** @returns an error for each split */
async function crossValidated(
  {name, unit, scale, learn, splits}: Benchmark,
  records: readonly Experiment[],
  say: (line: string) => void,
): Promise<number[]> {
  const rows: [string, string][] = [];
  const errors: number[] = [];
  const models = new Map<Split['train'], Learnt>();
  for (const split of splits(records)) {
    const learnt = models.get(split.train) ?? (await learn(split.train, 1));
    models.set(split.train, learnt);
    errors.push(await learnt.rmse(split.test));
    rows.push([split.name, shownError(errors[errors.length - 1] * scale)]);
    say(`${name}, ${split.name}: ${learnt.note}`);
  }
  printTable([['cross-validation', `RMSE in ${unit}`], ...rows], say);
  return errors;
}

/** Runs a benchmark as a program. */
export const benchmark = (url: string, one: Benchmark): void =>
  program(url, async () => runBenchmark(one, readArguments(process.argv.slice(2))));
