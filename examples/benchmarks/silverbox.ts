/**
 * The Silverbox (Wigren & Schoukens 2013): an electronic Duffing oscillator. Its equation with what an analog circuit
 * adds: a multiplier whose cubic has parts with the speed and the drive in it, an amplifier that loses a fixed small
 * voltage where its output changes sign (crossover), a delayed output, and offsets. Fourteen parameters, no network.
 *
 *     npx tsx examples/benchmarks/silverbox.ts SNLS80mV.csv
 *
 * divides the record as the benchmark does: it trains on the first three quarters of the multisine and tests on the
 * rest, on the arrow, and on the part of the arrow within the amplitudes of training. A whole file given as the
 * training record is divided even if test records are given.
 */
import type * as tfjs from '@tensorflow/tfjs';
import * as tf from '@tensorflow/tfjs';
import type {ForceAt} from '../../lib/index.js';
import {mechanics, rk4} from '../../lib/index.js';
import {
  fixed,
  free,
  identify,
  levenbergMarquardt,
  positive,
  type Identification,
  type MeasuredRecord,
  type Parameter,
} from '../../training/index.js';
import type {Benchmark, Estimate, Experiment, Learnt} from './protocol.js';
import {bandLimited, benchmark, clock, freeRunError, parameterText, part} from './protocol.js';

/** 10 MHz divided by 2¹⁴, in s. */
const dt = 2 ** 14 / 1e7;

/** The multisine reaches 200 Hz, three samples a period: its input is found between them before a spline joins it. */
const finer = 4;

const names = [
  ...(['pace', 'damping', 'gain', 'cubic', 'swift', 'bias', 'zero'] as const),
  ...(['crossover', 'crossX', 'crossW', 'crossZero', 'driven', 'drivenSwift', 'lag'] as const),
] as const;
type Circuit = {readonly [name in (typeof names)[number] | 'u']: tfjs.Tensor};

/**
 * y″ = ω²(drive − x − cubic·x³ − swift·x x′² − crossover + drive·(driven·x² + drivenSwift·x x′)) − 2ζω x′ with
 * drive = gain·(u + bias); the pace is ω/100, q is in V, x in tenths of it, and x′ in these times ω.
 */
export const circuit = mechanics<Circuit>({
  mass: 1,
  forces: ({q, v, params}: ForceAt<Circuit>) => {
    const omega = tf.mul(params.pace, 100);
    const x = tf.mul(10, q); // in tenths of a volt, as far as it swings: coefficients of one size
    const w = tf.div(tf.mul(10, v), omega);
    const drive = tf.mul(tf.mul(10, params.gain), tf.add(params.u, params.bias));
    const multiplied = tf.sub(
      tf.mul(drive, tf.add(tf.mul(params.driven, x), tf.mul(params.drivenSwift, w))),
      tf.add(tf.mul(params.cubic, tf.square(x)), tf.mul(params.swift, tf.square(w))),
    );
    const crossing = tf.addN([tf.mul(params.crossX, x), tf.mul(params.crossW, w), params.crossZero]);
    const losses = tf.add(tf.mul(tf.mul(2, params.damping), w), tf.mul(params.crossover, tf.tanh(crossing)));
    return tf.mul(tf.div(tf.square(omega), 10), tf.sub(tf.add(drive, tf.mul(x, multiplied)), tf.add(x, losses)));
  },
});

/** An offset, and a lag: the speed times a small part of 1/ω. */
export const observe = ({q, v, params}: {q: tfjs.Tensor; v: tfjs.Tensor; params: Circuit}): tfjs.Tensor =>
  tf.addN([q, params.zero, tf.div(tf.mul(params.lag, v), tf.mul(params.pace, 100))]);

/** A record for `identify`, with a guess of its initial state. */
function recordOf({u, y}: Experiment): MeasuredRecord {
  return {
    t: clock(u.length, dt),
    y,
    inputs: {u: bandLimited(u, dt, finer)},
    initial: {q: y[0], v: (y[1] - y[0]) / dt},
  };
}

/** A linear circuit and its cubic; ω is that of the resonance in the record's spectrum, near 68 Hz. */
const duffing = ['pace', 'damping', 'gain', 'cubic'] as const;
/** Includes the crossover, so that it is found before terms that could be mistaken for it. */
const symmetric = [...duffing, 'swift', 'bias', 'zero', 'crossover', 'crossX', 'crossW'] as const;
/** The crossover starts at zero, where a tenth to a third of the swing would be its width. */
const guess: Estimate = {pace: 4.3, damping: 0.05, gain: 1, cubic: 0.04, crossX: 1, crossW: 3};

async function fitted(
  data: Experiment,
  estimate: Estimate,
  looked: readonly (typeof names)[number][],
): Promise<Identification> {
  const record = recordOf(data);
  const parameter = (name: (typeof names)[number]): Parameter => {
    const value = (estimate[name] ?? 0) as number;
    if (!looked.includes(name)) return fixed(value);
    return name === 'pace' || name === 'damping' || name === 'gain' ? positive(value) : free(value);
  };
  return await identify({
    system: circuit,
    observe,
    scheme: rk4(),
    dt: dt / 2,
    data: {...record, initial: undefined},
    parameters: {
      ...Object.fromEntries(names.map(name => [name, parameter(name)])),
      'initial.q': free(record.initial?.q as number),
      'initial.v': free(record.initial?.v as number),
    },
    method: levenbergMarquardt({maxIterations: 40, tolerance: {cost: 1e-8}}),
  } as never);
}

/** The benchmark's training part if the whole file is given, otherwise the record. */
const learntPart = (record: Experiment): Experiment =>
  record.t.length > multisine.to ? part(record, multisine.from, multisine.learnt) : record;

/** Samples of the multisine, of which three quarters are for training. */
const multisine = {from: 40_650, learnt: 40_650 + 65_062, to: 127_400};

/** Four parameters from a short piece first: over all of it their phase would be lost; then everything. */
async function learn([given]: readonly Experiment[]): Promise<Learnt> {
  const data = learntPart(given);
  const first = await fitted(part(data, 0, Math.min(data.t.length, 8000)), guess, duffing);
  const second = await fitted(data, first.estimate, symmetric);
  const fit = await fitted(data, second.estimate, names);
  return {
    cost: fit.rmse.y,
    note: `${(1e3 * fit.rmse.y).toFixed(4)} mV where it learnt; ${parameterText(fit, 4)}`,
    rmse: test => freeRunError(fit, recordOf(test)),
  };
}

export const silverbox: Benchmark = {
  name: 'silverbox',
  unit: 'mV',
  scale: 1e3,
  columns: {t: dt, u: 'V1', y: 'V2'},
  learn,
  published: {
    linear: [6.96, 14.4, 6.58],
    'GP-NARX': [0.301, 0.6, 0.259],
    SUBNET: [0.36, 1.4, 0.32],
    PNLSS: [NaN, 0.26, NaN],
  },
  splits([whole]) {
    const train = [learntPart(whole)];
    return [
      {name: 'multisine', train, test: part(whole, multisine.learnt, multisine.to)},
      {name: 'arrow', train, test: part(whole, 100, 40_575)},
      {name: 'arrow without extrapolation', train, test: part(whole, 100, 32_100)},
    ];
  },
};

benchmark(import.meta.url, silverbox);
