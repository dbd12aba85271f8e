/**
 * A physical double pendulum swinging free (dynamicslab/MultiArm-Pendulum; Kaheman et al. 2022): the ratios of its
 * inertias and weights and the friction of its two hinges, from many short records at once, each with a start of
 * its own. A free motion tells ratios only: everything is over the upper arm's inertia about its hinge.
 *
 *     npx tsx examples/pendulum.ts [double.csv]
 *
 * Columns of a record: split, segment, time_s, phi1_rad, phi2_rad, dphi1_rad_s, dphi2_rad_s, angles from upright.
 */
import * as tf from '@tensorflow/tfjs';
import {mechanics, rk4, simulate} from '../lib/index.js';
import type {Params} from '../lib/index.js';
import {gaussian} from '../training/data/noise.js';
import {
  free,
  identify,
  levenbergMarquardt,
  positive,
  readTable,
  reports,
  type Identification,
  type MeasuredRecord,
} from '../training/index.js';
import {printTable, script, shown, type ScriptArguments} from './script.js';

/** Step of the simulation in s; the fastest swing takes half a second. */
const dt = 0.002;

/** The scale in tanh(v/scale) for the sign of v, in rad/s: well below the speeds between turning points. */
const frictionScale = 0.1;

export interface Swing {
  readonly name: string;
  /** In s, from 0. */
  readonly t: Float64Array;
  readonly q: readonly (readonly number[])[];
  readonly start: {readonly q: readonly number[]; readonly v: readonly number[]};
}

const parts = (x: tf.Tensor): [tf.Tensor, tf.Tensor] => [tf.gather(x, 0), tf.gather(x, 1)];
const named = (params: Params): {readonly [name: string]: tf.Tensor} => params as {readonly [name: string]: tf.Tensor};

/**
 * Two compound arms, angles φ from upright; over the upper arm's inertia (with the lower hinge's load): coupling
 * m₂a₂l₁, lower inertia, weights. c and f are each hinge's viscous and dry friction.
 */
export const arms = mechanics({
  mass: ({q, params}) => {
    const {coupling, inertia} = named(params);
    const [upper, lower] = parts(q);
    const mixed = tf.mul(coupling, tf.cos(tf.sub(upper, lower)));
    return tf.reshape(tf.stack([tf.onesLike(inertia), mixed, mixed, inertia]), [2, 2]);
  },
  forces: [
    ({q, v, params}) => {
      const {coupling, upperWeight, lowerWeight} = named(params);
      const [[upper, lower], [upperRate, lowerRate]] = [parts(q), parts(v)];
      const turning = tf.mul(coupling, tf.sin(tf.sub(upper, lower)));
      return tf.stack([
        tf.sub(tf.mul(upperWeight, tf.sin(upper)), tf.mul(turning, tf.square(lowerRate))),
        tf.add(tf.mul(lowerWeight, tf.sin(lower)), tf.mul(turning, tf.square(upperRate))),
      ]);
    },
    ({v, params}) => {
      const {upperViscous, upperDry, lowerViscous, lowerDry} = named(params);
      const [upper, lower] = parts(v);
      const hinge = (rate: tf.Tensor, viscous: tf.Tensor, dry: tf.Tensor): tf.Tensor =>
        tf.add(tf.mul(viscous, rate), tf.mul(dry, tf.tanh(tf.div(rate, frictionScale))));
      const between = hinge(tf.sub(lower, upper), lowerViscous, lowerDry);
      return tf.stack([tf.sub(between, hinge(upper, upperViscous, upperDry)), tf.neg(between)]);
    },
  ],
});

/** Every `stride`-th sample of each segment. */
export async function measured(path: string, stride: number): Promise<Swing[]> {
  const table = await readTable(path, {text: ['split']});
  const segment = table.column('segment');
  const [t, ...columns] = ['time_s', 'phi1_rad', 'phi2_rad', 'dphi1_rad_s', 'dphi2_rad_s'].map(name =>
    table.column(name),
  );
  return [...new Set(segment)].map(number => {
    const first = segment.indexOf(number);
    const rows = [...segment.keys()].filter(i => segment[i] === number && (i - first) % stride === 0);
    const [upper, lower, upperRate, lowerRate] = columns.map(column => rows.map(i => column[i]));
    return {
      // To the tenth of a millisecond that the file is written with.
      name: `segment ${number}`,
      t: Float64Array.from(rows, i => Math.round(1e4 * (t[i] - t[first])) / 1e4),
      q: upper.map((angle, i) => [angle, lower[i]]),
      start: {q: [upper[0], lower[0]], v: [upperRate[0], lowerRate[0]]},
    };
  });
}

export const truth = {
  coupling: 0.49,
  inertia: 0.556,
  upperWeight: 58.9,
  lowerWeight: 27.8,
  upperViscous: 0.03,
  upperDry: 0.045,
  lowerViscous: 0.004,
  lowerDry: 0.023,
};

/** Swings of a pendulum with the given parameters, with noise of the encoders' size. */
export function made(count: number, seconds: number): Swing[] {
  const noise = gaussian(17);
  return Array.from({length: count}, (_, i) => {
    const start = {
      q: [Math.PI + 1.4 * Math.cos(i), Math.PI - 1.2 * Math.sin(2 * i + 1)],
      v: [3 * Math.sin(i), 2 * Math.cos(i)],
    };
    const path = simulate(arms, start, {scheme: rk4(), dt, t1: seconds, saveAt: {every: 5}, params: truth});
    const [t, flat] = [path.values('t'), path.values('q').map(angle => angle + 1e-3 * noise())];
    path.dispose();
    return {name: `swing ${i + 1}`, t, q: Array.from(t, (_, k) => [flat[2 * k], flat[2 * k + 1]]), start};
  });
}

/** All swings together; each start is looked for, for a measured rate is a difference of noisy angles. */
export function identifyPendulum(
  swings: readonly Swing[],
  onProgress?: Parameters<typeof identify>[0]['onProgress'],
): Promise<Identification> {
  return identify({
    system: arms,
    scheme: rk4(),
    dt,
    data: swings.map(({name, t, q, start}): MeasuredRecord => ({
      name,
      t,
      q: q.map(row => [...row]),
      initial: {q: [...start.q], v: [...start.v]},
      parameters: {'initial.q': free([...start.q]), 'initial.v': free([...start.v])},
    })),
    parameters: {
      coupling: positive(0.4),
      inertia: positive(0.4),
      upperWeight: positive(50),
      lowerWeight: positive(20),
      upperViscous: free(0.01),
      upperDry: free(0.01),
      lowerViscous: free(0.01),
      lowerDry: free(0.01),
    },
    method: levenbergMarquardt({tolerance: {cost: 1e-9}}),
    onProgress,
  });
}

/** Mean over the swings of each angle's root mean square error, in rad. */
export function meanErrors(swings: readonly Swing[], {rmse}: Identification): [number, number] {
  const mean = (angle: number): number =>
    swings.reduce((sum, {name}) => sum + (rmse[`${name}: q[${angle}]`] ?? rmse[`q[${angle}]`]), 0) / swings.length;
  return [mean(0), mean(1)];
}

export async function main({path, report, short}: ScriptArguments): Promise<void> {
  const swings = path === undefined ? made(short ? 3 : 12, short ? 1 : 2.5) : await measured(path, 10);
  console.log(
    `A double pendulum, ${path === undefined ? 'simulated here with noise' : 'measured'}: ${swings.length} swings of `
      + `${swings[0].t.length} samples.\n`,
  );
  const found = await shown('Identifying', show => identifyPendulum(swings, show.fit));
  const names = Object.keys(truth) as (keyof typeof truth)[];
  printTable([
    ['over the upper inertia', 'estimate', 'std. error', ...(path === undefined ? ['truth'] : [])],
    ...names.map(name => [
      name,
      reports.measuredText(found.estimate[name] as number, found.standardError[name] as number),
      (found.standardError[name] as number).toPrecision(2),
      ...(path === undefined ? [String(truth[name])] : []),
    ]),
  ]);
  const [upper, lower] = meanErrors(swings, found);
  const errors =
    `mean error of a swing: upper arm ${(1e3 * upper).toFixed(2)} mrad, lower arm `
    + `${(1e3 * lower).toFixed(2)} mrad`;
  console.log(`${errors}${path === undefined ? '' : ' (published model: 8.1 and 11.0 mrad)'}\n${found.message}`);
  await found.report(report, {
    title: 'A double pendulum',
    description: 'Ratios of inertias and weights, and the friction of both hinges, from all swings at once.',
    notes: [`${errors}.`],
  });
  console.log(`Report: ${report}`);
}

script(import.meta.url, 'pendulum', 'Parameters of a double pendulum from its free swings.', main);
