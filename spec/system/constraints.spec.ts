/** Constrained motion against closed forms and finite differences: values, multipliers, gradients, starts, redundancy. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Adjoint, Initial, MechanicalSystem, Scheme, SimulateOptions} from '../../lib/index.js';
import {
  bdf2,
  bilateral,
  blendedEuler,
  compliant,
  gaussLegendre,
  generalizedAlpha,
  implicitAdjoint,
  implicitEuler,
  implicitMidpoint,
  InconsistentStateError,
  mechanics,
  newmark,
  nonholonomic,
  OptionError,
  radauIIA5,
  simulate,
  symplecticEuler,
  theta,
  trapezoid,
  unrolledAdjoint,
  verlet,
} from '../../lib/index.js';
import {doubleEngines} from '../simulate/engines.js';
import {order} from '../simulate/numbers.js';
import {slow} from '../tiers.js';

const g = 9.81;
const gravity = ({q}: {q: tf.Tensor}): tf.Tensor => tf.add(tf.zerosLike(q), tf.tensor1d([0, -g]));
/** (|q|² − 1)/2 = 0: its multiplier is minus the tension of a rod of length 1. */
const overLength = ({q}: {q: tf.Tensor}): tf.Tensor => tf.div(tf.sub(tf.sum(tf.square(q)), 1), 2);
const rod = bilateral(overLength);
const pendulum = mechanics({mass: 1, forces: gravity, constraints: [rod]});
/** Exact to the digits given: reference/multibody-benchmarks.json, A01 at t = 1. */
const atOne = [0.986291751131875319355639, -0.1650108531255411687524991];

function ends(
  system: MechanicalSystem,
  initial: Initial,
  options: SimulateOptions,
): {q: Float64Array; v: Float64Array; lambda: Float64Array} {
  const path = simulate(system, initial, {...options, saveAt: 'end'});
  path.dispose();
  const half = (name: 'q' | 'v' | 'lambda'): Float64Array => path.values(name).slice(path.values(name).length / 2);
  return {q: half('q'), v: half('v'), lambda: system.constraints.length > 0 ? half('lambda') : new Float64Array(0)};
}

for (const {name: engine} of doubleEngines) {
  describe(`a pendulum in Cartesian coordinates (${engine})`, () => {
    const cases: readonly (readonly [string, Scheme, SimulateOptions['stabilization'], number])[] = [
      ['implicit Euler', implicitEuler(), 'none', 1],
      ['implicit Euler in the acceleration', implicitEuler({unknown: 'acceleration'}), 'none', 1],
      ['θ = 0.7', theta(0.7), 'none', 1],
      ['implicit midpoint', implicitMidpoint(), 'none', 2],
      ['implicit midpoint, coupled', implicitMidpoint({form: 'coupled'}), 'none', 2],
      ['trapezoid, ggl', trapezoid(), 'ggl', 2],
      ['trapezoid, projection', trapezoid(), 'projection', 2],
      ['Newmark', newmark(), 'none', 2],
      ['Newmark, ggl', newmark(), 'ggl', 2],
      ['Newmark, projection', newmark(), 'projection', 2],
    ];
    for (const [name, scheme, stabilization, expected] of cases) {
      slow(`${name}: order ${expected} towards the elliptic functions, on the circle all the way`, () => {
        const error = (n: number): number => {
          const {q, v} = ends(pendulum, {q: [-1, 0], v: [0, 0]}, {scheme, stabilization, dt: 1 / n, steps: n, engine});
          expect(Math.hypot(q[0], q[1])).to.be.closeTo(1, 1e-14);
          if (stabilization !== 'none') expect(q[0] * v[0] + q[1] * v[1]).to.be.closeTo(0, 1e-13);
          return Math.hypot(q[0] - atOne[0], q[1] - atOne[1]);
        };
        expect(order(error(expected === 1 ? 2000 : 200), error(expected === 1 ? 4000 : 400))).to.be.closeTo(
          expected,
          0.05,
        );
      });
    }

    it('the tension is 3 g cos θ, at second order with Newmark', () => {
      const error = (n: number): number =>
        Math.abs(
          ends(
            pendulum,
            {q: [-1, 0], v: [0, 0]},
            {scheme: newmark(), stabilization: 'ggl', dt: 1 / n, steps: n, engine},
          ).lambda[0]
            - 3 * g * atOne[1],
        );
      expect(order(error(250), error(500))).to.be.closeTo(2, 0.1);
      expect(error(500)).to.be.below(1e-3);
    });

    it('the start has the multiplier of the instant: 0 at the horizontal, m v² + m g at the bottom', () => {
      const start = (initial: Initial): number => {
        const path = simulate(pendulum, initial, {scheme: newmark(), dt: 1, steps: 0, engine});
        path.dispose();
        return path.values('lambda')[0];
      };
      expect(start({q: [-1, 0], v: [0, 0]})).to.be.closeTo(0, 1e-15);
      expect(start({q: [0, -1], v: [2, 0]})).to.be.closeTo(-(4 + g), 1e-13);
    });
  });

  describe(`compliance and stiffness (${engine})`, () => {
    const spring =
      (k: number) =>
      ({q}: {q: tf.Tensor}): tf.Tensor =>
        tf.mul(tf.sub(q, 1), -k);
    const options = {scheme: implicitEuler(), dt: 0.1, steps: 1, engine} as const;
    const asConstraint = mechanics({
      mass: 1,
      forces: [],
      constraints: [compliant(({q}) => tf.sub(q, 1), {compliance: 1e-3})],
    });
    const asForce = mechanics({mass: 1, forces: spring(1000)});

    it('mass 1, stiffness 1000, rest length 1, h = 0.1: v⁺ = 1/11 from rest length, −9.0909091 from 2', () => {
      for (const [q, v, vNext, qNext] of [
        [1, 1, 1 / 11, 1 + 0.1 / 11],
        [2, 0, -100 / 11, 2 - 10 / 11],
      ]) {
        const soft = ends(asConstraint, {q, v}, options);
        expect(soft.v[0]).to.be.closeTo(vNext, 1e-12);
        expect(soft.q[0]).to.be.closeTo(qNext, 1e-12);
      }
    });

    for (const scheme of [
      implicitEuler(),
      trapezoid(),
      implicitMidpoint(),
      theta(0.7),
      blendedEuler({alpha: 0.6, beta: 0.9}),
      newmark(),
      generalizedAlpha(),
      bdf2(),
      radauIIA5(),
      gaussLegendre(),
    ]) {
      it(`${scheme.name}: the compliant row is the spring of stiffness 1/C`, () => {
        const both = [asConstraint, asForce].map(system => {
          const path = simulate(system, {q: 1.3, v: 0.4}, {scheme, dt: 0.02, steps: 20, engine});
          path.dispose();
          return path.values('q');
        });
        both[0].forEach((q, i) => expect(q).to.be.closeTo(both[1][i], 1e-11));
      });
    }

    it('two springs of a triangle, anchors (0, 0) and (0, 1), from (1, 0), h = 1: (0.86611451, 0.49900207)', () => {
      const lengths = ({q}: {q: tf.Tensor}): tf.Tensor =>
        tf.stack([tf.norm(q), tf.norm(tf.sub(q, tf.tensor1d([0, 1])))]);
      const forces = ({q}: {q: tf.Tensor}): tf.Tensor =>
        tf.grad((x: tf.Tensor) => tf.mul(-500, tf.sum(tf.square(tf.sub(lengths({q: x}), 1)))).asScalar())(q);
      for (const system of [
        mechanics({mass: 1, forces}),
        mechanics({mass: 1, forces: [], constraints: [compliant(at => tf.sub(lengths(at), 1), {compliance: 1e-3})]}),
      ]) {
        const {q} = ends(system, {q: [1, 0], v: [0, 0]}, {...options, dt: 1});
        expect(q[0]).to.be.closeTo(0.86611451, 5e-9);
        expect(q[1]).to.be.closeTo(0.49900207, 5e-9);
      }
    });

    it('with C → 0 the compliant pendulum is the rigid one', () => {
      const soft = (compliance: number): MechanicalSystem =>
        mechanics({mass: 1, forces: gravity, constraints: [compliant(overLength, {compliance})]});
      const run = (system: MechanicalSystem): number =>
        ends(system, {q: [-1, 0], v: [0, 0]}, {scheme: implicitEuler(), dt: 0.01, steps: 50, engine}).q[0];
      const [far, near] = [1e-6, 1e-8].map(compliance => Math.abs(run(soft(compliance)) - run(pendulum)));
      expect(far / near).to.be.closeTo(100, 1);
    });
  });

  describe(`rolling (${engine})`, () => {
    // A skate on an incline: (x, y, φ), no sliding across its blade. Closed form for force g along x with ω constant: Neimark & Fufaev 1972.
    const skate = mechanics({
      mass: 1,
      forces: ({q}) => tf.add(tf.zerosLike(q), tf.tensor1d([g, 0, 0])),
      constraints: [
        nonholonomic(({q, v}) => {
          const [angle, vx, vy] = [tf.slice(q, 2, 1), tf.slice(v, 0, 1), tf.slice(v, 1, 1)];
          return tf.sub(tf.mul(vx, tf.sin(angle)), tf.mul(vy, tf.cos(angle)));
        }),
      ],
    });
    for (const scheme of [implicitMidpoint(), trapezoid(), newmark(), generalizedAlpha(), bdf2()]) {
      slow(`${scheme.name}: a skate on an incline turns back on a cycloid, order 2`, () => {
        const omega = 1.5;
        const t = 1;
        const error = (n: number): number => {
          const {q} = ends(skate, {q: [0, 0, 0], v: [0, 0, omega]}, {scheme, dt: t / n, steps: n, engine});
          const x = (g / (2 * omega ** 2)) * Math.sin(omega * t) ** 2;
          const y = (g / (2 * omega ** 2)) * (omega * t - 0.5 * Math.sin(2 * omega * t));
          return Math.hypot(q[0] - x, q[1] - y);
        };
        expect(order(error(100), error(200))).to.be.closeTo(2, 0.05);
      });
    }
  });

  describe(`gradients through constrained motion (${engine})`, () => {
    const gaps =
      (copies: number) =>
      ({q, params}: {q: tf.Tensor; params: {readonly [name: string]: unknown}}): tf.Tensor => {
        const [a, b] = [tf.reshape(tf.slice(q, [0, 0], [1, 2]), [2]), tf.reshape(tf.slice(q, [1, 0], [1, 2]), [2])];
        const rods = [
          [a, params.l1],
          [tf.sub(b, a), params.l2],
        ] as [tf.Tensor, tf.Tensor][];
        const rows = rods.map(([d, l]) => tf.div(tf.sub(tf.sum(tf.square(d)), tf.square(l)), 2));
        return tf.stack([...rows, ...Array.from({length: copies}, (_, k) => tf.mul(rows[1], k + 2))]);
      };
    const column = (m: unknown): tf.Tensor => tf.reshape(m as tf.Tensor, [2, 1]);
    const doublePendulum = (copies: number): MechanicalSystem =>
      mechanics({
        mass: ({params}) => tf.mul(column(params.m), tf.ones([1, 2])),
        forces: [({q, params}) => tf.add(tf.zerosLike(q), tf.mul(column(params.m), tf.tensor2d([[0, -g]])))],
        constraints: [bilateral(gaps(copies))],
      });
    const point = Float64Array.of(1, 0.7, 1, 2, 0.5, 0.3);
    const cases: readonly (readonly [string, Scheme, SimulateOptions['stabilization'], number, Adjoint])[] = [
      ['index 3, implicit', newmark({beta: 0.3025, gamma: 0.6}), 'none', 0, implicitAdjoint()],
      ['index 3, unrolled', implicitEuler(), 'none', 0, unrolledAdjoint()],
      ['midpoint, checkpointed', implicitMidpoint(), 'none', 0, implicitAdjoint({memory: 1000})],
      ['GGL, implicit', newmark(), 'ggl', 0, implicitAdjoint()],
      ['GGL, unrolled', trapezoid(), 'ggl', 0, unrolledAdjoint()],
      ['projection', newmark(), 'projection', 0, implicitAdjoint()],
      ['generalized-α, from its corrected start', generalizedAlpha(), 'none', 0, implicitAdjoint()],
      ['generalized-α, GGL, unrolled', generalizedAlpha({rhoInf: 0.5}), 'ggl', 0, unrolledAdjoint()],
      ['BDF2', bdf2(), 'none', 0, implicitAdjoint()],
      ['Radau IIA', radauIIA5(), 'none', 0, implicitAdjoint()],
      ['Radau IIA, GGL', radauIIA5(), 'ggl', 0, implicitAdjoint()],
      ['RATTLE', verlet(), 'none', 0, implicitAdjoint()],
      ['RATTLE, redundant, unrolled', verlet(), 'none', 1, unrolledAdjoint()],
      ['Gauss', gaussLegendre(), 'none', 0, implicitAdjoint()],
      ['redundant, Gauss', gaussLegendre(), 'none', 1, implicitAdjoint()],
      ['redundant, Radau IIA, GGL', radauIIA5(), 'ggl', 1, implicitAdjoint()],
      ['redundant, index 3', implicitMidpoint(), 'none', 1, implicitAdjoint()],
      ['redundant, GGL', newmark(), 'ggl', 2, implicitAdjoint()],
    ];
    for (const [name, scheme, stabilization, copies, adjoint] of cases) {
      slow(`${name}: lengths, masses, initial v; loss on q, v and λ; differences within 1e-6, Taylor order 2`, () => {
        const system = doublePendulum(copies);
        const initial = (x: Float64Array): Initial => ({
          q: [
            [1, 0],
            [1, 0.7],
          ],
          v: [
            [0, x[4]],
            [x[5], x[4]],
          ],
        });
        const options = (x: Float64Array): SimulateOptions => ({
          scheme,
          stabilization,
          adjoint,
          engine,
          consistent: 'project',
          dt: 0.02,
          steps: 20,
          saveAt: {every: 10},
          params: {l1: x[0], l2: x[1], m: [x[2], x[3]]},
        });
        // λ weighs less: its rounding is that of positions over h².
        const weights = (size: number, share: number): Float64Array =>
          Float64Array.from({length: size}, (_, i) => share * Math.sin(1 + i));
        const shares = {q: 1, v: 1, lambda: 0.01};
        const loss = (x: Float64Array): number => {
          const path = simulate(system, initial(x), options(x));
          path.dispose();
          return Object.entries(shares).reduce((sum, [block, share]) => {
            const values = path.values(block as 'q');
            return sum + weights(values.length, share).reduce((part, w, i) => part + w * values[i], 0);
          }, 0);
        };
        const {trajectory, pullback} = simulate.vjp(system, initial(point), options(point));
        trajectory.dispose();
        const gradient = pullback(
          Object.fromEntries(
            Object.entries(shares).map(([block, share]) => [
              block,
              weights(trajectory.values(block as 'q').length, share),
            ]),
          ),
        );
        const {l1, l2, m} = gradient.params as {[name: string]: Float64Array};
        const v = gradient.initial.v as Float64Array;
        const found = Float64Array.of(l1[0], l2[0], m[0], m[1], v[1] + v[3], v[2]);
        const moved = (i: number, by: number): Float64Array => point.map((x, k) => (k === i ? x + by : x));
        found.forEach((value, i) => {
          const h = 1e-3;
          const [one, two] = [h, 2 * h].map(step => (loss(moved(i, step)) - loss(moved(i, -step))) / (2 * step));
          // Richardson's extrapolation; the next term is about h⁴ of it.
          expect(value, `component ${i}`).to.be.closeTo((4 * one - two) / 3, 1e-6 * Math.max(1, Math.abs(value)));
        });
        const along = found.reduce((sum, value, i) => sum + value * Math.cos(i), 0);
        const remainder = (s: number): number =>
          Math.abs(loss(point.map((x, i) => x + s * Math.cos(i))) - loss(point) - s * along);
        expect(order(remainder(2e-3), remainder(1e-3))).to.be.closeTo(2, 0.05);
      });
    }
  });
}

describe('what constraints refuse', () => {
  const start = {q: [1, 0], v: [0, 0]};
  it('a scheme that cannot hold them', () => {
    for (const scheme of [symplecticEuler(), newmark({beta: 0}), theta(0)]) {
      expect(() => simulate(pendulum, start, {scheme, dt: 0.1, steps: 1})).to.throw(
        OptionError,
        /does not support constraints/,
      );
    }
  });

  it('a start that breaks them, by row; on request it is moved', () => {
    expect(() => simulate(pendulum, {q: [1.1, 0], v: [0, 0]}, {dt: 0.1, steps: 1})).to.throw(
      InconsistentStateError,
      /lambda\[0\] \(constraints\[0\]\) is 1\.050e-1/,
    );
    expect(() => simulate(pendulum, {q: [1, 0], v: [1, 0]}, {dt: 0.1, steps: 1})).to.throw(
      InconsistentStateError,
      /the velocity of lambda\[0\]/,
    );
    const path = simulate(pendulum, {q: [1.2, 0.5], v: [1, 1]}, {dt: 0.1, steps: 0, consistent: 'project'});
    path.dispose();
    const [q, v] = [path.values('q'), path.values('v')];
    // The nearest point of the circle, and the tangential part of the velocity.
    expect(q[0]).to.be.closeTo(1.2 / 1.3, 1e-12);
    expect(q[1]).to.be.closeTo(0.5 / 1.3, 1e-12);
    expect(v[0] * q[0] + v[1] * q[1]).to.be.closeTo(0, 1e-12);
  });

  it('two constraints that contradict each other, whatever the start', () => {
    const torn = mechanics({
      mass: 1,
      forces: gravity,
      constraints: [rod, bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 2))],
    });
    expect(() => simulate(torn, start, {dt: 0.1, steps: 1})).to.throw(InconsistentStateError, /lambda\[1\]/);
    expect(() => simulate(torn, start, {dt: 0.1, steps: 1, consistent: 'project'})).to.throw(
      InconsistentStateError,
      /contradict/,
    );
  });

  it('tensors are all given back, whether the run succeeds or not', () => {
    const before = tf.memory().numTensors;
    simulate(pendulum, start, {scheme: newmark(), dt: 0.1, steps: 1}).dispose();
    expect(() => simulate(pendulum, {q: [2, 0], v: [0, 0]}, {dt: 0.1, steps: 1})).to.throw();
    expect(tf.memory().numTensors).to.equal(before);
  });
});
