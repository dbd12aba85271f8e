/**
 * Starts of M y' = f of index 2 that are known to a few digits: taken where the digits allow it, and made consistent,
 * derivatives included. Closed forms, and the wheelset of the IVP test set.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme} from '../../lib/index.js';
import {
  adaptive,
  bdf2,
  event,
  forwardSensitivity,
  implicitEuler,
  kvaerno5,
  ode,
  radauIIA5,
  sdirk2,
  simulate,
} from '../../lib/index.js';
import {largest, slope} from '../simulate/numbers.js';
import {slow} from '../tiers.js';
import {wheelset, wheelsetEnd, wheelsetStart} from './wheelset.js';

/** A pendulum of length 1 held at its velocities, with the weight w: λ = −(ω² + w cos a). */
const pendulum = ode<{w: tf.Tensor}>({
  derivative: ({y, params: {w}}) => {
    const [x, z, u, v, lambda] = tf.unstack(y);
    return tf.stack([u, v, tf.mul(x, lambda), tf.sub(tf.mul(z, lambda), w), tf.add(tf.mul(x, u), tf.mul(z, v))]);
  },
  mass: [1, 1, 1, 1, 0],
});
const hanging = (a: number, omega: number): number[] => [
  Math.sin(a),
  -Math.cos(a),
  omega * Math.cos(a),
  omega * Math.sin(a),
];
const schemes: readonly Scheme[] = [radauIIA5(), kvaerno5(), sdirk2(), bdf2(), implicitEuler()];
const rounded = (x: number, digits: number): number => Number(x.toPrecision(digits));
const at = (y: Float64Array, k: number, n = 5): number[] => [...y.slice(k * n, (k + 1) * n)];

describe('starts of index 2', function () {
  this.timeout(60000);
  const [a, omega, w] = [0.7, 1.3, 2];
  const lambda = -(omega ** 2 + w * Math.cos(a));
  const options = {scheme: radauIIA5(), params: {w}, dt: 0.01, t1: 0.5, saveAt: 'end'} as const;

  it('are taken as they are, with a warning, where their digits allow it', () => {
    const exact = simulate(pendulum, {y: [...hanging(a, omega), lambda]}, options);
    expect(exact.warnings).to.deep.equal([]);
    for (const digits of [4, 5]) {
      const given = rounded(lambda, digits);
      const run = simulate(pendulum, {y: [...hanging(a, omega), given]}, options);
      // Radau's method does not read the multiplier.
      expect(largest(at(run.values('y'), 1).map((x, i) => x - at(exact.values('y'), 1)[i]))).to.be.below(1e-13);
      expect(run.warnings).to.have.length(1);
      expect(run.warnings[0]).to.contain('y[4] is off by').and.to.contain("consistent: 'project'");
      const said = Number(/off by (\S+)\./.exec(run.warnings[0])?.[1]);
      expect(said / Math.abs(given - lambda)).to.be.closeTo(1, 0.05);
    }
    // All components to five digits.
    const all = [...hanging(a, omega), lambda].map(x => rounded(x, 5));
    const run = simulate(pendulum, {y: all}, options);
    expect(largest(at(run.values('y'), 1).map((x, i) => x - at(exact.values('y'), 1)[i]))).to.be.below(2e-4);
    expect(run.warnings).to.have.length(1);
  });

  it('are refused where they are off by more than their digits', () => {
    const start = (last: number) => () => simulate(pendulum, {y: [...hanging(a, omega), last]}, options);
    // One unit of four digits; the same number with more digits; a number of few digits is exact.
    for (const last of [rounded(lambda, 4) + 2e-3, lambda * (1 + 1e-5), -3.2, 0])
      expect(start(last)).to.throw(/not consistent/);
    const off = [...hanging(a, omega), lambda];
    off[2] += 1e-5;
    expect(() => simulate(pendulum, {y: off}, options)).to.throw(/not consistent/);
  });

  it("are made consistent by 'project', with every scheme", () => {
    for (const scheme of schemes) {
      // Off the circle's tangent by a radial velocity, and no multiplier at all.
      const [x, z, u, v] = hanging(a, omega);
      const run = simulate(
        pendulum,
        {y: [x, z, u + 0.3 * x, v + 0.3 * z, 0]},
        {...options, scheme, consistent: 'project'},
      );
      // The impulse of the constraint takes the radial part out.
      expect(largest(at(run.values('y'), 0).map((y, i) => y - [x, z, u, v, lambda][i])), scheme.name).to.be.below(
        1e-13,
      );
      const exact = simulate(pendulum, {y: [x, z, u, v, lambda]}, {...options, scheme});
      expect(largest(at(run.values('y'), 1).map((y, i) => y - at(exact.values('y'), 1)[i]))).to.be.below(1e-11);
      expect(run.warnings).to.deep.equal([]);
    }
  });

  it('have derivatives through it, by closed forms and differences', () => {
    const [x, z, u, v] = hanging(a, omega);
    const given = [x, z, u, v, 0];
    const project = {...options, consistent: 'project'} as const;
    for (const more of [{}, {adjoint: forwardSensitivity()}]) {
      const {pullback} = simulate.vjp(pendulum, {y: given}, {...project, ...more, saveAt: 'all'} as never);
      const cotangent = new Float64Array(5 * 51);
      cotangent[4] = 1;
      const {initial, params} = pullback({y: cotangent}) as never as {
        initial: {y: Float64Array};
        params: {w: Float64Array};
      };
      // λ = (w z − (u² + v²))/(x² + z²) of tangential velocities; a radial one is taken out first.
      expect(params.w[0]).to.be.closeTo(z, 1e-12);
      const speed = [-2 * u, -2 * v];
      expect(initial.y[2]).to.be.closeTo(speed[0], 1e-12);
      expect(initial.y[3]).to.be.closeTo(speed[1], 1e-12);
      expect(initial.y[4]).to.equal(0);
    }
    const {pullback} = simulate.vjp(pendulum, {y: given}, project);
    const gradient = pullback({y: [0, 0, 0, 0, 0, 1, 0, 0, 1, 1]}).initial.y as Float64Array;
    for (const i of [0, 1, 2, 3]) {
      const end = (s: number): number => {
        const y = at(
          simulate(pendulum, {y: given.map((value, k) => (k === i ? value + s : value))}, project).values('y'),
          1,
        );
        return y[0] + y[3] + y[4];
      };
      expect(gradient[i]).to.be.closeTo(slope(end, 1e-3), 1e-8);
    }
    const {tangent} = simulate.jvp(pendulum, {y: given}, project, {initial: {y: [0.3, -0.2, 0.5, 0.1, 2]}});
    const along = [0.3, -0.2, 0.5, 0.1].reduce((sum, d, i) => sum + d * gradient[i], 0);
    const moved = tangent.y as Float64Array;
    expect(moved[5] + moved[8] + moved[9]).to.be.closeTo(along, 1e-10);
  });

  it('with components of index 1 beside, and a mass that moves', () => {
    // The pendulum's weight as an algebraic component p of index 1, p = 2 + x; the masses are functions of z.
    const mixed = ode({
      derivative: ({y}) => {
        const [x, z, u, v, lambda, p] = tf.unstack(y);
        return tf.stack([
          u,
          v,
          tf.mul(x, lambda),
          tf.sub(tf.mul(z, lambda), p),
          tf.add(tf.mul(x, u), tf.mul(z, v)),
          tf.sub(p, tf.add(2, x)),
        ]);
      },
      mass: ({y}) => {
        const m = tf.reshape(tf.add(2, tf.square(tf.slice(y, [1], [1]))), [1]);
        return tf.diag(tf.concat([tf.ones([2]), m, m, tf.zeros([2])]));
      },
    });
    const [x, z, u, v] = hanging(a, omega);
    const run = simulate(
      mixed,
      {y: [x, z, u + 0.2 * x, v + 0.2 * z, 0, 0]},
      {
        scheme: radauIIA5(),
        dt: 0.01,
        steps: 5,
        consistent: 'project',
      },
    );
    const m = 2 + z * z;
    const exact = [x, z, u, v, -(m * omega ** 2 - (2 + x) * z), 2 + x];
    expect(largest(at(run.values('y'), 0, 6).map((y, i) => y - exact[i]))).to.be.below(1e-12);
  });

  it('after a jump that breaks them', () => {
    const kicked = event({
      when: ({t}) => tf.sub(t, 0.2),
      then: ({y}) => ({y: tf.add(y, tf.tensor1d([0, 0, 0.4, 0, 0]))}),
    });
    const run = simulate(
      pendulum,
      {y: [...hanging(a, omega), lambda]},
      {
        ...options,
        t1: 0.4,
        dt: 0.02,
        saveAt: [0.2, 0.4],
        events: [kicked],
        consistent: 'project',
      },
    );
    const [x, z, u, v] = at(run.values('y'), run.values('y').length / 5 - 1);
    expect(Math.abs(x * u + z * v)).to.be.below(1e-12);
    expect(Math.hypot(x, z)).to.be.closeTo(1, 1e-6);
  });

  it('index 1 keeps M y to the bit where the scheme takes index 2', () => {
    const first = ode({
      derivative: ({y}) => {
        const [d, z] = tf.unstack(y);
        return tf.stack([tf.neg(z), tf.sub(tf.square(d), z)]);
      },
      mass: [1, 0],
    });
    const run = simulate(first, {y: [1.3, 0]}, {scheme: radauIIA5(), dt: 0.1, steps: 1, consistent: 'project'});
    expect(run.values('y')[0]).to.equal(1.3);
    expect(run.values('y')[1]).to.be.closeTo(1.69, 1e-14);
  });

  slow("the wheelset's published start runs as it is and projected, to the published end", function () {
    this.timeout(180000);
    const options = {
      scheme: radauIIA5(),
      dt: 1e-4,
      t1: 10,
      saveAt: 'end',
      control: adaptive({rtol: 1e-6, atol: 1e-7}),
    } as const;
    const run = simulate(wheelset, {y: wheelsetStart}, options);
    expect(largest(at(run.values('y'), 1, 17).map((value, i) => value / wheelsetEnd[i] - 1))).to.be.below(1e-4);
    expect(run.warnings).to.have.length(1);
    const [taken, projected] = (['check', 'project'] as const).map(consistent =>
      at(simulate(wheelset, {y: wheelsetStart}, {...options, t1: 0.2, consistent}).values('y'), 1, 17),
    );
    // Within the tolerance of the steps, though the multipliers of the start differ in the fifth digit.
    expect(largest(taken.map((value, i) => value - projected[i]))).to.be.below(1e-6);
  });
});
