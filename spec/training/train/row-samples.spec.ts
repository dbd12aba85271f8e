/** Rows of a batch at times of their own: against closed forms, the runs one by one, and differences. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, ShapeError, simulate, tsit5} from '../../../lib/index.js';
import type {ObjectiveAt, Params} from '../../../lib/index.js';
import {samples} from '../../../training/index.js';

const rates = [0.5, 1, 2];
const rate = tf.tensor2d(rates.map(k => [k]));
const field = ({y}: {y: tf.Tensor}): tf.Tensor => tf.neg(tf.mul(rate, y));
const times = [
  [0.111, 0.5, 0.93, 1],
  [0, 0.2, 0.3, 0.777],
  [0.9, 0.05, 0.61, 0.33],
];
type Data = {readonly times: tf.Tensor; readonly target: tf.Tensor};
const sampled = ({t, y, observed, data}: ObjectiveAt<Params, Data>): tf.Tensor =>
  tf.reshape(samples.ofRows({t, y, slope: observed}, data.times), [3, 4]);
const model = (steps: number) =>
  simulate.prepare(ode(field), {y: [[1], [1], [1]]}, {scheme: tsit5(), dt: 1 / steps, steps, observe: field});

describe('rows at times of their own', () => {
  it('are met to fourth order: in the middle of an interval to H⁴/384 of the fourth derivative', () => {
    for (const steps of [10, 20]) {
      const middles = rates.map((_, i) => [0, 1, 2, 3].map(j => (j + i + 0.5) / steps));
      const prepared = model(steps);
      for (const i of rates.keys())
        for (const j of [0, 3]) {
          // Of one number at a time the loss is the sample itself.
          const mask = rates.map((__, row) => [0, 1, 2, 3].map(column => (row === i && column === j ? 1 : 0)));
          const value = prepared.value(
            (at: ObjectiveAt<Params, Data & {mask: tf.Tensor}>) => tf.sum(tf.mul(sampled(at), at.data.mask)),
            {data: {times: middles, mask}},
          );
          const exact = Math.exp(-rates[i] * middles[i][j]);
          const bound = (rates[i] ** 4 * exact) / 384 / steps ** 4;
          expect((exact - value) / bound).to.be.closeTo(1, 0.05 + 200 / steps ** 3);
        }
    }
  });

  it('carry gradients, and other times are other numbers of one program', () => {
    let traced = 0;
    const loss = (at: ObjectiveAt<Params, Data>): tf.Tensor => {
      traced++;
      return tf.sum(tf.squaredDifference(sampled(at), at.data.target));
    };
    const prepared = model(10);
    const start = [[1], [2], [0.5]];
    const moved = times.map(row => row.map(time => 0.9 * time));
    for (const own of [times, moved]) {
      const data = {times: own, target: own.map(row => row.map(Math.sin))};
      const {value, gradient} = prepared.valueAndGrad(loss, {initial: {y: start}, data});
      const exact = own.flatMap((row, i) =>
        row.map((time, j) => start[i][0] * Math.exp(-rates[i] * time) - data.target[i][j]),
      );
      expect(value).to.be.closeTo(
        exact.reduce((sum, e) => sum + e * e, 0),
        1e-4,
      );
      // y is linear in its start: dL/dy₀ = Σ 2 e e^(−kt), by row.
      own.forEach((row, i) => {
        const expected = row.reduce((sum, time, j) => sum + 2 * exact[4 * i + j] * Math.exp(-rates[i] * time), 0);
        expect(gradient.initial?.y[i]).to.be.closeTo(expected, 1e-4);
      });
      const h = 1e-5;
      const at = (y: number): number => prepared.value(loss, {initial: {y: [[y], [2], [0.5]]}, data});
      expect(gradient.initial?.y[0]).to.be.closeTo((at(1 + h) - at(1 - h)) / (2 * h), 1e-8);
    }
    expect(traced).to.equal(1);
  });

  it('are met in runs backwards in time too, whatever the order of the times', () => {
    const steps = 20;
    for (const sign of [1, -1])
      for (const own of [times, times.map(row => [...row].sort((a, b) => sign * (b - a)))]) {
        // From 0 to ±1, and beyond the last saved time.
        const asked = own.map(row => row.map(time => sign * (time === 1 ? 1.01 : time)));
        const prepared = simulate.prepare(
          ode(field),
          {y: [[1], [1], [1]]},
          {scheme: tsit5(), dt: sign / steps, steps, observe: field},
        );
        const loss = (at: ObjectiveAt<Params, Data & {mask: tf.Tensor}>): tf.Tensor =>
          tf.sum(tf.mul(sampled(at), at.data.mask));
        for (const i of rates.keys())
          for (const j of [0, 1, 2, 3]) {
            const mask = rates.map((_, row) => [0, 1, 2, 3].map(column => (row === i && column === j ? 1 : 0)));
            const exact = Math.exp(-rates[i] * asked[i][j]);
            // H⁴/384 y⁗ within the run; a fifth of a step beyond it, θ²(1 − θ)² is 0.0576, about as in the middle (0.0625).
            const bound = (rates[i] ** 4 * Math.max(exact, 1)) / 384 / steps ** 4;
            const value = prepared.value(loss, {data: {times: asked, mask}});
            expect(value, `${sign} ${i} ${j}`).to.be.closeTo(exact, 1.5 * bound + 1e-7);
          }
        // On plain tensors: sin and its slope, at the same times.
        const t = tf.linspace(0, sign, steps + 1);
        const asRows = (x: tf.Tensor): tf.Tensor => tf.tile(tf.reshape(x, [steps + 1, 1, 1]), [1, 3, 1]);
        const plain = samples
          .ofRows({t, y: asRows(tf.sin(t)), slope: asRows(tf.cos(t))}, tf.tensor2d(asked))
          .dataSync();
        asked.flat().forEach((time, i) => expect(plain[i]).to.be.closeTo(Math.sin(time), 1e-6));
      }
  });

  it('are the same outside a trace, and leave no tensor', () => {
    const {numTensors} = tf.memory();
    const t = tf.tensor1d([0, 1, 3]);
    const cube = (x: number): number => x ** 3 - x;
    const y = tf.tensor3d([0, 1, 3].map(x => [[cube(x)], [2 * cube(x)]]));
    const slope = tf.tensor3d([0, 1, 3].map(x => [[3 * x * x - 1], [2 * (3 * x * x - 1)]]));
    const own = tf.tensor2d([
      [0.5, 2],
      [3, -1],
    ]);
    const read = samples.ofRows({t, y, slope}, own);
    expect(read.shape).to.deep.equal([2, 2, 1]);
    // A cubic is met exactly, beyond its ends too.
    [cube(0.5), cube(2), 2 * cube(3), 2 * cube(-1)].forEach((value, i) =>
      expect(read.dataSync()[i]).to.be.closeTo(value, 1e-5),
    );
    tf.dispose([t, y, slope, own, read]);
    expect(tf.memory().numTensors).to.equal(numTensors);
    const [a, b] = [tf.zeros([3]), tf.zeros([3, 2, 1])];
    expect(() => samples.ofRows({t: a, y: b, slope: a}, tf.zeros([2, 2]))).to.throw(ShapeError, /slope \[3\]/);
    expect(() => samples.ofRows({t: a, y: b, slope: b}, tf.zeros([3, 2]))).to.throw(
      ShapeError,
      /must be \[2, samples\]/,
    );
  });
});
