/**
 * The electro-mechanical positioning stage in open loop (Janot, Gautier & Brunot 2019): motor force in, position out,
 * and no feedback to hold the position: a force error of a tenth of a newton causes a drift of a centimetre in the
 * record.
 *
 *     npx tsx examples/benchmarks/emps.ts train.csv --test test.csv
 *
 * M a = force − Fc sign(v) − Fv v − Fe v² − k (x − x₀) − offset − drift·t: beside Coulomb and viscous friction what
 * differs between the two directions, a weak spring (cables), and an offset of the drive that changes with the time
 * since the record began. Without the drift, no friction law reproduces the record to within 2 mm; with it, everything
 * else is textbook. It is fitted over thirds of the record, each from the state estimated from its first samples, then
 * over all of it.
 */
import type * as tfjs from '@tensorflow/tfjs';
import * as tf from '@tensorflow/tfjs';
import type {ForceAt} from '../../lib/index.js';
import {linalg, mechanics, rk4, signal} from '../../lib/index.js';
import {
  free,
  identify,
  levenbergMarquardt,
  positive,
  type Identification,
  type MeasuredRecord,
} from '../../training/index.js';
import type {Benchmark, Experiment, Learnt} from './protocol.js';
import {benchmark, freeRunError, parameterText, part, trainingError} from './protocol.js';

const dt = 1e-3;

/** N/V, of the drive, as published. */
const forceEach = 35.1506519;

/** m/s: below it the direction of a motion turns, three digits below the strokes' speeds. */
const turning = 2e-3;

/** Middle of the travel, in m. */
const middle = 0.12;

/** s, half of the record: the drift is the change of the offset from the middle of the record to its end. */
const half = 12.42;

type Stage = {
  readonly [name in 'mass' | 'viscous' | 'coulomb' | 'uneven' | 'spring' | 'offset' | 'drift' | 'u']: tfjs.Tensor;
};

export const stage = mechanics({
  mass: ({params}: {params: Stage}) => params.mass,
  forces: ({q, v, t, params}: ForceAt<Stage>) => {
    const friction = tf.addN([
      tf.mul(params.viscous, v),
      tf.mul(params.uneven, tf.square(v)),
      tf.mul(params.coulomb, tf.tanh(tf.div(v, turning))),
    ]);
    const spring = tf.mul(params.spring, tf.sub(q, middle));
    const offset = tf.add(params.offset, tf.mul(params.drift, tf.sub(tf.div(t, half), 1)));
    return tf.sub(tf.mul(forceEach, params.u), tf.addN([friction, spring, offset]));
  },
});

/** Samples for a velocity: over 40 ms the motion is a parabola, and 1 µm of noise leaves 0.1 mm/s. */
const startSamples = 40;

/** Position and velocity at the first sample, of the parabola through the first ones. */
export function startOf({y}: Experiment): {readonly q: number; readonly v: number} {
  return tf.tidy(() => {
    const n = Math.min(startSamples, y.length);
    const powers = Array.from({length: n}, (_, i) => [1, i / n, (i / n) ** 2]);
    // In micrometres from the first sample: single precision is enough.
    const rises = Array.from({length: n}, (_, i) => [1e6 * (y[i] - y[0])]);
    const [[place], [slope]] = linalg.lstsq(tf.tensor2d(powers), tf.tensor2d(rises)).arraySync() as number[][];
    return {q: y[0] + 1e-6 * place, v: (1e-6 * slope) / (n * dt)};
  });
}

function recordOf(experiment: Experiment): MeasuredRecord {
  const {t, u, y} = experiment;
  return {t, q: y, inputs: {u: signal(t, u, 'hold')}, initial: startOf(experiment)};
}

/** Samples of a piece: a third of the training record. */
const piece = 8280;

/** Fits the thirds first, over which a wrong guess still follows the motion; then the whole. */
async function learn(records: readonly Experiment[]): Promise<Learnt> {
  // The published parameters of the closed loop; the others start at zero.
  const published: Estimate = {mass: 95, viscous: 203, coulomb: 20, offset: -3, uneven: 0, spring: 0, drift: 0};
  const thirds = await fitted(records.flatMap(pieces), published);
  const fit = await fitted(records, thirds.estimate as Estimate);
  const cost = trainingError(fit);
  return {
    cost,
    note: `${(1e3 * cost).toFixed(2)} mm where it learnt; ${parameterText(fit, 5)}`,
    rmse: test => freeRunError(fit, recordOf(test), 20),
  };
}

function pieces(record: Experiment): Experiment[] {
  const count = Math.max(1, Math.round(record.t.length / piece));
  const bound = (k: number): number => Math.round((k * record.t.length) / count);
  return Array.from({length: count}, (_, k) => part(record, bound(k), bound(k + 1)));
}

type Estimate = {readonly [name in Exclude<keyof Stage, 'u'>]: number};

async function fitted(records: readonly Experiment[], guess: Estimate): Promise<Identification> {
  return await identify({
    system: stage,
    scheme: rk4(),
    dt,
    data: records.map(recordOf),
    parameters: {
      mass: positive(guess.mass),
      viscous: positive(guess.viscous),
      coulomb: positive(guess.coulomb),
      offset: free(guess.offset),
      uneven: free(guess.uneven),
      spring: free(guess.spring),
      drift: free(guess.drift),
    },
    method: levenbergMarquardt({maxIterations: 100, tolerance: {cost: 1e-8}}),
  });
}

export const emps: Benchmark = {
  name: 'emps',
  unit: 'mm',
  scale: 1e3,
  columns: {t: 't_s', u: 'vir_V', y: 'qm_meas_m'},
  learn,
  published: {linear: 5.53, pNARX: 5.17, 'CT-SUBNET': 4.61, dynoNet: 2.64},
  splits: ([record]) => [
    {name: 'last third', train: [part(record, 0, 2 * piece)], test: part(record, 2 * piece)},
    {name: 'first third', train: [part(record, piece)], test: part(record, 0, piece)},
    {
      name: 'middle third',
      train: [part(record, 0, piece), part(record, 2 * piece)],
      test: part(record, piece, 2 * piece),
    },
    {name: 'second half', train: [part(record, 0, 12_420)], test: part(record, 12_420)},
    {name: 'all, where it learnt', train: [record], test: record},
  ],
};

benchmark(import.meta.url, emps);
