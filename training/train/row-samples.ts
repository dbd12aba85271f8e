/**
 * Rows of one batch at times of their own: a run saves all rows at common times, and each is read between them by the
 * cubic through values and slopes at both sides (Hermite). So irregular samples need no grid that is the union of all,
 * and other times are other numbers, not another program.
 */
import * as tf from '@tensorflow/tfjs';
import {ShapeError} from '../../lib/errors.js';

/** A batch of rows at common times. */
export interface RowSeries {
  /** [saved], increasing, or decreasing as in a run backwards in time. */
  readonly t: tf.Tensor;
  /** [saved, rows, ...shape] */
  readonly y: tf.Tensor;
  /** y′, of the shape of y: the values of `observe`, if that is the system's derivative. */
  readonly slope: tf.Tensor;
}

/**
 * The rows at their own times, [rows, samples, ...shape]. Between saved times a step H apart, the error of the cubic is
 * at most H⁴/384 times the fourth derivative; times outside the run use the cubics at its ends. Differentiable in y and
 * slope.
 * @param times [rows, samples], in any order
 * @throws ShapeError 'row-samples'
 */
export function ofRows({t, y, slope}: RowSeries, times: tf.Tensor): tf.Tensor {
  const [saved, rows, ...shape] = y.shape;
  if (t.size !== saved || saved < 2 || slope.shape.join() !== y.shape.join())
    throw new ShapeError(
      'row-samples',
      `samples.ofRows: t has shape [${t.shape.join(', ')}], y [${y.shape.join(', ')}] and slope `
        + `[${slope.shape.join(', ')}]; they must be [saved], [saved, rows, ...] and the same, with at least two `
        + 'saved times.',
    );
  if (times.rank !== 2 || times.shape[0] !== rows)
    throw new ShapeError(
      'row-samples',
      `samples.ofRows: times has shape [${times.shape.join(', ')}], but must be [${rows}, samples]: one row of times `
        + 'for each row of the batch.',
    );
  return tf.tidy(() => {
    const count = times.shape[1] as number;
    const width = y.size / (saved * rows);
    const at = tf.reshape(times, [rows * count]);
    // The interval: how many saved times the run has passed at a sample, less one. Backwards, −t increases.
    const clock = tf.reshape(t, [saved]);
    const direction = tf.sign(tf.sub(tf.slice(clock, [saved - 1], [1]), tf.slice(clock, [0], [1])));
    const after = tf.cast(tf.searchSorted(tf.mul(direction, clock), tf.mul(direction, at), 'right'), 'int32');
    const k = tf.minimum(
      tf.maximum(tf.sub(after, tf.scalar(1, 'int32')), tf.scalar(0, 'int32')),
      tf.scalar(saved - 2, 'int32'),
    );
    const row = tf.tensor1d(
      Array.from({length: rows * count}, (_, i) => Math.floor(i / count)),
      'int32',
    );
    const low = tf.add(tf.mul(k, tf.scalar(rows, 'int32')), row);
    const high = tf.add(low, tf.scalar(rows, 'int32'));
    const flat = (x: tf.Tensor): tf.Tensor => tf.reshape(x, [saved * rows, width]);
    const [y0, y1] = [low, high].map(i => tf.gather(flat(y), i));
    const [s0, s1] = [low, high].map(i => tf.gather(flat(slope), i));
    const begin = tf.gather(clock, k);
    const h = tf.sub(tf.gather(clock, tf.add(k, tf.scalar(1, 'int32'))), begin);
    const column = (x: tf.Tensor): tf.Tensor => tf.reshape(x, [rows * count, 1]);
    const theta = column(tf.div(tf.sub(at, begin), h));
    const rest = tf.sub(1, theta);
    const d = tf.sub(y1, y0);
    const bend = tf.sub(
      tf.mul(rest, tf.sub(tf.mul(column(h), s0), d)),
      tf.mul(theta, tf.sub(tf.mul(column(h), s1), d)),
    );
    const value = tf.add(tf.add(y0, tf.mul(theta, d)), tf.mul(tf.mul(theta, rest), bend));
    return tf.reshape(value, [rows, count, ...shape]);
  });
}
