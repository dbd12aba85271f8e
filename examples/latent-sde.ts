/**
 * A latent SDE (Li, Wong, Chen & Duvenaud, AISTATS 2020): a prior dz = −θ z dt + σ dW, seen with noise at irregular
 * times, and a posterior whose drift has a network more, dz = (−θ z + σ u) dt + σ dW; by Girsanov's theorem it costs ½
 * ∫ u² dt. θ, σ and the network are trained on the bound of the likelihood. The prior is an Ornstein–Uhlenbeck process,
 * so a Kalman filter knows the likelihood itself, which the bound is held against: it must lie below, and near.
 *
 *     npx tsx examples/latent-sde.ts
 */
import * as tf from '@tensorflow/tfjs';
import type {EncoderAt, ObjectiveAt, Params, SdeSystem, Simulation} from '../lib/index.js';
import {ode, sde, signal, simulate, stochastic} from '../lib/index.js';
import {mlp, type Mlp} from '../models/index.js';
import {adam, kalman, schedules, train, trainingStep, type Chart, type TrainingResult} from '../training/index.js';
import {printTable, script, shown, type ScriptArguments} from './script.js';

/** Grid of the runs; observations lie on it. */
const dt = 1 / 16;
/** Standard deviation of an observation. */
const noise = 0.2;

export interface LatentRecord {
  /** Times of the observations, on the grid, the first after 0. */
  readonly t: readonly number[];
  readonly y: readonly number[];
}

/** `count` observations of a process with θ = 1 and σ = 0.8, at every second to sixth time of the grid. */
export function made(count: number, seed: number): LatentRecord {
  const process = sde({drift: ({y}) => tf.neg(y), diffusion: () => tf.scalar(0.8), noise: 'additive', seed});
  const random = stochastic.brownianPath(seed + 1, [2 * count]).at(1);
  const places: number[] = [];
  for (let k = 0; k < count; k++)
    places.push((places[k - 1] ?? 0) + 4 + Math.round(Math.max(-2, Math.min(2, random[k]))));
  const run = simulate(process, {y: 0.5}, {scheme: stochastic.sra1(), dt, steps: places[count - 1]});
  const z = run.values('y');
  run.dispose();
  return {t: places.map(k => k * dt), y: places.map((k, i) => z[k] + noise * random[count + i])};
}

/** Trained variables: the prior's θ and σ, the start's mean and deviation (as logarithms), the network. */
export interface Posterior {
  readonly rate: tf.Variable;
  readonly drive: tf.Variable;
  readonly mean: tf.Variable;
  readonly spread: tf.Variable;
  /** u of z, the next observation, and the time until then. */
  readonly network: Mlp;
}

const value = (variable: tf.Variable): number => variable.dataSync()[0];

export function posterior(): Posterior {
  const start = (x: number): tf.Variable => tf.variable(tf.scalar(x));
  return {
    rate: start(0),
    drive: start(-0.7),
    mean: start(0),
    spread: start(-0.7),
    network: mlp({sizes: [3, 24, 24, 1], seed: 3}),
  };
}

/** Rows of [z, ½ ∫ u² dt]. */
type Given = {seed: tf.Tensor; seen: tf.Tensor; when: tf.Tensor};

function model({rate, drive, network}: Posterior, {t, y}: LatentRecord, paths: number): Simulation<SdeSystem<Given>> {
  const system = sde<Given>({
    drift({y: state, t: now, params: {seen, when}}) {
      const z = tf.slice(state, [0, 0], [paths, 1]);
      const column = (x: tf.Tensor): tf.Tensor => tf.broadcastTo(tf.reshape(x, [1, 1]), [paths, 1]);
      const left = tf.sub(when, now);
      // The pull towards an observation falls as e^(−time left), and is over behind the last.
      const u = tf.mul(
        network.apply(tf.concat([z, column(seen), column(tf.exp(tf.mul(left, -4)))], 1)),
        column(tf.step(left)),
      );
      const own = tf.add(tf.neg(tf.mul(tf.exp(rate), z)), tf.mul(tf.exp(drive), u));
      return tf.concat([own, tf.mul(tf.square(u), 0.5)], 1);
    },
    diffusion: () => tf.broadcastTo(tf.reshape(tf.stack([tf.exp(drive), tf.scalar(0)]), [1, 2, 1]), [paths, 2, 1]),
    noise: 'additive',
    seed: ({seed}) => seed,
  });
  // Held from an observation on: the next one.
  const times = [0, ...t.slice(0, -1)];
  return simulate.prepare(
    system,
    {y: Array.from({length: paths}, () => [0, 0])},
    {
      scheme: stochastic.sra1(),
      dt,
      steps: Math.round(t[t.length - 1] / dt),
      params: {seed: 0},
      inputs: {seen: signal(times, y, 'hold'), when: signal(times, t, 'hold')},
    },
  );
}

/** −log N(x; 0, σ²) for log σ. */
const gaussian = (x: tf.Tensor, log: tf.Tensor): tf.Tensor =>
  tf.add(tf.add(log, 0.5 * Math.log(2 * Math.PI)), tf.mul(tf.square(tf.div(x, tf.exp(log))), 0.5));

/** z at the start, [paths, 1], from normal numbers. */
const startOf = ({mean, spread}: Posterior, normal: tf.Tensor): tf.Tensor =>
  tf.add(mean, tf.mul(tf.exp(spread), normal));

export interface LatentTraining {
  readonly result: TrainingResult;
  /** The bound by fresh paths, and its standard error. */
  readonly bound: {readonly mean: number; readonly error: number};
  /** log p(y) at the trained θ and σ, by a Kalman filter. */
  readonly likelihood: number;
  /** Mean of the posterior's z at the observations, and the smoother's. */
  readonly mean: Float64Array;
  readonly smoothed: Float64Array;
  readonly deviations: Float64Array;
  readonly rate: number;
  readonly drive: number;
}

export async function trained(
  record: LatentRecord,
  steps: number,
  paths: number,
  onProgress?: Parameters<typeof train>[0]['onProgress'],
): Promise<LatentTraining> {
  const q = posterior();
  const prepared = model(q, record, paths);
  const places = record.t.map(time => Math.round(time / dt));
  const initial = ({data}: EncoderAt<Params, {start: tf.Tensor}>): {y: tf.Tensor} => ({
    y: tf.concat([startOf(q, data.start), tf.zerosLike(data.start)], 1),
  });
  const loss = ({y, data}: ObjectiveAt<Params, {start: tf.Tensor}>): tf.Tensor => {
    const saved = tf.reshape(y, [-1, paths, 2]);
    const z = tf.reshape(tf.slice(tf.gather(saved, places), [0, 0, 0], [-1, -1, 1]), [places.length, paths]);
    const misses = gaussian(
      tf.sub(z, tf.reshape(tf.tensor1d([...record.y]), [places.length, 1])),
      tf.scalar(Math.log(noise)),
    );
    const cost = tf.slice(tf.gather(saved, places[places.length - 1]), [0, 1], [paths, 1]);
    // The prior begins in equilibrium, with variance σ²/2θ.
    const z0 = startOf(q, data.start);
    const rest = tf.sub(q.drive, tf.mul(tf.add(q.rate, Math.LN2), 0.5));
    const atStart = tf.sub(gaussian(z0, rest), gaussian(tf.sub(z0, q.mean), q.spread));
    return tf.add(tf.div(tf.sum(misses), paths), tf.mean(tf.add(cost, atStart)));
  };
  const batch = (seed: number) => ({
    params: {seed},
    data: {start: [...stochastic.brownianPath(seed, [paths]).at(-1)].map(x => [x])},
  });
  const step = trainingStep(prepared, {
    loss,
    initial,
    optimizer: adam({rate: 0.01}),
    clip: {norm: 10},
    schedule: schedules.cosine({rate: 0.01}),
    steps,
  });
  const result = await train({
    step,
    batch: ([seed]) => batch(seed),
    data: Array.from({length: steps}, (_, k) => k + 1),
    batchSize: 1,
    epochs: 1,
    onProgress,
  });
  const bounds = Array.from({length: 32}, (_, k) => -step.loss(batch(1e6 + k)));
  const mean = bounds.reduce((sum, x) => sum + x, 0) / bounds.length;
  const error = Math.sqrt(bounds.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (bounds.length * (bounds.length - 1)));
  const at = batch(2e6);
  const run = prepared.run({
    params: at.params,
    initial: {y: at.data.start.map(([x]) => [value(q.mean) + Math.exp(value(q.spread)) * x, 0])},
  });
  const saved = run.values('y');
  run.dispose();
  const means = places.map(k => {
    let sum = 0;
    for (let i = 0; i < paths; i++) sum += saved[2 * (k * paths + i)];
    return sum / paths;
  });
  return {
    result,
    bound: {mean, error},
    mean: Float64Array.from(means),
    ...exact(record, Math.exp(value(q.rate)), Math.exp(value(q.drive))),
  };
}

/** Results of a Kalman filter and smoother with θ and σ. */
function exact(
  {t, y}: LatentRecord,
  rate: number,
  drive: number,
): Pick<LatentTraining, 'likelihood' | 'smoothed' | 'deviations' | 'rate' | 'drive'> {
  const {logLikelihood, smoothed} = kalman.smoother({
    system: ode(({y: z}) => tf.mul(z, -rate)),
    data: {t, y},
    initial: {y: 0, t: 0},
    initialCovariance: drive ** 2 / (2 * rate),
    processNoise: {density: drive ** 2},
    measurementNoise: noise ** 2,
    dt: 1 / 64,
  });
  return {
    likelihood: logLikelihood,
    smoothed: smoothed.mean,
    deviations: smoothed.standardDeviations('y'),
    rate,
    drive,
  };
}

/** The record, the posterior and the smoother's. */
function figure({t, y}: LatentRecord, {mean, smoothed, deviations}: LatentTraining): Chart {
  return {
    title: 'Latent process',
    x: {label: 't'},
    y: {label: 'z'},
    series: [
      {name: 'observed', x: Float64Array.from(t), y: Float64Array.from(y), style: 'points'},
      {name: 'posterior', x: Float64Array.from(t), y: mean},
      {name: 'smoother', x: Float64Array.from(t), y: smoothed, style: 'dashed'},
      {
        name: 'smoother, two deviations above',
        x: Float64Array.from(t),
        y: smoothed.map((z, k) => z + 2 * deviations[k]),
        style: 'dashed',
      },
    ],
  };
}

export async function main({report, short}: ScriptArguments): Promise<void> {
  const record = made(short ? 6 : 40, 5);
  console.log(`${record.t.length} observations up to t = ${record.t[record.t.length - 1]}.\n`);
  const found = await shown('A latent SDE', show => trained(record, short ? 20 : 1500, short ? 16 : 64, show.train));
  printTable([
    ['', 'θ', 'σ', 'log likelihood'],
    [
      'bound',
      found.rate.toFixed(3),
      found.drive.toFixed(3),
      `${found.bound.mean.toFixed(2)} ± ${found.bound.error.toFixed(2)}`,
    ],
    ['Kalman filter', '', '', found.likelihood.toFixed(2)],
  ]);
  await found.result.report(report, {
    title: 'A latent SDE',
    description: 'Trained on the bound of the likelihood; the smoother knows the posterior itself.',
    charts: [figure(record, found)],
  });
  console.log(`Report: ${report}`);
}

script(import.meta.url, 'latent-sde', 'A latent SDE, compared with a Kalman filter. Makes its own data.', main);
