/** A training step over a prepared batch: that of its members one by one; losses of data with gaps. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {ObjectiveAt, Params} from '../../../lib/index.js';
import {batch, ode, ShapeError, simulate, tsit5} from '../../../lib/index.js';
import {adam, trainingStep} from '../../../training/index.js';
import {difference, meanSquare} from '../../../training/train/masked.js';
import {slow} from '../../tiers.js';

type Data = {readonly seen: tf.Tensor};

/** y' = Wy by a variable of its own. */
const linear = (initial: readonly (readonly number[])[]) => {
  const matrix = tf.variable(tf.tensor2d(initial as number[][]));
  const field = ode(({y}) => tf.reshape(tf.matMul(matrix, tf.reshape(y, [2, 1])), [2]));
  return {matrix, field};
};
const wrong = [
  [0, 0.4],
  [-1.5, -0.2],
];
const right = [
  [0, 1],
  [-1, 0],
];

describe('a training step over a prepared batch', () => {
  const loss = ({y, data: {seen}}: ObjectiveAt<Params, Data>) => meanSquare(y, seen);
  const members = [0, 1, 2, 3].map(i => ({
    initial: {y: [Math.cos(i), Math.sin(i)]},
    data: {seen: [0.5, 1].map(t => [Math.cos(i - t), Math.sin(i - t)])},
  }));

  slow('takes the steps of a list of runs, at common times', () => {
    const options = {scheme: tsit5(), dt: 0.1, t1: 1, saveAt: [0.5, 1]};
    const [one, other] = [linear(wrong), linear(wrong)];
    const singly = trainingStep(simulate.prepare(one.field, {y: [0, 0]}, options), {
      loss,
      optimizer: adam({rate: 0.05}),
    });
    const together = trainingStep(batch.prepare(other.field, {y: [0, 0]}, options), {
      loss,
      optimizer: adam({rate: 0.05}),
    });
    expect(together.compiled).to.equal(true);
    for (let n = 0; n < 5; n++) {
      // The last batch of an epoch is shorter.
      const part = n === 4 ? members.slice(0, 2) : members;
      expect(together(part)).to.be.closeTo(singly(part), 1e-13);
    }
    const [a, b] = [singly.values(one.matrix), together.values(other.matrix)];
    a.forEach((value, k) => expect(b[k]).to.be.closeTo(value, 1e-10));
    expect(together.loss(members)).to.be.closeTo(singly.loss(members), 1e-10);
  });

  slow('finds a field from members seen at times of their own, some not at all', () => {
    const {matrix, field} = linear(wrong);
    const own = [0, 1, 2, 3, 4, 5].map(i => {
      const times = [0, 1, 2].map(k => 0.4 + 0.9 * k + 0.3 * Math.sin(5 * i + k)).sort((a, b) => a - b);
      const phase = (t: number): number[] => [Math.sin(i + t), Math.cos(i + t)];
      return {
        t0: 0.05 * i,
        initial: {y: phase(0.05 * i)},
        saveAt: times.map((t, k) => (k === i % 3 ? NaN : t)),
        data: {seen: times.map((t, k) => (k === i % 3 ? [NaN, NaN] : phase(t)))},
      };
    });
    const model = batch.prepare(field, {y: [0, 0]}, {scheme: tsit5(), dt: 0.1, t1: 3});
    const step = trainingStep(model, {loss, optimizer: adam({rate: 0.05})});
    for (let n = 0; n < 300; n++) step(own);
    step.write();
    matrix.dataSync().forEach((value, k) => expect(value).to.be.closeTo(right.flat()[k], 2e-3));
  });

  it('a loss that reads a value is refused: there is no tape for a batch', () => {
    const {field} = linear(wrong);
    const step = trainingStep(batch.prepare(field, {y: [0, 0]}, {scheme: tsit5(), dt: 0.1, t1: 1}), {
      loss: ({y}: {y: tf.Tensor}) => tf.scalar(y.dataSync()[0]),
      optimizer: adam({rate: 0.05}),
    });
    expect(() => step(members)).to.throw(/loss/);
  });
});

describe('losses of data with gaps', () => {
  const values = tf.tensor1d([1, 2, 3, 4]);
  const data = tf.tensor1d([0, NaN, 1, NaN]);

  it('leave them out, with their gradients', () => {
    expect([...difference(values, data).dataSync()]).to.deep.equal([1, 0, 2, 0]);
    expect(meanSquare(values, data).dataSync()[0]).to.equal(2.5);
    const gradient = tf.grad(x => meanSquare(x, data));
    expect([...gradient(values).dataSync()]).to.deep.equal([1, 0, 2, 0]);
    const weights = tf.tensor1d([3, 5, 1, 7]);
    expect(meanSquare(values, data, weights).dataSync()[0]).to.equal(7 / 4);
    const nothing = tf.fill([4], NaN);
    expect(meanSquare(values, nothing).dataSync()[0]).to.equal(0);
    expect([
      ...tf
        .grad(x => meanSquare(x, nothing))(values)
        .dataSync(),
    ]).to.deep.equal([0, 0, 0, 0]);
    expect(() => difference(values, tf.zeros([2]))).to.throw(ShapeError);
  });
});
