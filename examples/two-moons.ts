/**
 * A continuous normalizing flow learns the density of two moons: a network moves points to where they are normal, and
 * the exact trace of its Jacobian keeps the account of their density (Chen et al., NeurIPS 2018; FFJORD, Grathwohl et
 * al., ICLR 2019). A density has the mass 1 whatever the network: the script adds it up on a grid. With `estimated` the
 * training takes Hutchinson's traces.
 *
 *     npx tsx examples/two-moons.ts
 */
import * as tf from '@tensorflow/tfjs';
import type {NumericParams, ObjectiveAt, OdeSystem, Params} from '../lib/index.js';
import {rk4, simulate, stochastic} from '../lib/index.js';
import {continuousFlow, logStandardNormal, mlp, type Mlp} from '../models/index.js';
import {adam, schedules, train, trainingStep, type Chart, type TrainingResult} from '../training/index.js';
import {Random} from '../training/train/random.js';
import {script, shown, type ScriptArguments} from './script.js';

/** Points of a batch. */
const rows = 128;
const run = {scheme: rk4(), dt: 1 / 8, steps: 8, saveAt: 'end'} as const;

/** Two half circles that lie within each other, with noise 0.1; about the origin, of spread 1. */
export function made(count: number, seed: number): number[][] {
  const random = new Random(seed);
  return Array.from({length: count}, () => {
    const angle = Math.PI * random.uniform();
    const [x, y] =
      random.uniform() < 0.5 ? [Math.cos(angle), Math.sin(angle)] : [1 - Math.cos(angle), 0.5 - Math.sin(angle)];
    return [(x - 0.5) / 0.87 + 0.1 * random.normal(), (y - 0.25) / 0.5 + 0.1 * random.normal()];
  });
}

/** The network of z and t. */
const fieldOf =
  (network: Mlp) =>
  (z: tf.Tensor, t: tf.Tensor): tf.Tensor =>
    network.apply(tf.concat([z, tf.broadcastTo(tf.reshape(t, [1, 1]), [z.shape[0], 1])], 1));

const withLogarithm = (points: readonly (readonly number[])[]): number[][] => points.map(point => [...point, 0]);

/** log p of the points of a saved start and end, [points]. */
function logDensity(y: tf.Tensor, count: number): tf.Tensor {
  const end = tf.reshape(tf.slice(y, [1, 0, 0], [1, -1, -1]), [count, 3]);
  return tf.add(logStandardNormal(tf.slice(end, [0, 0], [-1, 2])), tf.reshape(tf.slice(end, [0, 2], [-1, 1]), [count]));
}

/** log p of points, in double precision. */
function densities(system: OdeSystem, points: readonly number[][]): Float64Array {
  const trajectory = simulate(system, {y: withLogarithm(points)}, run);
  trajectory.dispose();
  const end = trajectory.values('y').subarray(3 * points.length);
  return Float64Array.from(points, (_, i) => {
    const [z0, z1, l] = end.subarray(3 * i, 3 * i + 3);
    return l - (z0 ** 2 + z1 ** 2) / 2 - Math.log(2 * Math.PI);
  });
}

export interface Density {
  readonly result: TrainingResult;
  readonly network: Mlp;
  /** Mean of −log p over the points held back. */
  readonly surprise: number;
  /** ∫ p over the square of half width 4.5, by sums. */
  readonly mass: number;
  /** p in the middle of each cell, row by row from below. */
  readonly values: Float64Array;
}

export interface DensitySettings {
  readonly steps: number;
  /** Hutchinson's traces in the training. */
  readonly estimated?: boolean;
  /** Cells of a side where the mass is added up. */
  readonly cells?: number;
  readonly onProgress?: Parameters<typeof train>[0]['onProgress'];
}

export async function learnt(
  points: readonly number[][],
  held: readonly number[][],
  {steps, estimated = false, cells = 150, onProgress}: DensitySettings,
): Promise<Density> {
  const network = mlp({sizes: [3, 32, 32, 2], seed: 7});
  const field = fieldOf(network);
  const exact: OdeSystem = continuousFlow({size: 2, field});
  const trainedSystem = estimated ? continuousFlow({size: 2, field, probe: ({probe}) => probe as tf.Tensor}) : exact;
  const paramsOf = (seed: number): NumericParams => {
    if (!estimated) return {};
    const signs = stochastic.rademacher(seed, [rows, 2]);
    return {probe: Array.from({length: rows}, (_, i) => [signs[2 * i], signs[2 * i + 1]])};
  };
  const prepared = simulate.prepare(
    trainedSystem,
    {y: withLogarithm(points.slice(0, rows))},
    {...run, params: paramsOf(0)},
  );
  const loss = ({y}: ObjectiveAt<Params>): tf.Tensor => tf.neg(tf.mean(logDensity(y, rows)));
  const step = trainingStep(prepared, {
    loss,
    optimizer: adam({rate: 0.01}),
    clip: {norm: 5},
    schedule: schedules.cosine({rate: 0.01}),
    steps,
  });
  const result = await train({
    step,
    batch: ([seed], {random}) => ({
      initial: {y: withLogarithm(Array.from({length: rows}, () => points[random.below(points.length)]))},
      params: paramsOf(seed),
    }),
    data: Array.from({length: steps}, (_, k) => k + 1),
    batchSize: 1,
    epochs: 1,
    onProgress,
  });
  const width = 9 / cells;
  const middle = (k: number): number => -4.5 + width * (k + 0.5);
  const grid = Array.from({length: cells * cells}, (_, i) => [middle(i % cells), middle(Math.floor(i / cells))]);
  const values = densities(exact, grid).map(Math.exp);
  const surprise = -densities(exact, held).reduce((sum, value) => sum + value, 0) / held.length;
  return {result, network, surprise, mass: values.reduce((sum, p) => sum + p, 0) * width ** 2, values};
}

/** The density in cells, a point for every one that has some, and the points. */
function figure({values}: Density, points: readonly number[][]): Chart {
  const cells = Math.sqrt(values.length);
  const width = 9 / cells;
  const seen = [...values.keys()].filter(i => values[i] > 0.01);
  return {
    title: 'Two moons',
    x: {label: 'x'},
    y: {label: 'y'},
    height: 480,
    series: [
      {
        name: 'density',
        style: 'cells',
        x: Float64Array.from(seen, i => -4.5 + width * ((i % cells) + 0.5)),
        y: Float64Array.from(seen, i => -4.5 + width * (Math.floor(i / cells) + 0.5)),
        value: Float64Array.from(seen, i => values[i]),
      },
      {
        name: 'points',
        style: 'points',
        x: Float64Array.from(points.slice(0, 200), ([x]) => x),
        y: Float64Array.from(points.slice(0, 200), ([, y]) => y),
      },
    ],
  };
}

export async function main({report, short}: ScriptArguments): Promise<void> {
  const [points, held] = [made(short ? 500 : 5000, 1), made(short ? 500 : 5000, 2)];
  const settings = {steps: short ? 20 : 1500, cells: short ? 60 : 150};
  const density = await shown('Two moons', show => learnt(points, held, {...settings, onProgress: show.train}));
  console.log(
    `−log p of held-out points: ${density.surprise.toFixed(3)}; mass of the density: ${density.mass.toFixed(4)}.`,
  );
  await density.result.report(report, {
    title: 'Two moons',
    description: 'A continuous normalizing flow with the exact trace of its Jacobian.',
    charts: [figure(density, held)],
  });
  density.network.dispose();
  console.log(`Report: ${report}`);
}

script(import.meta.url, 'two-moons', 'A continuous normalizing flow on two moons. Makes its own data.', main);
