/**
 * A double pendulum identified by two rigid bodies in maximal coordinates with revolute joints, against the same by two
 * angles: ratios of inertias, weights and friction from swings whose starts are taken as measured.
 */
import {existsSync} from 'node:fs';
import {fileURLToPath} from 'node:url';
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {arms, made, measured, type Swing} from '../../examples/pendulum.js';
import {implicitMidpoint, type Params} from '../../lib/index.js';
import {jointFriction, multibody, revolute} from '../../models/index.js';
import {free, identify, levenbergMarquardt, positive, type Identification} from '../../training/index.js';

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
const bodies = multibody({
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
function placed(q: readonly number[], v: readonly number[]): {q: number[][]; v: number[][]} {
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
const byAngles = (swings: readonly Swing[]): Promise<Identification> =>
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
const byBodies = (swings: readonly Swing[]): Promise<Identification> =>
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

const record = fileURLToPath(new URL('../../../shared/measured/pendulum/double.csv', import.meta.url));
const short = (all: readonly Swing[]): Swing[] =>
  all.slice(0, 2).map(({name, t, q, start}) => ({name, t: t.slice(0, 25), q: q.slice(0, 25), start}));

/** Both schemes are of second order, each in its own coordinates: they differ by a share of the step squared. */
async function alike(swings: readonly Swing[]): Promise<void> {
  const [one, other] = [await byAngles(swings), await byBodies(swings)];
  for (const [name, error] of Object.entries(one.standardError)) {
    const apart = Math.abs((one.estimate[name] as number) - (other.estimate[name] as number));
    expect(apart, name).to.be.below(0.1 * (error as number));
    expect(other.standardError[name] as number, name).to.be.closeTo(error as number, 0.02 * (error as number));
  }
  expect(other.cost).to.be.closeTo(one.cost, 2e-3 * one.cost);
  for (const {trajectories} of [one, other]) for (const trajectory of trajectories) trajectory.dispose();
}

describe('a double pendulum by bodies', function () {
  this.timeout(120_000);

  it('lies where its angles say', () => {
    const {q, v} = placed([Math.PI / 2, Math.PI], [1, 2]);
    [0.7, 0, -0.5].forEach((x, i) => expect(q[1][i]).to.be.closeTo(x, 1e-15));
    [-1, 0, -0.7].forEach((x, i) => expect(v[1][i]).to.be.closeTo(x, 1e-15));
  });

  it('is found in made swings as exactly as by angles', () => alike(short(made(2, 0.3))));

  it('is found in the measured swings as exactly as by angles', async function () {
    if (!existsSync(record)) {
      console.log('      skipped: pendulum/double.csv is not here');
      this.skip();
    }
    await alike(short(await measured(record, 10)));
  });
});
