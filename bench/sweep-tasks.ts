/** Tasks of bench/sweeps.ts. */
'use stiffgrad task';

import * as tf from '@tensorflow/tfjs';
import {mechanics, rk4, simulate} from '../lib/index.js';
import type {TaskContext} from '../sweep/index.js';
import {gaussian} from '../training/data/noise.js';
import {identify, positive} from '../training/index.js';

const oscillator = mechanics<{k: tf.Tensor; c: tf.Tensor}>({
  mass: 1,
  forces: [({q, params: {k}}) => tf.neg(tf.mul(k, q)), ({v, params: {c}}) => tf.neg(tf.mul(c, v))],
});
const options = {scheme: rk4(), dt: 0.05, steps: 60};

/** Stiffness and damping of a spring from 61 positions with noise: a record by simulation, and its identification. */
export async function identification({k, c}: {k: number; c: number}, {seed}: TaskContext) {
  const run = simulate(oscillator, {q: 1, v: 0}, {...options, params: {k, c}});
  const draw = gaussian(seed);
  const q = run.values('q').map(value => value + 0.01 * draw());
  const fit = await identify({
    system: oscillator,
    initial: {q: 1, v: 0},
    data: {t: run.values('t'), q},
    parameters: {k: positive(10), c: positive(0.3)},
    scheme: rk4(),
    dt: options.dt,
    residuals: 'independent',
  });
  return {...fit.estimate, converged: fit.converged};
}

export function square({x}: {x: number}): number {
  return x * x;
}

/** The logistic map, without garbage and without a compiler beside it: a million turns are some 2 ms of one thread. */
export function logistic({x, millions}: {x: number; millions: number}): number {
  let y = 0.3 + 0.4 * x;
  for (let i = 0; i < 1e6 * millions; i++) y = 3.9 * y * (1 - y);
  return y;
}
