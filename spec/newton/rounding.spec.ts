/** States where rounding is all that is left to solve for: rest, zero crossings, units far from one. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import type {Scheme} from '../../lib/index.js';
import {implicitEuler, implicitMidpoint, mechanics, newmark, simulate, trapezoid} from '../../lib/index.js';
import {doubleEngines, engines} from '../simulate/engines.js';
import {largest} from '../simulate/numbers.js';
import {slow} from '../tiers.js';

const schemes: readonly Scheme[] = [
  implicitMidpoint(),
  newmark(),
  implicitEuler({form: 'coupled'}),
  trapezoid({guess: 'extrapolated'}),
];

describe('at the level of rounding', () => {
  for (const {name: engine, double} of engines) {
    for (const k of [1e2, 1e4, 1e6]) {
      it(`rest under a load stays rest, stiffness ${k} (${engine})`, () => {
        const masses = [1, 3.7, 2.2];
        const weight = masses.map(m => 9.81 * m);
        const system = mechanics({mass: masses, forces: [({q}) => tf.mul(q, -k), () => tf.tensor1d(weight)]});
        for (const scheme of schemes) {
          const path = simulate(
            system,
            {q: weight.map(f => f / k), v: [0, 0, 0]},
            {scheme, dt: 0.01, steps: 50, engine},
          );
          path.dispose();
          // Rounding pushes with ε·36 N; undamped, 50 pushes of h each.
          expect(largest(path.values('v')), scheme.name).to.be.below(double ? 1e-14 : 1e-5);
        }
      });
    }

    slow(`a swing through zero, many times (${engine})`, () => {
      // Ten coordinates with frequencies 1 … 10: at all times one of them is near zero.
      const stiffness = Array.from({length: 10}, (_, i) => (i + 1) ** 2);
      const system = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.mul(stiffness, tf.sin(q)))});
      const q = stiffness.map(() => 0.01);
      for (const scheme of schemes) {
        const path = simulate(system, {q, v: q.map(() => 0)}, {scheme, dt: 0.05, steps: 100, engine});
        path.dispose();
        // Amplitudes do not grow; float32 adds 1e-7 of them a step.
        expect(largest(path.values('q')), scheme.name).to.be.below(0.01 * (1 + 1e-4));
      }
    });
  }

  for (const {name: engine} of doubleEngines) {
    it(`the same motion in metres and in nanometres, in kilograms and in nanograms (${engine})`, () => {
      // A pendulum's angle has no unit to change; a spring k(x + x³/ℓ²) has length and mass.
      const end = (length: number, mass: number, scheme: Scheme): number => {
        const system = mechanics({
          mass: 2 * mass,
          forces: ({q}) => tf.mul(-30 * mass, tf.add(q, tf.mul(q, tf.square(tf.div(q, length))))),
        });
        const path = simulate(system, {q: length, v: 0}, {scheme, dt: 0.02, steps: 50, saveAt: 'end', engine});
        path.dispose();
        return path.values('q')[1] / length;
      };
      for (const scheme of schemes) {
        const unit = end(1, 1, scheme);
        // The absolute tolerance, 1e-12 of a metre, is 1e-3 of a nanometre: there its own accuracy is asked for.
        for (const [length, mass, accuracy] of [
          [1e-3, 1, 1e-8],
          [1e6, 1, 1e-10],
          [1, 1e-12, 1e-10],
          [1, 1e12, 1e-10],
        ]) {
          expect(end(length, mass, scheme), `${scheme.name}, ${length}, ${mass}`).to.be.closeTo(unit, accuracy);
        }
      }
    });
  }
});
