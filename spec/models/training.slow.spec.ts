/**
 * A network and a physical parameter found together, by tfjs's own optimizer through implicit steps:
 * an oscillator with a spring of unknown stiffness and a damping force of unknown form.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Trajectory} from '../../lib/index.js';
import {implicitMidpoint, mechanics, simulate} from '../../lib/index.js';
import {damper, neuralForce, spring} from '../../models/index.js';

const start = {q: 1, v: 0};
const span = 6;

/** The motion to be learnt: stiffness 4, and damping 0.1 v + 0.1 v³, which the learner knows nothing of. Steps four times as fine. */
function measured(): Trajectory {
  const hidden = [damper({coefficient: 0.1}), ({v}: {v: tf.Tensor}) => tf.mul(-0.1, tf.pow(v, 3))];
  const system = mechanics({mass: 1, forces: [spring({stiffness: 4}), ...hidden]});
  return simulate(system, start, {scheme: implicitMidpoint(), dt: 0.0125, t1: span, saveAt: {every: 4}});
}

const hiddenForce = (v: number): number => -0.1 * v - 0.1 * v ** 3;

describe('training a network beside a stiffness', () => {
  it('the loss falls by two orders, and the stiffness and the hidden force are found', () => {
    // The network sees velocity alone, and so cannot stand in for the spring: along a cycle every velocity
    // is met at q and at −q, where the spring's forces differ and the network's may not. That makes the
    // stiffness identifiable; a network that saw q too could take any share of it.
    const stiffness = tf.variable(tf.scalar(3));
    const network = tf.sequential({
      layers: [
        tf.layers.dense({
          units: 8,
          activation: 'tanh',
          inputShape: [1],
          kernelInitializer: tf.initializers.glorotUniform({seed: 1}),
        }),
        tf.layers.dense({units: 1, kernelInitializer: tf.initializers.glorotUniform({seed: 2})}),
      ],
    });
    const damping = neuralForce(network, {inputs: ['v']});
    const system = mechanics({mass: 1, forces: [spring({stiffness}), damping]});
    const data = measured();
    const loss = (): tf.Scalar =>
      tf.tidy(() => {
        const {q, v} = simulate(system, start, {scheme: implicitMidpoint(), dt: 0.05, t1: span});
        return tf.add<tf.Scalar>(tf.mean(tf.squaredDifference(q, data.q)), tf.mean(tf.squaredDifference(v, data.v)));
      });
    const optimizer = tf.train.adam(0.03);
    const history: number[] = [];
    for (let iteration = 0; iteration < 300; iteration++) {
      const value = optimizer.minimize(loss, true) as tf.Scalar;
      history.push(value.dataSync()[0]);
      value.dispose();
    }
    const before = tf.memory().numTensors;
    optimizer.minimize(loss);
    // One more iteration needs no more tensors than the one before.
    expect(tf.memory().numTensors).to.equal(before);

    expect(history[history.length - 1]).to.be.below(history[0] / 100);
    // The learner's steps are coarser: midpoint's frequency is low by (ωh)²/12 = 0.08 %, the stiffness high
    // by twice that; the rest is what 300 iterations leave.
    expect(stiffness.dataSync()[0]).to.be.closeTo(4, 0.04);
    // Within the speeds of the data, up to 1.76 m/s, where the force reaches 0.72: found to a tenth of that from one short record.
    const speeds = [-1.2, -0.6, 0.6, 1.2];
    const learnt = tf.tidy(() =>
      speeds.map(v => damping({q: tf.scalar(0), v: tf.scalar(v), t: tf.scalar(0), params: {}}).dataSync()[0]),
    );
    learnt.forEach((force, i) => expect(force, `at ${speeds[i]}`).to.be.closeTo(hiddenForce(speeds[i]), 0.072));

    data.dispose();
    network.dispose();
    stiffness.dispose();
    optimizer.dispose();
  }).timeout(20_000);
});
