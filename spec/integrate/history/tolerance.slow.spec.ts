/**
 * What a tolerance means: over six decades of it the error of a run falls with its power p/k, where p is
 * the scheme's order and k the power of h that its estimate falls with. Steps at a tolerance have
 * h ~ tol^(1/k), and the error of a run falls with hᵖ. An embedded method of order p − 1 has k = p: then
 * error and tolerance are in proportion.
 */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Initial, Scheme, System} from '../../../lib/index.js';
import type {Formulation} from '../../../lib/scheme/scheme.js';
import {
  adaptive,
  bdf2,
  blendedEuler,
  dopri5,
  gaussLegendre,
  generalizedAlpha,
  hht,
  implicitMidpoint,
  kvaerno3,
  kvaerno5,
  mechanics,
  newmark,
  ode,
  radauIIA5,
  rk4,
  sdirk2,
  simulate,
  theta,
  trapezoid,
  tsit5,
  verlet,
} from '../../../lib/index.js';
import {formulationOf} from '../../../lib/step/formulation.js';
import {difference, norm} from '../../simulate/numbers.js';

/** Two hardening springs, coupled and driven; and a driven predator and prey. Neither has a closed form. */
const springs = mechanics({
  mass: [1, 2],
  forces: [
    ({q}) => tf.neg(tf.sinh(q)),
    ({v}) => tf.mul(v, -0.05),
    ({q}) => tf.sin(tf.sub(tf.reverse(q), q)),
    ({t}) => tf.cos(tf.add(tf.mul(t, 1.7), [0, 1])),
  ],
});
const prey = ode(({y, t}) =>
  tf.add(tf.mul(y, tf.mul(tf.sub(1, tf.reverse(y)), [1, -1])), tf.mul(0.3, tf.cos(tf.add(tf.mul(t, 2), [0, 1])))),
);

const schemes: readonly Scheme[] = [
  verlet(),
  theta(0.5),
  trapezoid(),
  implicitMidpoint(),
  blendedEuler({alpha: 0.5, beta: 0.5}),
  newmark(),
  generalizedAlpha({rhoInf: 0.8}),
  hht(),
  bdf2(),
  sdirk2(),
  kvaerno3(),
  rk4(),
  gaussLegendre(),
  kvaerno5(),
  radauIIA5(),
  dopri5(),
  tsit5(),
];
const tolerances = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10];

/** The power that y goes with as x, by least squares of their logarithms. */
function powerOf(x: readonly number[], y: readonly number[]): number {
  const [a, b] = [x, y].map(values => {
    const logs = values.map(Math.log);
    const mean = logs.reduce((sum, value) => sum + value, 0) / logs.length;
    return logs.map(value => value - mean);
  });
  return a.reduce((sum, value, i) => sum + value * b[i], 0) / a.reduce((sum, value) => sum + value * value, 0);
}

interface Case {
  readonly title: 'mechanics' | 'ode';
  readonly system: System;
  readonly initial: Initial;
  /**
   * How far the observed power may lie from p/k: the few steps of a loose tolerance are not yet in proportion, in so
   * short a run at least.
   */
  readonly band: number;
}

const cases: readonly Case[] = [
  {title: 'mechanics', system: springs, initial: {q: [1, 0.5], v: [0, -1]}, band: 0.07},
  {title: 'ode', system: prey, initial: {y: [1.2, 0.6]}, band: 0.1},
];

function end({title, system, initial}: Case, options: Parameters<typeof simulate>[2]): number[] {
  const path = simulate(system, initial, {saveAt: 'end', ...options});
  path.dispose();
  return (title === 'ode' ? (['y'] as const) : (['q', 'v'] as const)).flatMap(name => [...path.values(name).slice(2)]);
}

const estimateOrder = ({error}: Formulation, order: number): number => error?.order ?? order + 1;

describe('the error of a run by its tolerance, 1e-4 to 1e-10', () => {
  for (const one of cases) {
    for (const scheme of schemes) {
      if (scheme[one.title] === undefined) continue;
      const formulation = formulationOf(scheme, one.system);
      const expected = scheme.order / estimateOrder(formulation, scheme.order);
      it(`${scheme.name}, ${one.title}: falls with its power ${expected.toFixed(2)}`, () => {
        // The steps of high order are long: to have as many, they go farther.
        const t1 = scheme.order < 4 ? 5 : 20;
        const reference = end(one, {scheme: gaussLegendre({stages: 4}), dt: 1 / 128, t1});
        const errors = tolerances.map(rtol =>
          norm(difference(end(one, {scheme, dt: 1e-3, t1, control: adaptive({rtol, atol: rtol})}), reference)),
        );
        expect(powerOf(tolerances, errors)).to.be.closeTo(expected, one.band);
      });
    }
  }

  // The orbit of Arenstorf about earth and moon, closed after one period (Hairer, Nørsett & Wanner, Solving ODEs I,
  // §II.0).
  const mu = 0.012277471;
  const orbit = ode(({y}) => {
    const [x, y2, vx, vy] = tf.split(y, 4);
    const pull = (place: number): tf.Tensor => tf.pow(tf.add(tf.square(tf.add(x, place)), tf.square(y2)), 1.5);
    const [earth, moon] = [tf.div(1 - mu, pull(mu)), tf.div(mu, pull(mu - 1))];
    return tf.concat([
      vx,
      vy,
      tf.sub(tf.add(x, tf.mul(2, vy)), tf.add(tf.mul(earth, tf.add(x, mu)), tf.mul(moon, tf.sub(x, 1 - mu)))),
      tf.sub(tf.sub(y2, tf.mul(2, vx)), tf.mul(y2, tf.add(earth, moon))),
    ]);
  });
  const begin = [0.994, 0, 0, -2.00158510637908252240537862224];
  const period = 17.0652165601579625588917206249;
  for (const scheme of [dopri5(), tsit5()]) {
    it(`${scheme.name} closes Arenstorf's orbit in proportion to its tolerance`, () => {
      // Looser tolerances miss the moon.
      const tight = tolerances.slice(2);
      const errors = tight.map(rtol => {
        const path = simulate(
          orbit,
          {y: begin},
          {scheme, dt: 1e-4, t1: period, saveAt: 'end', control: adaptive({rtol, atol: rtol})},
        );
        path.dispose();
        return norm(difference(path.values('y').slice(4), begin));
      });
      expect(powerOf(tight, errors)).to.be.closeTo(1, 0.15);
    });
  }
});
