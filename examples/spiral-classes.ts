/**
 * A neural controlled differential equation (Kidger, Morrill, Foster & Lyons, NeurIPS 2020) tells which way spirals
 * turn that are seen at irregular times: dz = F(z) dX along the cubic through each spiral's own times and places, F a
 * network, z(0) linear in the first sample, the class by the sign of a linear function of the last z. The path is
 * followed by the number of the sample, and its time is one of its channels; so rows with times of their own share one
 * grid, and a batch is one run.
 *
 *     npx tsx examples/spiral-classes.ts
 */
import * as tf from '@tensorflow/tfjs';
import type {EncoderAt, ObjectiveAt, OdeSystem, Params, Simulation} from '../lib/index.js';
import {ode, rk4, signal, simulate} from '../lib/index.js';
import {mlp, type Mlp} from '../models/index.js';
import {adam, schedules, train, trainingStep, type Chart, type TrainingResult} from '../training/index.js';
import {Random} from '../training/train/random.js';
import {script, shown, type ScriptArguments} from './script.js';

const channels = 3;
const hidden = 6;

export interface Spiral {
  /** Samples of [time, x, y], at times of its own. */
  readonly path: readonly (readonly [number, number, number])[];
  /** Turns to the left, else to the right. */
  readonly left: boolean;
}

/** Spirals that shrink by a factor, from any angle, seen with noise at random times in one turn and a half. */
export function made(count: number, samples: number, seed: number): Spiral[] {
  const random = new Random(seed);
  return Array.from({length: count}, () => {
    const left = random.uniform() < 0.5;
    const [phase, shrink] = [2 * Math.PI * random.uniform(), 0.5 + random.uniform()];
    const times = Array.from({length: samples}, () => random.uniform()).sort((a, b) => a - b);
    return {
      left,
      path: times.map(t => {
        const [radius, angle] = [Math.exp(-shrink * t), phase + (left ? 1 : -1) * 3 * Math.PI * t];
        return [
          t,
          radius * Math.cos(angle) + 0.03 * random.normal(),
          radius * Math.sin(angle) + 0.03 * random.normal(),
        ];
      }),
    };
  });
}

/** Everything that is trained. */
interface Networks {
  readonly first: Mlp;
  /** z → F(z), [hidden, channels] row by row. */
  readonly field: Mlp;
  readonly last: Mlp;
}

/** The run of a batch: z of [rows, hidden], its path [samples, rows, channels] among the parameters. */
function model({field}: Networks, rows: number, samples: number): Simulation<OdeSystem<{path: tf.Tensor}>> {
  const numbers = Array.from({length: samples}, (_, k) => k);
  const system = ode<{path: tf.Tensor}>(({y: z, t, params: {path}}) => {
    const rate = signal(numbers, path, 'hermite').derivative.at(t);
    const matrices = tf.reshape(tf.tanh(field.apply(z)), [rows, hidden, channels]);
    return tf.reshape(tf.matMul(matrices, tf.reshape(rate, [rows, channels, 1])), [rows, hidden]);
  });
  const zeros = (...shape: number[]): tf.Tensor => tf.zeros(shape);
  const [start, path] = [zeros(rows, hidden), zeros(samples, rows, channels)];
  const prepared = simulate.prepare(
    system,
    {y: start},
    {scheme: rk4(), dt: 1, steps: samples - 1, saveAt: 'end', params: {path}},
  );
  tf.dispose([start, path]);
  return prepared;
}

/** Inputs of a run for a batch. */
function inputsOf(batch: readonly Spiral[]): {params: {path: number[][][]}; data: {first: number[][]; left: number[]}} {
  const path = batch[0].path.map((_, k) => batch.map(one => [...one.path[k]]));
  return {params: {path}, data: {first: path[0], left: batch.map(one => Number(one.left))}};
}

export interface Classified {
  readonly result: TrainingResult;
  /** Share of `held` that is told rightly. */
  readonly accuracy: number;
}

/** @param held spirals that nothing is learnt from */
export async function classified(
  spirals: readonly Spiral[],
  held: readonly Spiral[],
  epochs: number,
  onProgress?: Parameters<typeof train>[0]['onProgress'],
): Promise<Classified> {
  const rows = 32;
  const networks: Networks = {
    first: mlp({sizes: [channels, hidden], seed: 1}),
    field: mlp({sizes: [hidden, 24, hidden * channels], seed: 2}),
    last: mlp({sizes: [hidden, 1], seed: 3}),
  };
  const prepared = model(networks, rows, spirals[0].path.length);
  type Data = {first: tf.Tensor; left: tf.Tensor};
  const logits = (y: tf.Tensor): tf.Tensor => {
    const end = tf.reshape(tf.slice(y, [1, 0, 0], [1, -1, -1]), [rows, hidden]);
    return tf.reshape(networks.last.apply(end), [rows]);
  };
  // −log p of the class that it is: softplus(x) − x for left, softplus(x) for right.
  const loss = ({y, data: {left}}: ObjectiveAt<Params, Data>): tf.Tensor =>
    tf.mean(tf.sub(tf.softplus(logits(y)), tf.mul(left, logits(y))));
  const initial = ({data: {first}}: EncoderAt<Params, Data>): {y: tf.Tensor} => ({y: networks.first.apply(first)});
  const batches = Math.floor(spirals.length / rows);
  const step = trainingStep(prepared, {
    loss,
    initial,
    optimizer: adam({rate: 0.01}),
    clip: {norm: 1},
    schedule: schedules.cosine({rate: 0.01}),
    steps: batches * epochs,
  });
  const result = await train({
    step,
    batch: ([at]) => inputsOf(spirals.slice(at * rows, (at + 1) * rows)),
    data: Array.from({length: batches}, (_, at) => at),
    batchSize: 1,
    epochs,
    onProgress,
  });
  let right = 0;
  for (let from = 0; from + rows <= held.length; from += rows) {
    const batch = held.slice(from, from + rows);
    const {params, data} = inputsOf(batch);
    const told = tf.tidy(() => {
      const y = networks.first.apply(tf.tensor2d(data.first));
      return logits(prepared.run({initial: {y}, params}).y).dataSync();
    });
    batch.forEach((one, i) => (right += Number(told[i] > 0 === one.left)));
  }
  return {result, accuracy: right / (held.length - (held.length % rows))};
}

/** Two spirals, one of each kind. */
function figure(spirals: readonly Spiral[]): Chart {
  return {
    title: 'Irregular spirals',
    x: {label: 'x'},
    y: {label: 'y'},
    series: [true, false].map(kind => {
      const path = spirals.find(({left}) => left === kind)?.path ?? [];
      return {
        name: kind ? 'left' : 'right',
        x: Float64Array.from(path, p => p[1]),
        y: Float64Array.from(path, p => p[2]),
      };
    }),
  };
}

export async function main({report, short}: ScriptArguments): Promise<void> {
  const [spirals, held] = [made(short ? 64 : 512, 16, 1), made(short ? 64 : 512, 16, 2)];
  console.log(`${spirals.length} training spirals, ${held.length} held out, 16 irregular times each.\n`);
  const {result, accuracy} = await shown('Turning left or right', show =>
    classified(spirals, held, short ? 2 : 20, show.train),
  );
  console.log(`Of the held-out spirals ${(100 * accuracy).toFixed(1)} % are classified correctly.`);
  await result.report(report, {
    title: 'Which way spirals turn',
    description: 'A neural controlled differential equation on irregular times.',
    charts: [figure(spirals)],
  });
  console.log(`Report: ${report}`);
}

script(import.meta.url, 'spiral-classes', 'Irregular spirals classified by a neural CDE. Makes its own data.', main);
