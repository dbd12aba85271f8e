/** q' = N(q)v in every scheme: a free symmetric top against its closed form, and what is refused. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Kinematics, Scheme} from '../../lib/index.js';
import {
  adaptive,
  bdf2,
  dopri5,
  explicitEuler,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  radauIIA5,
  rk4,
  sdirk2,
  simulate,
  symplecticEuler,
  theta,
  trapezoid,
  tsit5,
  verlet,
} from '../../lib/index.js';
import {apart, gyroscopic, last, rotated, times, turned, turning} from './rotations.js';
import {slow} from '../tiers.js';

const schemes: readonly Scheme[] = [
  explicitEuler(),
  symplecticEuler(),
  verlet(),
  rk4(),
  dopri5(),
  tsit5(),
  theta(0.7),
  implicitEuler({unknown: 'acceleration'}),
  trapezoid(),
  trapezoid({form: 'coupled', guess: 'rest'}),
  implicitMidpoint({guess: 'extrapolated'}),
  newmark(),
  newmark({beta: 0.3, gamma: 0.6}),
  generalizedAlpha({rhoInf: 0.5}),
  hht(),
  bdf2(),
  sdirk2(),
  kvaerno3(),
  kvaerno5(),
  gaussLegendre(),
  gaussLegendre({stages: 3}),
  radauIIA5(),
];

describe('q′ = N(q)v', () => {
  // Spin and precession: the angular momentum L is at rest in the world, and R(t) = exp(tL/J₁)·R₀·exp(te₃ω₃(1 − J₃/J₁)).
  const J = [1, 1, 0.4];
  const [r0, omega0] = [turned([1, 2, -1], 0.7), [0.8, -0.5, 3]];
  const L = rotated(
    r0,
    J.map((j, i) => j * omega0[i]),
  );
  const t1 = 1;
  const spin = omega0[2] * (1 - J[2] / J[0]) * t1;
  const exact = times(times(turned(L, (Math.hypot(...L) / J[0]) * t1), r0), turned([0, 0, 1], spin));
  const exactOmega = rotated(turned([0, 0, 1], -spin), omega0);
  const spins = [turning, turning.rate].map(kinematics =>
    mechanics({mass: J, kinematics, forces: ({v}) => gyroscopic(J, v)}),
  );
  for (const [index, scheme] of schemes.entries()) {
    it(`${scheme.name}: the free symmetric top in order ${scheme.order}, |r| = 1 (${index})`, () => {
      const errors = [0.04, 0.02].map(dt => {
        const run = simulate(spins[0], {q: r0, v: omega0}, {scheme, dt, t1, saveAt: 'end'});
        const [q, v] = [last(run.values('q')), last(run.values('v'))];
        run.dispose();
        expect(Math.hypot(...q)).closeTo(1, 1e-15);
        return Math.max(apart(q, exact), apart(v, exactOmega));
      });
      expect(Math.log2(errors[0] / errors[1])).greaterThan(Math.min(scheme.order, 5) - 0.25);
    });
  }

  it('the rate alone is enough: order 2 as well, with |r| kept to the order', () => {
    for (const scheme of [implicitMidpoint(), generalizedAlpha(), bdf2(), radauIIA5()]) {
      const errors = [0.04, 0.02].map(dt => {
        const run = simulate(spins[1], {q: r0, v: omega0}, {scheme, dt, t1, saveAt: 'end'});
        const q = last(run.values('q'));
        run.dispose();
        return apart(q, exact);
      });
      expect(Math.log2(errors[0] / errors[1]), scheme.name).greaterThan(scheme.order - 0.2);
    }
  });

  it('a book turns over: energy and momentum of the Dzhanibekov effect are kept, to 1e-9 of 5 turns', () => {
    const inertia = [0.3, 0.35, 0.4];
    const book = mechanics({mass: inertia, kinematics: turning, forces: ({v}) => gyroscopic(inertia, v)});
    const run = simulate(
      book,
      {q: [1, 0, 0, 0], v: [0.1, 15, 0.1]},
      {scheme: gaussLegendre({stages: 5}), dt: 0.02, t1: 5, saveAt: 'all'},
    );
    const [q, v] = [run.values('q'), run.values('v')];
    run.dispose();
    const momentum = (i: number): number[] =>
      rotated(
        Array.from(q.subarray(4 * i, 4 * i + 4)),
        inertia.map((j, k) => j * v[3 * i + k]),
      );
    let turns = 0;
    for (let i = 0; i < v.length / 3; i++) {
      expect(apart(momentum(i), momentum(0))).lessThan(1e-9 * 5.25);
      if (i > 0 && v[3 * i + 1] * v[3 * i - 2] < 0) turns++;
    }
    expect(turns).greaterThan(0);
  });

  slow('adaptive steps and times between steps: the same motion, on the manifold', () => {
    for (const scheme of [implicitMidpoint(), generalizedAlpha(), bdf2(), radauIIA5(), kvaerno3(), dopri5()]) {
      const run = simulate(
        spins[0],
        {q: r0, v: omega0},
        {scheme, dt: 0.01, t1, control: adaptive({rtol: 1e-7, atol: 1e-9}), saveAt: [0.4567, t1]},
      );
      const q = run.values('q');
      run.dispose();
      expect(apart(q.slice(4), exact), scheme.name).lessThan(2e-5);
      expect(Math.hypot(...q.slice(0, 4))).closeTo(1, 1e-14);
    }
  });
});

describe('what kinematics refuse', () => {
  const options = {dt: 0.1, steps: 1};
  const force = ({v}: {v: tf.Tensor}): tf.Tensor => tf.neg(v);
  it('a rate that is not linear in v, or of another shape than q', () => {
    const made = (rate: Kinematics['rate']): (() => unknown) => {
      const system = mechanics({mass: 1, forces: force, kinematics: rate});
      return () => simulate(system, {q: [1, 0], v: [0.5]}, options);
    };
    expect(made(({q, v}) => tf.add(tf.mul(q, v), 1))).to.throw('kinematics must be linear in v');
    expect(made(({q, v}) => tf.mul(q, tf.square(v)))).to.throw('kinematics must be linear in v');
    expect(made(({v}) => v)).to.throw(
      'kinematics.rate must return a tensor of the shape of q, [2]; it returned a tensor of shape [1]',
    );
    expect(made(({q, v}) => tf.mul(q, v))).not.to.throw();
  });
  it('a start off the manifold, unless it is to be projected', () => {
    const top = mechanics({mass: 1, forces: force, kinematics: turning});
    const start = {q: [1.1, 0, 0, 0], v: [0, 0, 1]};
    expect(() => simulate(top, start, options)).to.throw('off its manifold');
    const run = simulate(top, start, {...options, consistent: 'project'});
    expect(run.values('q')[0]).equal(1);
    run.dispose();
  });
  it('what is no kinematics', () => {
    const made =
      (kinematics: unknown): (() => unknown) =>
      () =>
        mechanics({mass: 1, forces: force, kinematics: kinematics as Kinematics});
    expect(made(3)).to.throw('kinematics must be a function');
    expect(made({retract: force})).to.throw('kinematics: rate');
    expect(made({rate: force, projects: force})).to.throw('projects');
  });
});
