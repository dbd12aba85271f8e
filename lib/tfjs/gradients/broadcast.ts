/** Cotangents and shapes in gradients. */
import * as tf from '@tensorflow/tfjs';

/** The one cotangent of a kernel with one output. */
export const single = (dy: tf.Tensor | tf.Tensor[]): tf.Tensor => (Array.isArray(dy) ? dy[0] : dy);

/** The cotangents of a kernel with several outputs; tfjs hands over a bare tensor where there is one. */
export const several = (dy: tf.Tensor | tf.Tensor[]): tf.Tensor[] => (Array.isArray(dy) ? dy : [dy]);

/** Nothing flows back: a zero of the input's shape, in float32 whatever the input's type. */
export const zero = (t: tf.Tensor): tf.Tensor => tf.zeros(t.shape, 'float32');

/** Axes as kernels store them (a number, a list, or nothing for all), as positions counted from the front. */
export function axes(attribute: tf.Attribute | undefined, rank: number): number[] {
  if (attribute === undefined || attribute === null) {
    return Array.from({length: rank}, (_, axis) => axis);
  }
  const list = typeof attribute === 'number' ? [attribute] : (attribute as number[]);
  return list.map(axis => (axis < 0 ? axis + rank : axis));
}

export const size = (shape: number[]): number => shape.reduce((product, n) => product * n, 1);
