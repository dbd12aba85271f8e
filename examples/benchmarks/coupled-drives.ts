/**
 * Coupled electric drives (Wigren & Schoukens 2017): two motors turn a pulley by a flexible belt held by a spring. The
 * output is the pulley's speed without its sign, through the counter's filter.
 *
 *     npx tsx examples/benchmarks/coupled-drives.ts train-1.csv train-2.csv --test test-1.csv test-2.csv
 *
 * A motor with a lag, whose gain grows with speed; the belt's mode, stiffer at speed and damped by it (one pulley slips
 * on the belt); a nonlinear counter, and its filter. Terms were added one by one, as long as the error on held-out
 * samples of the training records fell (docs/leaderboard.md).
 */
import type * as tfjs from '@tensorflow/tfjs';
import * as tf from '@tensorflow/tfjs';
import type {DerivativeAt} from '../../lib/index.js';
import {ode, rk4, signal} from '../../lib/index.js';
import {
  free,
  identify,
  levenbergMarquardt,
  positive,
  type Identification,
  type MeasuredRecord,
  type Parameter,
} from '../../training/index.js';
import {rms} from '../script.js';
import type {Benchmark, Estimate, Experiment, Learnt} from './protocol.js';
import {benchmark, leftOut, parameterText, trainingError} from './protocol.js';

/** Half a sample: the belt's period is twelve samples. */
const dt = 0.01;

/** Width over which |w| is rounded at zero, in ticks/s. */
const zero = 0.01;

const names = [
  ...(['gain', 'bias', 'growing', 'lag', 'pace', 'stiffening'] as const),
  ...(['damping', 'slipping', 'bend', 'filter'] as const),
] as const;
type Drives = {readonly [name in (typeof names)[number] | 'u']: tfjs.Tensor};

/** Motor, pulley, the pulley's acceleration, and the counter. Rates in units of 10 /s. */
export const drives = ode(({y, params}: DerivativeAt<Drives>) => {
  const [motor, pulley, acceleration, counter] = tf.unstack(y);
  const drive = tf.sub(
    tf.add(tf.mul(params.gain, params.u), tf.mul(params.growing, tf.mul(motor, tf.abs(motor)))),
    params.bias,
  );
  const speed = tf.sqrt(tf.add(tf.square(pulley), zero ** 2));
  const omega = tf.mul(tf.mul(10, params.pace), tf.add(1, tf.mul(params.stiffening, tf.square(pulley))));
  const damping = tf.add(params.damping, tf.mul(params.slipping, speed));
  const belt = tf.sub(
    tf.mul(tf.square(omega), tf.sub(motor, pulley)),
    tf.mul(tf.mul(tf.mul(2, damping), omega), acceleration),
  );
  const size = tf.mul(speed, tf.add(1, tf.mul(params.bend, speed)));
  return tf.stack([
    tf.mul(tf.mul(10, params.lag), tf.sub(drive, motor)),
    acceleration,
    belt,
    tf.mul(tf.mul(10, params.filter), tf.sub(size, counter)),
  ]);
});

const observe = ({y}: {y: tfjs.Tensor}): tfjs.Tensor => tf.gather(y, 3);

function recordOf({name, t, u, y}: Experiment): MeasuredRecord {
  return {name, t, y, missing: 'skip', inputs: {u: signal(t, u, 'hold')}, initial: {y: [y[0], y[0], 0, y[0]]}};
}

/** The speed at which the counter would stay, v (1 + bend·v). */
const speedOf = (counted: number, bend: number): number =>
  bend > 0 ? (Math.sqrt(1 + 4 * bend * Math.max(counted, 0)) - 1) / (2 * bend) : Math.max(counted, 0);

/** Initial guesses, besides the belt frequencies that are tried. */
const guess: Estimate = {
  ...{gain: 0.3, bias: 0, growing: 0.3, lag: 0.8, stiffening: 0, damping: 0.1, slipping: 0.1, bend: 2, filter: 3},
  start: Float64Array.of(0.1, -0.1, 4, -0.05),
};

/** The best of fits from several belt frequencies: a wrong one leads to another local minimum. */
async function learn(records: readonly Experiment[]): Promise<Learnt> {
  let best: Identification | undefined;
  for (const pace of [1.5, 2, 2.5, 3]) {
    const one = await fitted(records, {...guess, pace});
    if (best === undefined || costOf(one) < costOf(best)) best = one;
  }
  const fit = best as Identification;
  const errors = Object.values(fit.rmse);
  const spread = {residual: trainingError(fit), motor: behind(fit, records)};
  return {
    cost: costOf(fit),
    note: `${errors.map(error => error.toFixed(3)).join(', ')} ticks/s where it learnt; ${parameterText(fit)}`,
    rmse: test => freeRun(fit, spread, test),
  };
}

const costOf = ({history}: Identification): number => history[history.length - 1].cost;

/** Sizes that cannot be negative; the others may be. */
const sizes: readonly string[] = ['gain', 'lag', 'pace', 'damping', 'filter', 'bend'];

function fitted(records: readonly Experiment[], from: Estimate): Promise<Identification> {
  return identify({
    system: drives,
    observe,
    scheme: rk4(),
    dt,
    data: records.map(record => ({
      ...recordOf(record),
      initial: undefined,
      parameters: {'initial.y': free(from.start as Float64Array)},
    })),
    parameters: Object.fromEntries(
      names.map(name => [name, (sizes.includes(name) ? positive : free)(from[name] as number)]),
    ) as unknown as {readonly [name in (typeof names)[number]]: Parameter},
    method: levenbergMarquardt({maxIterations: 100, tolerance: {cost: 1e-7}}),
  });
}

/** Samples that determine the initial state. */
const warmUp = 10;

/** The motor's deviation from its voltage in the training records: mean square of motor − gain · u. */
function behind({trajectories, estimate}: Identification, records: readonly Experiment[]): number {
  const gain = estimate.gain as number;
  const squares = records.flatMap(({u}, k) =>
    Array.from(u, (voltage, i) => (trajectories[k].values('y')[4 * i] - gain * voltage) ** 2),
  );
  return squares.reduce((sum, square) => sum + square, 0) / squares.length;
}

/**
 * The output does not show the direction. Of the two possible initial states, takes the likelier one, by its error over
 * the warm-up and by the motor's deviation from its voltage, each relative to its spread in training.
 */
async function freeRun(
  fit: Identification,
  spread: {readonly residual: number; readonly motor: number},
  test: Experiment,
): Promise<number> {
  let least = {unlikely: Infinity, rmse: NaN};
  const speed = speedOf(test.y[0], fit.estimate.bend as number);
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
  // A hundred samples of one record are held out; the other record is used whole.
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

benchmark(import.meta.url, coupledDrives);
