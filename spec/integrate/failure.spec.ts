/** Errors of steps name what the user knows. */
import * as tf from '@tensorflow/tfjs';
import {expect} from 'chai';
import {generalizedAlpha, hht, mechanics, simulate} from '../../lib/index.js';

describe('a start that fails', () => {
  // √(q − 2) is not a number at q = 1.25.
  const system = mechanics({mass: 1, forces: ({q}) => tf.neg(tf.sqrt(tf.sub(q, 2)))});
  for (const scheme of [generalizedAlpha(), hht()])
    it(`is told without names of the program: ${scheme.name}`, () => {
      expect(() => simulate(system, {q: 1.25, v: 0}, {scheme, dt: 0.05, steps: 3})).to.throw(
        /in the initial jerk \(NaN\)/,
      );
    });
});
