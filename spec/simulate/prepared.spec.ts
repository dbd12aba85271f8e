/** A simulation traced once and run for many values; functions of the state saved beside it. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {mechanics, ShapeError, simulate, trapezoid} from '../../lib/index.js';

const oscillator = mechanics({mass: 1, forces: ({q, params}) => tf.neg(tf.mul(params.k as tf.Tensor, q))});
const options = {scheme: trapezoid(), dt: 0.01, steps: 100, params: {k: 10}};

describe('simulate.prepare', () => {
  it('gives what simulate gives, for every state and parameter', () => {
    const prepared = simulate.prepare(oscillator, {q: [1], v: [0]}, options);
    for (const [q, k] of [
      [1, 10],
      [0.5, 20],
      [-2, 0.1],
    ]) {
      const once = simulate.vjp(oscillator, {q: [q], v: [0]}, {...options, params: {k}});
      const again = prepared.vjp({initial: {q: [q], v: [0]}, params: {k}});
      expect([...again.trajectory.values('q')]).to.deep.equal([...once.trajectory.values('q')]);
      const cotangent = once.trajectory.values('q');
      expect(again.pullback({q: cotangent}).params).to.deep.equal(once.pullback({q: cotangent}).params);
      once.trajectory.dispose();
      again.trajectory.dispose();
    }
  });

  it('keeps an earlier pullback apart from later runs', () => {
    const prepared = simulate.prepare(oscillator, {q: [1], v: [0]}, options);
    const first = prepared.vjp({params: {k: 10}});
    const cotangent = first.trajectory.values('q');
    const before = first.pullback({q: cotangent});
    prepared.run({params: {k: 33}}).dispose();
    expect(first.pullback({q: cotangent})).to.deep.equal(before);
    first.trajectory.dispose();
  });

  it('reads captured variables anew', () => {
    const k = tf.variable(tf.scalar(4));
    const prepared = simulate.prepare(
      mechanics({mass: 1, forces: ({q}) => tf.neg(tf.mul(k, q))}),
      {q: [1], v: [0]},
      {dt: 0.01, steps: 10},
    );
    const endOf = (): number => {
      const path = prepared.run();
      const q = path.values('q')[10];
      path.dispose();
      return q;
    };
    const soft = endOf();
    k.assign(tf.scalar(400));
    const stiff = endOf();
    // cos(ωt) at t = 0.1, to the scheme's h².
    expect(soft).to.be.closeTo(Math.cos(2 * 0.1), 1e-5);
    expect(stiff).to.be.closeTo(Math.cos(20 * 0.1), 1e-2);
    k.dispose();
  });

  it('refuses another shape or tree', () => {
    const prepared = simulate.prepare(oscillator, {q: [1], v: [0]}, options);
    expect(() => prepared.run({initial: {q: [1, 2], v: [0, 0]}})).to.throw(ShapeError, /shape \[1\]/);
    expect(() => prepared.run({params: {stiffness: 3}})).to.throw(ShapeError, /k \[\]/);
  });
});

describe('observe', () => {
  const energy = ({
    q,
    v,
    params,
  }: {
    q: tf.Tensor;
    v: tf.Tensor;
    params: {readonly [name: string]: unknown};
  }): tf.Tensor => tf.mul(0.5, tf.add(tf.sum(tf.square(v)), tf.mul(params.k as tf.Tensor, tf.sum(tf.square(q)))));

  it('saves a function of the state: the energy the trapezoid keeps', () => {
    const path = simulate(oscillator, {q: [1], v: [0.5]}, {...options, observe: energy});
    const values = path.values('observed');
    expect(values.length).to.equal(101);
    expect(path.observed?.shape).to.deep.equal([101]);
    // ½·0.25 + ½·10; a hundred steps keep it to rounding.
    values.forEach(value => expect(value).to.be.closeTo(5.125, 1e-12));
    path.dispose();
  });

  it('carries gradients through it, with respect to state and parameters, backwards and forwards', () => {
    const observe: typeof energy = ({q, params}) => tf.mul(tf.sin(q), tf.square(params.k as tf.Tensor));
    const {trajectory, pullback} = simulate.vjp(oscillator, {q: [1], v: [0.5]}, {...options, observe});
    const cotangent = Float64Array.from({length: 101}, (_, i) => Math.cos(i));
    const {params, initial} = pullback({observed: cotangent});
    const sumOf = (k: number, q: number): number => {
      const path = simulate(oscillator, {q: [q], v: [0.5]}, {...options, params: {k}, observe});
      const sum = path.values('observed').reduce((total, value, i) => total + value * cotangent[i], 0);
      path.dispose();
      return sum;
    };
    const h = 1e-5;
    // Central differences of sums of size 10³: truncation 1e-7, relative to gradients of size 10 to 10³.
    expect((params.k as Float64Array)[0]).to.be.closeTo((sumOf(10 + h, 1) - sumOf(10 - h, 1)) / (2 * h), 1e-5);
    expect((initial.q as Float64Array)[0]).to.be.closeTo((sumOf(10, 1 + h) - sumOf(10, 1 - h)) / (2 * h), 1e-5);
    const {tangent, trajectory: other} = simulate.jvp(
      oscillator,
      {q: [1], v: [0.5]},
      {...options, observe},
      {params: {k: 1}},
    );
    const forward = (tangent.observed as Float64Array).reduce((total, value, i) => total + value * cotangent[i], 0);
    // Dot-product identity, to rounding of a hundred terms of size 10².
    expect(forward).to.be.closeTo((params.k as Float64Array)[0], 1e-9);
    trajectory.dispose();
    other.dispose();
  });
});
