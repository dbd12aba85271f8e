/**
 * Derivatives of stiff systems that move freely are as exact as their runs: two unit masses and one spring, whose
 * momentum no stiffness changes. d(q₁ + q₂)/dq₁ at any time is exactly 1, while the Jacobian M + h²βK keeps of M what
 * double precision leaves beside h²βk = 10⁷. Solves that are not refined are off by 1e-3 at k = 1e10 and by 100 at 1e12.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {MechanicalSystem, Scheme} from '../../lib/index.js';
import {
  adaptive,
  bdf2,
  blendedEuler,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitEuler,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  radauIIA5,
  sdirk2,
  simulate,
  trapezoid,
} from '../../lib/index.js';

const pair: MechanicalSystem = mechanics({
  mass: 1,
  forces: ({q, params}) => {
    const pull = tf.mul(tf.sub(tf.slice(q, [1], [1]), tf.slice(q, [0], [1])), params.k as tf.Tensor);
    return tf.concat([pull, tf.neg(pull)]);
  },
});

const schemes: readonly Scheme[] = [
  newmark(),
  generalizedAlpha({rhoInf: 0.8}),
  hht({alpha: -0.1}),
  trapezoid(),
  trapezoid({form: 'coupled'}),
  implicitMidpoint(),
  implicitEuler(),
  implicitEuler({unknown: 'acceleration'}),
  blendedEuler({alpha: 0.5, beta: 0.5}),
  bdf2(),
  sdirk2(),
  kvaerno3(),
  kvaerno5(),
  gaussLegendre({stages: 1}),
  gaussLegendre({stages: 3}),
  radauIIA5(),
];

const initial = {q: [0, 0], v: [1, 1]};
const sum = (x: Float64Array): number => x[x.length - 2] + x[x.length - 1];
/** As asked for; without refinement 13 of 16 schemes are off by more at k = 1e10, and all but one at 1e12. */
const tolerance = 1e-7;

describe('Derivatives of a stiff pair that moves freely', () => {
  for (const scheme of [newmark(), radauIIA5()])
    it(`are as exact the second time under ${scheme.name}, by what was written for the first`, () => {
      // Once with a soft spring, whose digits are kept, then twice with a stiff one.
      const options = {scheme, dt: 0.01, steps: 50, saveAt: 'end', engine: 'interpreter'} as const;
      const prepared = simulate.prepare(pair, initial, {...options, params: {k: 1}});
      for (const k of [1, 1e12, 1e12]) {
        const {trajectory, pullback} = prepared.vjp({params: {k}});
        trajectory.dispose();
        const cotangent = Float64Array.of(0, 0, 1, 1);
        expect(pullback({q: cotangent}).initial.q?.[0], `k = ${k}`).to.be.closeTo(1, tolerance);
      }
    });

  for (const scheme of schemes) {
    it(`keep its momentum under ${scheme.name}`, () => {
      for (const k of [1e6, 3e7, 1e8, 1e10, 1e12]) {
        const options = {scheme, dt: 0.01, steps: 50, saveAt: 'end', params: {k}} as const;
        const {pullback} = simulate.vjp(pair, initial, options);
        expect(
          pullback({
            q: [
              [0, 0],
              [1, 1],
            ],
          }).initial.q?.[0],
          `vjp, k = ${k}`,
        ).to.be.closeTo(1, tolerance);
        const {tangent} = simulate.jvp(pair, initial, options, {initial: {q: [1, 0]}});
        expect(sum(tangent.q as Float64Array), `jvp, k = ${k}`).to.be.closeTo(1, tolerance);
      }
    });
  }

  it('keep it along adaptive steps, backwards and forwards', () => {
    for (const scheme of [newmark(), kvaerno5(), radauIIA5()]) {
      const options = {
        scheme,
        dt: 0.01,
        t1: 0.5,
        control: adaptive({rtol: 1e-4, atol: 1e-6}),
        saveAt: 'end',
        params: {k: 1e12},
      } as const;
      const {pullback} = simulate.vjp(pair, initial, options);
      expect(
        pullback({
          q: [
            [0, 0],
            [1, 1],
          ],
        }).initial.q?.[0],
        `${scheme.name}, vjp`,
      ).to.be.closeTo(1, tolerance);
      const {tangent} = simulate.jvp(pair, initial, options, {initial: {q: [1, 0]}});
      expect(sum(tangent.q as Float64Array), `${scheme.name}, jvp`).to.be.closeTo(1, tolerance);
    }
  });

  it('keep it in products with a Hessian: of (q₁ + q₂)² it is 2', () => {
    for (const scheme of [newmark(), implicitMidpoint(), kvaerno3()]) {
      const loss = ({q}: {q: tf.Tensor}): tf.Tensor => tf.sum(tf.square(tf.sum(tf.slice(q, [1, 0], [1, 2]))));
      const {product, gradient} = simulate.hvp(
        pair,
        initial,
        {scheme, dt: 0.01, steps: 50, saveAt: 'end', params: {k: 1e12}},
        loss,
        {initial: {q: [1, 0]}},
      );
      expect(gradient.initial.q?.[0], `${scheme.name}, gradient`).to.be.closeTo(2 * 2 * 0.5, 10 * tolerance);
      expect(product.initial.q?.[0], `${scheme.name}, product`).to.be.closeTo(2, 10 * tolerance);
    }
  });
});
