/** λ as the mean force of a step, with what the projection of velocities adds to it: centripetal forces, and the balance of momentum step by step. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {
  bilateral,
  blendedEuler,
  implicitEuler,
  implicitMidpoint,
  mechanics,
  simulate,
  theta,
  trapezoid,
  unilateral,
  type Scheme,
  type SimulateOptions,
} from '../../lib/index.js';
import {slow} from '../tiers.js';

const schemes: readonly Scheme[] = [
  implicitEuler(),
  implicitEuler({unknown: 'acceleration'}),
  theta(0.6),
  theta(0.8),
  blendedEuler({alpha: 1, beta: 1}),
  implicitMidpoint(),
  trapezoid(),
];
const stabilizations = ['projection', 'projection-before', 'ggl', 'none'] as const;

describe('simulate: λ as the mean force of a step', () => {
  for (const [name, kind] of [
    ['inside a circle', unilateral],
    ['on a circle', bilateral],
  ] as const)
    slow(`is m v²/R of a bead ${name}, whatever the stabilization, to the first order at least`, () => {
      const [mass, radius] = [1.5, 0.8];
      // |∂φ/∂q| = 1 on the circle.
      const bead = mechanics({
        mass,
        forces: ({q}) => tf.zerosLike(q),
        constraints: [kind(({q}) => tf.div(tf.sub(radius ** 2, tf.sum(tf.square(q))), 2 * radius))],
      });
      for (const scheme of schemes)
        for (const stabilization of stabilizations) {
          const off = (dt: number): number => {
            const run = simulate(bead, {q: [radius, 0], v: [0, 2]}, {scheme, dt, t1: 0.5, stabilization});
            run.dispose();
            const [lambda, v] = (['lambda', 'v'] as const).map(block => run.values(block));
            const speed = Math.hypot(...v.slice(-2));
            return Math.abs((lambda.at(-1) as number) / ((mass * speed ** 2) / radius) - 1);
          };
          // Off by one half where the projection was left out.
          expect(off(0.01), `${scheme.name}, ${stabilization}`).to.be.below(0.02);
          expect(off(0.001), `${scheme.name}, ${stabilization}`).to.be.below(0.002);
        }
    });

  it('is what changes the momentum of a body that falls, lands and stays', () => {
    const [mass, g, dt] = [2, 9.81, 0.01];
    const falling = mechanics({
      mass,
      forces: ({q}) => tf.mul(-mass * g, tf.onesLike(q)),
      constraints: [unilateral(({q}) => q)],
    });
    for (const scheme of schemes) {
      const options: SimulateOptions = {scheme, dt, steps: 60, stabilization: 'projection'};
      const run = simulate(falling, {q: 0.5, v: 0}, options);
      run.dispose();
      const [lambda, v, q] = (['lambda', 'v', 'q'] as const).map(block => run.values(block));
      for (let k = 0; k < 60; k++)
        expect(dt * (lambda[k + 1] - mass * g), `${scheme.name}, step ${k}`).to.be.closeTo(
          mass * (v[k + 1] - v[k]),
          1e-9,
        );
      expect(q.at(-1)).to.be.closeTo(0, 1e-9);
      expect(lambda.at(-1)).to.be.closeTo(mass * g, 1e-6);
    }
  });
});
