/**
 * A finite-difference stencil for Burgers' equation, u_t = −u u_x + ν u_xx on a circle, learnt through the run (after
 * Bar-Sinai, Hoyer, Hickey & Brenner, PNAS 116, 2019): one convolution with a kernel of five points stands for both
 * derivatives. The truth is the Cole–Hopf solution in closed form; what is measured is the error on solutions that
 * nothing was learnt from, beside central differences on the same grid.
 *
 *     npx tsx examples/burgers.ts
 */
import * as tf from '@tensorflow/tfjs';
import type {ObjectiveAt, OdeSystem, Params, Simulation} from '../lib/index.js';
import {ode, rk4, simulate, traced} from '../lib/index.js';
import {lbfgs, train, trainingStep, type Chart, type TrainingResult} from '../training/index.js';
import {Random} from '../training/train/random.js';
import {printTable, rms, script, shown, type ScriptArguments} from './script.js';

export const viscosity = 0.1;
/** Points of the grid, 2π / 24 apart. */
export const points = 24;
const width = 5;
const spacing = (2 * Math.PI) / points;
const dt = 0.02;
const steps = 60;
/** Steps from one saved state to the next. */
const every = 10;
const saved = 1 + steps / every;

/** A solution at all saved times, [saved][points]. */
export type Solution = readonly (readonly number[])[];

/**
 * u = −2ν φ_x / φ, where φ = 1 + Σ aₖ exp(−νk²t) cos(kx + pₖ), k = 1, 2, 3, solves the heat equation (Cole 1951; Hopf
 * 1950). The aₖ sum up to less than one, so φ is positive.
 */
export function solutions(count: number, seed: number): Solution[] {
  const random = new Random(seed);
  return Array.from({length: count}, () => {
    const waves = [1, 2, 3].map(k => ({
      k,
      size: (0.3 * (0.5 + random.uniform() / 2)) / (k === 1 ? 0.5 : 1),
      phase: 2 * Math.PI * random.uniform(),
    }));
    const total = waves.reduce((sum, {size}) => sum + size, 0);
    const scale = 0.97 / Math.max(total, 0.97);
    const at = (x: number, t: number): number => {
      let [phi, slope] = [1, 0];
      for (const {k, size, phase} of waves) {
        const height = scale * size * Math.exp(-viscosity * k * k * t);
        phi += height * Math.cos(k * x + phase);
        slope -= height * k * Math.sin(k * x + phase);
      }
      return (-2 * viscosity * slope) / phi;
    };
    return Array.from({length: saved}, (_, n) =>
      Array.from({length: points}, (_u, i) => at(i * spacing, n * every * dt)),
    );
  });
}

/** Weights of both derivatives, [width, 1, 2] row by row, of second or fourth order. */
export function central(order: 2 | 4): Float64Array {
  const first = order === 2 ? [0, -1 / 2, 0, 1 / 2, 0] : [1 / 12, -2 / 3, 0, 2 / 3, -1 / 12];
  const second = order === 2 ? [0, 1, -2, 1, 0] : [-1 / 12, 4 / 3, -5 / 2, 4 / 3, -1 / 12];
  return Float64Array.from(first.flatMap((weight, i) => [weight / spacing, second[i] / spacing ** 2]));
}

/** @param kernel [width, 1, 2], a variable where it is to be learnt */
function model(rows: number, kernel: tf.Tensor): Simulation<OdeSystem> {
  const field = ode(({y}) => {
    const ring = tf.concat([tf.slice(y, [0, points - 2], [rows, 2]), y, tf.slice(y, [0, 0], [rows, 2])], 1);
    const input = tf.reshape<tf.Rank.R3>(ring, [rows, points + width - 1, 1]);
    const [slope, curvature] = tf.unstack(tf.conv1d(input, kernel as tf.Tensor3D, 1, 'valid'), 2);
    return tf.sub(tf.mul(viscosity, curvature), tf.mul(y, slope));
  });
  const start = {y: Array.from({length: rows}, () => new Array<number>(points).fill(0))};
  return simulate.prepare(field, start, {scheme: rk4(), dt, steps, saveAt: {every}});
}

/** The states of a run with fixed weights, [saved, rows, points]. */
function statesOf(kernel: Float64Array, starts: readonly (readonly number[])[]): Float64Array {
  const weights = traced.constantTensor(kernel, [width, 1, 2]);
  const run = model(starts.length, weights).run({initial: {y: starts}});
  const states = run.values('y');
  run.dispose();
  weights.dispose();
  return states;
}

/** [saved, rows, points] of solutions, as a run has them. */
const inOrder = (rows: readonly Solution[]): number[][][] =>
  rows[0].map((_, n) => rows.map(solution => [...solution[n]]));

/** Root mean square of the error at all saved times. */
export function errorOf(kernel: Float64Array, held: readonly Solution[]): number {
  const truth = inOrder(held);
  return rms(statesOf(kernel, truth[0]), truth.flat(2));
}

export interface Learnt {
  readonly result: TrainingResult;
  /** [width, 1, 2], flat. */
  readonly kernel: Float64Array;
}

/** From a kernel of zeros, by L-BFGS on all solutions at once. */
export async function learnt(
  data: readonly Solution[],
  iterations: number,
  onProgress?: Parameters<typeof train>[0]['onProgress'],
): Promise<Learnt> {
  const kernel = tf.variable(tf.zeros([width, 1, 2]));
  const truth = inOrder(data);
  type Data = {truth: tf.Tensor};
  const step = trainingStep(model(data.length, kernel), {
    loss: ({y, data: {truth: seen}}: ObjectiveAt<Params, Data>) => tf.mean(tf.squaredDifference(y, seen)),
    optimizer: lbfgs(),
  });
  const result = await train({
    step,
    batch: () => ({initial: {y: truth[0]}, data: {truth}}),
    data: [0],
    batchSize: 1,
    epochs: iterations,
    onProgress,
  });
  const values = step.values(kernel).slice();
  kernel.dispose();
  return {result, kernel: values};
}

/** The last state of a solution, by the truth and by two stencils. */
function figure(solution: Solution, kernel: Float64Array): Chart {
  const x = Float64Array.from({length: points}, (_, i) => i * spacing);
  const end = (weights: Float64Array): Float64Array => statesOf(weights, [solution[0]]).slice(-points);
  return {
    title: `A held-out solution, at t = ${steps * dt}`,
    x: {label: 'x'},
    y: {label: 'u'},
    series: [
      {name: 'exact', x, y: Float64Array.from(solution[saved - 1])},
      {name: 'learnt stencil', x, y: end(kernel)},
      {name: 'central differences', x, y: end(central(2))},
    ],
  };
}

export async function main({report, short}: ScriptArguments): Promise<void> {
  const [data, held] = [solutions(short ? 4 : 32, 1), solutions(short ? 4 : 32, 2)];
  console.log(`${data.length} training solutions, ${held.length} held out, ${points} points.\n`);
  const {result, kernel} = await shown('A stencil', show => learnt(data, short ? 5 : 60, show.train));
  printTable([
    ['error on held-out solutions', 'RMS'],
    ['central differences, order 2', errorOf(central(2), held).toExponential(2)],
    ['central differences, order 4', errorOf(central(4), held).toExponential(2)],
    ['learnt, five points', errorOf(kernel, held).toExponential(2)],
  ]);
  printTable([
    ['weights', ...[-2, -1, 0, 1, 2].map(String)],
    ...[0, 1].map(d => [
      d === 0 ? "Δx u'" : "Δx² u''",
      ...Array.from({length: width}, (_, i) => (kernel[2 * i + d] * spacing ** (d + 1)).toFixed(4)),
    ]),
  ]);
  await result.report(report, {
    title: "A stencil for Burgers' equation",
    description: 'Five weights for each derivative, learnt through the run from exact solutions.',
    charts: [figure(held[0], kernel)],
  });
  console.log(`Report: ${report}`);
}

script(
  import.meta.url,
  'burgers',
  "A finite-difference stencil for Burgers' equation, learnt. Makes its own data.",
  main,
);
