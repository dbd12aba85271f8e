/** Constant steps have no unit: state, time and mass rescaled by powers of two give the same bits in as many iterations. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import * as fc from 'fast-check';
import type {Scheme} from '../../lib/index.js';
import {
  bdf2,
  bilateral,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  newton,
  ode,
  radauIIA5,
  sdirk2,
  simulate,
  trapezoid,
  unilateral,
} from '../../lib/index.js';
import {runs} from '../property.js';
import {slow} from '../tiers.js';

const exponent = fc.integer({min: -60, max: 60});

/** Numbers of a run in units of the scales, and what it took. */
interface Run {
  readonly numbers: readonly number[];
  readonly iterations: number;
}

describe('constant steps without a unit', () => {
  it('a stiff cubic decay, from 1e-150 to 1e60, by implicit Euler: y + 100 y³ = y₀ in the first steps', () => {
    const at = (s: number): number =>
      simulate(
        ode(({y}) =>
          y
            .div(s)
            .pow(3)
            .mul(-1000 * s),
        ),
        {y: s},
        {scheme: implicitEuler(), dt: 0.1, steps: 5, saveAt: 'end'},
      ).values('y')[1] / s;
    let exact = 1;
    for (let step = 0; step < 5; step++) {
      // Bisection: y + 100 y³ grows.
      let [low, high] = [0, exact];
      for (let k = 0; k < 60; k++) {
        const middle = (low + high) / 2;
        if (middle + 100 * middle ** 3 < exact) low = middle;
        else high = middle;
      }
      exact = low;
    }
    // Newton's tolerance, 1e-12 with its margin of a hundred; five steps.
    for (const s of [1, 1e-12, 1e-15, 1e-60, 1e-150, 1e60]) expect(at(s), `${s}`).to.be.closeTo(exact, 1e-13);
  });

  for (const scheme of [implicitEuler(), trapezoid(), bdf2(), sdirk2(), radauIIA5()] as const) {
    slow(`an ode, ${scheme.name}: state and time`, () => {
      const run = (size: number, time: number): Run => {
        const system = ode(({y}) => {
          const u = tf.div(y, size);
          const turned = tf.reverse(u, 0);
          return tf.mul(size / time, tf.sub(tf.mul(turned, [1, -1]), tf.mul(20, tf.pow(u, 3))));
        });
        const path = simulate(system, {y: [size, 0.25 * size]}, {scheme, dt: 0.125 * time, steps: 6});
        return {numbers: Array.from(path.values('y'), y => y / size), iterations: path.stats.newtonIterations};
      };
      const unit = run(1, 1);
      fc.assert(
        fc.property(exponent, exponent, (s, t) => {
          expect(run(2 ** s, 2 ** t)).to.deep.equal(unit);
        }),
        {
          ...runs(8, 4),
          examples: [
            [-60, 60],
            [60, -60],
          ],
        },
      );
    });
  }

  const free: readonly Scheme[] = [
    implicitMidpoint(),
    implicitMidpoint({form: 'coupled'}),
    newmark(),
    generalizedAlpha(),
    sdirk2(),
  ];
  for (const scheme of free) {
    slow(`mechanics, ${scheme.name}: state, time and mass`, () => {
      const run = (length: number, time: number, mass: number): Run => {
        const system = mechanics({
          mass: [2 * mass, mass],
          forces: ({q, v}) => {
            const u = tf.div(q, length);
            return tf.mul(
              (-30 * mass * length) / time ** 2,
              tf.addN([u, tf.pow(u, 3), tf.mul(tf.reverse(u, 0), 0.5), tf.div(v, (60 * length) / time)]),
            );
          },
        });
        const path = simulate(system, {q: [length, 0], v: [0, 0]}, {scheme, dt: 0.0625 * time, steps: 8});
        const [q, v] = [path.values('q'), path.values('v')];
        return {
          numbers: [...Array.from(q, x => x / length), ...Array.from(v, x => x / (length / time))],
          iterations: path.stats.newtonIterations,
        };
      };
      const unit = run(1, 1, 1);
      fc.assert(
        fc.property(exponent, exponent, exponent, (s, t, m) => {
          expect(run(2 ** s, 2 ** t, 2 ** m)).to.deep.equal(unit);
        }),
        {
          ...runs(8, 4),
          examples: [
            [-60, 0, 0],
            [0, -60, 0],
            [0, 0, -60],
            [60, 60, 60],
          ],
        },
      );
    });
  }

  it('an oscillator that starts at rest at zero, and one that comes to rest beside constants of size one', () => {
    const at = (force: (q: tf.Tensor, v: tf.Tensor) => tf.Tensor): number[] => {
      const path = simulate(
        mechanics({mass: 1, forces: ({q, v}) => force(q, v)}),
        {q: [0, 0], v: [0, 0]},
        {scheme: implicitEuler(), dt: 0.1, steps: 400},
      );
      expect(path.status).to.equal('completed');
      return [...path.values('q').slice(-2)];
    };
    expect(at((q, v) => tf.neg(tf.add(tf.sinh(q), v)))).to.deep.equal([0, 0]);
    // 1 − exp(q) and its noise of 2⁻⁵³, at rest at q = 0 after a start at rest under exp(−t).
    const path = simulate(
      mechanics({mass: 1, forces: ({q, v}) => tf.sub(tf.sub(1, tf.exp(q)), tf.mul(v, 2))}),
      {q: [1, 0.5], v: [0, 0]},
      {scheme: implicitEuler(), dt: 0.5, steps: 200},
    );
    expect(path.status).to.equal('completed');
    path
      .values('q')
      .slice(-2)
      .forEach(q => expect(Math.abs(q)).to.be.below(1e-14));
  });
});

describe('contacts without a unit', () => {
  for (const scheme of [generalizedAlpha(), hht(), newmark(), implicitEuler(), implicitMidpoint(), trapezoid()]) {
    slow(`${scheme.name}: a floor far away, and one that is reached, in units of time from 2⁻²⁴ to 2⁴⁰`, () => {
      for (const [q0, v0] of [
        [1.1, -0.2],
        [0.01, -1],
      ]) {
        const at = (T: number): number[] => {
          const drag = (v: tf.Tensor): tf.Tensor => tf.mul(tf.mul(v, T), tf.abs(tf.mul(v, T)));
          const system = mechanics({
            mass: 1,
            forces: ({q, v}) => tf.mul(1 / T / T, tf.sub(tf.mul(q, -4), tf.mul(0.3, drag(v)))),
            constraints: [unilateral(({q}) => q)],
          });
          const {trajectory, tangent} = simulate.jvp(
            system,
            {q: [q0, 0.5], v: [v0 / T, 0.3 / T]},
            {scheme, dt: T / 64, steps: 4},
            {initial: {v: [1 / T, 1 / T]}},
          );
          trajectory.dispose();
          return [...trajectory.values('v'), ...(tangent.v as Float64Array)].map(x => x * T);
        };
        const unit = at(1);
        for (const T of [2 ** 10, 2 ** 24, 2 ** 40, 2 ** -24])
          at(T).forEach((x, i) => expect(x, `${T}`).to.be.closeTo(unit[i], 1e-11));
      }
    });
  }
});

describe('the default tolerance, whatever the scheme carries and however short the step', () => {
  // Accelerations of 1e8 beside positions of size one: what is carried of them is not to be taken for a position.
  const steep = mechanics({
    mass: 1,
    forces: ({q, v}) => tf.mul(1e8, tf.sub(tf.neg(tf.sinh(q)), tf.mul(1e-6, tf.mul(v, tf.abs(v))))),
  });
  const steepOde = ode(({y}) => tf.mul(1e8, tf.sub(1, tf.square(y))));
  const schemes = [
    implicitEuler(),
    implicitMidpoint(),
    trapezoid(),
    newmark(),
    newmark({beta: 0.3025, gamma: 0.6}),
    generalizedAlpha(),
    hht(),
    bdf2(),
    sdirk2(),
    kvaerno3(),
    kvaerno5(),
    gaussLegendre({stages: 2}),
    radauIIA5(),
  ];
  for (const scheme of schemes) {
    it(`${scheme.name}: gives what a tolerance of the last digit gives`, () => {
      for (const h of [1e-5, 1e-7]) {
        const exact = newton({
          tolerance: {relative: 4 * Number.EPSILON, absolute: 1e-300},
          maxIterations: 100,
          jacobian: 'fresh',
        });
        const ends = [undefined, exact].map(strategy => {
          const path = simulate(
            steep,
            {q: 1, v: 0.5},
            {scheme, dt: h, steps: 6, throw: false, ...(strategy === undefined ? {} : {newton: strategy})},
          );
          return path.values('v').slice(-4);
        });
        // Velocities are sums of what was gained since they were 0.5: relative to that gain.
        ends[0].forEach((v, i) =>
          expect(Math.abs(v - ends[1][i]) / Math.abs(ends[1][i] - 0.5), `${h}`).to.be.below(1e-11),
        );
        if (scheme.ode === undefined) continue;
        const states = [undefined, exact].map(strategy =>
          simulate(
            steepOde,
            {y: 0},
            {scheme, dt: h / 1000, steps: 6, throw: false, ...(strategy === undefined ? {} : {newton: strategy})},
          )
            .values('y')
            .slice(-4),
        );
        states[0].forEach((y, i) => expect(Math.abs(y / states[1][i] - 1), `ode ${h}`).to.be.below(1e-11));
      }
    });
  }
});

describe('index 3 at steps as short as they come', () => {
  const angle = -0.5;
  const pendulum = mechanics({
    mass: 1,
    forces: ({q}) => tf.add(tf.zerosLike(q), tf.tensor1d([0, -9.81])),
    constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1))],
  });
  const start = {q: [Math.cos(angle), Math.sin(angle)], v: [-Math.sin(angle), Math.cos(angle)]};
  for (const scheme of [radauIIA5(), generalizedAlpha(), newmark(), implicitEuler(), trapezoid(), bdf2(), sdirk2()]) {
    it(`${scheme.name}: h from 1e-6 to 1e-9`, () => {
      for (const h of [1e-6, 1e-7, 1e-8, 1e-9]) {
        const path = simulate(pendulum, start, {scheme, dt: h, steps: 50});
        const [x, y] = path.values('q').slice(-2);
        // Rounding of positions: ε a step.
        expect(Math.hypot(x, y), `${h}`).to.be.closeTo(1, 50 * Number.EPSILON);
        // θ' = 1, θ'' = −g cos θ: Taylor's remainder, the first-order error of implicit Euler, and rounding of velocities, ε/h a step.
        expect(Math.atan2(y, x) - angle, `${h}`).to.be.closeTo(
          50 * h - 0.5 * 9.81 * Math.cos(angle) * (50 * h) ** 2,
          100 * (50 * h) ** 3 + 9.81 * h * 50 * h + 50 * 50 * 4 * Number.EPSILON,
        );
        expect(path.stats.newtonIterations).to.be.at.most(3 * 50);
      }
    });
  }
});
