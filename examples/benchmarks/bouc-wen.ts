/**
 * The Bouc–Wen benchmark (Noël & Schoukens 2016): a mass on a spring with hysteresis, whose internal force z was not
 * measured. Its own equations, nine parameters, from a noisy multisine; the tests are without noise.
 *
 *     npx tsx examples/benchmarks/bouc-wen.ts train.csv --test multisine.csv sinesweep.csv
 *
 * The record has five samples a period of its fastest part, so the input between its samples is computed by
 * band-limited interpolation. The exponent ν of the hysteresis is identified too.
 */
import type * as tfjs from '@tensorflow/tfjs';
import * as tf from '@tensorflow/tfjs';
import type {DerivativeAt} from '../../lib/index.js';
import {ode, rk4} from '../../lib/index.js';
import {
  free,
  identify,
  levenbergMarquardt,
  positive,
  type Identification,
  type MeasuredRecord,
} from '../../training/index.js';
import type {Benchmark, Estimate, Experiment, Learnt} from './protocol.js';
import {bandLimited, benchmark, clock, freeRunError, parameterText, part} from './protocol.js';

/** 750 Hz; the benchmark's own simulation had 15 kHz. */
const dt = 1 / 750;

/** Points of the input, and steps, per sample. */
const finer = 4;

type Hysteresis = {
  readonly [
    name in 'mass' | 'damping' | 'stiffness' | 'alpha' | 'beta' | 'gamma' | 'delta' | 'power' | 'u'
  ]: tfjs.Tensor;
};

/** In mm, N, s, 1e4 N/m: m y″ + c y′ + k y + z = u, z′ = α y′ − β(γ|y′||z|^(ν−1) z + δ y′|z|^ν). */
export const boucWen = ode(({y: state, params}: DerivativeAt<Hysteresis>) => {
  const [y, v, z] = tf.unstack(state);
  const force = tf.sub(
    params.u,
    tf.addN([tf.mul(tf.mul(1e-3, params.damping), v), tf.mul(tf.mul(10, params.stiffness), y), z]),
  );
  // |z|^(ν − 1), differentiable at 0: the square of a thousandth of a newton is added to z².
  const power = tf.pow(tf.add(tf.square(z), 1e-6), tf.div(tf.sub(params.power, 1), 2));
  const yielding = tf.mul(
    power,
    tf.add(tf.mul(params.gamma, tf.mul(tf.abs(v), z)), tf.mul(params.delta, tf.mul(v, tf.abs(z)))),
  );
  return tf.stack([
    v,
    tf.div(force, tf.mul(1e-3, params.mass)),
    tf.sub(tf.mul(tf.mul(10, params.alpha), v), tf.mul(params.beta, yielding)),
  ]);
});

const observe = ({y}: {y: tfjs.Tensor}): tfjs.Tensor => tf.gather(y, 0);

/** In millimetres; the search for the initial state starts at rest. */
function recordOf({u, y}: Experiment): MeasuredRecord {
  const q = y.map(value => 1e3 * value);
  return {
    t: clock(u.length, dt),
    y: q,
    inputs: {u: bandLimited(u, dt, finer)},
    initial: {y: [q[0], (q[1] - q[0]) / dt, 0]},
  };
}

async function fitted(data: Experiment, guess: Estimate, iterations: number): Promise<Identification> {
  const record = recordOf(data);
  const at = (name: string): number => guess[name] as number;
  return await identify({
    system: boucWen,
    observe,
    scheme: rk4(),
    dt: dt / finer,
    data: {...record, initial: undefined},
    parameters: {
      mass: positive(at('mass')),
      damping: positive(at('damping')),
      stiffness: positive(at('stiffness')),
      alpha: positive(at('alpha')),
      // β scales γ and δ alone: it is one.
      beta: {...free(1), kind: 'fixed'},
      gamma: free(at('gamma')),
      delta: free(at('delta')),
      power: positive(at('power')),
      'initial.y': free(
        (guess['initial.y'] as Float64Array | undefined) ?? [data.y[0] * 1e3, (1e3 * (data.y[1] - data.y[0])) / dt, 0],
      ),
    },
    method: levenbergMarquardt({maxIterations: iterations, tolerance: {cost: 1e-10}}),
  } as never);
}

/** Half of the elastic stiffness starts in the hysteresis; fits a quarter of a second, a period, all. */
async function learn([data]: readonly Experiment[]): Promise<Learnt> {
  let estimate: Estimate = {mass: 1.5, damping: 20, stiffness: 4, alpha: 4, gamma: 0.5, delta: 0, power: 1.2};
  let fit: Identification | undefined;
  for (const [samples, iterations] of [
    [200, 30],
    [1500, 60],
    [8192, 40],
    [data.t.length, 15],
  ] as const) {
    fit = await fitted(part(data, 0, Math.min(samples, data.t.length)), estimate, iterations);
    estimate = fit.estimate;
    if (samples >= data.t.length) break;
  }
  if (fit === undefined) throw new Error('no part of the record was fitted');
  const last = fit;
  return {
    cost: last.rmse.y,
    note: `${(1e-3 * last.rmse.y).toExponential(3)} m where it learnt, its noise; ${parameterText(last, 5)}`,
    rmse: async test => 1e-3 * (await freeRunError(last, recordOf(test))),
  };
}

export const boucWenBenchmark: Benchmark = {
  name: 'bouc-wen',
  unit: 'm',
  scale: 1,
  columns: {t: 't_s', u: 'u_N', y: 'y_m'},
  learn,
  published: {PNLSS: 1.34e-5, Koopman: 1.43e-5, 'SS-NN': 8.91e-6, 'gr-SS-NN': 7.53e-6},
  splits: ([record]) => {
    const half = Math.floor(record.t.length / 2);
    return [{name: 'second half', train: [part(record, 0, half)], test: part(record, half)}];
  },
};

benchmark(import.meta.url, boucWenBenchmark);
