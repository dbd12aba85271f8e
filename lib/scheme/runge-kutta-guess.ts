/**
 * First guesses for the stages of implicit Runge–Kutta methods, for adaptive steps: each from those found
 * before it in the same step, by the polynomial through them; or all from the polynomial of the last step,
 * which goes on beyond its end (Hairer & Wanner, Solving ODEs II, §IV.8, "starting values").
 */
import * as tf from '@tensorflow/tfjs';
import type {Blocks} from '../system/equations.js';
import {accelerationsOf, stageName} from './implicit-runge-kutta.js';
import {lagrange} from './collocation.js';
import type {DenseWeights} from './runge-kutta-dense.js';
import {polynomial} from './runge-kutta-dense.js';
import type {Formulation} from './scheme.js';
import type {Tableau} from './tableau.js';
import {implicitStages, isExplicit} from './tableau.js';

type Stages = NonNullable<Formulation['stages']>;

/** Stages before i at different times, the last of each time. */
function placesBefore({c}: Tableau, i: number): number[] {
  return c.flatMap((node, j) => (j < i && !c.slice(j + 1, i).includes(node) ? [j] : []));
}

const sumOf = (terms: readonly tf.Tensor[]): tf.Tensor => (terms.length === 1 ? terms[0] : tf.addN([...terms]));

/** Increments of an ode: the polynomial with the slope of the start through the increments so far. */
export function predictIncrement(tableau: Tableau): NonNullable<Stages['predict']> {
  const {c} = tableau;
  const stages = implicitStages(tableau);
  return (k, z, {x, t, h, rate, hasMassMatrix}) => {
    const i = stages[k];
    const same = stages.find(j => j < i && c[j] === c[i]);
    if (same !== undefined) return z[stageName('y', same)];
    const before = placesBefore(tableau, i).filter(j => c[j] !== 0);
    if (hasMassMatrix) return throughIncrements(before, i, z, tableau) ?? tf.zerosLike(x.y);
    // In p(θ)/θ, of which the slope is the value at 0.
    const nodes = [0, ...before.map(j => c[j])];
    const weights = nodes.map((_, j) => lagrange(nodes, j, c[i]) * c[i]);
    const terms = before.map((j, l) => tf.mul(z[stageName('y', j)], weights[l + 1] / c[j]));
    return sumOf([tf.mul(tf.mul(h, weights[0]), rate({y: x.y}, t).y), ...terms]);
  };
}

/** Where a mass leaves slopes unknown: the polynomial through zero and the increments so far. */
function throughIncrements(before: readonly number[], i: number, z: Blocks, {c}: Tableau): tf.Tensor | undefined {
  const nodes = [0, ...before.map(j => c[j])];
  const terms = before.map((j, l) => tf.mul(z[stageName('y', j)], lagrange(nodes, l + 1, c[i])));
  return terms.length === 0 ? undefined : sumOf(terms);
}

/** Accelerations of mechanics: the polynomial through those so far, that of the start among them. */
export function predictAcceleration(tableau: Tableau): NonNullable<Stages['predict']> {
  const {c} = tableau;
  const stages = implicitStages(tableau);
  return (k, z, at) => {
    const i = stages[k];
    const acceleration = accelerationsOf(tableau, z, at);
    const {x, t} = at;
    const before = isExplicit(tableau, 0) ? placesBefore(tableau, i) : [-1, ...placesBefore(tableau, i)];
    const nodes = before.map(j => (j < 0 ? 0 : c[j]));
    return sumOf(
      before.flatMap((j, l) => {
        const weight = lagrange(nodes, l, c[i]);
        return Math.abs(weight) < roundoff
          ? []
          : [tf.mul(j < 0 ? at.acceleration(x.q, x.v, t) : acceleration(j), weight)];
      }),
    );
  };
}

/** Weights of polynomials that are zero but for their rounding. */
const roundoff = 1e-14;

/** Increments of an ode from the dense output P of the last step: P(ahead + cᵢ·ratio) − P(ahead). */
export function extrapolateIncrements(tableau: Tableau, weights: DenseWeights): NonNullable<Stages['extrapolate']> {
  const value = (last: Blocks, theta: tf.Tensor): tf.Tensor =>
    sumOf(
      weights.flatMap((coefficients, i) =>
        coefficients === undefined ? [] : [tf.mul(last[stageName('y', i)], polynomial(theta, coefficients))],
      ),
    );
  return (last, ahead, ratio) => {
    const start = value(last, ahead);
    return Object.fromEntries(
      implicitStages(tableau).map(i => [
        stageName('y', i),
        tf.sub(value(last, tf.add(ahead, tf.mul(ratio, tableau.c[i]))), start),
      ]),
    );
  };
}

/** Accelerations of mechanics from those of the last step's stages, by the polynomial through them. */
export function extrapolateAccelerations(tableau: Tableau): NonNullable<Stages['extrapolate']> {
  const {c} = tableau;
  const stages = implicitStages(tableau);
  const known = stages.filter(i => !stages.some(j => j > i && c[j] === c[i]));
  const nodes = known.map(i => c[i]);
  return (last, ahead, ratio) => {
    const at = (theta: tf.Tensor): tf.Tensor =>
      sumOf(known.map((i, l) => tf.mul(last[stageName('a', i)], product(nodes, l, theta))));
    return Object.fromEntries(stages.map(i => [stageName('a', i), at(tf.add(ahead, tf.mul(ratio, c[i])))]));
  };
}

/** Lagrange's polynomial l at θ. */
function product(nodes: readonly number[], l: number, theta: tf.Tensor): tf.Tensor {
  const factors = nodes.flatMap((node, m) => (m === l ? [] : [tf.mul(tf.sub(theta, node), 1 / (nodes[l] - node))]));
  return factors.length === 0 ? tf.onesLike(theta) : factors.reduce((all, factor) => tf.mul(all, factor));
}
