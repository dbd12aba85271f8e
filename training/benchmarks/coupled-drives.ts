/**
 * Coupled electric drives (Wigren & Schoukens 2017): two motors turn a pulley by a flexible belt held by a spring. The output
 * is the pulley's speed without its sign, through the counter's filter.
 *
 *     npx tsx training/benchmarks/coupled-drives.ts train-1.csv train-2.csv --test test-1.csv test-2.csv
 *
 * A motor with a lag, whose gain falls with the voltage and grows with speed; the belt's lightly damped mode; the size
 * of the speed to a power; a filter. Terms were added one by one, as long as the error of samples left out of the
 * training records fell (docs/leaderboard.md).
 */
import type * as tfjs from '@tensorflow/tfjs';
import * as tf from '@tensorflow/tfjs';
import type {DerivativeAt} from '../../lib/index.js';
import {ode, rk4, signal} from '../../lib/index.js';
import type {Identification} from '../identify/identify.js';
import {identify} from '../identify/identify.js';
import {levenbergMarquardt} from '../identify/least-squares.js';
import {free, positive} from '../identify/parameters.js';
import type {MeasuredRecord} from '../identify/records.js';
import {rms} from '../report/script.js';
import type {Benchmark, Experiment, Learnt} from './protocol.js';
import {leftOut, program} from './protocol.js';

/** Half a sample: the belt swings in twelve samples. */
const dt = 0.01;

/** What stands for zero speed, in ticks/s: |w| bends over this much of it. */
const zero = 0.01;

const names = ['gain', 'falling', 'bias', 'growing', 'lag', 'pace', 'damping', 'power', 'offset', 'filter'] as const;
type Drives = {readonly [name in (typeof names)[number] | 'u']: tfjs.Tensor};

/** Motor, pulley, the pulley's acceleration, and the counter. Rates in units of 10 /s. */
export const drives = ode(({y, params}: DerivativeAt<Drives>) => {
  const [motor, pulley, acceleration, counter] = tf.unstack(y);
  const voltage = tf.sub(params.u, tf.mul(params.falling, tf.mul(params.u, tf.abs(params.u))));
  const drive = tf.sub(
    tf.add(tf.mul(params.gain, voltage), tf.mul(params.growing, tf.mul(motor, tf.abs(motor)))),
    params.bias,
  );
  const omega = tf.mul(10, params.pace);
  const belt = tf.sub(
    tf.mul(tf.square(omega), tf.sub(motor, pulley)),
    tf.mul(tf.mul(tf.mul(2, params.damping), omega), acceleration),
  );
  const size = tf.pow(tf.add(tf.square(pulley), zero ** 2), tf.div(params.power, 2));
  return tf.stack([
    tf.mul(tf.mul(10, params.lag), tf.sub(drive, motor)),
    acceleration,
    belt,
    tf.mul(tf.mul(10, params.filter), tf.sub(tf.add(size, params.offset), counter)),
  ]);
});

const observe = ({y}: {y: tfjs.Tensor}): tfjs.Tensor => tf.gather(y, 3);

function recordOf({name, t, u, y}: Experiment): MeasuredRecord {
  return {name, t, y, missing: 'skip', inputs: {u: signal(t, u, 'hold')}, initial: {y: [y[0], y[0], 0, y[0]]}};
}

type Estimate = {readonly [name: string]: number | Float64Array};

/** The least of fits from several paces of the belt: a wrong one is a minimum of its own. */
async function learn(records: readonly Experiment[]): Promise<Learnt> {
  const fitted = (guess: Estimate, all: boolean): Promise<Identification> => {
    const at = (name: (typeof names)[number]): number => guess[name] as number;
    const later = (name: (typeof names)[number]): ReturnType<typeof free> =>
      all ? free(at(name)) : {...free(at(name)), kind: 'fixed'};
    return identify({
      system: drives,
      observe,
      scheme: rk4(),
      dt,
      data: records.map(record => ({
        ...recordOf(record),
        initial: undefined,
        parameters: {
          'initial.y': free((guess[`${record.name}: initial.y`] as Float64Array | undefined) ?? [0.1, -0.1, 4, -0.05]),
        },
      })),
      parameters: {
        gain: positive(at('gain')),
        bias: free(at('bias')),
        lag: positive(at('lag')),
        pace: positive(at('pace')),
        damping: positive(at('damping')),
        filter: positive(at('filter')),
        power: positive(at('power')),
        growing: free(at('growing')),
        falling: later('falling'),
        offset: later('offset'),
      },
      method: levenbergMarquardt({maxIterations: 60, tolerance: {cost: 1e-6}}),
    });
  };
  const costOf = ({history}: Identification): number => history[history.length - 1].cost;
  let best: Identification | undefined;
  for (const pace of [1.5, 2, 2.5, 3]) {
    const fit = await fitted(
      {
        gain: 0.8,
        bias: 0.05,
        lag: 0.8,
        pace,
        damping: 0.14,
        filter: 2.5,
        power: 1.5,
        growing: 0.1,
        falling: 0,
        offset: 0,
      },
      false,
    );
    if (best === undefined || costOf(fit) < costOf(best)) best = fit;
  }
  const fit = await fitted((best as Identification).estimate, true);
  const errors = Object.values(fit.rmse);
  const spread = {
    residual: Math.sqrt(errors.reduce((sum, error) => sum + error ** 2, 0) / errors.length),
    motor: behind(fit, records),
  };
  return {
    cost: costOf(fit),
    note: `${Object.values(fit.rmse)
      .map(error => error.toFixed(3))
      .join(
        ', ',
      )} ticks/s where it learnt; ${names.map(name => `${name} ${(fit.estimate[name] as number).toPrecision(3)}`).join(', ')}`,
    rmse: test => freeRun(fit, spread, test),
  };
}

/** Samples that find the start. */
const warmUp = 10;

/** How far the motor runs behind its voltage, by the training records: mean square of motor − gain · u. */
function behind({trajectories, estimate}: Identification, records: readonly Experiment[]): number {
  const gain = estimate.gain as number;
  const squares = records.flatMap(({u}, k) =>
    Array.from(u, (voltage, i) => (trajectories[k].values('y')[4 * i] - gain * voltage) ** 2),
  );
  return squares.reduce((sum, square) => sum + square, 0) / squares.length;
}

/**
 * The output does not tell the direction: of both, the start that is likelier, by how it meets the warm-up and by how far
 * its motor is from its voltage, each by its spread in training.
 */
async function freeRun(
  fit: Identification,
  spread: {readonly residual: number; readonly motor: number},
  test: Experiment,
): Promise<number> {
  let least = {unlikely: Infinity, rmse: NaN};
  const speed = Math.max(test.y[0], zero) ** (1 / (fit.estimate.power as number));
  for (const sign of [1, -1]) {
    const record = {...recordOf(test), initial: {y: [sign * speed, sign * speed, 0, test.y[0]]}};
    const [{rmse, found}] = await fit.validate(record, {warmUp});
    const motion = fit.simulate({...record, initial: {y: found['initial.y']}});
    const warm = rms(motion.values('observed'), test.y, 0, warmUp);
    motion.dispose();
    const motor = found['initial.y'][0] - (fit.estimate.gain as number) * test.u[0];
    const unlikely = warmUp * (warm / spread.residual) ** 2 + motor ** 2 / spread.motor;
    if (unlikely < least.unlikely) least = {unlikely, rmse};
  }
  return least.rmse;
}

export const coupledDrives: Benchmark = {
  name: 'coupled-drives',
  unit: 'ticks/s',
  scale: 1,
  columns: {t: 't_s', u: 'u', y: 'y'},
  learn,
  published: {linear: [0.224, 0.384], pNARX: [0.1, 0.141], 'GP-NARX': [0.102, 0.09], 'CT-SUBNET': [0.115, 0.074]},
  // A hundred samples of one record left out, the other record whole.
  splits: records =>
    records.flatMap((record, k) =>
      [300, 200].map(from => {
        const split = leftOut(record, from, from + 100, warmUp);
        return {
          ...split,
          name: `${record.name} ${split.name}`,
          train: records.map((other, i) => (i === k ? split.train[0] : other)),
        };
      }),
    ),
};

program(import.meta.url, coupledDrives);
