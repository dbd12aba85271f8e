/** Losses of data with gaps: a missing sample is NaN, has no weight, and leaves no NaN in a gradient. */
import * as tf from '@tensorflow/tfjs';
import {ShapeError} from '../../lib/errors.js';

/** 1 where there is a datum, 0 where it is NaN. */
const present = (data: tf.Tensor): tf.Tensor => tf.logicalNot(tf.isNaN(data));

/**
 * values − data, and 0 where a datum is NaN: chosen before the difference is taken, so that no NaN reaches a gradient,
 * as it would from a square that `tf.where` leaves out later.
 * @param values of the shape of data
 * @throws ShapeError 'masked-shape'
 */
export function difference(values: tf.Tensor, data: tf.Tensor): tf.Tensor {
  if (values.shape.join() !== data.shape.join())
    throw new ShapeError(
      'masked-shape',
      `masked.difference: values have shape [${values.shape.join(', ')}] and data [${data.shape.join(', ')}]; they `
        + 'must be the same.',
    );
  return tf.sub(values, tf.where(present(data), data, values));
}

/**
 * The mean of (values − data)² over the data that are there, with weights if these are given: Σ w (values − data)² / Σ
 * w. It is 0 where there are none.
 * @param weights of the shape of data
 * @throws ShapeError 'masked-shape'
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {masked} from 'stiffgrad/training';
 *
 * console.log(masked.meanSquare(tf.tensor1d([1, 2]), tf.tensor1d([1, NaN])).dataSync()[0]); // → 0
 * ```
 */
export function meanSquare(values: tf.Tensor, data: tf.Tensor, weights?: tf.Tensor): tf.Tensor {
  const squares = tf.square(difference(values, data));
  const there = tf.cast(present(data), 'float32');
  const weight = weights === undefined ? there : tf.mul(weights, there);
  const total = tf.sum(weight);
  return tf.div(tf.sum(tf.mul(weight, squares)), tf.where(tf.greater(total, 0), total, tf.onesLike(total)));
}
