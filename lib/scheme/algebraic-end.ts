/** Implicit Runge–Kutta methods that are not stiffly accurate, Gauss's, on M y' = f(y, t) with a singular M. */
import * as tf from '@tensorflow/tfjs';
import {firstOrder, stageName} from './implicit-runge-kutta.js';
import {polynomial} from './runge-kutta-dense.js';
import type {Formulation} from './scheme.js';
import {identity, solved} from './small-matrix.js';
import type {Tableau} from './tableau.js';
import {unknownRank} from './unknown-rank.js';

/**
 * For index 1: what the stages' polynomial makes of algebraic components does not obey their equations, so that the
 * end is found with these, M(y⁺ − ŷ) = 0 and 0 = f beside the range of M. It is the method on the ode that is left
 * when algebraic components are eliminated, with its full order in all (Hairer & Wanner, Solving ODEs II, §VI.1, the
 * state space form).
 */
export function heldAlgebraic(tableau: Tableau): Formulation {
  const stages = firstOrder(tableau);
  const nodes = [...tableau.c, 1];
  return {
    ...stages,
    supports: {mass: 1},
    unknown: [...stages.unknown, 'y'],
    residual: (z, at) => {
      const {mass, rightHandSide, rangeComplement} = at;
      if (rangeComplement === undefined) throw unknownRank();
      const end = stages.update(z, at).y;
      const when = tf.add(at.t, at.h);
      const algebraic = rangeComplement(rightHandSide({y: z.y}, when).y, z.y, when);
      return {
        ...stages.residual?.(z, at),
        y: tf.sub(mass(z.y, tf.sub(z.y, end), when), tf.mul(at.h, algebraic)),
      };
    },
    update: ({y}) => ({y}),
    // The polynomial through the start, the stages and the end.
    dense: (theta, z, {x}, next) => {
      const gains = [...tableau.c.map((_, i) => z[stageName('y', i)]), tf.sub(next.y, x.y)];
      const weights = solved(
        nodes.map((_, k) => nodes.map(node => node ** (k + 1))),
        identity(nodes.length),
      );
      return {y: tf.add(x.y, tf.addN(gains.map((gain, i) => tf.mul(gain, polynomial(theta, weights[i])))))};
    },
  };
}
