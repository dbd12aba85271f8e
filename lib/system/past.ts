/**
 * The past of a delay equation: its last steps as pieces of polynomials, the newest first. A piece is the quartic with
 * the states and slopes of both ends and the state of its middle: Hermite's cubic and a multiple of θ²(1−θ)². The
 * interpolants of Dormand & Prince and of Tsitouras have this form (scheme/explicit-pairs.ts).
 */
import * as tf from '@tensorflow/tfjs';
import type {Shape} from '../graph/node.js';
import {sizeOf} from '../graph/node.js';

/** One piece; slopes are by time. */
export interface Piece {
  /** [] */
  readonly from: tf.Tensor;
  readonly to: tf.Tensor;
  /** States at both ends and in the middle. */
  readonly y: tf.Tensor;
  readonly next: tf.Tensor;
  readonly middle: tf.Tensor;
  /** At the beginning, and at the end. */
  readonly slope: tf.Tensor;
  readonly endSlope: tf.Tensor;
}

/** A piece as a row, [1, width]. */
export function pieceRow({from, to, y, next, middle, slope, endSlope}: Piece): tf.Tensor {
  const parts = [from, to, y, next, middle, slope, endSlope].map(part => tf.reshape(part, [1, part.size]));
  return tf.concat(parts, 1);
}

/**
 * Pieces shorter than this share of a step are read by the tangent at their beginning. A difference over so little time
 * would be rounding; the tangent's error is the share's square, which is less.
 */
const shortest = 1e-7;

/**
 * The state at a time that the pieces cover.
 * @param inner added to the time by which a piece is chosen
 * @param starts [pieces], where they begin, descending
 * @param rows [pieces, width]
 */
export function pastAt(
  starts: tf.Tensor,
  rows: tf.Tensor,
  time: tf.Tensor,
  inner: tf.Tensor | number,
  shape: Shape,
): tf.Tensor {
  const count = starts.size;
  const later = tf.sum(tf.cast(tf.greater(starts, tf.add(time, inner)), 'float32'));
  const index = tf.cast(tf.minimum(later, count - 1), 'int32');
  const row = tf.gather(rows, index);
  const size = sizeOf(shape);
  const part = (k: number): tf.Tensor => tf.reshape(tf.slice(row, [2 + k * size], [size]), [...shape]);
  const [from, to] = [0, 1].map(k => tf.reshape(tf.slice(row, [k], [1]), []));
  const [y, next, middle, slope, endSlope] = [0, 1, 2, 3, 4].map(part);
  const length = tf.sub(to, from);
  const kept = tf.reshape(tf.sub(tf.slice(starts, [0], [1]), tf.slice(starts, [count - 1], [1])), []);
  const isShort = tf.lessEqual(length, tf.mul(kept, shortest / count));
  const since = tf.sub(time, from);
  const theta = tf.div(since, tf.where(isShort, tf.onesLike(length), length));
  const [rise, fall] = [tf.mul(slope, length), tf.mul(endSlope, length)];
  const gain = tf.sub(next, y);
  const bulge = tf.mul(16, tf.sub(tf.sub(middle, y), tf.add(tf.mul(gain, 0.5), tf.mul(tf.sub(rise, fall), 0.125))));
  // y + θ(s + θ(c₂ + θ(c₃ + θ c₄)))
  const third = tf.sub(tf.sub(tf.add(rise, fall), tf.mul(gain, 2)), tf.mul(bulge, 2));
  const second = tf.add(tf.sub(tf.sub(tf.mul(gain, 3), tf.mul(rise, 2)), fall), bulge);
  const powers = tf.add(second, tf.mul(theta, tf.add(third, tf.mul(theta, bulge))));
  const quartic = tf.add(y, tf.mul(theta, tf.add(rise, tf.mul(theta, powers))));
  return tf.where(isShort, tf.add(y, tf.mul(since, slope)), quartic);
}
