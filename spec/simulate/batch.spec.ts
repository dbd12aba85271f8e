/** Many runs at once are the single runs. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {batch, mechanics, simulate} from '../../lib/index.js';

const system = mechanics({mass: 1, forces: ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, tf.sinh(q)))});
const options = {dt: 0.05, steps: 40, params: {k: 3}};

describe('batch', () => {
  it('gives what simulate gives for every start and parameter', () => {
    const members = [
      {q: [1], v: [0]},
      {q: [-0.3], v: [2]},
      {initial: {q: [0.1], v: [0]}, params: {k: 50}},
    ];
    const together = batch(system, members, options);
    members.forEach((member, i) => {
      const initial = 'initial' in member ? member.initial : member;
      const alone = simulate(system, initial as {q: number[]; v: number[]}, {
        ...options,
        params: 'params' in member ? member.params : options.params,
      });
      expect([...together[i].values('q')]).to.deep.equal([...alone.values('q')]);
      alone.dispose();
    });
    together.forEach(path => path.dispose());
  });

  it('of nothing is nothing; one that fails leaves no tensor behind, or its status', () => {
    expect(batch(system, [], options)).to.deep.equal([]);
    const before = tf.memory().numTensors;
    const members = [
      {q: [1], v: [0]},
      {q: [800], v: [0]},
    ];
    expect(() => batch(system, members, options)).to.throw();
    expect(tf.memory().numTensors).to.equal(before);
    const [good, bad] = batch(system, members, {...options, throw: false});
    expect(good.status).to.equal('completed');
    expect(bad.status).to.not.equal('completed');
    good.dispose();
    bad.dispose();
    expect(tf.memory().numTensors).to.equal(before);
  });

  it('carries gradients on the tape', () => {
    const k = tf.scalar(3);
    const gradient = tf.grad((x: tf.Tensor) => {
      const paths = batch(
        system,
        [
          {q: [1], v: [0]},
          {q: [0.5], v: [0]},
        ],
        {...options, params: {k: x}, saveAt: 'end'},
      );
      return tf.addN(paths.map(path => tf.sum(path.q))) as tf.Scalar;
    })(k);
    const of = (value: number): number =>
      batch(
        system,
        [
          {q: [1], v: [0]},
          {q: [0.5], v: [0]},
        ],
        {...options, params: {k: value}, saveAt: 'end'},
      ).reduce((sum, path) => {
        const all = path.values('q').reduce((a, b) => a + b, 0);
        path.dispose();
        return sum + all;
      }, 0);
    // float32 holds seven digits of a gradient of order one.
    expect(gradient.dataSync()[0]).to.be.closeTo((of(3 + 1e-5) - of(3 - 1e-5)) / 2e-5, 1e-5);
    tf.dispose([gradient, k]);
  });
});
