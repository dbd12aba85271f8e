/** A body held at a point by a constraint, against the same turning about it without one: motion, multipliers, gradients. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Adjoint, Scheme} from '../../lib/index.js';
import {
  bdf2,
  bilateral,
  equilibrium,
  forwardSensitivity,
  gaussLegendre,
  generalizedAlpha,
  implicitAdjoint,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  newmark,
  quaternions,
  radauIIA5,
  sdirk2,
  simulate,
  tsit5,
  unrolledAdjoint,
} from '../../lib/index.js';
import {apart, cross, crossed, gyroscopic, last, rotate, rotated, solved, turned, turning} from './rotations.js';
import {slow} from '../tiers.js';

describe('a heavy top held at its point', () => {
  const [m, g] = [1.5, 9.81];
  const J = [1, 2, 3.5];
  const c = [0.1, 0.05, 0.6];
  const held = mechanics({
    mass: [m, m, m, ...J],
    kinematics: quaternions.freeBodies(),
    forces: ({v}) => tf.concat([tf.tensor1d([0, 0, -m * g]), gyroscopic(J, tf.slice(v, [3], [3]))]),
    constraints: [bilateral(({q}) => tf.sub(tf.slice(q, [0], [3]), rotate(tf.slice(q, [3], [4]), tf.tensor1d(c))))],
  });
  const square = c.reduce((sum, x) => sum + x * x, 0);
  const about = J.map((j, i) => c.map((x, k) => (i === k ? j + m * square : 0) - m * c[i] * x));
  const weight = (r: tf.Tensor): tf.Tensor => cross(tf.tensor1d(c), rotate(r, tf.tensor1d([0, 0, -m * g]), -1));
  const momentum = (omega: tf.Tensor): tf.Tensor =>
    tf.reshape(tf.matMul(tf.tensor2d(about), tf.reshape(omega, [3, 1])), [3]);
  const torque = (r: tf.Tensor, omega: tf.Tensor): tf.Tensor => tf.sub(weight(r), cross(omega, momentum(omega)));
  const reduced = mechanics({mass: about, kinematics: turning, forces: ({q, v}) => torque(q, v)});
  const [r0, w0] = [
    [0.8, 0.6, 0, 0],
    [0.5, 1, 6],
  ];
  const t1 = 0.5;
  const fine = simulate(
    reduced,
    {q: r0, v: w0},
    {scheme: gaussLegendre({stages: 3}), dt: 0.01, t1, observe: ({q, v}) => torque(q, v)},
  );
  const saved = fine.values('t').length - 1;
  const [r, w] = [Array.from(fine.values('q').slice(4 * saved)), Array.from(fine.values('v').slice(3 * saved))];
  // λ holds the centre on its circle: m p″ − m g with p″ = R(ω′×c + ω×(ω×c)).
  const rates = solved(about, Array.from(fine.values('observed').slice(3 * saved)));
  const acceleration = rotated(
    r,
    crossed(rates, c).map((x, i) => x + crossed(w, crossed(w, c))[i]),
  );
  const lambda = acceleration.map((x, i) => m * x + (i === 2 ? m * g : 0));
  const start = {q: [...rotated(r0, c), ...r0], v: [...rotated(r0, crossed(w0, c)), ...w0]};
  const end = [...rotated(r, c), ...r, ...rotated(r, crossed(w, c)), ...w];

  const cases: readonly (readonly [Scheme, 'none' | 'projection' | 'ggl' | undefined, number, number])[] = [
    [implicitEuler(), undefined, 1, 0.8],
    [implicitMidpoint(), 'ggl', 2, 0.9],
    [newmark(), 'ggl', 2, 1],
    [generalizedAlpha({rhoInf: 0.5}), undefined, 2, 1.8],
    [generalizedAlpha({rhoInf: 0.5}), 'ggl', 2, 1.7],
    [bdf2(), undefined, 2, 1.7],
    [sdirk2(), undefined, 2, 1.9],
    [gaussLegendre(), undefined, 4, 3.9],
    [radauIIA5(), undefined, 3, 1.9],
    [radauIIA5(), 'ggl', 5, 2.9],
  ];
  for (const [scheme, stabilization, order, ofLambda] of cases) {
    slow(
      `${scheme.name}${stabilization === undefined ? '' : `, ${stabilization}`}: order ${order}, λ as well as in a plane`,
      () => {
        const errors = [0.01, 0.005].map(dt => {
          const run = simulate(held, start, {scheme, dt, t1, saveAt: 'end', stabilization});
          const found = [last(run.values('q')), last(run.values('v')), last(run.values('lambda'))];
          run.dispose();
          return [apart([...found[0], ...found[1]], end), apart(found[2], lambda)];
        });
        const orders = [0, 1].map(i => Math.log2(errors[0][i] / errors[1][i]));
        expect(orders[0], 'motion').greaterThan(order - 0.2);
        expect(orders[1], 'λ').greaterThan(ofLambda);
      },
    );
  }

  const adjoints: readonly (readonly [string, Adjoint])[] = [
    ['implicit', implicitAdjoint()],
    ['unrolled', unrolledAdjoint()],
    ['forward', forwardSensitivity()],
  ];
  const driven = mechanics<{k: tf.Tensor}>({
    mass: [m, m, m, ...J],
    kinematics: quaternions.freeBodies(),
    forces: ({q, v, params}) =>
      tf.concat([
        tf.mul(tf.neg(params.k), tf.slice(q, [0], [3])),
        tf.sub(gyroscopic(J, tf.slice(v, [3], [3])), tf.mul(params.k, weight(tf.slice(q, [3], [4])))),
      ]),
  });
  for (const [name, system, scheme] of [
    ['free', driven, implicitMidpoint()],
    ['free', driven, generalizedAlpha()],
    ['free', driven, bdf2()],
    ['free', driven, radauIIA5()],
    ['free', driven, tsit5()],
    ['held', held, generalizedAlpha()],
    ['held', held, implicitMidpoint()],
    ['held', held, radauIIA5()],
  ] as const) {
    slow(`${scheme.name}, ${name}: gradients by every adjoint are those of differences`, () => {
      const options = {scheme, dt: 0.02, steps: 15, saveAt: 'end' as const};
      const bars = {q: start.q.map((_, i) => Math.cos(i)), v: start.v.map((_, i) => Math.sin(i + 1))};
      const cotangent = {q: [...start.q.map(() => 0), ...bars.q], v: [...start.v.map(() => 0), ...bars.v]};
      const params = system === driven ? {k: 1.2} : undefined;
      // Of a held top a spin about the fixed point: the start obeys whatever s.
      const from = (s: number): typeof start => {
        const omega = w0.map((x, i) => x + (i === 1 ? s : 0));
        return {q: start.q, v: [...rotated(r0, crossed(omega, c)), ...omega]};
      };
      const loss = (s: number): number => {
        const run = simulate(system as typeof driven, from(s), {
          ...options,
          params: params === undefined ? undefined : {k: params.k + s},
        });
        const [q, v] = [last(run.values('q')), last(run.values('v'))];
        run.dispose();
        return q.reduce((sum, x, i) => sum + x * bars.q[i], 0) + v.reduce((sum, x, i) => sum + x * bars.v[i], 0);
      };
      const e = 1e-4;
      const slope = (8 * (loss(e) - loss(-e)) - (loss(2 * e) - loss(-2 * e))) / (12 * e);
      const direction = [...rotated(r0, crossed([0, 1, 0], c)), 0, 1, 0];
      for (const [label, adjoint] of adjoints) {
        const {trajectory, pullback} = simulate.vjp(system as typeof driven, start, {...options, params, adjoint});
        const {initial, params: byParams} = pullback(cotangent);
        trajectory.dispose();
        const found = initial.v.reduce((sum, x, i) => sum + x * direction[i], 0) + (byParams.k?.[0] ?? 0);
        expect(Math.abs(found - slope), label).lessThan(1e-7);
      }
    });
  }

  slow('products with the Hessian are differences of gradients', () => {
    for (const scheme of [implicitMidpoint(), generalizedAlpha(), radauIIA5()]) {
      const options = {scheme, dt: 0.02, steps: 10, saveAt: 'end' as const};
      const gradient = (s: number): number[] => {
        const {trajectory, pullback} = simulate.vjp(driven, start, {...options, params: {k: 1.2 + s}});
        const q = trajectory.values('q');
        trajectory.dispose();
        const {initial, params} = pullback({q: Array.from(q, (x, i) => (i < 7 ? 0 : 2 * x * x * x))});
        return [params.k?.[0] ?? NaN, ...initial.v];
      };
      const {product} = simulate.hvp(
        driven,
        start,
        {...options, params: {k: 1.2}},
        ({q}) => tf.mul(tf.sum(tf.square(tf.square(tf.slice(q, [1])))), 0.5),
        {params: {k: 1}},
      );
      const e = 1e-5;
      const [above, below] = [gradient(e), gradient(-e)];
      const found = [product.params.k?.[0] ?? NaN, ...product.initial.v];
      expect(
        apart(
          found,
          above.map((x, i) => (x - below[i]) / (2 * e)),
        ),
        scheme.name,
      ).lessThan(1e-7);
    }
  });

  it('rests where a spring on its quaternion holds a torque: its vector part is torque over stiffness', () => {
    const sprung = mechanics({
      mass: J,
      kinematics: turning,
      forces: ({q}) => tf.sub(tf.tensor1d([0.1, -0.2, 0.3]), tf.mul(tf.slice(q, [1], [3]), 2)),
    });
    const rest = equilibrium(sprung, {q: turned([1, 0.2, 0], 0.5), v: [0, 0, 0]});
    expect(apart(rest.values('q'), [Math.sqrt(1 - 0.035), 0.05, -0.1, 0.15])).lessThan(1e-8);
  });
});
