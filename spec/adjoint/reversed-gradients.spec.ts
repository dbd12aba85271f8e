/** Gradients through values read in reverse order, on the engine that writes in place, against closed forms. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {explicitEuler, implicitEuler, ode, simulate, unrolledAdjoint} from '../../lib/index.js';
import type {RunSettings} from '../../lib/simulate/options.js';

const [p, h] = [0.4, 0.3];
const y0 = [-0.85, -0.51, 0.4, 0.7, -0.2];
const w = [0.7, 1, 0.3, -0.4, 0.9];
const n = y0.length;

type Rate = (a: tf.Tensor) => tf.Tensor;

/** The gradient of w·y₁ by y₀, for y' = p·a + g(a) with a = y². */
function gradient(g: Rate, options: Partial<RunSettings>): Float64Array {
  const system = ode(({y, params}) => {
    const a = tf.square(y);
    return tf.add(tf.mul(params.p as tf.Tensor, a), g(a));
  });
  const {pullback} = simulate.vjp(system, {y: y0}, {...options, dt: h, steps: 1, params: {p}, saveAt: 'end'});
  return pullback({y: [new Array<number>(n).fill(0), w]}).initial.y as Float64Array;
}

describe('gradients through values in reverse order', () => {
  it('of tanh(reverse(y²)), one step of explicitEuler, as on paper', () => {
    const found = gradient(a => tf.tanh(tf.reverse(a)), {scheme: explicitEuler()});
    y0.forEach((y, i) => {
      // ∂/∂yᵢ Σ_k w_k (y_k + h (p y_k² + tanh(y²_{n−1−k}))).
      const slope = 1 - Math.tanh(y * y) ** 2;
      expect(found[i]).to.be.closeTo(w[i] * (1 + 2 * h * p * y) + w[n - 1 - i] * h * slope * 2 * y, 1e-14);
    });
  });

  const rates: {readonly [name: string]: Rate} = {
    reverse: a => tf.tanh(tf.reverse(a)),
    'every second, backwards': a => tf.mul(a, tf.sum(tf.stridedSlice(a, [4], [-6], [-2]))),
    'cumprod in reverse': a => tf.tanh(tf.cumprod(a, 0, false, true)),
    'cumprod in reverse, exclusive': a => tf.tanh(tf.cumprod(a, 0, true, true)),
    'cumsum in reverse': a => tf.tanh(tf.cumsum(a, 0, false, true)),
  };
  const ways: {readonly [name: string]: Partial<RunSettings>} = {
    'an explicit step': {scheme: explicitEuler()},
    'the default step': {},
    'an unrolled step': {scheme: implicitEuler(), adjoint: unrolledAdjoint()},
  };
  for (const [name, g] of Object.entries(rates)) {
    for (const [way, options] of Object.entries(ways)) {
      it(`of ${name}, back through ${way}: the same to the bit on both engines`, () => {
        expect(gradient(g, {...options, engine: 'wasm'})).to.deep.equal(
          gradient(g, {...options, engine: 'interpreter'}),
        );
      });
    }
  }
});
