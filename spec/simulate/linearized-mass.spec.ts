/** M y' = f at rest and linearized, and its continuous adjoint: finite generalized eigenvalues against closed forms. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Linearization, Scheme} from '../../lib/index.js';
import {
  backsolveAdjoint,
  equilibrium,
  gaussLegendre,
  linearize,
  ode,
  OptionError,
  radauIIA5,
  signal,
  simulate,
} from '../../lib/index.js';
import {relative} from './numbers.js';
import {slow} from '../tiers.js';

const parts = (y: tf.Tensor): tf.Tensor[] => tf.unstack(y);
const close = (
  {eigenvalues}: Linearization,
  expected: readonly (readonly [number, number])[],
  tolerance = 1e-12,
): void => {
  expect(eigenvalues.length).equal(expected.length);
  // Real parts that are equal but for rounding have no order.
  const found = [...eigenvalues].sort((a, b) => b.imaginary - a.imaginary || b.real - a.real);
  expected.forEach(([real, imaginary], i) => {
    expect(found[i].real).closeTo(real, tolerance);
    expect(found[i].imaginary).closeTo(imaginary, tolerance);
  });
};

describe('M y′ = f', () => {
  describe('linearized', () => {
    it('a regular M: two coupled lags', () => {
      // [[2, 1], [1, 3]] y' = −diag(1, 2) y: 5 s² + 7 s + 2 = 0.
      const lags = ode({
        derivative: ({y}) => tf.mul(y, tf.tensor1d([-1, -2])),
        mass: [
          [2, 1],
          [1, 3],
        ],
      });
      const found = linearize(lags, {y: [0, 0]});
      close(found, [
        [-0.4, 0],
        [-1, 0],
      ]);
      expect(found.coordinates).deep.equal(['y[0]', 'y[1]']);
      close(linearize(ode({derivative: ({y}) => tf.neg(y), mass: 4}), {y: 1}), [[-0.25, 0]]);
    });

    it('index 1: a circuit whose node has no capacitor', () => {
      // C v' = −i, L i' = w, 0 = v − R i − w: s² + (R/L) s + 1/(LC) = 0.
      const [C, L, R] = [0.5, 2, 3];
      const circuit = ode({
        derivative: ({y}) => {
          const [v, i, w] = parts(y);
          return tf.stack([tf.neg(i), w, tf.sub(v, tf.add(tf.mul(R, i), w))]);
        },
        mass: [C, L, 0],
      });
      const found = linearize(circuit, {y: [0, 0, 0]});
      close(found, [
        [-R / L / 2, Math.sqrt(1 / (L * C) - (R / L) ** 2 / 4)],
        [-R / L / 2, -Math.sqrt(1 / (L * C) - (R / L) ** 2 / 4)],
      ]);
      expect(found.coordinates).deep.equal(['y[0]', 'y[1]']);
    });

    it('index 2: a pendulum held by its velocity', () => {
      // x, y, u, v, λ about (0, −1, 0, 0): ±i√g, and 0 of the length that nothing holds.
      const g = 9.81;
      const pendulum = ode({
        derivative: ({y: state}) => {
          const [x, y, u, v, lambda] = parts(state);
          return tf.stack([u, v, tf.mul(x, lambda), tf.sub(tf.mul(y, lambda), g), tf.add(tf.mul(x, u), tf.mul(y, v))]);
        },
        mass: [1, 1, 1, 1, 0],
      });
      close(
        linearize(pendulum, {y: [0, -1, 0, 0, -g]}),
        [
          [0, Math.sqrt(g)],
          [0, 0],
          [0, -Math.sqrt(g)],
        ],
        1e-11,
      );
    });

    it('is that of the ode which elimination leaves, with a mass of the state at rest, parameters and inputs', () => {
      type P = {readonly k: tf.Tensor; readonly u: tf.Tensor};
      // z = e^(−x₀) x₁; (2 + x₀²) x₀' = u − k z, x₁' = z − x₁ + x₀.
      const whole = ode<P>({
        derivative: ({y, params: {k, u}}) => {
          const [a, b, z] = parts(y);
          return tf.stack([
            tf.sub(u, tf.mul(k, z)),
            tf.add(tf.sub(z, b), a),
            tf.mul(3, tf.sub(z, tf.mul(tf.exp(tf.neg(a)), b))),
          ]);
        },
        mass: ({y}) => tf.stack([tf.add(2, tf.square(parts(y)[0])), tf.scalar(1), tf.scalar(0)]),
      });
      const left = ode<P>(({y, params: {k, u}}) => {
        const [a, b] = parts(y);
        const z = tf.mul(tf.exp(tf.neg(a)), b);
        return tf.stack([tf.div(tf.sub(u, tf.mul(k, z)), tf.add(2, tf.square(a))), tf.add(tf.sub(z, b), a)]);
      });
      const options = {params: {k: 0.8}, inputs: {u: signal([0, 1], [0.32, 0.32])}};
      const rest = equilibrium(whole, {y: [0.1, 0.5, 0.4]}, options);
      const y = [...rest.values('y')];
      // u = k z, b = z + a, z = e^(−a)(z + a).
      expect(y[2]).closeTo(0.4, 1e-12);
      expect(Math.exp(-y[0]) * (0.4 + y[0])).closeTo(0.4, 1e-12);
      const [found, expected] = [linearize(whole, {y}, options), linearize(left, {y: y.slice(0, 2)}, options)];
      expect(found.coordinates).deep.equal(['y[0]', 'y[1]']);
      found.A.forEach((row, i) => expect(relative([...row], [...expected.A[i]])).below(1e-11));
      const moving = {y: [0.5, 1, Math.exp(-0.5)]};
      expect(() => linearize(whole, moving, options)).to.throw(OptionError, /only at a state of rest, f = 0/);
    });

    it('refuses what determines no motion', () => {
      const twice = ode({
        derivative: ({y}) => {
          const [a, b] = parts(y);
          return tf.stack([tf.neg(a), tf.mul(0, b)]);
        },
        mass: [1, 0],
      });
      expect(() => linearize(twice, {y: [0, 0]})).to.throw(OptionError, /index is 3 or more|do not determine/);
    });
  });

  it('at rest: gradients of an equilibrium do not see M', () => {
    type P = {readonly a: tf.Tensor};
    const derivative = ({y, params: {a}}: {readonly y: tf.Tensor; readonly params: P}): tf.Tensor => {
      const [x, z] = parts(y);
      return tf.stack([tf.sub(a, tf.mul(x, tf.square(x))), tf.sub(tf.mul(2, x), z)]);
    };
    for (const mass of [
      [1, 0],
      [
        [1, 2],
        [0, 0],
      ],
      ({y}: {readonly y: tf.Tensor}) => tf.mul(tf.tensor1d([1, 0]), tf.add(1, tf.square(y))),
    ]) {
      const {equilibrium: rest, pullback} = (() => {
        const {equilibrium: e, pullback: p} = equilibrium.vjp(
          ode<P>({derivative, mass}),
          {y: [1, 1]},
          {params: {a: 8}},
        ) as never as {
          equilibrium: {values(name: 'y'): Float64Array};
          pullback(cotangent: {y: number[]}): {params: {a: Float64Array}};
        };
        return {equilibrium: e, pullback: p};
      })();
      expect(relative(rest.values('y'), [2, 4])).below(1e-12);
      // x = a^⅓, z = 2x: dz/da = 2/(3x²).
      expect(pullback({y: [0, 1]}).params.a[0]).closeTo(2 / 12, 1e-12);
    }
  });

  slow('the continuous adjoint goes through a mass with an inverse, and refuses one without', () => {
    type P = {readonly a: tf.Tensor};
    const derivative = ({y, t, params: {a}}: {readonly y: tf.Tensor; readonly t: tf.Tensor; readonly params: P}) =>
      tf.sub(tf.mul(a, tf.sin(t)), tf.mul(y, tf.tensor1d([0.5, 0.8])));
    const gradient = (scheme: Scheme, mass: never, dt: number, isBack: boolean): number[] => {
      const {trajectory, pullback} = simulate.vjp(
        ode<P>({derivative, mass}),
        {y: [1, 0.5]},
        {
          scheme,
          dt,
          t1: 1,
          params: {a: 1.3},
          saveAt: 'end',
          ...(isBack ? {adjoint: backsolveAdjoint()} : {}),
        },
      );
      expect(trajectory.status).equal('completed');
      const {initial, params} = pullback({y: [0, 0, 1, -2]});
      return [...(initial.y as Float64Array), ...(params as {a: Float64Array}).a];
    };
    for (const mass of [
      2,
      [1, 3],
      [
        [2, 1],
        [0.5, 1],
      ],
      ({y, t}: {readonly y: tf.Tensor; readonly t: tf.Tensor}) =>
        tf.addN([tf.onesLike(y), tf.square(y), tf.mul(t, tf.onesLike(y))]),
    ] as never[]) {
      const exact = gradient(radauIIA5(), mass, 0.02, false);
      const errors = [0.2, 0.1].map(dt => relative(gradient(gaussLegendre(), mass, dt, true), exact));
      expect(Math.log2(errors[0] / errors[1])).within(3.5, 5.2);
    }
    const singular = [
      [1, 0],
      [
        [1, 2],
        [2, 4],
      ],
    ] as never[];
    for (const mass of singular)
      expect(() => gradient(radauIIA5(), mass, 0.1, true))
        .to.throw(OptionError, /this mass is singular/)
        .with.property('code', 'bad-adjoint');
  });
});
