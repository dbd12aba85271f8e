/** Gradients that are not finite are errors, which say where they began. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  adaptive,
  backsolveAdjoint,
  batch,
  dopri5,
  forwardSensitivity,
  GradientError,
  implicitAdjoint,
  implicitEuler,
  newton,
  ode,
  rk4,
  simulate,
  unrolledAdjoint,
} from '../../lib/index.js';
import {slow} from '../tiers.js';

const caught = (f: () => unknown): GradientError => {
  try {
    f();
  } catch (error) {
    expect(error).to.be.instanceOf(GradientError);
    expect(error).to.have.property('code', 'gradient-not-finite');
    return error as GradientError;
  }
  throw new Error('nothing was thrown');
};

/**
 * y₀' = k √|y₀ − ½|, y₁' = −y₁: y₀ starts at ½, where it stays and the root's slope is infinite, in every step. The sweep
 * back meets it in the last step first.
 */
const root = ode(({y, params}) => {
  const [a, b] = [tf.slice(y, 0, 1), tf.slice(y, 1, 1)];
  return tf.concat([tf.mul(params['k'] as tf.Tensor, tf.sqrt(tf.abs(tf.sub(a, 0.5)))), tf.neg(b)]);
});
const start = {y: [0.5, 1]};
const options = {scheme: rk4(), dt: 0.25, steps: 4, saveAt: 'end', params: {k: 1}} as const;
const weights = {
  y: [
    [0, 0],
    [1, 1],
  ],
};

describe('gradients that are not finite', () => {
  it('name step, time and the part where the sweep back met them first', () => {
    for (const adjoint of [implicitAdjoint(), implicitAdjoint({memory: 1})]) {
      const {pullback} = simulate.vjp(root, start, {...options, adjoint});
      const {data, message} = caught(() => pullback(weights));
      expect(data).to.include({step: 3, t: 0.75, name: 'y[0]'});
      expect(message).to.include('step 4, from t = 0.75');
      // Away from the root there is nothing to tell.
      expect(() => simulate.vjp(root, {y: [2, 1]}, {...options, adjoint}).pullback(weights)).to.not.throw();
    }
  });

  it("of Lorenz's system to t = 1000, whose cotangent leaves the range of numbers on the way", () => {
    // It grows by the largest exponent, 0.9: e^(0.9·1000) is above 1e308 after some 790 units of time.
    const lorenz = ode(({y, params}) => {
      const [a, b, c] = [0, 1, 2].map(i => tf.slice(y, i, 1));
      return tf.concat([
        tf.mul(10, tf.sub(b, a)),
        tf.sub(tf.mul(a, tf.sub(params['rho'] as tf.Tensor, c)), b),
        tf.sub(tf.mul(a, b), tf.mul(8 / 3, c)),
      ]);
    });
    const {pullback} = simulate.vjp(
      lorenz,
      {y: [1, 1, 1]},
      {scheme: rk4(), dt: 0.01, steps: 100_000, saveAt: 'end', params: {rho: 28}},
    );
    const {t, step} = caught(() =>
      pullback({
        y: [
          [0, 0, 0],
          [1, 1, 1],
        ],
      }),
    ).data as {t: number; step: number};
    expect(t).to.be.within(150, 280);
    expect(step).to.equal(Math.round(t / 0.01));
  }).timeout(20_000);

  slow('by every adjoint, tangents, second derivatives, batches, adaptive steps and the tape', () => {
    // √k at k = 0: the states and their own derivatives are finite.
    const source = ode(({y, params}) => tf.sub(tf.sqrt(params['k'] as tf.Tensor), y));
    const given = {...options, params: {k: 0}};
    caught(() => simulate.vjp(source, start, {...given, adjoint: forwardSensitivity()}).pullback(weights));
    // The continuous adjoint looks at itself after every interval.
    expect(() => simulate.vjp(source, start, {...given, adjoint: backsolveAdjoint()}).pullback(weights)).to.throw(
      'backsolveAdjoint: from t = 1',
    );
    for (const scheme of [rk4(), implicitEuler()])
      caught(() => simulate.vjp(source, start, {...given, scheme}).pullback(weights));
    expect(
      caught(() =>
        simulate
          .vjp(source, start, {
            ...given,
            scheme: implicitEuler(),
            newton: newton({iterations: 2}),
            adjoint: unrolledAdjoint(),
          })
          .pullback(weights),
      ).data['name'],
    ).to.equal('params.k');
    expect(caught(() => simulate.jvp(source, start, given, {params: {k: 1}})).data).to.include({t: 1, name: 'y[0]'});
    caught(() => simulate.hvp(source, start, given, ({y}) => tf.sum(y), {initial: {y: [1, 0]}}));
    expect(caught(() => batch.vjp(root, [{y: [2, 1]}, start], options).pullback([weights, weights])).data).to.include({
      member: 1,
      step: 3,
    });
    const adapted = caught(() =>
      simulate
        .vjp(root, start, {...options, steps: undefined, t1: 1, scheme: dopri5(), control: adaptive({rtol: 1e-4})})
        .pullback(weights),
    );
    expect(adapted.data).to.have.property('name', 'y[0]');
    expect(adapted.data['t']).to.be.within(0, 1);
    const k = tf.variable(tf.scalar(0));
    const taped = ode(({y}) => tf.sub(tf.sqrt(k), y));
    caught(() =>
      tf.tidy(() =>
        tf.variableGrads(
          () => tf.sum(simulate(taped, start, {...options, params: undefined}).y as tf.Tensor) as tf.Scalar,
          [k],
        ),
      ),
    );
    k.dispose();
  });
});
