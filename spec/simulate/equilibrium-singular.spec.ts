/** An equilibrium that is not isolated says so in the same words, whether the search meets it or the way back. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {equilibrium, mechanics, ode, simulate, trapezoid} from '../../lib/index.js';

describe('an equilibrium that is not isolated', () => {
  // a ⇌ b keeps a + b.
  const reaction = ode<{k: tf.Tensor}>(({y, params}) => {
    const [a, b] = tf.unstack(y);
    const [there, back] = tf.unstack(params.k);
    const rate = tf.sub(tf.mul(there, a), tf.mul(back, b));
    return tf.stack([tf.neg(rate), rate]);
  });
  const messageOf = (act: () => unknown): string => {
    try {
      act();
    } catch (error) {
      return `${(error as {code: string}).code}: ${(error as Error).message}`;
    }
    return '';
  };

  it('a conserved total: from rest, where the search has nothing to do, and from elsewhere', () => {
    const options = {params: {k: [0.7, 0.2]}};
    const pulled = messageOf(() => equilibrium.vjp(reaction, {y: [0.2, 0.7]}, options).pullback({y: [1, 0]}));
    expect(pulled).to.equal(messageOf(() => equilibrium(reaction, {y: [2, 0]}, options)));
    expect(pulled).to.match(/^singular-step: The equilibrium: .* y\[0\], y\[1\] depend on one another\. A quantity/);
  });

  it('a motion that no force resists', () => {
    const drifting = mechanics<{k: tf.Tensor}>({
      mass: [1, 1],
      forces: ({q, params}) => {
        const pull = tf.mul(params.k, tf.sub(tf.slice(q, [1], [1]), tf.slice(q, [0], [1])));
        return tf.concat([pull, tf.neg(pull)]);
      },
    });
    const options = {params: {k: 3}};
    const pulled = messageOf(() => equilibrium.vjp(drifting, {q: [0.4, 0.4]}, options).pullback({q: [1, 0]}));
    expect(pulled).to.equal(messageOf(() => equilibrium(drifting, {q: [0, 1]}, options)));
    expect(pulled).to.match(/q\[0\], q\[1\] depend .* hold it, or add a spring/);
  });

  it('and a step whose matrix loses its rank on the way back names itself', () => {
    // v⁺ − v − h/2 (f + f⁺) has the slope 1 − h c/2 of a negative damping c.
    const system = mechanics<{c: tf.Tensor}>({mass: 1, forces: ({v, params}) => tf.mul(params.c, v)});
    const {pullback} = simulate.vjp(
      system,
      {q: 0, v: 0},
      {scheme: trapezoid(), dt: 0.25, steps: 2, params: {c: 8}, throw: false},
    );
    expect(messageOf(() => pullback({v: [0, 0, 1]}))).to.match(/^singular-step: A step of trapezoid with h = 0\.25: /);
  });
});
