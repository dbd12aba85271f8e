/** A constrained scheme and a one-sided constraint from the parts that docs/extending.md names. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  adaptive,
  bilateral,
  complementarity,
  defineConstraint,
  defineScheme,
  implicitEuler,
  mechanics,
  newmark,
  nonholonomic,
  OptionError,
  quaternions,
  radauIIA5,
  traced,
  simulate,
  unilateral,
  type Blocks,
  type StepPoint,
} from '../../lib/index.js';

/** The end of a step of implicit Euler with v⁺. */
const moved = (v: tf.Tensor, {x, h, retract: lead}: StepPoint): Blocks => ({q: lead(x.q, tf.mul(h, v)), v});

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
      kinematics: quaternions.freeBodies(),
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

  it('constraints, an error estimate and dense output in thirty lines: the average acceleration method', () => {
    const end = (a: tf.Tensor, {x, h, retract: lead}: StepPoint, theta: tf.Tensor | number = 1): Blocks => {
      const [s, mean] = [tf.mul(h, theta), tf.mul(tf.add(x.a, a), 0.5)];
      return {q: lead(x.q, tf.mul(s, x.v), tf.mul(tf.square(s), tf.mul(mean, 0.5))), v: tf.add(x.v, tf.mul(s, mean))};
    };
    const own = defineScheme({
      name: 'average-acceleration',
      order: 2,
      unknown: ['a'],
      multipliers: ['lambda'],
      carry: ({x, t, acceleration}) => ({a: acceleration(x.q, x.v, t)}),
      residual: ({a}, at) => {
        const {q, v} = end(a, at);
        return {a: tf.sub(at.mass(q, a), at.force(q, v, tf.add(at.t, at.h)))};
      },
      update: ({a}, at) => ({...end(a, at), a}),
      error: {
        order: 3,
        estimate: ({a}, {x, h}) => ({q: tf.mul(tf.square(h), tf.mul(tf.sub(a, x.a), 1 / 12))}),
      },
      dense: (theta, {a}, at) => end(a, at, theta),
    });
    const pendulum = mechanics({
      mass: 2,
      forces: () => tf.tensor1d([0, -6]),
      constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 4))],
    });
    for (const control of [undefined, adaptive({rtol: 1e-6, atol: 1e-6})]) {
      const [mine, theirs, exact] = [own, newmark(), radauIIA5()].map(scheme =>
        simulate(
          pendulum,
          {q: [2, 0], v: [0, 0]},
          {scheme, dt: 0.005, t1: 1, control, saveAt: [0.5025, 1], stabilization: 'ggl'},
        ),
      );
      const [q, expected, reference] = [mine, theirs, exact].map(run => run.values('q'));
      expect(mine.stats.steps).to.equal(theirs.stats.steps);
      // At the end it is Newmark's; between steps as near the motion as these are.
      for (const i of [2, 3]) expect(q[i]).to.be.closeTo(expected[i], 1e-8);
      for (const i of [0, 1]) expect(q[i]).to.be.closeTo(reference[i], 2e-4);
    }
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
    const spec = {order: 1, unknown: [], update: ({v}: Blocks, at: StepPoint) => moved(v, at)};
    expect(() => defineScheme({...spec, multipliers: ['lambda']})).to.throw(OptionError, /an unknown that moves/);
    expect(() => defineScheme({...spec, carry: {reads: ['first']} as never})).to.throw(OptionError, /carry\.from/);
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
        const q = at.retract(x.q, tf.mul(h, v));
        const place = {q, v, t: tf.add(t, h)};
        const pull = tf.add(force(q, v, place.t), constraints!.reaction(place, lambda));
        return {
          v: tf.sub(mass(q, tf.sub(v, x.v)), tf.mul(h, pull)),
          lambda: constraints!.rows(place, lambda, traced.rowScale(at, h, 1)),
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
      condition: ({gap, lambda, softness, stepCompliance}) =>
        complementarity(tf.add(gap, tf.mul(softness, lambda)), lambda, stepCompliance),
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
