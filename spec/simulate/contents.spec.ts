/** What a simulation computes, as data: equal where it is the same, and different where any number or function differs. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  adaptive,
  gmres,
  mechanics,
  newton,
  ode,
  simulate,
  theta,
  implicitMidpoint,
  type SimulationContents,
} from '../../lib/index.js';

const text = ({text: graphs, arrays}: SimulationContents): string =>
  JSON.stringify([graphs, arrays.map(array => [...new Uint8Array(array.buffer, array.byteOffset, array.byteLength)])]);

describe('the contents of a simulation', () => {
  const factors = tf.tensor1d([1, -0, 3]);
  after(() => factors.dispose());
  const contents = ({
    k = 2,
    gain = 1.5,
    factor = factors,
    scheme = theta(0.75),
    tol = 1e-4,
    steps = 4,
    solve = {},
    more = {},
  } = {}): string =>
    text(
      simulate
        .prepare(
          mechanics<{k: tf.Tensor}>({
            mass: gain,
            forces: ({q, params}) => tf.neg(tf.mul(tf.mul(params.k, factor), tf.sin(q))),
          }),
          {q: [0.1, 0.2, 0.3], v: [0, 0, 0]},
          {scheme, dt: 0.1, steps, params: {k}, newton: newton({linear: gmres({tolerance: tol}), ...solve}), ...more},
        )
        .contents(),
    );

  it('are the same for the same functions and numbers, whenever they are traced', () => {
    const tensors = tf.memory().numTensors;
    expect(contents()).to.equal(contents());
    expect(contents({steps: 9})).to.equal(contents());
    const other = tf.tensor1d([1, -0, 3]);
    expect(contents({factor: other})).to.equal(contents());
    other.dispose();
    expect(tf.memory().numTensors).to.equal(tensors);
  });

  it('are other ones with another parameter, constant, captured tensor, scheme, solver, precision or control', () => {
    const zero = tf.tensor1d([1, 0, 3]);
    const all = [
      contents(),
      contents({k: 2.5}),
      contents({gain: 1.25}),
      contents({factor: zero}),
      contents({scheme: theta(0.5)}),
      contents({scheme: implicitMidpoint()}),
      contents({tol: 1e-5}),
      contents({solve: {iterations: 1}}),
      contents({solve: {onFailure: 'halve'}}),
      contents({more: {precision: 'single'}}),
      contents({more: {control: adaptive({})}}),
    ];
    zero.dispose();
    expect(new Set(all).size).to.equal(all.length);
  });

  it('are those of every function of an ode that runs', () => {
    const of = (derivative: (y: tf.Tensor) => tf.Tensor, observe: (y: tf.Tensor) => tf.Tensor): string =>
      text(
        simulate
          .prepare(ode({derivative: ({y}) => derivative(y)}), {y: 1}, {dt: 0.1, steps: 2, observe: ({y}) => observe(y)})
          .contents(),
      );
    const all = [of(tf.neg, tf.sin), of(tf.sin, tf.sin), of(tf.neg, tf.cos)];
    expect(new Set(all).size).to.equal(3);
    expect(of(y => tf.neg(y), tf.sin)).to.equal(all[0]);
  });
});
