/**
 * The Silverbox (Wigren & Schoukens 2013): an electronic Duffing oscillator. Its equation with what an analog circuit adds:
 * multipliers that answer late, so that the cubic is not x³ but has parts x²x′ and x x′², and offsets of input and
 * output. Eight parameters, no network.
 *
 *     npx tsx training/benchmarks/silverbox.ts SNLS80mV.csv
 *
 * cuts the record as the benchmark does: learnt from the first three quarters of the multisine, judged on the rest, on the
 * arrow, and on the part of the arrow that stays within what was learnt.
 */
import type * as tfjs from '@tensorflow/tfjs';
import * as tf from '@tensorflow/tfjs';
import type {ForceAt} from '../../lib/index.js';
import {mechanics, rk4, signal} from '../../lib/index.js';
import {upsample} from '../data/resample.js';
import type {Identification} from '../identify/identify.js';
import {identify} from '../identify/identify.js';
import {levenbergMarquardt} from '../identify/least-squares.js';
import {free, positive} from '../identify/parameters.js';
import type {MeasuredRecord} from '../identify/records.js';
import type {Benchmark, Experiment, Learnt} from './protocol.js';
import {part, program} from './protocol.js';

/** 10 MHz divided by 2¹⁴, in s. */
const dt = 2 ** 14 / 1e7;

/** The multisine reaches 200 Hz, three samples a period: its input is found between them before a spline joins it. */
const finer = 4;

type Circuit = {
  readonly [name in 'pace' | 'damping' | 'gain' | 'cubic' | 'late' | 'later' | 'bias' | 'zero' | 'u']: tfjs.Tensor;
};

/** y″ = ω²(gain·(u + bias) − s(q) − late forces) − 2ζω v, s = x + cubic·x³; the pace is ω/100, and q is in V. */
export const circuit = mechanics<Circuit>({
  mass: 1,
  forces: ({q, v, params}: ForceAt<Circuit>) => {
    const omega = tf.mul(params.pace, 100);
    const x = tf.mul(10, q); // in tenths of a volt, as far as it swings: coefficients of one size
    const w = tf.div(tf.mul(10, v), omega);
    const spring = tf.add(x, tf.mul(params.cubic, tf.pow(x, 3)));
    const late = tf.mul(tf.mul(x, w), tf.add(tf.mul(params.late, x), tf.mul(params.later, w)));
    const drive = tf.mul(tf.mul(10, params.gain), tf.add(params.u, params.bias));
    return tf.mul(
      tf.div(tf.square(omega), 10),
      tf.sub(drive, tf.addN([spring, late, tf.mul(tf.mul(2, params.damping), w)])),
    );
  },
});

const observe = ({q, params}: {q: tfjs.Tensor; params: Circuit}): tfjs.Tensor => tf.add(q, params.zero);

const clock = (samples: number, step: number): Float64Array => Float64Array.from({length: samples}, (_, i) => i * step);

/** As `identify` takes it, with a start to begin the search at. */
function recordOf({u, y}: Experiment): MeasuredRecord {
  const fine = upsample(u, finer);
  return {
    t: clock(u.length, dt),
    y,
    inputs: {u: signal(clock(fine.length, dt / finer), fine, 'cubic')},
    initial: {q: y[0], v: (y[1] - y[0]) / dt},
  };
}

type Estimate = {readonly [name: string]: number};

async function fitted(data: Experiment, guess: Estimate, all: boolean, iterations: number): Promise<Identification> {
  const record = recordOf(data);
  const extra = (name: string): ReturnType<typeof free> => free(guess[name] ?? 0);
  return await identify({
    system: circuit,
    observe,
    scheme: rk4(),
    dt: dt / 2,
    data: {...record, initial: undefined},
    parameters: {
      pace: positive(guess.pace),
      damping: positive(guess.damping),
      gain: positive(guess.gain),
      cubic: free(guess.cubic),
      'initial.q': free(record.initial?.q as number),
      'initial.v': free(record.initial?.v as number),
      ...Object.fromEntries(
        ['late', 'later', 'bias', 'zero'].map(name => [
          name,
          all ? extra(name) : {...extra(name), kind: 'fixed' as const},
        ]),
      ),
    },
    method: levenbergMarquardt({maxIterations: iterations, tolerance: {cost: 1e-9}}),
  } as never);
}

/** Four parameters from a short piece first: over all of it their phase would be lost; then everything. */
async function learn([data]: readonly Experiment[]): Promise<Learnt> {
  const first = await fitted(
    part(data, 0, Math.min(data.t.length, 8000)),
    {pace: 4.3, damping: 0.05, gain: 1, cubic: 0.04},
    false,
    40,
  );
  const fit = await fitted(data, first.estimate as Estimate, true, 30);
  const found = Object.entries(fit.estimate)
    .filter(([name]) => !name.startsWith('initial'))
    .map(([name, value]) => `${name} ${(value as number).toPrecision(4)}`);
  return {
    cost: fit.rmse.y,
    note: `${(1e3 * fit.rmse.y).toFixed(4)} mV where it learnt; ${found.join(', ')}`,
    async rmse(test) {
      const [{rmse}] = await fit.validate(recordOf(test), {warmUp: 50});
      return rmse;
    },
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
    const multisine = part(whole, 40_650, 127_400);
    const learnt = Math.floor(0.75 * multisine.t.length);
    const train = [part(multisine, 0, learnt)];
    return [
      {name: 'multisine', train, test: part(multisine, learnt)},
      {name: 'arrow', train, test: part(whole, 100, 40_575)},
      {name: 'arrow without extrapolation', train, test: part(whole, 100, 32_100)},
    ];
  },
};

program(import.meta.url, silverbox);
