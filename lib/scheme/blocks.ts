/** Arithmetic on named blocks of tensors: a state as one vector. */
import * as tf from '@tensorflow/tfjs';
import type {Blocks} from '../system/equations.js';

/** x + Σ cᵢ yᵢ on the blocks of the y; coefficients are numbers or scalars. */
export function combine(x: Blocks, ...terms: readonly (readonly [number | tf.Tensor, Blocks])[]): Blocks {
  const names = Object.keys(terms[0][1]);
  return Object.fromEntries(
    names.map(name => [name, terms.reduce<tf.Tensor>((total, [c, y]) => tf.add(total, tf.mul(y[name], c)), x[name])]),
  );
}
