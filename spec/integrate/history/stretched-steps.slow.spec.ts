/** A step much longer than the one before it, which an event had begun shortly before the grid's next step. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {event, generalizedAlpha, hht, mechanics, newmark, simulate, tsit5, type Scheme} from '../../../lib/index.js';

describe('a step much longer than the last', () => {
  const pendulum = mechanics<{d: tf.Tensor}>({mass: 1, forces: ({q}) => tf.mul(-2.3, tf.sin(q))});
  const slows = event<{d: tf.Tensor}>({
    when: ({v, params}) => tf.add(v as tf.Tensor, params.d),
    direction: 'falling',
    then: ({v}) => ({v: tf.mul(v as tf.Tensor, 0.7)}),
  });
  const run = (scheme: Scheme, dt: number) => {
    const {trajectory, pullback} = simulate.vjp(
      pendulum,
      {q: 1, v: 0},
      {scheme, dt, t1: 0.3, events: [slows], saveAt: 'end', params: {d: 0.5}},
    );
    const slope = (pullback({q: [0, 1]}).params.d as Float64Array)[0];
    trajectory.dispose();
    return {slope, at: trajectory.events[0].t, warnings: trajectory.warnings};
  };
  /** The event is so long before the end of the fifth step. */
  const ending = (scheme: Scheme, gap: number) => {
    let dt = 0.0525;
    for (let k = 0; k < 40; k++) dt = (run(scheme, dt).at + gap) / 5;
    return run(scheme, dt);
  };
  const right = run(tsit5(), 0.001).slope;

  for (const scheme of [generalizedAlpha({rhoInf: 0.8}), hht({alpha: -0.1})])
    it(`${scheme.name}: is told, as the rate that it carries is the last step's`, () => {
      const near = ending(scheme, 3e-3);
      expect(near.slope).to.be.closeTo(right, 5e-4);
      expect(near.warnings).to.deep.equal([]);
      const nearer = ending(scheme, 3e-5);
      expect(Math.abs(nearer.slope - right)).to.be.above(0.1);
      expect(nearer.warnings.length).to.equal(1);
      expect(nearer.warnings[0]).to.match(/times as long as the one before it/);
    });

  for (const scheme of [generalizedAlpha({rhoInf: 1}), newmark(), newmark({beta: 0.36, gamma: 0.7})])
    it(`${scheme.name}: is right`, () => {
      const {slope, warnings} = ending(scheme, 3e-5);
      expect(slope).to.be.closeTo(right, 5e-4);
      expect(warnings).to.deep.equal([]);
    });
});
