/**
 * q' = N(q, t; p) v with velocities seen from a turning frame, N = R(ωt): a free particle goes on straight, one on a circle round,
 * whatever the frame does. Both are known in closed form.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme} from '../../lib/index.js';
import {
  adaptive,
  bdf2,
  bilateral,
  dopri5,
  explicitEuler,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  linearize,
  mechanics,
  newmark,
  OptionError,
  radauIIA5,
  rk4,
  sdirk2,
  signal,
  simulate,
  symplecticEuler,
  trapezoid,
  verlet,
} from '../../lib/index.js';
import {slow} from '../tiers.js';

type P = {readonly omega: tf.Tensor};

/** [[0, −1], [1, 0]] v */
const across = (v: tf.Tensor): tf.Tensor => {
  const [a, b] = tf.unstack(v);
  return tf.stack([tf.neg(b), a]);
};
const turned = (angle: tf.Tensor, v: tf.Tensor): tf.Tensor =>
  tf.add(tf.mul(tf.cos(angle), v), tf.mul(tf.sin(angle), across(v)));
const angleOf = ({t, params}: {readonly t: tf.Tensor; readonly params: P}): tf.Tensor => tf.mul(params.omega, t);

const spec = {
  mass: 1,
  // Coriolis and centrifugal terms of the velocity itself: v' = −ω × v.
  forces: ({v, params}: {readonly v: tf.Tensor; readonly params: P}) => tf.neg(tf.mul(params.omega, across(v))),
  kinematics: ({v, ...at}: {readonly v: tf.Tensor; readonly t: tf.Tensor; readonly params: P}) =>
    turned(angleOf(at), v),
};
const free = mechanics<P>(spec);
const onCircle = mechanics<P>({...spec, constraints: [bilateral(({q}) => tf.sub(tf.sum(tf.square(q)), 1))]});
const omega = 1.7;
const [t0, t1] = [0.3, 1.3];
/** The velocity of the world as the frame sees it. */
const seen = ([a, b]: readonly number[], t: number, w = omega): [number, number] => {
  const [c, s] = [Math.cos(w * t), Math.sin(w * t)];
  return [c * a + s * b, c * b - s * a];
};
const world = [0.8, -0.5];
const start = {q: [1, 2], v: seen(world, t0), t: t0};
const apart = (a: ArrayLike<number>, b: readonly number[]): number =>
  Math.hypot(...b.map((x, i) => a[a.length - b.length + i] - x));

const schemes: readonly Scheme[] = [
  explicitEuler(),
  symplecticEuler(),
  verlet(),
  rk4(),
  dopri5(),
  implicitEuler(),
  trapezoid(),
  implicitMidpoint(),
  newmark(),
  newmark({beta: 0.3, gamma: 0.6}),
  generalizedAlpha({rhoInf: 0.5}),
  hht(),
  bdf2(),
  sdirk2(),
  kvaerno3(),
  kvaerno5(),
  gaussLegendre(),
  radauIIA5(),
];

describe('q′ = N(q, t) v', () => {
  for (const scheme of schemes)
    it(`${scheme.name}: straight on, in order ${scheme.order}`, () => {
      const errors = [0.04, 0.02].map(dt => {
        const run = simulate(free, start, {scheme, dt, t1, params: {omega}, saveAt: 'end'});
        return apart(run.values('q'), [1 + world[0], 2 + world[1]]) + apart(run.values('v'), seen(world, t1));
      });
      // Errors in phase and size of the velocity have parts of higher order in them at these steps.
      expect(Math.log2(errors[0] / errors[1])).within(scheme.order - 0.2, scheme.order + 1.2);
    });

  it('backwards in time as well', () => {
    for (const scheme of [trapezoid(), generalizedAlpha(), kvaerno5()]) {
      const errors = [0.04, 0.02].map(dt => {
        const end = {q: [1 + world[0], 2 + world[1]], v: seen(world, t1), t: t1};
        const run = simulate(free, end, {scheme, dt: -dt, t1: t0, params: {omega}, saveAt: 'end'});
        return apart(run.values('q'), [1, 2]);
      });
      expect(Math.log2(errors[0] / errors[1]), scheme.name).within(scheme.order - 0.3, scheme.order + 1.2);
    }
  });

  slow('between steps, with adaptive ones', () => {
    for (const scheme of [newmark(), generalizedAlpha(), bdf2(), radauIIA5(), dopri5()]) {
      const run = simulate(free, start, {
        scheme,
        dt: 0.01,
        t1,
        params: {omega},
        control: adaptive({rtol: 1e-6, atol: 1e-8}),
        saveAt: [0.5, 0.77, 1.1],
      });
      run.values('t').forEach((t, i) => {
        const q = run.values('q').slice(2 * i, 2 * i + 2);
        expect(apart(q, [1 + world[0] * (t - t0), 2 + world[1] * (t - t0)]), scheme.name).lessThan(1e-4);
      });
    }
  });

  slow('constraints hold positions, push along Nᵀ, and have their multipliers', () => {
    // Round the circle at speed 2: q'' = −4q = 2λq.
    const at = (t: number): number[] => [Math.cos(2 * (t - t0)), Math.sin(2 * (t - t0))];
    const speed = (t: number): number[] => [-2 * Math.sin(2 * (t - t0)), 2 * Math.cos(2 * (t - t0))];
    const begin = {q: at(t0), v: seen(speed(t0), t0), t: t0};
    for (const [scheme, stabilization] of [
      [generalizedAlpha(), undefined],
      [generalizedAlpha(), 'ggl'],
      [newmark(), 'ggl'],
      [bdf2(), 'projection'],
      [gaussLegendre(), undefined],
      [radauIIA5(), 'ggl'],
      [kvaerno5(), undefined],
    ] as const) {
      const errors = [0.02, 0.01].map(dt => {
        const run = simulate(onCircle, begin, {scheme, stabilization, dt, t1, params: {omega}, saveAt: 'end'});
        expect(run.values('lambda').at(-1), scheme.name).closeTo(-2, 0.02);
        return apart(run.values('q'), at(t1)) + apart(run.values('v'), seen(speed(t1), t1));
      });
      expect(Math.log2(errors[0] / errors[1]), `${scheme.name} ${stabilization ?? ''}`).greaterThan(1.8);
    }
  });

  it('may read inputs: the angle of the frame as a signal', () => {
    type Driven = {readonly angle: tf.Tensor; readonly rate: tf.Tensor};
    const driven = mechanics<Driven>({
      mass: 1,
      forces: ({v, params: {rate}}) => tf.neg(tf.mul(rate, across(v))),
      kinematics: {rate: ({v, params: {angle}}) => turned(angle, v)},
    });
    const angle = signal([0, 2], [0, 2 * omega]);
    for (const scheme of [rk4(), trapezoid()]) {
      const options = {scheme, dt: 0.05, t1, saveAt: 'end'} as const;
      const run = simulate(driven, start, {...options, inputs: {angle, rate: angle.derivative}});
      const own = simulate(free, start, {...options, params: {omega}});
      expect(apart(run.values('q'), [...own.values('q').slice(2)])).lessThan(1e-12);
    }
    const projected = mechanics<Driven>({
      mass: 1,
      forces: ({v}) => tf.neg(v),
      kinematics: {
        rate: ({v, params: {rate}}) => tf.mul(rate, v),
        project: ({q, params}) => tf.mul(q, params.angle),
      },
    });
    expect(() => simulate(projected, start, {dt: 0.1, steps: 1, inputs: {angle, rate: angle.derivative}}))
      .to.throw(OptionError, /The projection reads the input 'angle'/)
      .with.property('code', 'input-in-mass');
  });

  slow('gradients by the parameters of N agree with differences', () => {
    for (const scheme of [trapezoid(), generalizedAlpha(), kvaerno3()]) {
      const end = (w: number): number =>
        simulate(onCircle, {q: [1, 0], v: [0, 2]}, {scheme, dt: 0.05, t1, params: {omega: w}, saveAt: 'end'})
          .values('q')
          .at(-1) as number;
      const options = {scheme, dt: 0.05, t1, params: {omega}, saveAt: 'end'} as const;
      const {pullback} = simulate.vjp(onCircle, {q: [1, 0], v: [0, 2]}, options);
      const d = 1e-4;
      // At t = 0 the frame is that of the world, for every ω.
      const expected = (8 * (end(omega + d) - end(omega - d)) - end(omega + 2 * d) + end(omega - 2 * d)) / (12 * d);
      const got = (pullback({q: [0, 0, 0, 1]}).params as {omega: Float64Array}).omega[0];
      expect(got, scheme.name).closeTo(expected, 1e-8 * Math.max(1, Math.abs(expected)));
    }
  });

  it('linearize accounts for the frame: deviations of a steady motion neither grow nor fade', () => {
    // In the turning frame a deviation w of the position obeys w' = δv − ω × w, and δv' = −ω × δv: ±iω twice.
    const {eigenvalues} = linearize(free, {q: [1, 2], v: [0, 0], t: t0}, {params: {omega}});
    for (const {real, imaginary} of eigenvalues) {
      expect(real).closeTo(0, 1e-8);
      expect(Math.abs(imaginary)).closeTo(omega, 1e-7);
    }
  });
});
