/**
 * Two tanks, one above the other (Schoukens & Noël 2017): a pump fills the upper one, which runs out into the lower one,
 * and that into a reservoir; the upper one's overflow falls partly into the lower one; the sensor ends at 10 V. Mass
 * balances with Bernoulli's outlets and brims; fourteen parameters.
 *
 *     npx tsx training/benchmarks/cascaded-tanks.ts train.csv --test test.csv
 *
 * What the balances have beyond textbook form was chosen one by one, as long as the error of blocks that were left out
 * of the training record fell (docs/leaderboard.md): that both tanks stay full at their brims rather than drain over
 * weirs, that the lower outlet's flow bends more than a root, and that the pump answers late.
 */
import type * as tfjs from '@tensorflow/tfjs';
import * as tf from '@tensorflow/tfjs';
import type {DerivativeAt} from '../../lib/index.js';
import {ode, rk4, signal} from '../../lib/index.js';
import {identify} from '../identify/identify.js';
import {levenbergMarquardt} from '../identify/least-squares.js';
import type {Parameter} from '../identify/parameters.js';
import {bounded, free, positive} from '../identify/parameters.js';
import type {MeasuredRecord} from '../identify/records.js';
import type {Benchmark, Experiment, Learnt} from './protocol.js';
import {blocks, program} from './protocol.js';

/** Sample interval in s; a tank takes minutes. */
const dt = 4;

/** Levels within this of a brim are at it, and of the sensor's end; in V. The sensor's last digit is 0.003 V. */
const edge = 0.02;

type Tanks = {
  readonly [
    name in
      'inflow' | 'pump' | 'delay' | 'upper' | 'lower' | 'area' | 'spilt' | 'linear' | 'square' | 'brim' | 'u' | 'rate'
  ]: tfjs.Tensor;
};

/** x where it is positive, else 0, with a bend of the given width. */
const positivePart = (x: tfjs.Tensor, width: number): tfjs.Tensor => tf.mul(width, tf.softplus(tf.div(x, width)));

/** What runs over: all that a full tank gains (flows are a hundredth of a volt a second). */
const overflow = (gain: tfjs.Tensor, level: tfjs.Tensor, brim: tfjs.Tensor | number): tfjs.Tensor =>
  tf.mul(positivePart(gain, 0.002), tf.sigmoid(tf.div(tf.sub(level, brim), edge)));

const root = (level: tfjs.Tensor): tfjs.Tensor => tf.sqrt(tf.div(positivePart(level, 0.05), 5));

/** Levels in V. The upper one's unit is free, for it is not measured: its brim is at 10. */
export const tanks = ode(({y, params}: DerivativeAt<Tanks>) => {
  const [upper, lower] = tf.unstack(y);
  const late = tf.sub(params.u, tf.mul(params.delay, params.rate));
  const inflow = tf.mul(0.01, tf.add(params.inflow, tf.mul(params.pump, tf.sub(late, 3))));
  const between = tf.mul(tf.mul(0.01, params.upper), root(upper));
  const gain = tf.sub(inflow, between);
  const spill = overflow(gain, upper, 10);
  const height = tf.div(lower, 5);
  const outflow = tf.mul(
    tf.mul(0.01, params.lower),
    tf.addN([root(lower), tf.mul(params.linear, height), tf.mul(params.square, tf.square(height))]),
  );
  const lowerGain = tf.sub(tf.add(tf.mul(params.area, between), tf.mul(params.spilt, spill)), outflow);
  return tf.stack([tf.sub(gain, spill), tf.sub(lowerGain, overflow(lowerGain, lower, params.brim))]);
});

/** The sensor of the lower level, which ends at 10 V. */
const observe = ({y}: {y: tfjs.Tensor}): tfjs.Tensor => tf.sub(10, positivePart(tf.sub(10, tf.gather(y, 1)), edge));

function recordOf({t, u, y}: Experiment): MeasuredRecord {
  const input = signal(t, u, 'linear');
  return {t, y, missing: 'skip', inputs: {u: input, rate: input.derivative}, initial: {y: [6, y[0]]}};
}

/** From textbook orders of magnitude: a quarter of an hour to fill, as much to run out. */
async function learn([data]: readonly Experiment[]): Promise<Learnt> {
  const record = recordOf(data);
  const problem = {system: tanks, observe, scheme: rk4(), dt, data: {...record, initial: undefined}};
  const method = levenbergMarquardt({maxIterations: 100, tolerance: {cost: 1e-7}});
  const plain = {
    inflow: positive(9),
    pump: positive(4),
    upper: positive(7.5),
    lower: positive(11),
    area: positive(1.4),
    spilt: positive(1.2),
    brim: bounded(9.5, 11, 9.85), // the sensor's end is a level to which the lower tank fills

    'initial.y': free([6, data.y[0]]),
  };
  const textbook = await identify({
    ...problem,
    parameters: {...plain, delay: fixedAt(0), linear: fixedAt(0), square: fixedAt(0)},
    method,
  });
  const found = textbook.estimate as {readonly [name: string]: number | Float64Array};
  const again = Object.fromEntries(
    Object.entries(plain).map(([name, parameter]) => [name, {...parameter, guess: guessFrom(parameter, found[name])}]),
  );
  const bent = await identify({
    ...problem,
    parameters: {...again, delay: free(0), linear: free(0), square: free(0)},
    method,
  });
  const values = Object.entries(bent.estimate as typeof found)
    .filter(([name]) => !name.startsWith('initial'))
    .map(([name, value]) => `${name} ${(value as number).toPrecision(3)}`);
  return {
    cost: bent.rmse.y,
    note: `${bent.rmse.y.toFixed(4)} V where it learnt (textbook ${textbook.rmse.y.toFixed(4)} V); ${values.join(', ')}`,
    async rmse(test) {
      const [{rmse}] = await bent.validate(recordOf(test), {warmUp: 50});
      return rmse;
    },
  };
}

/** What was found, away from the bounds that a search can run against. */
function guessFrom({low, high}: Parameter, value: number | Float64Array): Float64Array {
  const values = typeof value === 'number' ? Float64Array.of(value) : value;
  return Number.isFinite(high) ? values.map(one => Math.min(high - 0.1, Math.max(low + 0.1, one))) : values;
}

const fixedAt = (value: number): ReturnType<typeof free> => ({...free(value), kind: 'fixed'});

export const cascadedTanks: Benchmark = {
  name: 'cascaded-tanks',
  unit: 'V',
  scale: 1,
  columns: {t: 't_s', u: 'u_V', y: 'y_V'},
  learn,
  published: {
    linear: 0.588,
    GRU: 0.396,
    'CT-SUBNET': 0.306,
    'CT-SUBNET, best seed': 0.217,
    'neural ODE, mean': 0.333,
    'neural ODE, best of 24': 0.179,
    'grey box (Worden 2018)': 0.191,
  },
  splits: ([record]) => blocks(record, 8, 50),
};

program(import.meta.url, cascadedTanks);
