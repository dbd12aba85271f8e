/**
 * Runge–Kutta methods as numbers (Butcher's tableau), and sums over their stages.
 */
import * as tf from '@tensorflow/tfjs';

export interface Tableau {
  readonly name: string;
  readonly order: number;
  /** Weights of stage j in stage i. */
  readonly a: readonly (readonly number[])[];
  /** Weights of the stages in the step. */
  readonly b: readonly number[];
  /** Times of the stages, as shares of the step. */
  readonly c: readonly number[];
  /**
   * For an implicit method, bᵀA⁻¹: x⁺ − x = Σ gainᵢ(Xᵢ − x). Stiffly accurate methods have (0, …, 0, 1).
   */
  readonly gains?: readonly number[];
}

/** A stage that needs no equation: its derivative is that of the start of the step. */
export const isExplicit = ({a}: Tableau, i: number): boolean => a[i].every(weight => weight === 0);

/** Stages with equations of their own. */
export const implicitStages = (tableau: Tableau): number[] =>
  tableau.c.map((_, i) => i).filter(i => !isExplicit(tableau, i));

/** No stage asks for a later one. */
export const isLowerTriangular = ({a}: Tableau): boolean =>
  a.every((row, i) => row.every((weight, j) => j <= i || weight === 0));

/** x + s Σ wᵢ yᵢ without terms of weight zero. */
export function sum(
  x: tf.Tensor,
  s: tf.Tensor | number,
  weights: readonly number[],
  y: (i: number) => tf.Tensor,
): tf.Tensor {
  const terms = weights.flatMap((weight, i) => (weight === 0 ? [] : [weight === 1 ? y(i) : tf.mul(y(i), weight)]));
  return terms.length === 0 ? x : tf.add(x, tf.mul(s, tf.addN(terms)));
}

/** The rows of A², or of bᵀA: the weights of accelerations in positions. */
export const twice = (row: readonly number[], a: Tableau['a']): number[] =>
  a[0].map((_, j) => row.reduce((total, weight, k) => total + weight * a[k][j], 0));
