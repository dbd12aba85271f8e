/** Oscillators that move slowly and then jump: states keep their digits along adaptive steps, and derivatives do not. */
import * as tf from '@tensorflow/tfjs';
import type {OdeSystem} from '../../lib/index.js';
import {ode} from '../../lib/index.js';

export interface Oscillator {
  readonly name: string;
  readonly system: OdeSystem<{p: tf.Tensor}>;
  readonly start: {readonly y: number[]};
  readonly p: number;
  readonly t1: number;
}

const system = (derivative: (y: tf.Tensor[], p: tf.Tensor) => tf.Tensor[]): Oscillator['system'] =>
  ode<{p: tf.Tensor}>(({y, params: {p}}) => tf.stack(derivative(tf.unstack(y), p)));

/** x'' = p (1 − x²) x' − x; new with every call, so that nothing is known of it. @param k multiplies x */
export const vanDerPol = (k = 1): Oscillator['system'] =>
  system(([x, v], p) => [v, tf.sub(tf.mul(tf.mul(p, tf.sub(1, tf.square(x))), v), tf.mul(k, x))]);

export const oscillators: readonly Oscillator[] = [
  {name: 'van der Pol', system: vanDerPol(), start: {y: [2, 0]}, p: 100, t1: 200},
  {
    name: 'FitzHugh–Nagumo',
    system: system(([v, w], p) => [
      tf.mul(1000, tf.add(tf.sub(tf.sub(v, tf.div(tf.mul(v, tf.square(v)), 3)), w), p)),
      tf.sub(tf.add(v, 0.7), tf.mul(0.8, w)),
    ]),
    start: {y: [-1, 1]},
    p: 0.5,
    t1: 10,
  },
  {
    name: 'Rayleigh',
    system: system(([x, v], p) => [v, tf.sub(tf.mul(p, tf.sub(v, tf.div(tf.mul(v, tf.square(v)), 3))), x)]),
    start: {y: [0.5, 1]},
    p: 50,
    t1: 200,
  },
  {
    // Field & Noyes 1974, in the form of Hairer & Wanner, Solving ODEs II, §IV.10.
    name: 'Oregonator',
    system: system(([a, b, c], p) => [
      tf.mul(77.27, tf.add(b, tf.mul(a, tf.sub(tf.sub(1, tf.mul(8.375e-6, a)), b)))),
      tf.div(tf.sub(c, tf.mul(tf.add(1, a), b)), 77.27),
      tf.mul(p, tf.sub(a, c)),
    ]),
    start: {y: [1, 2, 3]},
    p: 0.161,
    t1: 360,
  },
];
