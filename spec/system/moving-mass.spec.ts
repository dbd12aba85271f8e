/** M(y, t; p) y' = f: masses that change with state and time, regular and singular, against closed forms. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme, SimulateOptions} from '../../lib/index.js';
import {
  adaptive,
  bdf2,
  event,
  forwardSensitivity,
  gaussLegendre,
  implicitEuler,
  kvaerno3,
  kvaerno5,
  ode,
  OptionError,
  radauIIA5,
  rk4,
  sdirk2,
  signal,
  simulate,
  trapezoid,
} from '../../lib/index.js';
import {relative} from '../simulate/numbers.js';
import {slow} from '../tiers.js';

type P = {readonly a: tf.Tensor};

/**
 * x = (cos t, e^(−t)) and the algebraic z = x₀x₁ + a: with masses 2 + x₁z and 1 + t² + x₀², f = M x' and 0 = z − x₀x₁ − a. The rates
 * themselves are written in x and z, so that f is not a function of t alone.
 */
const parts = (y: tf.Tensor) => tf.unstack(y) as [tf.Tensor, tf.Tensor, tf.Tensor];
const masses = ({y, t}: {readonly y: tf.Tensor; readonly t: tf.Tensor}): [tf.Tensor, tf.Tensor] => {
  const [x0, x1, z] = parts(y);
  return [tf.add(2, tf.mul(x1, z)), tf.addN([tf.onesLike(t), tf.square(t), tf.square(x0)])];
};
const rates = ({y, t, params: {a}}: {readonly y: tf.Tensor; readonly t: tf.Tensor; readonly params: P}) => {
  const [x0, x1, z] = parts(y);
  // −sin t and −e^(−t), with terms that are zero on the solution but not beside it.
  const off = tf.sub(z, tf.add(tf.mul(x0, x1), a));
  return [tf.sub(tf.mul(3, tf.sub(tf.cos(t), x0)), tf.sin(t)), tf.add(tf.neg(x1), off)] as const;
};
const derivative = (at: {readonly y: tf.Tensor; readonly t: tf.Tensor; readonly params: P}): tf.Tensor => {
  const [m0, m1] = masses(at);
  const [r0, r1] = rates(at);
  const [x0, x1, z] = parts(at.y);
  return tf.stack([tf.mul(m0, r0), tf.mul(m1, r1), tf.sub(tf.add(tf.mul(x0, x1), at.params.a), z)]);
};
const exact = (t: number, a = 0.4): number[] => [Math.cos(t), Math.exp(-t), Math.cos(t) * Math.exp(-t) + a];
const zero = tf.scalar(0);
const diagonal = ode<P>({
  derivative,
  mass: ({y, t}) => tf.stack([...masses({y, t}), zero]),
});
/** The same by a matrix whose columns mix: rows one and two of M0 diag(m) M0⁻¹-like products, of null vectors that turn with y. */
const full = ode<P>({
  derivative: at => {
    const [x0, x1, z] = parts(at.y);
    const [m0, m1] = masses(at);
    const [r0, r1] = rates(at);
    // z' as it follows from the other two counts in row one with weight x₁.
    const rz = tf.add(tf.mul(r0, x1), tf.mul(x0, r1));
    return tf.stack([
      tf.addN([tf.mul(m0, r0), tf.mul(0.5, r1), tf.mul(x1, rz)]),
      tf.mul(m1, r1),
      tf.sub(tf.add(tf.mul(x0, x1), at.params.a), z),
    ]);
  },
  mass: ({y, t}) => {
    const [, x1] = parts(y);
    const [m0, m1] = masses({y, t});
    return tf.stack([tf.stack([m0, tf.scalar(0.5), x1]), tf.stack([zero, m1, zero]), tf.zeros([3])]);
  },
});
/** Regular: y' = 1/(1 + y²) for M = 1 + y², y + y³/3 = t. */
const regular = ode({derivative: ({y}) => tf.onesLike(y), mass: ({y}) => tf.add(1, tf.square(y))});
const cubicRoot = (t: number): number => {
  const [u, d] = [1.5 * t, Math.sqrt(2.25 * t * t + 1)];
  return Math.cbrt(u + d) + Math.cbrt(u - d);
};

const options = (scheme: Scheme, dt: number): SimulateOptions<P> =>
  ({scheme, dt, t1: 1, params: {a: 0.4}, saveAt: 'end'}) as SimulateOptions<P>;
const errorOf = (system: typeof diagonal, scheme: Scheme, dt: number): number[] => {
  const y = simulate(system, {y: exact(0)}, options(scheme, dt))
    .values('y')
    .slice(3);
  return exact(1).map((x, i) => Math.abs(y[i] - x));
};

describe('M(y, t) y′ = f', () => {
  for (const [scheme, onDiagonal, onFull] of [
    [radauIIA5(), 5, 5],
    [gaussLegendre(), 4, undefined],
    [gaussLegendre({stages: 3}), 6, undefined],
    [kvaerno3(), 3, undefined],
    [kvaerno5(), 5, undefined],
    [sdirk2(), 2, 2],
    [bdf2(), 2, 2],
    [implicitEuler(), 1, 1],
  ] as const)
    it(`${scheme.name}: order ${onDiagonal} in all components, of index 1 (one mass a component)`, () => {
      const steps = scheme.order > 4 ? [0.25, 0.125] : [0.1, 0.05];
      const [coarse, fine] = steps.map(dt => Math.hypot(...errorOf(diagonal, scheme, dt)));
      expect(Math.log2(coarse / fine)).within(onDiagonal - 0.3, onDiagonal + 0.8);
      if (onFull === undefined) {
        expect(() => errorOf(full, scheme, 0.1)).to.throw(OptionError, /its rank is not known before the run/);
        return;
      }
      const [before, after] = steps.map(dt => Math.hypot(...errorOf(full, scheme, dt)));
      expect(Math.log2(before / after)).within(onFull - 0.3, onFull + 0.8);
    });

  it('regular ones: y + y³/3 = t', () => {
    for (const scheme of [radauIIA5(), gaussLegendre(), kvaerno5(), bdf2()]) {
      // Those of bdf2 change sign about h = 0.05.
      const errors = (scheme.order === 2 ? [0.02, 0.01] : [0.1, 0.05]).map(dt =>
        Math.abs(simulate(regular, {y: 0}, {scheme, dt, t1: 2, saveAt: 'end'}).values('y')[1] - cubicRoot(2)),
      );
      expect(Math.log2(errors[0] / errors[1]), scheme.name).within(scheme.order - 0.4, scheme.order + 1.2);
    }
  });

  slow('adaptive steps keep their tolerance, forwards and backwards in time', () => {
    for (const scheme of [radauIIA5(), kvaerno5(), bdf2()]) {
      const control = adaptive({rtol: 1e-6, atol: 1e-8});
      for (const [from, to] of [
        [0, 1],
        [1, 0],
      ]) {
        const run = simulate(
          diagonal,
          {y: exact(from), t: from},
          {scheme, dt: 0.01 * (to - from), t1: to, control, params: {a: 0.4}, saveAt: [0.6]},
        );
        expect(relative(run.values('y'), exact(0.6)), scheme.name).below(2e-5);
      }
    }
  });

  slow('reads inputs, and starts that are projected', () => {
    const driven = ode<{readonly m: tf.Tensor}>({
      derivative: ({y}) => tf.neg(y),
      mass: ({params: {m}}) => m,
    });
    // m = 1 + t by a line: (1 + t) y' = −y, y = 1/(1 + t).
    const run = simulate(
      driven,
      {y: 1},
      {scheme: radauIIA5(), dt: 0.1, t1: 1, inputs: {m: signal([0, 2], [1, 3])}, saveAt: 'end'},
    );
    expect(run.values('y')[1]).closeTo(0.5, 1e-8);
    const off = [exact(0)[0], exact(0)[1], 7];
    const moved = simulate(diagonal, {y: off}, {...options(radauIIA5(), 0.1), consistent: 'project'});
    expect(relative(moved.values('y').slice(0, 3), exact(0))).below(1e-12);
    expect(() => simulate(diagonal, {y: off}, options(radauIIA5(), 0.1))).to.throw(/row 2 .* is algebraic/);
  });

  it('events find their rates where it is one a component', () => {
    const half = event<P>({when: ({y}) => tf.sub(tf.slice(y, [1], [1]), 0.5), then: 'stop'});
    const run = simulate(diagonal, {y: exact(0)}, {...options(radauIIA5(), 0.1), events: [half]});
    expect(run.values('t')[1]).closeTo(Math.log(2), 1e-6);
  });

  slow('gradients agree with differences, through M and by the start', () => {
    const massed = ode<P>({
      derivative: ({y, t}) => tf.mul(tf.neg(y), tf.add(1, t)),
      mass: ({y, t, params: {a}}) => tf.addN([tf.mul(a, tf.square(y)), tf.add(1, t)]),
    });
    const at = (scheme: Scheme, a: number, y: number): number =>
      simulate(massed, {y}, {scheme, dt: 0.1, t1: 1, params: {a}, saveAt: 'end'}).values('y')[1];
    const d = 1e-3;
    const slope = (f: (s: number) => number): number => (8 * (f(d) - f(-d)) - f(2 * d) + f(-2 * d)) / (12 * d);
    for (const scheme of [radauIIA5(), kvaerno5(), gaussLegendre(), bdf2()])
      for (const adjoint of [undefined, forwardSensitivity()]) {
        const {pullback} = simulate.vjp(
          massed,
          {y: 0.8},
          {scheme, dt: 0.1, t1: 1, params: {a: 0.7}, saveAt: 'end', adjoint},
        );
        const {initial, params} = pullback({y: [0, 1]});
        expect((params as {a: Float64Array}).a[0], scheme.name).closeTo(
          slope(s => at(scheme, 0.7 + s, 0.8)),
          1e-9,
        );
        expect((initial.y as Float64Array)[0]).closeTo(
          slope(s => at(scheme, 0.7, 0.8 + s)),
          1e-9,
        );
      }
  });

  it('is refused by what takes M for constant, and where algebraic rows come and go', () => {
    for (const scheme of [trapezoid(), rk4()])
      expect(() => simulate(regular, {y: 1}, {scheme, dt: 0.1, steps: 1}))
        .to.throw(OptionError)
        .with.property('code', 'wrong-scheme');
    const coming = ode({derivative: ({y}) => tf.neg(y), mass: ({t}) => tf.stack([tf.onesLike(t), t])});
    expect(() => simulate(coming, {y: [1, 0]}, {scheme: radauIIA5(), dt: 0.1, steps: 1}))
      .to.throw(OptionError, /Row 1 .* depends on other rows at the start, but not nearby/)
      .with.property('code', 'bad-mass');
  });
});
