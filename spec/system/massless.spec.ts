/** Coordinates without a mass, against systems from which they were eliminated. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme} from '../../lib/index.js';
import {
  adaptive,
  bdf2,
  bilateral,
  event,
  gaussLegendre,
  generalizedAlpha,
  implicitEuler,
  kvaerno5,
  mechanics,
  ode,
  radauIIA5,
  simulate,
  tsit5,
} from '../../lib/index.js';
import {largest, order, slope} from '../simulate/numbers.js';

type C = {c: tf.Tensor};
const stiffness = 100;
/** Mass, spring and damper in series; the spring hardens. */
const maxwell = mechanics<C>({
  mass: [1, 0],
  forces: ({q, v, params}) => {
    const [a, b] = tf.split(q, 2);
    const stretch = tf.sub(b, a);
    const force = tf.mul(stiffness, tf.add(stretch, tf.pow(stretch, 3)));
    return tf.concat([force, tf.sub(tf.neg(force), tf.mul(params.c, tf.slice(v, [1], [1])))]);
  },
});
/** (a, a', b). */
const eliminated = ode<C>(({y, params}) => {
  const [a, va, b] = tf.split(y, 3);
  const stretch = tf.sub(b, a);
  const force = tf.mul(stiffness, tf.add(stretch, tf.pow(stretch, 3)));
  return tf.concat([va, force, tf.neg(tf.div(force, params.c))]);
});
const start = {q: [0.5, 0], v: [0, (stiffness * (0.5 + 0.125)) / 3]};
const params = {c: 3};
const code = (f: () => unknown): string => {
  try {
    f();
  } catch (error) {
    return (error as {code: string}).code;
  }
  return 'nothing was thrown';
};

describe('coordinates without a mass', function () {
  this.timeout(60000);
  const reference = simulate(
    eliminated,
    {y: [0.5, 0, 0]},
    {scheme: tsit5(), params, dt: 1 / 4000, t1: 0.5, saveAt: 'end'},
  );
  const [a, va, b] = reference.values('y').slice(3);

  const schemes: readonly [Scheme, number][] = [
    [radauIIA5(), 5],
    [kvaerno5(), 5],
    [gaussLegendre(), 4],
    [bdf2(), 2],
    [implicitEuler(), 1],
  ];
  for (const [scheme, expected] of schemes) {
    it(`${scheme.name}: of order ${expected}, positions and velocities`, () => {
      const errors = [100, 200].map(n => {
        const run = simulate(maxwell, start, {scheme, params, dt: 0.5 / n, steps: n, saveAt: 'end'});
        const [q, v] = [run.values('q').slice(2), run.values('v').slice(2)];
        const stretch = b - a;
        const vb = (-stiffness * (stretch + stretch ** 3)) / 3;
        return Math.max(Math.abs(q[0] - a), Math.abs(q[1] - b), Math.abs(v[0] - va) / 10, Math.abs(v[1] - vb) / 10);
      });
      expect(order(errors[0], errors[1])).to.be.closeTo(expected, 0.4);
    });
  }

  it('in adaptive steps, with events and gradients through a projected start', () => {
    const control = adaptive({rtol: 1e-8, atol: 1e-10});
    const run = simulate(maxwell, start, {scheme: radauIIA5(), params, dt: 0.001, t1: 0.5, saveAt: 'end', control});
    expect(largest([run.values('q')[2] - a, run.values('q')[3] - b])).to.be.below(1e-7);
    const meets = event({when: ({q}) => tf.sub(tf.sum(tf.slice(q, [1], [1])), 0.2), then: 'stop'});
    const stopped = simulate(maxwell, start, {scheme: radauIIA5(), params, dt: 0.01, t1: 0.5, events: [meets]});
    expect(stopped.values('q').at(-1)).to.be.closeTo(0.2, 1e-10);
    const loose = {q: [0.5, 0], v: [0, 0]};
    const options = {scheme: radauIIA5(), dt: 0.01, steps: 50, saveAt: 'end' as const, consistent: 'project' as const};
    const {pullback} = simulate.vjp(maxwell, loose, {...options, params});
    const by = pullback({q: [0, 0, 1, 0], v: [0, 0, 0, 0.1]}).params.c as Float64Array;
    const end = (s: number): number => {
      const path = simulate(maxwell, loose, {...options, params: {c: 3 + s}});
      return path.values('q')[2] + 0.1 * path.values('v')[3];
    };
    expect(by[0] / slope(end, 1e-3)).to.be.closeTo(1, 1e-8);
  });

  it('with hidden states', () => {
    // c b' = −k(b − a) + F with F' = −F, a at rest: b = F₀ (e^{−t} − e^{−kt/c})/(k − c) for b(0) = 0.
    const driven = mechanics<C, 'F'>({
      mass: [1e12, 0],
      states: {F: {initial: 1, rate: ({F}) => tf.neg(F)}},
      forces: ({q, v, F, params}) => {
        const [first, second] = tf.split(q, 2);
        const spring = tf.mul(5, tf.sub(second, first));
        const damping = tf.mul(params.c, tf.slice(v, [1], [1]));
        return tf.concat([spring, tf.add(tf.neg(tf.add(spring, damping)), tf.reshape(F, [1]))]);
      },
    });
    const run = simulate(driven, {q: [0, 0], v: [0, 0.5]}, {scheme: radauIIA5(), params: {c: 2}, dt: 0.01, t1: 1});
    expect(run.values('q').at(-1)).to.be.closeTo((Math.exp(-1) - Math.exp(-2.5)) / 3, 1e-10);
  });

  it('without damping find their place from forces alone: index 2', () => {
    // Two springs in series, k each: a mass on a spring of k/2.
    const series = mechanics({
      mass: [1, 0],
      forces: ({q}) => {
        const [one, two] = tf.split(q, 2);
        return tf.concat([tf.mul(8, tf.sub(two, one)), tf.sub(tf.mul(8, tf.sub(one, two)), tf.mul(8, two))]);
      },
    });
    const run = simulate(series, {q: [1, 0.5], v: [0, 0]}, {scheme: radauIIA5(), dt: 0.02, t1: 1, saveAt: 'end'});
    expect(run.values('q')[2]).to.be.closeTo(Math.cos(2), 1e-8);
    expect(run.values('q')[3]).to.be.closeTo(Math.cos(2) / 2, 1e-8);
    expect(run.values('v')[3]).to.be.closeTo(-Math.sin(2), 1e-5);
    const wrong = {q: [1, 0.6], v: [0, 0]};
    expect(code(() => simulate(series, wrong, {scheme: radauIIA5(), dt: 0.02, t1: 1}))).to.equal('inconsistent');
    expect(code(() => simulate(series, wrong, {scheme: gaussLegendre(), dt: 0.02, t1: 1}))).to.equal('bad-index');
  });

  it('are refused where nothing integrates them', () => {
    const options = {params, dt: 0.01, steps: 1};
    expect(code(() => simulate(maxwell, start, {...options, scheme: generalizedAlpha()}))).to.equal('wrong-scheme');
    const held = mechanics({mass: [1, 0], forces: ({q}) => tf.neg(q), constraints: [bilateral(({q}) => tf.sum(q))]});
    expect(code(() => simulate(held, {q: [0, 0], v: [0, 0]}, {scheme: radauIIA5(), dt: 0.01, steps: 1}))).to.equal(
      'wrong-scheme',
    );
    const made = mechanics({mass: () => tf.tensor1d([1, 0]), forces: ({q}) => tf.neg(q)});
    expect(code(() => simulate(made, {q: [0, 0], v: [0, 0]}, {scheme: radauIIA5(), dt: 0.01, steps: 1}))).to.equal(
      'singular-mass',
    );
  });
});
