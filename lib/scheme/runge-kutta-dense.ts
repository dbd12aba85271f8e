/**
 * Dense output of implicit Runge–Kutta methods: polynomials in θ, of the stages' increments alone,
 *
 *     x(t + θh) = x + Σ wᵢ(θ)(Xᵢ − x),
 *
 * so that stiffness, which makes a slope at the start of a step mostly rounding, does not enter.
 */
import * as tf from '@tensorflow/tfjs';
import type {Blocks} from '../system/equations.js';
import type {Formulation, StepPoint} from './scheme.js';
import {accelerationsOf, stageName, stagePlace, stageSlopes} from './implicit-runge-kutta.js';
import {identity, solved, times} from './small-matrix.js';
import {stageIncrements, weightedIncrements} from './stage-increments.js';
import type {Tableau} from './tableau.js';
import {implicitStages} from './tableau.js';

/** Coefficients of θ, θ², …, by stage; none of a stage that has no part in it. */
export type DenseWeights = readonly (readonly number[] | undefined)[];

/** θ(c₁ + θ(c₂ + …)). */
export const polynomial = (theta: tf.Tensor, coefficients: readonly number[]): tf.Tensor =>
  tf.mul(
    theta,
    coefficients
      .slice(0, -1)
      .reduceRight<tf.Tensor>(
        (total, c) => tf.add(c, tf.mul(theta, total)),
        tf.scalar(coefficients[coefficients.length - 1]),
      ),
  );

export function byIncrements(tableau: Tableau, weights: DenseWeights): NonNullable<Formulation['dense']> {
  return (theta, z, at) => {
    const increments = stageIncrements(tableau, z, at);
    const values = weights.map(coefficients =>
      coefficients === undefined ? undefined : polynomial(theta, coefficients),
    );
    return Object.fromEntries(
      increments.blocks.map(block => [block, tf.add(at.x[block], weightedIncrements(increments, block, values))]),
    );
  };
}

/**
 * The collocation polynomial: through x at 0 and Xᵢ at cᵢ, of which the last is 1. Its order is the number of stages.
 */
export const collocationWeights = ({c}: Tableau): DenseWeights =>
  solved(
    c.map((_, k) => c.map(node => node ** (k + 1))),
    identity(c.length),
  );

/**
 * The integral of the polynomial through the slopes at the start, at the stages and at the end, for Gauss's
 * methods, whose collocation polynomial has an order less: s + 1 with s stages, as far as the stages' own order
 * goes. Its rule of quadrature is exact for powers up to s + 1, as Gauss's is from s = 2 on, so that they are
 * one rule and it ends in the step's own end.
 */
export function bySlopes(tableau: Tableau): NonNullable<Formulation['dense']> {
  const nodes = [0, ...tableau.c, 1];
  const weights = solved(
    nodes.map((_, k) => nodes.map(node => node ** k)),
    identity(nodes.length),
  ).map(row => row.map((coefficient, k) => coefficient / (k + 1)));
  return (theta, z, at, next) => {
    const inner = stageRates(tableau, z, at);
    const slopes = [at.rate(at.x, at.t), ...inner, at.rate(next, tf.add(at.t, at.h))];
    const values = weights.map(coefficients => polynomial(theta, coefficients));
    return Object.fromEntries(
      Object.keys(inner[0]).map(block => [
        block,
        tf.add(at.x[block], tf.mul(at.h, tf.addN(slopes.map((rates, i) => tf.mul(rates[block], values[i]))))),
      ]),
    );
  };
}

/** X' at the stages of a method without explicit ones, as its equations have it. */
function stageRates(tableau: Tableau, z: Blocks, at: StepPoint): Blocks[] {
  if (at.kind === 'ode') {
    const {inverse} = stageSlopes(tableau);
    return inverse.map(row => ({
      y: tf.div(tf.addN(row.map((weight, j) => tf.mul(z[stageName('y', j)], weight))), at.h),
    }));
  }
  const acceleration = accelerationsOf(tableau, z, at);
  return tableau.c.map((_, i) => ({q: stagePlace(tableau, at, i, acceleration).v, v: acceleration(i)}));
}

/**
 * Weights for a stiffly accurate diagonally implicit method: of as many stages as there are conditions up to the
 * order, the last stage among them, which at θ = 1 it then gives exactly. Conditions are those of B-series on
 * increments: Σ wᵢ Φᵢ(τ) = θ^|τ| with Φ = c, 2Ac, 3Ac², and of order 4 4Ac³ and 12A(Ac²); the others follow
 * as stages are of order 2 from there on (Ac = c²/2).
 * @param order 2, 3 or 4
 */
export function orderWeights(tableau: Tableau, order: number): DenseWeights {
  const {a, c} = tableau;
  const scaled = (s: number, x: readonly number[]): number[] => x.map(value => s * value);
  const [squares, cubes] = [2, 3].map(power => c.map(node => node ** power));
  const squared = times(a, squares);
  const conditions: readonly {readonly phi: readonly number[]; readonly power: number}[] = [
    {phi: c, power: 1},
    {phi: scaled(2, times(a, c)), power: 2},
    {phi: scaled(3, squared), power: 3},
    {phi: scaled(4, times(a, cubes)), power: 4},
    {phi: scaled(12, times(a, squared)), power: 4},
  ].filter(({power}) => power <= order);
  const last = c.length - 1;
  const stages = [...implicitStages(tableau).slice(0, conditions.length - 1), last];
  const w = solved(
    conditions.map(({phi}) => stages.map(i => phi[i])),
    conditions.map(({power}) => Array.from({length: order}, (_, k) => (k + 1 === power ? 1 : 0))),
  );
  return c.map((_, i) => (stages.includes(i) ? w[stages.indexOf(i)] : undefined));
}
