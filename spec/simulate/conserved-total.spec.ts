/** Equilibria of systems that conserve a total: the advice of the error, and that it works. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {equilibrium, ode, SingularMatrixError} from '../../lib/index.js';

// a ⇌ b ⇌ c with rates 2, 1 and 3, 0.5: a : b : c = 1 : 2 : 12.
const rates = (y: tf.Tensor): tf.Tensor[] => {
  const [a, b, c] = tf.unstack(y);
  return [tf.sub(tf.mul(2, a), b), tf.sub(tf.mul(3, b), tf.mul(0.5, c))];
};

describe('an equilibrium with a conserved total', () => {
  it('is singular, and the error says to replace an equation by the total', () => {
    const reaction = ode(({y}) => {
      const [first, second] = rates(y);
      return tf.stack([tf.neg(first), tf.sub(first, second), second]);
    });
    expect(() => equilibrium(reaction, {y: [1, 0, 0]})).to.throw(SingularMatrixError, 'replace it by the total');
  });

  it('is found with the total in place of an equation, with its derivative by the total', () => {
    const reaction = ode<{total: tf.Tensor}>({
      derivative: ({y, params}) => {
        const [first, second] = rates(y);
        return tf.stack([tf.neg(first), tf.sub(first, second), tf.sub(tf.sum(y), params.total)]);
      },
      mass: [1, 1, 0],
    });
    const {equilibrium: found, pullback} = equilibrium.vjp(reaction, {y: [3, 0, 0]}, {params: {total: 3}});
    [0.2, 0.4, 2.4].forEach((value, i) => expect(found.values('y')[i]).to.be.closeTo(value, 1e-9));
    expect(pullback({y: [0, 0, 1]}).params.total[0]).to.be.closeTo(0.8, 1e-9);
    found.dispose();
  });
});
