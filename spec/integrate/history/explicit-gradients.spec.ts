/** Gradients through the explicit pairs, which carry the derivative at the end of a step to the next: closed forms, differences, Taylor remainders, on both engines. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {SimulateOptions} from '../../../lib/index.js';
import type {RunSettings} from '../../../lib/simulate/options.js';
import {adaptive, dopri5, event, implicitAdjoint, mechanics, ode, simulate, tsit5} from '../../../lib/index.js';
import {doubleEngines} from '../../simulate/engines.js';
import {dot, slope} from '../../simulate/numbers.js';
import {slow} from '../../tiers.js';

type P = Readonly<Record<string, tf.Tensor>>;
/** y' = k y cos t: y = y₀ exp(k sin t). */
const growth = ode(({y, t, params}) => tf.mul(tf.mul((params as P).k, y), tf.cos(t)));
/** q'' = −k q: q = q₀ cos ωt + (v₀/ω) sin ωt with ω = √k. */
const spring = mechanics({mass: 1, forces: ({q, params}) => tf.neg(tf.mul((params as P).k, q))});
const pair = mechanics({
  mass: [1, 2],
  forces: [
    ({q, params}) => tf.neg(tf.mul((params as P).k, tf.sinh(q))),
    ({v, t}) => tf.add(tf.mul(v, -0.2), tf.mul(tf.cos(tf.mul(t, 3)), 0.4)),
  ],
});
const bounce = event({when: ({q}) => tf.sum(q), then: ({v, params}) => ({v: tf.mul(v, tf.neg((params as P).e))})});
const times = [0.13, 0.5, 0.77, 1.2, 1.8];
const T = 2;
const tight = {dt: 1e-2, control: adaptive({rtol: 1e-11, atol: 1e-11})};

describe('gradients through explicit pairs', () => {
  for (const scheme of [dopri5(), tsit5()]) {
    for (const {name: engine} of doubleEngines) {
      const lengths: readonly (readonly [string, Partial<RunSettings> & {dt: number}, number])[] = [
        ['fixed', {dt: 0.01}, 1e-10],
        ['adaptive', tight, 1e-9],
      ];
      for (const [how, own, tolerance] of lengths) {
        it(`${scheme.name}, ${engine}, ${how} steps: closed forms, at the end and between steps`, () => {
          const options: SimulateOptions = {scheme, engine, t1: T, saveAt: times, params: {k: 1.3}, ...own};
          const {pullback} = simulate.vjp(growth, {y: 0.8}, options);
          const {initial, params} = pullback({y: times.map(() => 1)});
          const y = times.map(t => 0.8 * Math.exp(1.3 * Math.sin(t)));
          expect((initial.y as Float64Array)[0]).to.be.closeTo(
            y.reduce((sum, value) => sum + value / 0.8, 0),
            10 * tolerance,
          );
          expect((params.k as Float64Array)[0]).to.be.closeTo(
            y.reduce((sum, value, i) => sum + value * Math.sin(times[i]), 0),
            10 * tolerance,
          );

          const {trajectory, pullback: back} = simulate.vjp(
            spring,
            {q: 1, v: 0.5},
            {...options, params: {k: 4}, saveAt: 'end'},
          );
          const [c, s] = [Math.cos(2 * T), Math.sin(2 * T)];
          const cotangents = back({q: [0, 1]});
          expect(trajectory.values('q')[1]).to.be.closeTo(c + 0.25 * s, tolerance);
          expect((cotangents.initial.q as Float64Array)[0]).to.be.closeTo(c, 10 * tolerance);
          expect((cotangents.initial.v as Float64Array)[0]).to.be.closeTo(s / 2, 10 * tolerance);
          // dω/dk = 1/(2ω) = ¼.
          expect((cotangents.params.k as Float64Array)[0]).to.be.closeTo(
            (-T * s + 0.25 * T * c - 0.125 * s) / 4,
            10 * tolerance,
          );
        });
      }

      slow(`${scheme.name}, ${engine}: cotangents are transposed tangents: jumps, adaptive steps, every memory`, () => {
        const initial = {q: [1, -0.4], v: [0.2, 0.3]};
        const direction = {initial: {q: [0.3, -0.5], v: [0.2, 0.9]}, params: {k: [0.5, -1], e: -0.4}};
        const base: SimulateOptions = {
          scheme,
          engine,
          dt: 0.05,
          t1: T,
          saveAt: times,
          events: [bounce],
          params: {k: [3, 5], e: 0.7},
        };
        for (const options of [base, {...base, control: adaptive({rtol: 1e-5, atol: 1e-5})}]) {
          const {trajectory, pullback} = simulate.vjp(pair, initial, options);
          expect(trajectory.events).to.have.length.above(0);
          const cotangent = Float64Array.from({length: 2 * times.length}, (_, i) => Math.sin(3 * i + 1));
          const whole = pullback({q: cotangent, v: cotangent});
          const {tangent} = simulate.jvp(pair, initial, options, direction);
          const p = whole.params as Readonly<Record<string, Float64Array>>;
          const pulled =
            dot(whole.initial.q as Float64Array, direction.initial.q)
            + dot(whole.initial.v as Float64Array, direction.initial.v)
            + dot(p.k, direction.params.k)
            + p.e[0] * direction.params.e;
          expect(pulled / (dot(cotangent, tangent.q) + dot(cotangent, tangent.v))).to.be.closeTo(1, 1e-12);
          // Half a kilobyte holds a few states: what is taken again comes out the same to the bit.
          const frugal = simulate
            .vjp(pair, initial, {...options, adjoint: implicitAdjoint({memory: 512})})
            .pullback({q: cotangent, v: cotangent});
          expect(frugal.recomputedSteps).to.be.above(0);
          expect([...(frugal.initial.q as Float64Array), ...(frugal.params.k as Float64Array)]).to.deep.equal([
            ...(whole.initial.q as Float64Array),
            ...p.k,
          ]);
        }
      });

      it(`${scheme.name}, ${engine}: differences and Taylor remainders of fixed steps, with jumps and dense states`, () => {
        const options: SimulateOptions = {scheme, engine, dt: 0.05, t1: T, saveAt: times, events: [bounce]};
        const loss = (s: number): number => {
          const path = simulate(
            pair,
            {q: [1 + 0.3 * s, -0.4 - 0.5 * s], v: [0.2, 0.3 + 0.4 * s]},
            {...options, params: {k: [3 + s, 5 - s], e: 0.7 - 0.4 * s}},
          );
          path.dispose();
          return path.values('q').reduce((sum, q) => sum + q * q, 0);
        };
        const {trajectory, tangent} = simulate.jvp(
          pair,
          {q: [1, -0.4], v: [0.2, 0.3]},
          {...options, params: {k: [3, 5], e: 0.7}},
          {initial: {q: [0.3, -0.5], v: [0, 0.4]}, params: {k: [1, -1], e: -0.4}},
        );
        const derivative = 2 * dot(trajectory.values('q'), tangent.q);
        expect(slope(loss, 1e-3) / derivative).to.be.closeTo(1, 1e-8);
        const remainder = (s: number): number => Math.abs(loss(s) - loss(0) - s * derivative);
        expect(Math.log2(remainder(2e-3) / remainder(1e-3))).to.be.closeTo(2, 0.05);
      });
    }
  }

  it("the carried acceleration's own cotangent goes back, too", () => {
    for (const scheme of [dopri5(), tsit5()]) {
      const options: SimulateOptions = {scheme, dt: 0.01, t1: T, saveAt: 'end', params: {k: 4}};
      const {trajectory, pullback} = simulate.vjp(spring, {q: 1, v: 0.5}, options);
      expect(trajectory.values('a')[1]).to.be.closeTo(-4 * trajectory.values('q')[1], 1e-13);
      expect((pullback({a: [0, 1]}).initial.q as Float64Array)[0]).to.be.closeTo(-4 * Math.cos(2 * T), 1e-8);
    }
  });
});
