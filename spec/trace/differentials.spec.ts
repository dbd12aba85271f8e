/** What a traced function asks of another: whether each number depends on its own place alone. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, rk4, simulate} from '../../lib/index.js';
import {isElementwise} from '../../lib/trace/differentials.js';

const within = (f: (y: tf.Tensor) => tf.Tensor, size?: number): boolean => {
  let answer: boolean | undefined;
  const system = ode(({y}) => {
    answer = isElementwise(at => f(at.y), y, size);
    return tf.zerosLike(y);
  });
  simulate(system, {y: [1, 2, 3, 4]}, {scheme: rk4(), dt: 1, steps: 0}).dispose();
  return answer!;
};

describe('isElementwise', () => {
  it('tells elementwise functions from others, also by rows', () => {
    expect(within(y => tf.sin(y))).to.equal(true);
    expect(within(y => tf.reverse(y))).to.equal(false);
    const pairs = (y: tf.Tensor): tf.Tensor => tf.reshape(tf.reverse(tf.reshape(y, [2, 2]), 1), [4]);
    expect(within(pairs)).to.equal(false);
    expect(within(pairs, 2)).to.equal(true);
  });
});
