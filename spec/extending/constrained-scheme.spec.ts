/** A constrained scheme and a one-sided constraint from the parts that docs/extending.md names. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  bilateral,
  complementarity,
  defineConstraint,
  defineScheme,
  implicitEuler,
  mechanics,
  rowScale,
  simulate,
} from '../../lib/index.js';

describe('extending', () => {
  it('a constrained scheme of one own is implicit Euler', () => {
    const scheme = defineScheme({
      name: 'own-euler',
      order: 1,
      kind: 'constrained',
      unknown: ['v'],
      multipliers: ['lambda'],
      residual: ({v, lambda}, at) => {
        const {x, t, h, mass, force, constraints} = at;
        const q = at.stabilizePosition(tf.add(x.q, tf.mul(h, v)));
        const place = {q, v, t: tf.add(t, h)};
        const pull = tf.add(force(q, v, place.t), constraints!.reaction(place, lambda));
        return {
          v: tf.sub(mass(q, tf.sub(v, x.v)), tf.mul(h, pull)),
          lambda: constraints!.rows(place, lambda, rowScale(at, h, 1)),
        };
      },
      update: ({v, lambda}, at) => ({q: at.stabilizePosition(tf.add(at.x.q, tf.mul(at.h, v))), v, lambda}),
    });
    const pendulum = mechanics({
      mass: 2,
      forces: () => tf.tensor1d([0, -6]),
      constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 4))],
    });
    const end = [scheme, implicitEuler()].map(one =>
      simulate(pendulum, {q: [2, 0], v: [0, 0]}, {scheme: one, dt: 0.02, steps: 30, stabilization: 'none'}).values('q'),
    );
    end[0].forEach((value, i) => expect(value).to.be.closeTo(end[1][i], 1e-9));
  });

  it('a wheel that turns forwards only is projected Euler', () => {
    const clutch = defineConstraint({
      name: 'clutch',
      of: 'velocities',
      holds: 'never',
      oneSided: true,
      kinked: true,
      condition: ({gap, lambda, softness, give}) =>
        complementarity(tf.add(gap, tf.mul(softness, lambda)), lambda, give),
    });
    const wheel = mechanics({mass: 1, forces: ({t}) => tf.cos(tf.mul(2, t)), constraints: [clutch(({v}) => v)]});
    const v = simulate(wheel, {q: 0, v: 0}, {scheme: implicitEuler(), dt: 0.02, steps: 200}).values('v');
    let w = 0;
    for (let n = 1; n <= 200; n++) {
      w = Math.max(0, w + 0.02 * Math.cos(0.04 * n));
      expect(v[n]).to.be.closeTo(w, 1e-6);
    }
  });
});
