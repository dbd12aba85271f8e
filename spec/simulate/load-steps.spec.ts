/** Rest along load steps: closed forms, what a structure without a state of rest is told, derivatives. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {bilateral, equilibrium, mechanics, NewtonError, ode, OptionError} from '../../lib/index.js';

/** sin q = P: a pendulum that a moment turns, up to P = 1. */
const turned = mechanics<{P: tf.Tensor}>({mass: 1, forces: ({q, params}) => tf.sub(params.P, tf.sin(q))});

describe('load steps', () => {
  it('lead to the state of rest, whose gradient is that of no other', () => {
    const options = {params: {P: 0.9}, loadSteps: 3};
    const {equilibrium: rest, pullback} = equilibrium.vjp(turned, {q: 0}, options);
    expect(rest.values('q')[0]).to.be.closeTo(Math.asin(0.9), 1e-14);
    const slope = 1 / Math.sqrt(1 - 0.81);
    expect((pullback({q: 1}).params as {P: Float64Array}).P[0]).to.be.closeTo(slope, 1e-13);
    const {tangent} = equilibrium.jvp(turned, {q: 0}, options, {params: {P: 1}});
    expect(tangent.q[0]).to.be.closeTo(slope, 1e-13);
    rest.dispose();
  });

  it('follow functions of t from the guess to t1, and its derivative by t is told', () => {
    const pulled = mechanics({mass: 1, forces: ({q, t}) => tf.sub(tf.square(t), tf.mul(4, q))});
    const {equilibrium: rest, tangent} = equilibrium.jvp(pulled, {q: 0.25, t: 1}, {t1: 3, loadSteps: 2}, {t: 1});
    expect(rest.values('q')[0]).to.be.closeTo(9 / 4, 1e-14);
    expect(tangent.q[0]).to.be.closeTo(6 / 4, 1e-14);
    rest.dispose();
  });

  it('hold constraints, and find the fixed points of an ode', () => {
    const pair = mechanics({
      mass: [1, 1],
      forces: ({q, t}) => tf.sub(t, tf.mul([1, 3], q)),
      constraints: [bilateral(({q}) => tf.sub(tf.gather(q, [0]), tf.gather(q, [1])))],
    });
    const rest = equilibrium(pair, {q: [0, 0]}, {t1: 2, loadSteps: 'auto'});
    expect(Array.from(rest.values('q'))).to.have.length(2);
    rest.values('q').forEach(q => expect(q).to.be.closeTo(1, 1e-14));
    expect(rest.values('lambda')[0]).to.be.closeTo(-1, 1e-14);
    rest.dispose();
    const decay = ode(({y, t}) => tf.sub(t, tf.mul(y, tf.square(y))));
    const fixed = equilibrium(decay, {y: 1, t: 1}, {t1: 8, loadSteps: 2});
    expect(fixed.values('y')[0]).to.be.closeTo(2, 1e-14);
    fixed.dispose();
  });

  it('end at a limit load, and say where', () => {
    const before = tf.memory().numTensors;
    for (const options of [{loadSteps: 'auto' as const}, {}]) {
      let error: unknown;
      try {
        equilibrium(turned, {q: 0}, {params: {P: 2}, ...options});
      } catch (caught) {
        error = caught;
      }
      expect(error).to.be.instanceOf(NewtonError).with.property('code', 'step-too-small');
      expect((error as Error).message).to.match(/load steps lead to [\d.]+ % of the load.*equilibrium\.path/);
      // At P = 1, within the shortest step, 1/1024.
      expect((error as NewtonError).data.t).to.be.closeTo(0.5, 1 / 1024);
    }
    expect(tf.memory().numTensors).to.equal(before);
    expect(() => equilibrium(turned, {q: 0}, {params: {P: 1}, loadSteps: 0})).to.throw(OptionError, 'loadSteps');
  });
});
