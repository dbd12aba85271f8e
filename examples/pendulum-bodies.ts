/**
 * The measured double pendulum once more, by two rigid bodies in maximal coordinates with revolute joints in place of
 * two angles: the same ratios of inertias, weights and friction from the same swings, whose starts are taken as
 * measured.
 *
 *     npx tsx examples/pendulum-bodies.ts [double.csv] [--short]
 */
import * as tf from '@tensorflow/tfjs';
import {implicitMidpoint} from '../lib/index.js';
import type {Params} from '../lib/index.js';
import {jointFriction, multibody, revolute} from '../models/index.js';
import {
  errorText,
  free,
  identify,
  levenbergMarquardt,
  measuredText,
  positive,
  type Identification,
} from '../training/index.js';
import {arms, made, measured, type Swing} from './pendulum.js';
import {printTable, script, shown, type ScriptArguments} from './script.js';

/**
 * Lengths from hinge to hinge and from the lower hinge to a centre. A free motion tells ratios only, so that any will
 * do for which both bodies have an inertia left: their centres are placed there, and the weights act as torques.
 */
const [link, centre] = [0.7, 0.5];
/** In s: the two differ by a share of its square, a tenth of a standard error at most. */
const dt = 0.001;

const named = (params: Params): {readonly [name: string]: tf.Tensor} => params as {readonly [name: string]: tf.Tensor};
/** Of the lower body: the coupling is mass · centre · link. */
const mass = (params: Params): tf.Tensor => tf.div(named(params).coupling, centre * link);
const moments = (about: tf.Tensor): tf.Tensor => tf.stack([tf.onesLike(about), about, tf.onesLike(about)]);
const y: [number, number, number] = [0, 1, 0];
/** Angles from upright, of rotations about y. */
const angles = (q: tf.Tensor): tf.Tensor => {
  const [, , , w, , sine] = tf.unstack(q, 1);
  return tf.mul(2, tf.atan2(sine, w));
};

/** The upper body's centre lies in its hinge. */
export const bodies = multibody({
  bodies: {
    upper: {mass: 1, inertia: params => moments(tf.sub(1, tf.mul(mass(params), link ** 2)))},
    lower: {
      mass,
      inertia: params => moments(tf.sub(named(params).inertia, tf.mul(mass(params), centre ** 2))),
      position: [0, 0, link + centre],
    },
  },
  joints: {
    hinge: revolute('ground', 'upper', {at: [0, 0, 0], axis: y}),
    elbow: revolute('upper', 'lower', {at: [0, 0, link], axis: y}),
  },
  forces: [
    ({q, params}) => {
      const {upperWeight, lowerWeight} = named(params);
      const torque = tf.mul(tf.stack([upperWeight, lowerWeight]), tf.sin(angles(q)));
      const none = tf.zerosLike(torque);
      return tf.stack([none, none, none, none, torque, none], 1);
    },
    ...(['upper', 'lower'] as const).map(arm =>
      jointFriction(arm === 'upper' ? 'ground' : 'upper', arm, {
        axis: y,
        viscous: params => named(params)[`${arm}Viscous`],
        coulomb: params => named(params)[`${arm}Dry`],
        velocityScale: 0.1,
      }),
    ),
  ],
});

/** Poses and velocities of both bodies at two angles. */
export function placed(q: readonly number[], v: readonly number[]): {q: number[][]; v: number[][]} {
  const along = (angle: number): number[] => [Math.sin(angle), 0, Math.cos(angle)];
  const across = (angle: number): number[] => [Math.cos(angle), 0, -Math.sin(angle)];
  const turn = (angle: number): number[] => [Math.cos(angle / 2), 0, Math.sin(angle / 2), 0];
  const sum = (x: readonly number[], z: readonly number[], a: number, b: number): number[] =>
    x.map((e, i) => a * e + b * z[i]);
  return {
    q: [
      [0, 0, 0, ...turn(q[0])],
      [...sum(along(q[0]), along(q[1]), link, centre), ...turn(q[1])],
    ],
    v: [
      [0, 0, 0, 0, v[0], 0],
      [...sum(across(q[0]), across(q[1]), link * v[0], centre * v[1]), 0, v[1], 0],
    ],
  };
}

const sought = () => ({
  coupling: positive(0.45),
  inertia: positive(0.5),
  upperWeight: positive(50),
  lowerWeight: positive(25),
  upperViscous: free(0.01),
  upperDry: free(0.01),
  lowerViscous: free(0.01),
  lowerDry: free(0.01),
});
const method = levenbergMarquardt({tolerance: {cost: 1e-10}});

/** By two angles. */
export const byAngles = (swings: readonly Swing[]): Promise<Identification> =>
  identify({
    system: arms,
    scheme: implicitMidpoint(),
    dt,
    data: swings.map(({name, t, q, start}) => ({
      name,
      t,
      q: q.map(row => [...row]),
      initial: {q: [...start.q], v: [...start.v]},
    })),
    parameters: sought(),
    method,
  });

/** By two bodies. */
export const byBodies = (swings: readonly Swing[]): Promise<Identification> =>
  identify({
    system: bodies,
    scheme: implicitMidpoint(),
    dt,
    observe: ({q}) => angles(q),
    data: swings.map(({name, t, q, start}) => ({
      name,
      t,
      y: q.map(row => [...row]),
      initial: placed(start.q, start.v),
    })),
    parameters: sought(),
    method,
  });

async function main({path, short}: ScriptArguments): Promise<void> {
  const [count, samples] = short ? [2, 12] : [6, 40];
  const all = path === undefined ? made(count, 1) : (await measured(path, 10)).slice(0, count);
  // The start of each swing: what is fitted over longer is above all the error of the measured start.
  const swings = all.map(({name, t, q, start}) => ({name, t: t.slice(0, samples), q: q.slice(0, samples), start}));
  const one = await shown('By angles', () => byAngles(swings));
  const other = await shown('By bodies', () => byBodies(swings));
  printTable([
    ['over the upper inertia', 'by angles', 'by bodies', 'std. error'],
    ...Object.keys(one.estimate).map(name => [
      name,
      ...[one, other].map(found => measuredText(found.estimate[name] as number, found.standardError[name] as number)),
      errorText(one.standardError[name] as number),
    ]),
  ]);
  const [byTwo, bySix] = [one, other].map(({cost}) => Math.sqrt((2 * cost) / (2 * swings.length * samples)));
  console.log(`rmse ${byTwo.toPrecision(7)} and ${bySix.toPrecision(7)} rad`);
}

script(import.meta.url, 'pendulum-bodies', 'Parameters of a double pendulum, by angles and by rigid bodies.', main);
