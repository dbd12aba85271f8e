/**
 * An F-16's wing in a ground vibration test (Noël & Schoukens 2017): a shaker's force in, the acceleration beside it
 * out. Eight modes of a linear structure, coupled by the payload's mounting: its displacement, a combination of the
 * modes, acts on two stick-slip elements (Dahl 1968, in the form of Bouc & Wen) and a cubic spring. Therefore
 * frequencies fall and damping grows with the level, as in the records.
 *
 *     npx tsx examples/benchmarks/f16.ts train-level-1.csv train-level-3.csv ... --test test-level-2.csv ...
 *
 * Trained on one period of each level, after another in which the transient decays. A test with a periodic force starts
 * with an additional period of it; any other starts from rest.
 */
import type * as tfjs from '@tensorflow/tfjs';
import * as tf from '@tensorflow/tfjs';
import type {DerivativeAt, Params} from '../../lib/index.js';
import {ode, rk4, signal} from '../../lib/index.js';
import {
  free,
  identify,
  levenbergMarquardt,
  positive,
  type Identification,
  type MeasuredRecord,
  type Parameters,
} from '../../training/index.js';
import {rms} from '../script.js';
import type {Benchmark, Estimate, Experiment, Learnt} from './protocol.js';
import {benchmark, clock, parameterText, part, trainingError} from './protocol.js';

/** 400 Hz; the force ends at 15 Hz, so that every second sample is enough to learn from. */
const dt = 1 / 400;
const every = 2;

/** Samples of a period. */
const period = 8192;

/** Peaks of the lowest level's response in Hz, one above the band; damping in percent; shares in 1e-3/kg. */
const guess = {
  frequency: [3.47, 3.97, 5.19, 6.61, 7.3, 9.17, 10.06, 20],
  damping: [1.7, 2.9, 0.95, 0.75, 0.4, 0.75, 5.6, 5],
  share: [0.6, 0.6, 0.35, 0.25, 1.45, 0.38, 0.06, 12],
};
const modes = guess.frequency.length;
/** The mode of the mounting: its displacement is the unit of the elements' deflections. */
const mounting = 4;

type Wing = {
  readonly [
    name in 'frequency' | 'damping' | 'share' | 'coupling' | 'stiffness' | 'slip' | 'cubic' | 'direct' | 'u'
  ]: tfjs.Tensor;
};

/** Accelerations of the modes, [modes], and rates of the elements, [2]. */
function motion(y: tfjs.Tensor, params: Wing): {readonly a: tfjs.Tensor; readonly rates: tfjs.Tensor} {
  const [q, v, z] = tf.split(y, [modes, modes, 2]);
  const omega = tf.mul(2 * Math.PI, params.frequency);
  const sight = tf.concat([
    tf.slice(params.coupling, 0, mounting),
    tf.tensor1d([1]),
    tf.slice(params.coupling, mounting),
  ]);
  const [place, speed] = [tf.sum(tf.mul(sight, q)), tf.sum(tf.mul(sight, v))];
  const holding = tf.add(tf.sum(tf.mul(params.stiffness, z)), tf.mul(params.cubic, tf.pow(place, 3)));
  const linear = tf.add(tf.mul(tf.square(omega), q), tf.mul(tf.mul(tf.mul(0.02, params.damping), omega), v));
  const a = tf.sub(tf.sub(params.u, linear), tf.mul(sight, holding));
  return {a, rates: tf.sub(speed, tf.mul(tf.abs(speed), tf.div(z, params.slip)))};
}

/** The state: displacements and velocities of the modes for a unit force each, then the deflections of the elements. */
export const wing = ode(({y, params}: DerivativeAt<Wing>) => {
  const {a, rates} = motion(y, params);
  return tf.concat([tf.slice(y, modes, modes), a, rates]);
});

/** The acceleration beside the shaker, in m/s². */
export const observe = ({y, params}: {y: tfjs.Tensor; params: Params}): tfjs.Tensor => {
  const wingParams = params as unknown as Wing;
  const {a} = motion(y, wingParams);
  return tf.mul(1e-3, tf.add(tf.sum(tf.mul(wingParams.share, a)), tf.mul(wingParams.direct, wingParams.u)));
};

const rest = {y: new Float64Array(2 * modes + 2)};

/** A period of the force before the samples, whose output does not count, and the samples. */
function withPeriodBefore({name, u, y}: Experiment, from: number, samples: number, step: number): MeasuredRecord {
  const length = Math.min(period, from);
  const index = Array.from({length: Math.floor((length + samples) / step)}, (_, i) => from - length + i * step);
  return {
    name,
    t: index.map(i => (i - index[0]) * dt),
    y: index.map(i => (i < from ? NaN : y[i])),
    missing: 'skip',
    initial: rest,
    inputs: {
      u: signal(clock(length + samples, dt), u.slice(from - length, from + samples), 'cubic'),
    },
  };
}

/** Fits the lowest level with sticking elements, which is linear; then all levels. */
async function learn(records: readonly Experiment[]): Promise<Learnt> {
  const fitted = (
    data: readonly Experiment[],
    at: Estimate,
    fixed: readonly string[],
    maxIterations: number,
  ): Promise<Identification> => {
    const held = (parameters: Parameters): Parameters =>
      Object.fromEntries(
        Object.entries(parameters).map(([name, one]) => [
          name,
          fixed.includes(name) ? {...one, kind: 'fixed' as const} : one,
        ]),
      );
    return identify({
      system: wing,
      observe,
      scheme: rk4(),
      dt: every * dt,
      offGrid: 'interpolate',
      data: data.map(record => withPeriodBefore(record, lastPeriod(record), period, every)),
      parameters: {
        frequency: positive(at.frequency as Float64Array),
        damping: positive(at.damping as Float64Array),
        share: free(at.share as Float64Array),
        direct: free(at.direct as number),
        ...held({
          coupling: free(at.coupling as Float64Array),
          stiffness: free(at.stiffness as Float64Array),
          slip: positive(at.slip as Float64Array),
          cubic: free(at.cubic as number),
        }),
      },
      method: levenbergMarquardt({maxIterations, tolerance: {cost: 1e-5}}),
    } as never);
  };
  const none = {
    coupling: Float64Array.from({length: modes - 1}, () => 0),
    stiffness: Float64Array.of(0, 0),
    slip: Float64Array.of(0.1, 0.5),
    cubic: 0,
    direct: 0,
  };
  const start: Estimate = {
    ...none,
    frequency: Float64Array.from(guess.frequency),
    damping: Float64Array.from(guess.damping),
    share: Float64Array.from(guess.share),
  };
  const quiet = records.reduce((least, record) =>
    rms(record.u, new Float64Array(record.u.length)) < rms(least.u, new Float64Array(least.u.length)) ? record : least,
  );
  const linear = await fitted([quiet], start, ['coupling', 'stiffness', 'slip', 'cubic'], 30);
  const alone = await fitted(records, stuck(linear.estimate), ['coupling'], 15);
  const fit = await fitted(records, alone.estimate, [], 30);
  const errors = (one: Identification): string =>
    Object.values(one.rmse)
      .map(error => error.toFixed(3))
      .join(', ');
  return {
    cost: trainingError(fit),
    note:
      `${errors(fit)} m/s² where it learnt (the lowest level alone, linear: ${errors(linear)}; the mounting's mode `
      + `alone at the elements: ${errors(alone)}); ${parameterText(fit)}`,
    rmse: test => Promise.resolve(freeRun(fit, test)),
  };
}

/** Elements of a twentieth of the mounting's stiffness; at the lowest level they stick. */
function stuck({frequency, ...others}: Estimate): Estimate {
  const all = Float64Array.from(frequency as Float64Array);
  const stiffness = (2 * Math.PI * all[mounting]) ** 2;
  all[mounting] *= Math.sqrt(0.95);
  return {...others, frequency: all, stiffness: Float64Array.of(0.025 * stiffness, 0.025 * stiffness)};
}

/** First sample of the last whole period. */
const lastPeriod = ({t}: Experiment): number => Math.max(0, t.length - period);

/** Forces of two neighbouring periods differ by the shaker's noise, less than this part of their size. */
const repeats = 0.1;

function freeRun(fit: Identification, test: Experiment): number {
  const samples = test.t.length;
  const later = test.u.subarray(period);
  const periodic =
    samples > period && rms(test.u, later, 0, later.length) < repeats * rms(test.u, new Float64Array(samples));
  const before = periodic ? test.u.slice(0, period) : new Float64Array(0);
  const u = Float64Array.from([...before, ...test.u]);
  const t = clock(u.length, dt);
  const trajectory = fit.simulate({t, initial: rest, inputs: {u: signal(t, u, 'cubic')}});
  const simulated = trajectory.values('observed').subarray(before.length);
  trajectory.dispose();
  return rms(simulated, test.y, warmUp, samples);
}

/** Samples that are not assessed. */
const warmUp = 50;

export const f16: Benchmark = {
  name: 'f16',
  unit: 'm/s²',
  scale: 1,
  columns: {t: 't_s', u: 'force_N', y: 'acceleration1'},
  learn,
  published: {'linear, mean of 6': 0.599, 'LSTM, mean of 6': 0.338, 'modal and TCN, mean of 6': 0.146},
  // A level between two others is held out, and so are each level's first periods, which training does not use.
  splits: records => [
    ...records.slice(1, -1).map((record, k) => ({
      name: `without ${record.name}`,
      train: records.filter((_, i) => i !== k + 1),
      test: part(record, 0, 3 * period),
    })),
  ],
};

benchmark(import.meta.url, f16);
