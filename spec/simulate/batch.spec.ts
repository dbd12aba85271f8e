/** Many runs at once are the single runs. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {batch, implicitAdjoint, mechanics, simulate} from '../../lib/index.js';
import {slow} from '../tiers.js';

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

  slow('keeps the steps of all runs within one budget, with the same gradients', () => {
    const members = [0.4, 0.8, 1.2, 1.6].map(q => ({q: [q], v: [0]}));
    const pulled = (memory: number, workers: number) => {
      const {trajectories, pullback} = batch.vjp(system, members, {
        ...options,
        workers,
        saveAt: 'end',
        adjoint: implicitAdjoint({memory}),
      });
      const all = pullback(members.map(() => ({q: [[0], [1]], v: [[0], [1]]}))).members;
      trajectories.forEach(path => path.dispose());
      return all.map(({recomputedSteps, initial, params}) => ({recomputedSteps, initial, params}));
    };
    // Time, length, and the one position that the gradient of an implicit midpoint step needs.
    const oneRun = 8 * 3 * options.steps;
    const roomy = pulled(4 * oneRun, 0);
    expect(roomy.map(({recomputedSteps}) => recomputedSteps)).to.deep.equal([0, 0, 0, 0]);
    for (const workers of [0, 2]) {
      const tight = pulled(4 * oneRun - 4, workers);
      tight.forEach(({recomputedSteps, ...gradient}, i) => {
        expect(recomputedSteps).to.be.above(0);
        expect({recomputedSteps: 0, ...gradient}).to.deep.equal(roomy[i]);
      });
    }
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
