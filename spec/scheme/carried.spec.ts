/** What a scheme carries beside q and v may depend on the first step's length: a two-step scheme starts in the past. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {defineScheme, mechanics, simulate} from '../../lib/index.js';

/** Central differences, q⁺ = 2q − q⁻ + h²a, started at q⁻ = q − hv + h²a/2. */
const twoStep = defineScheme({
  name: 'two-step',
  order: 2,
  unknown: [],
  carry: ({x, t, h, acceleration}) => ({
    last: tf.addN([x.q, tf.neg(tf.mul(h, x.v)), tf.mul(tf.square(h), tf.mul(acceleration(x.q, x.v, t), 0.5))]),
  }),
  update: (_, {x, t, h, acceleration}) => {
    const q = tf.addN([tf.mul(x.q, 2), tf.neg(x.last), tf.mul(tf.square(h), acceleration(x.q, x.v, t))]);
    return {q, v: tf.div(tf.sub(q, x.last), tf.mul(h, 2)), last: x.q};
  },
});
const oscillator = mechanics({mass: 1, forces: ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, q))});
const start = {q: 1, v: 0.3};
const options = {scheme: twoStep, saveAt: 'end', params: {k: 1}} as const;
const end = (steps: number, k = 1): number =>
  simulate(oscillator, start, {...options, dt: 1 / steps, steps, params: {k}}).values('q')[1];

describe('a scheme that carries the past', () => {
  it('starts at the length of the first step', () => {
    // q(1) = cos 1 + 0.3 sin 1; the start's error is h³ once, the scheme's h² overall.
    const exact = Math.cos(1) + 0.3 * Math.sin(1);
    const order = Math.log2((end(50) - exact) / (end(100) - exact));
    expect(order).to.be.closeTo(2, 0.05);
  });

  it('has its gradient and its tangent through that start', () => {
    const steps = 3;
    const h = 1e-5;
    const difference = (end(steps, 1 + h) - end(steps, 1 - h)) / (2 * h);
    const run = {...options, dt: 1 / steps, steps};
    const {pullback} = simulate.vjp(oscillator, start, run);
    expect((pullback({q: [0, 1]}).params.k as Float64Array)[0]).to.be.closeTo(difference, 1e-9);
    const {tangent} = simulate.jvp(oscillator, start, run, {params: {k: 1}});
    expect(tangent.q[1]).to.be.closeTo(difference, 1e-9);
  });
});
