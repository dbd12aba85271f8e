/**
 * A scheme from outside whose stages are linear equations: the Rosenbrock method ROS2 (Verwer, Spee, Blom &
 * Hundsdorfer, SIAM J. Sci. Comput. 20, 1999), γ = 1 + 1/√2. Products with the Jacobian of the system are
 * `traced.derivativeAlong`. Everything here is public.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {adaptive, defineScheme, ode, simulate, traced, type StepPoint} from '../../lib/index.js';

const gamma = 1 + Math.SQRT1_2;
const rateAt = (y: tf.Tensor, {t, rate}: StepPoint): tf.Tensor => rate({y}, t).y;

const ros2 = defineScheme({
  name: 'ros2',
  kind: 'ode',
  order: 2,
  unknown: ['k1', 'k2'],
  derivatives: {k1: 1, k2: 1},
  // (1 − γhJ)k₁ = f(y), (1 − γhJ)k₂ = f(y + hk₁) − 2k₁
  residual: ({k1, k2}, at) => {
    const {x, h} = at;
    const left = (k: tf.Tensor): tf.Tensor =>
      tf.sub(
        k,
        tf.mul(
          tf.mul(h, gamma),
          traced.derivativeAlong(({y}) => rateAt(y, at), {y: x.y}, {y: k}),
        ),
      );
    return {
      k1: tf.sub(left(k1), rateAt(x.y, at)),
      k2: tf.sub(left(k2), tf.sub(rateAt(tf.add(x.y, tf.mul(h, k1)), at), tf.mul(2, k1))),
    };
  },
  update: ({k1, k2}, {x, h}) => ({y: tf.add(x.y, tf.mul(h, tf.add(tf.mul(1.5, k1), tf.mul(0.5, k2))))}),
  // Beside it the method of first order y + hk₁.
  error: {order: 2, estimate: ({k1, k2}, {h}) => ({y: tf.mul(h, tf.mul(0.5, tf.add(k1, k2)))})},
});

const logistic = ode<{r: tf.Tensor}>(({y, params}) => tf.mul(params.r, tf.mul(y, tf.sub(1, y))));
const exact = (t: number, r: number): number => 1 / (1 + 9 * Math.exp(-r * t));
const end = (steps: number, r = 3): number =>
  simulate(logistic, {y: 0.1}, {scheme: ros2, dt: 1 / steps, steps, saveAt: 'end', params: {r}}).values('y')[1];

describe('a scheme from outside: a Rosenbrock method', () => {
  it('has order 2', () => {
    const [coarse, fine] = [100, 200].map(steps => Math.abs(end(steps) - exact(1, 3)));
    expect(Math.log2(coarse / fine)).to.be.closeTo(2, 0.1);
  });

  it('takes an iteration for each stage, and adaptive steps hold their tolerance', () => {
    const {stats} = simulate(logistic, {y: 0.1}, {scheme: ros2, dt: 0.01, steps: 100, params: {r: 3}});
    // Each stage is linear once those before it are known.
    expect(stats.newtonIterations).to.equal(2 * 100);
    const control = adaptive({rtol: 1e-6, atol: 1e-6});
    const path = simulate(logistic, {y: 0.1}, {scheme: ros2, dt: 0.01, t1: 1, control, saveAt: 'end', params: {r: 3}});
    expect(path.values('y')[1]).to.be.closeTo(exact(1, 3), 2e-6 * path.stats.steps);
  });

  it('has its stability function, which goes to zero, and its gradient that of differences', () => {
    const decay = ode<{rate: tf.Tensor}>(({y, params}) => tf.mul(params.rate, y));
    const R = (z: number): number =>
      (1 + (1 - 2 * gamma) * z + (0.5 - 2 * gamma + gamma * gamma) * z * z) / (1 - gamma * z) ** 2;
    for (const z of [-0.1, -1, -30, -1e3]) {
      const options = {scheme: ros2, dt: 1, steps: 1, params: {rate: z}, saveAt: 'end'} as const;
      const {trajectory, pullback} = simulate.vjp(decay, {y: [1]}, options);
      expect(trajectory.values('y')[1]).to.be.closeTo(R(z), 1e-14 * Math.max(1, -z));
      expect(pullback({y: [[0], [1]]}).initial.y![0]).to.be.closeTo(R(z), 1e-14 * Math.max(1, -z));
      trajectory.dispose();
    }
    // Central differences of fourth order at h = 1e-3: truncation and rounding are both below 1e-11.
    const h = 1e-3;
    const difference = (8 * (end(50, 3 + h) - end(50, 3 - h)) - (end(50, 3 + 2 * h) - end(50, 3 - 2 * h))) / (12 * h);
    const {trajectory, pullback} = simulate.vjp(logistic, {y: 0.1}, {scheme: ros2, dt: 0.02, steps: 50, saveAt: 'end', params: {r: 3}}); // prettier-ignore
    trajectory.dispose();
    expect((pullback({y: [0, 1]}).params.r as Float64Array)[0]).to.be.closeTo(difference, 1e-10);
  });
});
