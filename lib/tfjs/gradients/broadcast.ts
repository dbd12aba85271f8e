/** Shapes in gradients: sums back what broadcasting repeated, and names an axis by its position. */
import * as tf from '@tensorflow/tfjs';

/** The one cotangent of a kernel with one output. */
export const single = (dy: tf.Tensor | tf.Tensor[]): tf.Tensor => (Array.isArray(dy) ? dy[0] : dy);

/** The cotangents of a kernel with several outputs; tfjs hands over a bare tensor where there is one. */
export const several = (dy: tf.Tensor | tf.Tensor[]): tf.Tensor[] => (Array.isArray(dy) ? dy : [dy]);

/** The transpose of broadcasting to t's shape from `shape`: sums over the axes that were repeated. */
export function sumTo(t: tf.Tensor, shape: number[]): tf.Tensor {
  const added = t.rank - shape.length;
  const repeated = t.shape.flatMap((size, axis) =>
    axis < added || (shape[axis - added] === 1 && size !== 1) ? [axis] : [],
  );
  const summed = repeated.length === 0 ? t : tf.sum(t, repeated);
  return tf.util.arraysEqual(summed.shape, shape) ? summed : tf.reshape(summed, shape);
}

export const float = (t: tf.Tensor): tf.Tensor => (t.dtype === 'float32' ? t : tf.cast(t, 'float32'));

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

/** Shape with the given axes kept as ones. */
export const kept = (shape: number[], reduced: number[]): number[] =>
  shape.map((size, axis) => (reduced.includes(axis) ? 1 : size));

export const size = (shape: number[]): number => shape.reduce((product, n) => product * n, 1);
