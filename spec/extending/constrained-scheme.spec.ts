/** A constrained scheme and a one-sided constraint from the parts that docs/extending.md names. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  bilateral,
  complementarity,
  defineConstraint,
  defineScheme,
  freeBodies,
  implicitEuler,
  mechanics,
  nonholonomic,
  OptionError,
  rowScale,
  simulate,
  unilateral,
  type Blocks,
  type StepPoint,
} from '../../lib/index.js';

/** The end of a step of implicit Euler with v⁺. */
const moved = (v: tf.Tensor, {x, h, moved: lead}: StepPoint): Blocks => ({q: lead(x.q, tf.mul(h, v)), v});

describe('extending', () => {
  it('constraints for a scheme that was written without them: implicit Euler', () => {
    const own = defineScheme({
      name: 'own-euler',
      order: 1,
      dissipative: true,
      unknown: ['v'],
      multipliers: ['lambda'],
      supports: {kinematics: true},
      residual: ({v}, at) => {
        const {q} = moved(v, at);
        return {v: tf.sub(at.mass(q, tf.sub(v, at.x.v)), tf.mul(at.h, at.force(q, v, tf.add(at.t, at.h))))};
      },
      update: ({v}, at) => moved(v, at),
    });
    const pendulum = mechanics({
      mass: 2,
      forces: [({v}) => tf.mul(-0.1, v), () => tf.tensor1d([0, -6])],
      constraints: [
        bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 4)),
        unilateral(({q}) => tf.add(tf.gather(q, 1), 1.5)),
      ],
    });
    const top = mechanics({
      kinematics: freeBodies(),
      mass: [1, 1, 1, 1, 2, 3],
      forces: ({v}) => tf.neg(v),
      // Its centre stays on a sphere, and it rolls as fast as it yaws.
      constraints: [
        bilateral(({q}) => tf.sub(tf.sum(tf.square(tf.slice(q, [0], [3]))), 1)),
        nonholonomic(({v}) => tf.sub(tf.gather(v, 3), tf.gather(v, 5))),
      ],
    });
    const start = {q: [1, 0, 0, 1, 0, 0, 0], v: [0, 1, 0, 1, 2, 1]};
    for (const stabilization of ['none', 'projection', 'projection-before', 'ggl'] as const) {
      const runs = [own, implicitEuler()].map(scheme => {
        const options = {scheme, dt: 0.02, steps: 60, stabilization};
        const swung = simulate(pendulum, {q: [2, 0], v: [0, 0]}, options);
        const spun = simulate(top, start, options);
        return [swung, spun].flatMap(run => ['q', 'v', 'lambda'].flatMap(name => [...run.values(name as 'q')]));
      });
      runs[0].forEach((value, i) => expect(value, stabilization).to.be.closeTo(runs[1][i], 1e-7));
    }
    const free = simulate(
      mechanics({mass: 1, forces: ({q}) => tf.neg(q)}),
      {q: 1, v: 0},
      {scheme: own, dt: 0.1, steps: 1},
    );
    expect(free.values('v')[1]).to.be.closeTo(-0.1 / 1.01, 1e-12);
  });

  it('a derived form may not read what knows nothing of the reactions', () => {
    const explicit = defineScheme({
      name: 'by-rates',
      order: 1,
      unknown: ['v'],
      multipliers: ['lambda'],
      residual: ({v}, at) => ({v: tf.sub(v, at.acceleration(at.x.q, at.x.v, at.t))}),
      update: ({v}, at) => moved(v, at),
    });
    const bead = mechanics({mass: 1, forces: ({q}) => tf.neg(q), constraints: [bilateral(({q}) => q)]});
    expect(() => simulate(bead, {q: 0, v: 0}, {scheme: explicit, dt: 0.1, steps: 1})).to.throw(
      OptionError,
      /by-rates: with multipliers/,
    );
  });

  it('a constrained scheme of one own is implicit Euler', () => {
    const scheme = defineScheme({
      name: 'own-euler',
      order: 1,
      kind: 'constrained',
      unknown: ['v'],
      multipliers: ['lambda'],
      residual: ({v, lambda}, at) => {
        const {x, t, h, mass, force, constraints} = at;
        const q = at.moved(x.q, tf.mul(h, v));
        const place = {q, v, t: tf.add(t, h)};
        const pull = tf.add(force(q, v, place.t), constraints!.reaction(place, lambda));
        return {
          v: tf.sub(mass(q, tf.sub(v, x.v)), tf.mul(h, pull)),
          lambda: constraints!.rows(place, lambda, rowScale(at, h, 1)),
        };
      },
      update: ({v, lambda}, at) => ({...moved(v, at), lambda}),
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
