/** Friction curves, creep, and the motions that friction is known by: sticking, braking, stick-slip. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {implicitMidpoint, mechanics, simulate, trapezoid} from '../../lib/index.js';
import {drivenBy, spring} from '../../models/index.js';
import {coulomb, stribeck} from '../../models/friction.js';
import {valueOf} from './evaluate.js';

const curve = {coulomb: 2, static: 3, stribeckVelocity: 0.1, viscous: 0.5, velocityScale: 1e-3};

describe('friction', () => {
  const at = (term: Parameters<typeof valueOf>[0], v: number[]): number[] => [...valueOf(term, {q: v, v})];

  it('coulomb is −F tanh(v/vₛ): odd, 76 % at the scale, full size beyond', () => {
    const [zero, scale, there, back] = at(coulomb({force: 5, velocityScale: 0.01}), [0, 0.01, 1, -1]);
    expect(Math.abs(zero)).to.equal(0);
    expect(scale).to.be.closeTo(-5 * Math.tanh(1), 1e-15);
    expect([there, back]).to.deep.equal([-5, 5]);
  });

  it('stribeck falls from the static to the Coulomb force, then rises with the viscous one', () => {
    // At v = vS/10, v_s ≪ v: F_c + (F_s − F_c) e^−0.01; at v = 10 vS the Stribeck part is e^−100.
    const [low, high] = at(stribeck(curve), [0.01, 1]);
    expect(low).to.be.closeTo(-(2 + Math.exp(-0.01)) * Math.tanh(10) - 0.005, 1e-15);
    expect(high).to.be.closeTo(-2 - 0.5, 1e-15);
  });

  it('stribeck with equal forces and no viscous part is coulomb', () => {
    const same = stribeck({...curve, static: 2, viscous: 0});
    const v = [-0.5, -1e-3, 0, 2e-4, 0.03];
    at(same, v).forEach((f, i) => expect(f).to.be.closeTo(at(coulomb({force: 2, velocityScale: 1e-3}), v)[i], 1e-15));
  });

  it('has one coefficient for all coordinates or one each', () => {
    const [free, held] = at(coulomb({force: [0, 5], velocityScale: [1, 0.01]}), [1, 1]);
    expect(Math.abs(free)).to.equal(0);
    expect(held).to.equal(-5);
  });

  it('a load below the friction force makes a body creep at vₛ artanh(F/F_c), and no faster', () => {
    const system = mechanics({
      mass: 1,
      forces: [coulomb({force: 5, velocityScale: 1e-3}), drivenBy(t => tf.onesLike(t), {gain: 4})],
    });
    // The damper F_c/v_s sets a time of 0.2 ms; after 0.1 s nothing is left of the start.
    const trajectory = simulate(
      system,
      {q: 0, v: 0},
      {scheme: implicitMidpoint(), dt: 1e-3, steps: 100, saveAt: 'end'},
    );
    expect(trajectory.values('v')[1]).to.be.closeTo(1e-3 * Math.atanh(4 / 5), 1e-10);
    trajectory.dispose();
  });

  it('a sliding body comes to rest after m v²/2F, as dry friction has it', () => {
    const system = mechanics({mass: 2, forces: coulomb({force: 4, velocityScale: 1e-4})});
    const trajectory = simulate(system, {q: 0, v: 3}, {scheme: implicitMidpoint(), dt: 0.01, t1: 2, saveAt: 'end'});
    // 2·9/(2·4) = 2.25 at t = 1.5; midpoint is exact while the force is constant, and the last step errs by h v.
    expect(trajectory.values('q')[1]).to.be.closeTo(2.25, 1e-4);
    expect(Math.abs(trajectory.values('v')[1])).to.be.below(1e-4);
    trajectory.dispose();
  });

  it('an oscillator under dry friction loses 4F/k of amplitude a cycle, in a straight line', () => {
    const [k, force] = [100, 1];
    const system = mechanics({mass: 1, forces: [spring({stiffness: k}), coulomb({force, velocityScale: 1e-4})]});
    const cycle = (2 * Math.PI) / Math.sqrt(k);
    const trajectory = simulate(
      system,
      {q: 1, v: 0},
      {scheme: implicitMidpoint(), dt: cycle / 2000, steps: 6000, saveAt: {every: 2000}},
    );
    // A turning point is missed by at most half a step of the velocity scale and of second order in the phase.
    trajectory.values('q').forEach((q, n) => expect(q, `cycle ${n}`).to.be.closeTo(1 - (n * 4 * force) / k, 1e-3));
    trajectory.dispose();
  });

  describe('a block drawn by a spring over a surface', () => {
    // The support moves by pull · t; q is measured from where the spring is unstressed.
    const drawn = (pull: number, terms: typeof curve): {stuck: number; fastest: number} => {
      const [mass, k] = [1, 50];
      const system = mechanics({
        mass,
        forces: [spring({stiffness: k}), drivenBy(t => tf.mul(t, pull * k)), stribeck(terms)],
      });
      const trajectory = simulate(system, {q: 0, v: 0}, {scheme: trapezoid(), dt: 2e-3, t1: 4});
      const v = [...trajectory.values('v')].slice(1000);
      trajectory.dispose();
      return {stuck: v.filter(speed => Math.abs(speed) < 0.1 * pull).length / v.length, fastest: Math.max(...v) / pull};
    };

    it('sticks and slips where friction falls with speed', () => {
      const {stuck, fastest} = drawn(0.05, {...curve, viscous: 0});
      // It rests for a good part of the time and then moves at well above the speed of the support.
      expect(stuck).to.be.above(0.3);
      expect(fastest).to.be.above(2);
    });

    it('follows smoothly where friction does not fall', () => {
      const {stuck, fastest} = drawn(0.05, {...curve, static: 2, viscous: 10});
      expect(stuck).to.equal(0);
      expect(fastest).to.be.below(1.1);
    });
  });
});
