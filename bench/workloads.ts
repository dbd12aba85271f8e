/**
 * What is measured, written as a user would: tfjs functions and options. Every workload has one loss,
 * Σ(q_T² + v_T²), and one parameter tree that the gradient is taken with respect to. `reference` is what
 * all contestants must find before they are timed.
 */
import * as tf from '@tensorflow/tfjs';
import type {Initial, NumericParams, SimulateOptions, System} from '../lib/index.js';
import {implicitMidpoint, mechanics} from '../lib/index.js';
import {springMesh} from '../models/index.js';
import {rodChain} from '../models/linkages.js';
import {layer} from './weights.js';

/** Runs and their gradients, defined here. */
export type RunName = 'chain' | 'net' | 'mlp' | 'rods';
export type WorkloadName = RunName | TrainingName | 'dense';
/** Workloads whose gradient is a step of training (training-rows.ts). */
export const trainingNames = [
  'spiral',
  'spiral-adaptive',
  'small-net',
  'latent-ode',
  'hybrid',
  'lotka-volterra',
] as const;
export type TrainingName = (typeof trainingNames)[number];

export const isTraining = (name: WorkloadName): name is TrainingName => trainingNames.includes(name as TrainingName);

export interface Workload {
  readonly system: System;
  readonly initial: Initial;
  readonly options: SimulateOptions & {readonly params: NumericParams};
  /** Numbers in q. */
  readonly size: number;
}

/** W1: n unit masses in a row, one end on a wall, springs k(d + d³/2), damping 0.1, gravity 1. */
export function chainWorkload(n: number): Workload {
  const system = mechanics({
    mass: 1,
    forces: ({q, v, params}) => {
      const before = tf.concat([tf.zeros([1]), tf.slice(q, [0], [n - 1])]);
      const d = tf.sub(q, before);
      const tension = tf.mul(params.k as tf.Tensor, tf.add(d, tf.mul(tf.mul(tf.mul(d, d), d), 0.5)));
      const after = tf.concat([tf.slice(tension, [1], [n - 1]), tf.zeros([1])]);
      return tf.add(tf.sub(tf.sub(after, tension), tf.mul(v, 0.1)), 1);
    },
  });
  const options = {
    scheme: implicitMidpoint(),
    dt: 0.01,
    steps: 200,
    saveAt: 'end',
    params: {k: new Float64Array(n).fill(1e4)},
  } as const;
  return {system, options, size: n, initial: {q: new Float64Array(n), v: new Float64Array(n)}};
}

/** Steps of the net: enough for it to fall and be caught, few enough for a peer that is slow. */
export const netSteps = 10;

/**
 * A square cloth of side 1 and mass 1, `rows`² knots, of springs along rows and columns, unstressed at the start,
 * hung at two corners; gradient with respect to every spring's stiffness.
 */
export function netWorkload(rows: number): Workload {
  const cloth = springMesh({
    rows,
    columns: rows,
    spacing: 1 / (rows - 1),
    held: [
      [0, 0],
      [0, rows - 1],
    ],
    mass: 1 / (rows * rows),
    g: 9.81,
    drag: 0.1 / (rows * rows),
    stiffness: params => params.k as tf.Tensor,
  });
  const q = cloth.positions;
  const options = {
    scheme: implicitMidpoint(),
    dt: 0.01,
    steps: netSteps,
    saveAt: 'end',
    params: {k: new Float64Array(cloth.edges.length).fill(100)},
  } as const;
  return {system: cloth, options, size: 3 * q.length, initial: {q, v: q.map(() => [0, 0, 0])}};
}

/** Steps of the rods. */
export const rodSteps = 20;

/**
 * n rigid rods of length 1 in the plane, point masses 1 between them, held at one end and let go from a
 * coil, each rod turned by 1 rad against the last: positions stay within 2 of one another for every n, so
 * that every size has the same work, and the same rounding, for a rod. Gradient with respect to all masses.
 */
export function rodsWorkload(n: number): Workload {
  const system = rodChain({links: n, length: 1, g: 1, mass: params => params.m as tf.Tensor});
  const q: number[][] = [];
  for (let i = 0, x = 0, y = 0; i < n; i++) q.push([(x += Math.cos(i)), (y += Math.sin(i))]);
  const options = {
    scheme: implicitMidpoint(),
    dt: 0.01,
    steps: rodSteps,
    saveAt: 'end',
    params: {m: new Float64Array(n).fill(1)},
  } as const;
  return {system, options, size: 2 * n, initial: {q, v: q.map(() => [0, 0])}};
}

/** n masses on stiff springs to the ground, and a force of two hidden layers of 64 on all their positions and velocities. */
export function mlpWorkload(n: number): Workload {
  const sizes = [2 * n, 64, 64, n];
  const params = Object.fromEntries(sizes.slice(1).map((to, i) => [`w${i}`, layer(i, sizes[i], to)]));
  const system = mechanics({
    mass: 1,
    forces: ({q, v, params: p}) => {
      let x: tf.Tensor = tf.reshape(tf.concat([q, v]), [1, 2 * n]);
      for (let i = 0; i < 3; i++) {
        x = tf.matMul(x, p[`w${i}`] as tf.Tensor2D);
        if (i < 2) x = tf.tanh(x);
      }
      return tf.sub(tf.reshape(x, [n]), tf.add(tf.mul(q, 1000), tf.mul(v, 0.1)));
    },
  });
  const options = {scheme: implicitMidpoint(), dt: 0.01, steps: 200, saveAt: 'end', params} as const;
  return {
    system,
    options,
    size: n,
    initial: {q: Float64Array.from({length: n}, (_, i) => 0.1 * (i + 1)), v: new Float64Array(n)},
  };
}

export function workload(name: RunName, n: number): Workload {
  if (name === 'chain') return chainWorkload(n);
  if (name === 'rods') return rodsWorkload(n);
  return name === 'net' ? netWorkload(n) : mlpWorkload(n);
}

export interface Answer {
  readonly loss: number;
  readonly gradientNorm: number;
}

/** Loss and gradient norm of the chain as first measured, by size: five digits are asked for. */
export const chainReference: ReadonlyMap<number, Answer> = new Map([
  [8, {loss: 0.010095, gradientNorm: 1.2801e-5}],
  [32, {loss: 0.227852, gradientNorm: 3.4296e-5}],
  [128, {loss: 154.157, gradientNorm: 2.6855e-3}],
]);
