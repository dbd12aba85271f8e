/**
 * Springs between free masses that become stiff midway, or cease to be. Whatever their stiffness, the masses' centre moves as if they
 * were not there: of the sum of all positions the derivative by any one of them is 1. A derivative keeps that only where the
 * digits that M + h²K loses are noticed within a sweep, at the step where it begins.
 */
import {expect} from 'chai';
import * as tf from '@tensorflow/tfjs';
import {
  bdf2,
  generalizedAlpha,
  implicitMidpoint,
  kvaerno5,
  mechanics,
  radauIIA5,
  simulate,
  type EngineName,
  type Scheme,
} from '../../lib/index.js';

/** Two masses that shrink with where they are, from 1 to 1e-12 at the end of the run. */
const shrinking = mechanics({
  mass: ({q}) => tf.pow(tf.scalar(10), tf.mul(-4, tf.sum(q))),
  forces: ({q}) => {
    const tension = tf.mul(1e4, tf.sub(tf.slice(q, [1], [1]), tf.slice(q, [0], [1])));
    return tf.concat([tension, tf.neg(tension)]);
  },
});

/** n masses in a row on springs whose stiffness changes at t = ½. */
const row = (n: number, before: number, after: number) =>
  mechanics({
    mass: 1,
    forces: ({q, t}) => {
      const k = tf.where(tf.less(t, 0.5), tf.scalar(before), tf.scalar(after));
      const tension = tf.mul(k, tf.sub(tf.slice(q, [1], [n - 1]), tf.slice(q, [0], [n - 1])));
      return tf.sub(tf.concat([tension, tf.zeros([1])]), tf.concat([tf.zeros([1]), tension]));
    },
  });

const schemes: readonly (readonly [string, () => Scheme])[] = [
  ['implicitMidpoint', implicitMidpoint],
  ['generalizedAlpha', () => generalizedAlpha({rhoInf: 0.8})],
  ['radauIIA5', radauIIA5],
  ['kvaerno5', kvaerno5],
  ['bdf2', bdf2],
];

describe('masses that go midway', () => {
  for (const [name, scheme] of schemes) {
    for (const engine of ['interpreter', 'wasm'] as const) {
      it(`${name}, ${engine}`, () => {
        const options = {scheme: scheme(), dt: 0.01, steps: 150, saveAt: 'end', engine} as const;
        const initial = {q: [0, 0], v: [1, 1]};
        const {trajectory, pullback} = simulate.vjp(shrinking, initial, options);
        trajectory.dispose();
        for (const value of pullback({
          q: [
            [0, 0],
            [1, 1],
          ],
        }).initial.q as Float64Array)
          expect(value).closeTo(1, 1e-7);
        const forward = simulate.jvp(shrinking, initial, options, {initial: {q: [1, 0], v: [0, 0]}});
        forward.trajectory.dispose();
        expect(forward.tangent.q.slice(-2).reduce((total, value) => total + value, 0)).closeTo(1, 1e-7);
      });
    }
  }
});

describe('stiffness that comes or goes midway', () => {
  for (const [name, scheme] of schemes) {
    for (const [what, before, after] of [
      ['comes', 1, 1e12],
      ['goes', 1e12, 1],
    ] as const) {
      for (const [n, engine] of [
        [2, 'interpreter'],
        [2, 'wasm'],
        [40, 'wasm'],
      ] as readonly (readonly [number, EngineName])[]) {
        it(`${name}, ${what}, ${n} masses, ${engine}`, () => {
          const system = row(n, before, after);
          const options = {scheme: scheme(), dt: 0.01, steps: 100, saveAt: 'end', engine} as const;
          const initial = {q: new Float64Array(n).fill(1), v: new Float64Array(n).fill(0.3)};
          const {trajectory, pullback} = simulate.vjp(system, initial, options);
          const weights = new Float64Array(trajectory.values('q').length).fill(1, -n);
          const gradient = pullback({q: weights}).initial.q as Float64Array;
          trajectory.dispose();
          for (const value of gradient) expect(value).closeTo(1, 1e-7);
          const direction = Float64Array.from({length: n}, (_, i) => (i === 0 ? 1 : 0));
          const forward = simulate.jvp(system, initial, options, {initial: {q: direction, v: new Float64Array(n)}});
          forward.trajectory.dispose();
          expect(forward.tangent.q.slice(-n).reduce((total, value) => total + value, 0)).closeTo(1, 1e-6);
        });
      }
    }
  }
});
