/**
 * The stages of a Runge–Kutta method as increments of the state's blocks, X_i − x, for `ode` and `mechanics`
 * alike: what error estimates and dense output are sums of.
 */
import * as tf from '@tensorflow/tfjs';
import type {Blocks} from '../system/equations.js';
import {accelerationsOf, stageName} from './implicit-runge-kutta.js';
import type {StepPoint} from './scheme.js';
import type {Tableau} from './tableau.js';
import {sum, twice} from './tableau.js';

export interface StageIncrements {
  /** y, or q and v. */
  readonly blocks: readonly string[];
  /** The increment of a block in implicit stage i. */
  of(block: string, i: number): tf.Tensor;
}

export function stageIncrements(tableau: Tableau, z: Blocks, at: StepPoint): StageIncrements {
  if (at.kind === 'ode') return {blocks: ['y'], of: (_, i) => z[stageName('y', i)]};
  const {a, c} = tableau;
  const {x, h} = at;
  const acceleration = accelerationsOf(tableau, z, at);
  return {
    blocks: ['q', 'v'],
    of: (block, i) =>
      block === 'q'
        ? sum(tf.mul(tf.mul(h, c[i]), x.v), tf.square(h), twice(a[i], a), acceleration)
        : sum(tf.zerosLike(x.v), h, a[i], acceleration),
  };
}

/** Σ wᵢ(Xᵢ − x) of a block; weights are numbers or scalars, undefined ones zero. */
export function weightedIncrements(
  increments: StageIncrements,
  block: string,
  weights: readonly (number | tf.Tensor | undefined)[],
): tf.Tensor {
  return tf.addN(
    weights.flatMap((weight, i) =>
      weight === undefined || weight === 0 ? [] : [tf.mul(increments.of(block, i), weight)],
    ),
  );
}
