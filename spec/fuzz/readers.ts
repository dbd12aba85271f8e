/**
 * Files that are almost right: good ones of every format that is read, changed by bytes, cuts, repetitions and numbers at
 * their limits. Each must be read or be refused by an error of the project's own, in its time and within its memory.
 */
import {createHash} from 'node:crypto';
import {mkdir, mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import * as tf from '@tensorflow/tfjs';
import {zipSync} from 'fflate';
import {adaptive, bdf2, ode, simulate, StiffgradError, type Initial} from '../../lib/index.js';
import {readTable, train} from '../../training/index.js';
import {numpyArrays} from '../../training/data/npz.js';
import {modelFiles} from '../../training/train/model-files.js';
import {decodeCheckpoint, encodeCheckpoint} from '../../training/train/checkpoint-file.js';
import {Random} from '../../training/train/random.js';
import {column, npy, npz} from '../training/data/archives.js';
import {parquet} from '../training/data/parquet-file.js';

export interface FuzzOptions {
  /** Changed files of each format. */
  readonly count: number;
  readonly seed: number;
  readonly log?: (line: string) => void;
}

/** Of one reading. A tiny file is read in milliseconds; Parquet's thread is given `PARQUET` and time to start and end. */
const SECONDS = 5;
const PARQUET = 0.5;
/** Of one reading, beyond what the process had: the limit given to readers and as much again for what is not counted. */
const MEMORY = 2 ** 27;
const limits = {memory: 2 ** 26, rows: 1e5, columns: 1e4, seconds: PARQUET};

interface Format {
  readonly name: string;
  readonly seeds: readonly Uint8Array[];
  /** Mends what would hide everything else: a checksum over the whole file. */
  readonly mend?: (bytes: Uint8Array) => Uint8Array;
  readonly read: (bytes: Uint8Array) => Promise<unknown>;
}

export async function fuzz({count, seed, log = () => {}}: FuzzOptions): Promise<{tried: number; failures: string[]}> {
  const folder = await mkdtemp(join(tmpdir(), 'stiffgrad-fuzz-'));
  const failures: string[] = [];
  let tried = 0;
  try {
    for (const format of await formatsIn(folder)) {
      const random = new Random(seed);
      const outcomes = new Map<string, number>();
      let slowest = 0;
      let largest = 0;
      for (let i = 0; i < count; i++) {
        const bytes = (format.mend ?? same)(mutated(format.seeds[random.below(format.seeds.length)], random));
        const {outcome, seconds, grown} = await measured(() => format.read(bytes));
        const wrong = outcome.startsWith('raw') || seconds > SECONDS || grown > MEMORY;
        if (wrong)
          failures.push(
            `${format.name}, seed ${seed}, file ${i}: ${outcome} after ${seconds.toFixed(1)} s and ${Math.round(grown / 1e6)} MB: ${Buffer.from(bytes.subarray(0, 2000)).toString('base64')}`,
          );
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        slowest = Math.max(slowest, seconds);
        largest = Math.max(largest, grown);
        tried++;
      }
      log(
        `${format.name}: ${[...outcomes]
          .sort((a, b) => b[1] - a[1])
          .map(([outcome, times]) => `${outcome} ${times}`)
          .join(', ')}; at most ${slowest.toFixed(2)} s and ${Math.round(largest / 1e6)} MB`,
      );
    }
  } finally {
    await rm(folder, {recursive: true, force: true});
  }
  return {tried, failures};
}

const same = (bytes: Uint8Array): Uint8Array => bytes;

async function measured(work: () => Promise<unknown>): Promise<{outcome: string; seconds: number; grown: number}> {
  const before = process.memoryUsage.rss();
  const began = performance.now();
  const outcome = await work().then(
    () => 'read',
    (error: unknown) =>
      error instanceof StiffgradError
        ? error.code
        : `raw ${error instanceof Error ? `${error.name}: ${error.message.slice(0, 200)}` : String(error)}`,
  );
  return {outcome, seconds: (performance.now() - began) / 1000, grown: process.memoryUsage.rss() - before};
}

async function formatsIn(folder: string): Promise<Format[]> {
  const table =
    (name: string): Format['read'] =>
    async bytes => {
      const path = join(folder, name);
      await writeFile(path, bytes);
      const read = await readTable(path, {limits, missing: 'nan'});
      for (const one of read.columns) read.text(one);
      if (/csv|tsv/.test(name)) for await (const part of readTable.chunks(path, {limits, rows: 3})) part.has('t');
    };
  const arrays =
    (name: string): Format['read'] =>
    async bytes => {
      await table(name)(bytes).catch((error: unknown) => {
        if (!(error instanceof StiffgradError)) throw error;
      });
      await numpyArrays(bytes, name, {limits});
    };
  const text = (content: string): Uint8Array => new TextEncoder().encode(content);
  const square = npy({descr: '>i4', shape: '2, 3', content: new Uint8Array(24).map((_, i) => i), fortran: true});
  return [
    {
      name: 'CSV',
      seeds: [text('t,q,name\n0,1.5,a\n0.5,-2e-3,"b, c"\n1,3,d\n'), text('# remark\nt;q\n0;1\n1;NaN\n\n2;-.5e300\n')],
      read: table('made.csv'),
    },
    {
      name: 'TSV',
      seeds: [text('\ufefft\tq\t\n0\t1\t\n1\t2\t\n'), text('"t"\t"q"\r\n0\t"1"\r\n1\t2\r\n')],
      read: table('made.tsv'),
    },
    {
      name: 'NPY',
      seeds: [column(0, 1, 2), square, npy({descr: '<i8', shape: '2,', content: new Uint8Array(16).fill(1)})],
      read: arrays('made.npy'),
    },
    {
      name: 'NPZ',
      seeds: [
        npz({t: column(0, 1), q: npy({descr: '<f4', shape: '2, 2', content: new Uint8Array(16)})}),
        npz({t: column(0, 1), n: square}, 0),
        zipSync({'t.npy': [column(0, 1), {level: 9}], 'notes.txt': text('no array')}),
      ],
      read: arrays('made.npz'),
    },
    await checkpointFormat(folder),
    await contentFormat(folder),
    await modelFormat(folder, true),
    await modelFormat(folder, false),
    runStateFormat(),
    {name: 'Parquet', seeds: [new Uint8Array(Buffer.from(parquet, 'base64'))], read: table('made.parquet')},
  ];
}

async function checkpointFormat(folder: string): Promise<Format> {
  const directory = join(folder, 'run');
  const file = join(directory, 'checkpoint-000000000003.sgc');
  const variable = tf.variable(tf.tensor1d([0.5, -0.2]));
  const problem = (resume: boolean): Parameters<typeof train<number>>[0] => ({
    loss: batch => tf.tidy(() => tf.mean(tf.square(tf.sub(tf.mul(variable, batch[0]), 1))) as tf.Scalar),
    variables: [variable],
    optimizer: tf.train.momentum(0.1, 0.9),
    data: [1, 2, 3],
    batchSize: 1,
    epochs: 1,
    checkpoint: {directory, every: 1, keep: 1},
    resume,
  });
  const {readFile} = await import('node:fs/promises');
  await rm(directory, {recursive: true, force: true});
  await train(problem(false));
  const seed = new Uint8Array(await readFile(file));
  return {
    name: 'checkpoint',
    seeds: [
      seed,
      await encodeCheckpoint({facts: {a: [1, null]}, arrays: [{name: 'w', shape: [2], values: Float64Array.of(1, 2)}]}),
    ],
    async read(bytes) {
      await decodeCheckpoint(bytes, 'file');
      await rm(directory, {recursive: true, force: true});
      await mkdir(directory);
      await writeFile(file, bytes);
      await train(problem(true));
    },
  };
}

/** Of a whole file the header is changed, which lies in JSON between its length and the arrays; length and checksum fit again. */
async function contentFormat(folder: string): Promise<Format> {
  const format = await checkpointFormat(folder);
  const [whole] = format.seeds;
  const length = new DataView(whole.buffer, whole.byteOffset).getUint32(8, true);
  const rest = whole.subarray(8 * Math.ceil((12 + length) / 8), whole.length - 32);
  return {
    ...format,
    name: 'checkpoint, with a checksum that fits',
    seeds: [whole.slice(12, 12 + length)],
    mend(header) {
      const start = Buffer.alloc(8 * Math.ceil((12 + header.length) / 8));
      start.set(whole.subarray(0, 8));
      start.writeUInt32LE(header.length, 8);
      start.set(header, 12);
      const body = Buffer.concat([start, rest]);
      return new Uint8Array(Buffer.concat([body, createHash('sha256').update(body).digest()]));
    },
  };
}

/** The changed file is model.json; the weights are as they were. */
async function modelFormat(folder: string, isSealed: boolean): Promise<Format> {
  const directory = join(folder, isSealed ? 'sealed' : 'foreign');
  const weightSpecs: tf.io.WeightsManifestEntry[] = [
    {name: 'w', shape: [2], dtype: 'float32'},
    {name: 'b', shape: [], dtype: 'int32'},
  ];
  const {readFile} = await import('node:fs/promises');
  await modelFiles(directory).save?.({
    format: 'layers-model',
    modelTopology: {},
    weightSpecs,
    weightData: new Uint8Array(12).buffer,
  });
  const foreign = {
    format: 'layers-model',
    modelTopology: {},
    weightsManifest: [{paths: ['weights.bin'], weights: weightSpecs}],
  };
  const seed = isSealed
    ? new Uint8Array(await readFile(join(directory, 'model.json')))
    : new TextEncoder().encode(JSON.stringify(foreign));
  return {
    name: isSealed ? 'model' : 'model without a checksum',
    seeds: [seed],
    async read(bytes) {
      await writeFile(join(directory, 'model.json'), bytes);
      await modelFiles(directory).load?.();
    },
  };
}

/** As JSON, which is how it is kept; of a few steps. */
function runStateFormat(): Format {
  const system = ode(({y}) => tf.neg(y));
  const run = (initial: Initial, isAdaptive: boolean): ReturnType<typeof simulate> =>
    simulate(
      system,
      initial,
      isAdaptive
        ? {scheme: bdf2(), dt: 0.1, t1: 1, control: adaptive(), saveAt: 'end', throw: false}
        : {scheme: bdf2(), dt: 0.1, steps: 3, saveAt: 'end', throw: false},
    );
  const seeds = [true, false].map(isAdaptive =>
    new TextEncoder().encode(JSON.stringify(run({y: [1, 2]}, isAdaptive).state())),
  );
  return {
    name: 'run state',
    seeds,
    read(bytes) {
      return new Promise(resolve => {
        let initial: unknown;
        try {
          initial = JSON.parse(new TextDecoder().decode(bytes));
        } catch {
          resolve('no JSON'); // whose words are JSON.parse's, the caller's own call
          return;
        }
        // Whole times far away ask for many steps: that is the run's own limit, not the state's reading.
        run(initial as Initial, false).dispose();
        resolve('run');
      });
    },
  };
}

/** Numbers at which readers go wrong, as a file may have them. */
const extremes = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff];
const words = [
  '-1',
  '1e999',
  '9007199254740993',
  '4294967295',
  'null',
  '[]',
  '{}',
  '"',
  '__proto__',
  'toString',
  '\0',
  '\u2028',
  ',',
  '\n',
  '((((',
  '../..',
  '0, 4294967295',
];

/** One to four changes. */
function mutated(seed: Uint8Array, random: Random): Uint8Array {
  let bytes: Uint8Array = seed.slice();
  for (let left = 1 + random.below(4); left > 0 && bytes.length > 0; left--) {
    const at = random.below(bytes.length);
    const to = Math.min(bytes.length, at + 1 + random.below(16));
    const join = (...parts: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));
    switch (random.below(9)) {
      case 0:
        bytes[at] ^= 1 << random.below(8);
        break;
      case 1:
        bytes[at] = random.below(256);
        break;
      case 2:
        bytes = bytes.slice(0, at);
        break;
      case 3:
        bytes = join(bytes.subarray(0, at), bytes.subarray(to));
        break;
      case 4:
        bytes = join(bytes.subarray(0, to), bytes.subarray(at));
        break;
      case 5: {
        const value = extremes[random.below(extremes.length)];
        for (let k = 0; k < 4 && at + k < bytes.length; k++) bytes[at + k] = (value >>> (8 * k)) & 255;
        break;
      }
      case 6:
        bytes = join(
          bytes.subarray(0, at),
          new TextEncoder().encode(words[random.below(words.length)]),
          bytes.subarray(random.below(2) === 0 ? at : to),
        );
        break;
      case 7:
        bytes = join(bytes.subarray(0, at), bytes.slice(at, to).reverse(), bytes.subarray(to));
        break;
      case 8: {
        // A number in a text becomes another one.
        const text = Buffer.from(bytes).toString('latin1');
        const numbers = [...text.matchAll(/\d+/g)];
        const found = numbers[random.below(Math.max(1, numbers.length))];
        if (found !== undefined)
          bytes = new Uint8Array(
            Buffer.from(
              text.slice(0, found.index)
                + String(extremes[random.below(extremes.length)])
                + text.slice(found.index + found[0].length),
              'latin1',
            ),
          );
        break;
      }
    }
  }
  return bytes;
}
