/** Forces that read the multipliers of constraints: Coulomb friction in joints, against closed forms and differences. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Constraint, MechanicalSystem, Scheme} from '../../lib/index.js';
import {
  adaptive,
  bdf2,
  bilateral,
  blendedEuler,
  compliant,
  equilibrium,
  forwardSensitivity,
  gaussLegendre,
  generalizedAlpha,
  implicitEuler,
  implicitMidpoint,
  kvaerno5,
  mechanics,
  newmark,
  radauIIA5,
  signal,
  simulate,
  trapezoid,
  unilateral,
} from '../../lib/index.js';
import {order, slope} from '../simulate/numbers.js';
import {slow} from '../tiers.js';

type Mu = {mu: tf.Tensor};
const friction = (mu: tf.Tensor, lambda: tf.Tensor, v: tf.Tensor): tf.Tensor =>
  tf.neg(tf.mul(tf.mul(mu, tf.abs(lambda)), tf.div(v, tf.sqrt(tf.sum(tf.square(v))))));
/** A bead on a hoop of radius 1 without gravity: |λ| = v² and v' = −μv², so that v = v₀/(1 + μv₀t). */
const bead = (circle: (gap: (at: {q: tf.Tensor}) => tf.Tensor) => Constraint<Mu>): MechanicalSystem<Mu> =>
  mechanics<Mu>({
    mass: 1,
    forces: ({v, lambda, params}) => friction(params.mu, lambda!, v),
    constraints: [circle(({q}) => tf.mul(0.5, tf.sub(tf.sum(tf.square(q)), 1)))],
  });
const hoop = bead(gap => bilateral(gap));
const start = {q: [1, 0], v: [0, 2]};
const speed = (v: Float64Array): number => Math.hypot(...v.slice(-2));

describe('forces that read multipliers', function () {
  this.timeout(60000);
  const schemes: readonly [Scheme, number, object?][] = [
    [implicitEuler(), 1],
    [trapezoid(), 2],
    [implicitMidpoint(), 2],
    [blendedEuler({alpha: 1, beta: 0.5}), 1],
    [newmark(), 2],
    [generalizedAlpha(), 2],
    [bdf2(), 2],
    [radauIIA5(), 2],
    [radauIIA5(), 3, {stabilization: 'ggl'}],
    [kvaerno5(), 5],
    [gaussLegendre(), 4],
    [bdf2(), 2, {stabilization: 'ggl'}],
  ];
  for (const [scheme, expected, more = {}] of schemes) {
    const title = `${scheme.name} ${Object.values(more).join()}`.trim();
    slow(`${title}: order ${expected} on a hoop, gradients to 1e-8`, () => {
      const errors = [20, 40].map(n => {
        const run = simulate(hoop, start, {scheme, params: {mu: 0.3}, dt: 1 / n, steps: n, saveAt: 'end', ...more});
        return Math.abs(speed(run.values('v')) - 2 / 1.6);
      });
      expect(order(errors[0], errors[1])).to.be.greaterThan(expected - 0.35);
      const options = {scheme, dt: 0.05, steps: 20, saveAt: 'end' as const, ...more};
      const {pullback} = simulate.vjp(hoop, start, {...options, params: {mu: 0.3}});
      const by = pullback({v: [0, 0, 1, 0.5], lambda: [0, 0.1]}).params.mu as Float64Array;
      const end = (s: number): number => {
        const run = simulate(hoop, start, {...options, params: {mu: 0.3 + s}});
        return run.values('v')[2] + 0.5 * run.values('v')[3] + 0.1 * run.values('lambda').at(-1)!;
      };
      expect(by[0] / slope(end, 1e-3)).to.be.closeTo(1, 1e-8);
    });
  }

  const options = {scheme: gaussLegendre(), params: {mu: 0.3}, dt: 0.01, t1: 1, saveAt: 'end' as const};
  it('in adaptive steps', () => {
    const control = adaptive({rtol: 1e-9, atol: 1e-11});
    expect(speed(simulate(hoop, start, {...options, control}).values('v'))).to.be.closeTo(1.25, 1e-8);
  });

  it('in forward sensitivities', () => {
    const cotangent = {v: [0, 0, 1, 0]};
    const back = simulate.vjp(hoop, start, options).pullback(cotangent).params.mu as Float64Array;
    const forward = simulate.vjp(hoop, start, {...options, adjoint: forwardSensitivity()}).pullback(cotangent);
    expect((forward.params.mu as Float64Array)[0] / back[0]).to.be.closeTo(1, 1e-10);
  });

  it('of compliant rows too, of second order by the trapezoidal rule', () => {
    const soft = bead(gap => compliant(gap, {compliance: 1e-2}));
    const end = (n: number): number =>
      speed(
        simulate(soft, start, {scheme: trapezoid(), params: {mu: 0.3}, dt: 1 / n, steps: n, saveAt: 'end'}).values('v'),
      );
    const [one, two, four] = [400, 800, 1600].map(end);
    expect(order(Math.abs(one - two), Math.abs(two - four))).to.be.closeTo(2, 0.2);
  });

  it('a block that slides on a floor: v = v₀ − μgt, with an input and a hidden state beside', () => {
    const block = mechanics<Mu & {g: tf.Tensor}, 'heat'>({
      mass: 2,
      forces: [
        ({params}) => tf.mul(-2, tf.mul(params.g, tf.tensor1d([0, 1]))),
        ({v, lambda, params}) =>
          tf.mul(tf.neg(tf.mul(params.mu, lambda!)), tf.mul(tf.tensor1d([1, 0]), tf.sign(tf.slice(v, [0], [1])))),
      ],
      states: {heat: {initial: 0, rate: ({v}) => tf.sum(tf.abs(v))}},
      constraints: [unilateral(({q}) => tf.slice(q, [1], [1]))],
    });
    const run = simulate(
      block,
      {q: [0, 0], v: [3, 0]},
      {
        scheme: implicitEuler(),
        params: {mu: 0.4},
        inputs: {g: signal([0, 1], [10, 10])},
        dt: 0.01,
        steps: 50,
      },
    );
    expect(run.values('v').at(-2)).to.be.closeTo(3 - 0.4 * 10 * 0.5, 1e-12);
    expect(run.values('lambda').at(-1)).to.be.closeTo(20, 1e-12);
  });

  it('at rest: a load that its own reaction holds up', () => {
    // 0 = −k(q₁ − 1) − μλ with λ = m g below: q₁ = 1 − μ m g/k.
    const held = mechanics<Mu>({
      mass: 1,
      forces: ({q, lambda, params}) => {
        const x = tf.slice(q, [0], [1]);
        return tf.concat([tf.sub(tf.mul(-50, tf.sub(x, 1)), tf.mul(params.mu, lambda!)), tf.tensor1d([-9.81])]);
      },
      constraints: [bilateral(({q}) => tf.slice(q, [1], [1]))],
    });
    const rest = equilibrium.vjp(held, {q: [0, 0]}, {params: {mu: 0.5}});
    expect(rest.equilibrium.values('q')[0]).to.be.closeTo(1 - (0.5 * 9.81) / 50, 1e-12);
    expect((rest.pullback({q: [1, 0]}).params.mu as Float64Array)[0]).to.be.closeTo(-9.81 / 50, 1e-12);
  });

  it('are of first order with a projection after steps of second order', () => {
    const end = (scheme: Scheme, n: number): number => {
      const options = {scheme, params: {mu: 0.3}, dt: 1 / n, steps: n, stabilization: 'projection' as const};
      return Math.abs(speed(simulate(hoop, start, {...options, saveAt: 'end'}).values('v')) - 1.25);
    };
    expect(order(end(generalizedAlpha(), 80), end(generalizedAlpha(), 160))).to.be.greaterThan(0.85);
    expect(() => end(implicitEuler(), 20)).to.throw(/is only a part/);
  });

  it('are refused where there are no constraints', () => {
    const free = mechanics({mass: 1, forces: ({lambda}) => lambda!});
    expect(() => simulate(free, {q: 1, v: 0}, {dt: 0.1, steps: 1})).to.throw(/forces\[0\] reads lambda/);
  });
});
