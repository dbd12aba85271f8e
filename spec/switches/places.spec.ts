/** A switch at the start of a run, and one that is only touched. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {ode, rk4, simulate} from '../../lib/index.js';
import {cases, made, small, tight} from './cases.js';

describe('a switch', () => {
  it('at the start of a motion that stays there: what it starts with beside the border is lost', () => {
    const drawn = ode<{a: tf.Tensor}>(({y, params: {a}}) => {
      const [first, second] = tf.unstack(y);
      return tf.stack([tf.sub(a, tf.sign(first)), tf.sub(first, second)]);
    });
    for (const options of made(0.5)) {
      const given = {...options, t1: 1, params: {a: 0.3}, saveAt: 'end', switches: 'locate'} as const;
      const {trajectory, pullback} = simulate.vjp(drawn, {y: [0, 2]}, given);
      expect(trajectory.values('y')[2]).to.be.closeTo(0, small);
      expect(trajectory.values('y')[3]).to.be.closeTo(2 * Math.exp(-1), small);
      expect(pullback({y: [0, 0, 1, 0]}).initial.y[0]).to.be.closeTo(0, small);
      expect(pullback({y: [0, 0, 0, 1]}).initial.y[0]).to.be.closeTo(0, small);
    }
  });

  it('that the motion leaves to either side of is told, and one that it only touches', () => {
    const unstable = ode(({y}) => tf.sign(y));
    const options = {scheme: rk4(), dt: 0.1, t1: 1, saveAt: 'end', switches: 'locate'} as const;
    const either = simulate(unstable, {y: 0}, options);
    expect(either.values('y')[1]).to.be.closeTo(-1, 1e-12);
    expect(either.warnings.join()).to.match(/which the motion leaves to either side/);
    const near = cases[cases.length - 1].system;
    for (const {scheme, ...steps} of made(0.7)) {
      const none = simulate(near, {y: 0}, {...options, scheme, ...steps, params: {eps: 0}});
      expect(none.values('y')[1]).to.equal(0);
      expect(none.warnings.join()).to.match(/^The border of 'less in derivative' is touched at t = 1 and not crossed/);
      const little = {...options, scheme, ...steps, t1: 2, params: {eps: 1e-10}};
      const {trajectory, pullback} = simulate.vjp(near, {y: 0}, little);
      expect(trajectory.values('y')[1]).to.be.closeTo(2e-5, 1e-12);
      expect(pullback({y: [0, 1]}).params.eps[0]).to.be.closeTo(1e5, 0.1);
    }
  });

  it('that a motion is pushed to and cannot slide along: constant steps say so, adaptive ones end', () => {
    const stairs = ode(({y}) => tf.sub(0.5, tf.floor(y)));
    const options = {scheme: rk4(), dt: 0.01, t1: 3, saveAt: 'end'} as const;
    const pushed = simulate(stairs, {y: 0.2}, options);
    expect(pushed.warnings.join()).to.match(/pushed to the border of 'floor in derivative' from both sides at t = 1.6/);
    expect(pushed.values('y')[1]).to.be.closeTo(1, 0.01);
    expect(() => simulate(stairs, {y: 0.2}, {...options, control: tight.control})).to.throw(
      /^The motion is pushed to the border of 'floor in derivative' .* this run cannot slide along it/,
    );
  });
});
