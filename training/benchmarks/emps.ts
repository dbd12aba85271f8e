/**
 * The electro-mechanical positioning stage in open loop (Janot, Gautier & Brunot 2019): motor force in, position out,
 * with nothing that would hold the position: a wrong force of a tenth of a newton drifts by a centimetre in the record.
 *
 *     npx tsx training/benchmarks/emps.ts train.csv --test test.csv
 *
 * M a = force − (Fc + Fs e^(−|v|/v₀)) sign(v) − Fv v − Fd |v| − k x − offset: beside Coulomb and viscous friction what it takes to turn,
 * the difference between the two directions and a weak spring (cables); the last two are what the force misses where
 * it is regressed on the measured motion. Fitted over a third of the record at a time, each from the state that its first samples tell: over all of it
 * the drift of the first strokes hides the rest.
 */
import type * as tfjs from '@tensorflow/tfjs';
import * as tf from '@tensorflow/tfjs';
import type {ForceAt} from '../../lib/index.js';
import {linalg, mechanics, rk4, signal} from '../../lib/index.js';
import {identify} from '../identify/identify.js';
import {levenbergMarquardt} from '../identify/least-squares.js';
import {free, positive} from '../identify/parameters.js';
import type {MeasuredRecord} from '../identify/records.js';
import type {Benchmark, Experiment, Learnt} from './protocol.js';
import {part, program} from './protocol.js';

const dt = 1e-3;

/** N/V, of the drive, as published. */
const forceEach = 35.1506519;

/** m/s: below it the direction of a motion turns, three digits below the strokes' speeds. */
const turning = 2e-3;

/** m/s: dry friction falls over this much of speed (Stribeck), a sixth of the fastest stroke's. */
const stribeck = 0.02;

/** Middle of the travel, in m. */
const middle = 0.12;

type Stage = {
  readonly [name in 'mass' | 'viscous' | 'coulomb' | 'uneven' | 'spring' | 'offset' | 'breakaway' | 'u']: tfjs.Tensor;
};

export const stage = mechanics({
  mass: ({params}: {params: Stage}) => params.mass,
  forces: ({q, v, params}: ForceAt<Stage>) => {
    const dry = tf.add(params.coulomb, tf.mul(params.breakaway, tf.exp(tf.neg(tf.div(tf.abs(v), stribeck)))));
    const friction = tf.addN([
      tf.mul(params.viscous, v),
      tf.mul(params.uneven, tf.abs(v)),
      tf.mul(dry, tf.tanh(tf.div(v, turning))),
    ]);
    const spring = tf.mul(params.spring, tf.sub(q, middle));
    return tf.sub(tf.mul(forceEach, params.u), tf.addN([friction, spring, params.offset]));
  },
});

/** Samples that tell a velocity: over 40 ms a parabola is the motion, and 1 µm of noise leaves 0.1 mm/s. */
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

async function learn(records: readonly Experiment[]): Promise<Learnt> {
  const pieces = records.flatMap(record => {
    const count = Math.max(1, Math.round(record.t.length / piece));
    return Array.from({length: count}, (_, k) =>
      part(record, Math.round((k * record.t.length) / count), Math.round(((k + 1) * record.t.length) / count)),
    );
  });
  const fit = await identify({
    system: stage,
    scheme: rk4(),
    dt,
    data: pieces.map(recordOf),
    // The published parameters of the closed loop; the others begin at nothing.
    parameters: {
      mass: positive(95),
      viscous: positive(203),
      coulomb: positive(20),
      offset: free(-3),
      uneven: free(0),
      spring: free(0),
      breakaway: free(0),
    },
    method: levenbergMarquardt({maxIterations: 100, tolerance: {cost: 1e-8}}),
  });
  const errors = Object.values(fit.rmse);
  const cost = Math.sqrt(errors.reduce((sum, error) => sum + error ** 2, 0) / errors.length);
  return {
    cost,
    note: `${(1e3 * cost).toFixed(2)} mm over pieces of ${piece / 1000} s; ${Object.entries(fit.estimate)
      .map(([name, value]) => `${name} ${Number(value).toFixed(3)}`)
      .join(', ')}`,
    async rmse(test) {
      const [{rmse}] = await fit.validate(recordOf(test), {warmUp: 20});
      return rmse;
    },
  };
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
    {name: 'second half', train: [part(record, 0, 12_420)], test: part(record, 12_420)},
    {name: 'all, where it learnt', train: [record], test: record},
  ],
};

program(import.meta.url, emps);
