/** Rotations of numbers and of tensors, in the specs' own words. */
import * as tf from '@tensorflow/tfjs';
import type {Kinematics} from '../../lib/index.js';
import {quaternions} from '../../lib/index.js';

export type V3 = readonly number[];
export const largest = (values: Iterable<number>): number => Math.max(...Array.from(values, Math.abs));
export const apart = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  largest(Array.from(a, (value, i) => value - b[i]));
export const last = (both: Float64Array): Float64Array => both.slice(both.length / 2);

/** Hamilton's product and the exponential of numbers, in the spec's own words. */
export const times = ([a, b, c, d]: V3, [e, f, g, h]: V3): number[] => [
  a * e - b * f - c * g - d * h,
  a * f + b * e + c * h - d * g,
  a * g - b * h + c * e + d * f,
  a * h + b * g - c * f + d * e,
];
export const turned = (axis: V3, angle: number): number[] => {
  const size = Math.hypot(...axis);
  return [Math.cos(angle / 2), ...axis.map(x => (x / size) * Math.sin(angle / 2))];
};
export const rotated = (r: V3, x: V3): number[] => times(times(r, [0, ...x]), [r[0], -r[1], -r[2], -r[3]]).slice(1);
export const crossed = (a: V3, b: V3): number[] => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];

/** The same of tensors, for forces and constraints. */
export const cross = (a: tf.Tensor, b: tf.Tensor): tf.Tensor => {
  const [a1, a2, a3] = tf.unstack(a);
  const [b1, b2, b3] = tf.unstack(b);
  const minor = (p: tf.Tensor, q: tf.Tensor, r: tf.Tensor, s: tf.Tensor): tf.Tensor =>
    tf.sub(tf.mul(p, q), tf.mul(r, s));
  return tf.stack([minor(a2, b3, a3, b2), minor(a3, b1, a1, b3), minor(a1, b2, a2, b1)]);
};
/** x in world axes, and what is in world axes in those of the body (sign −1). */
export const rotate = (r: tf.Tensor, x: tf.Tensor, sign = 1): tf.Tensor => {
  const [w, ...u] = tf.unstack(r);
  const axis = tf.mul(tf.stack(u), sign);
  const across = tf.mul(cross(axis, x), 2);
  return tf.addN([x, tf.mul(across, w), cross(axis, across)]);
};
export const gyroscopic = (J: V3, omega: tf.Tensor): tf.Tensor =>
  tf.neg(cross(omega, tf.mul(omega, tf.tensor1d([...J]))));

/** Turning alone: q a unit quaternion, v in body axes. */
export const turning: Kinematics = {
  rate: ({q, v}) => quaternions.rate(q, v),
  retract: ({q, increment}) => quaternions.retract(q, increment),
  project: ({q}) => quaternions.project(q),
};

/** By elimination. */
export function solved(matrix: readonly V3[], right: V3): number[] {
  const rows = matrix.map((row, i) => [...row, right[i]]);
  for (let i = 0; i < 3; i++)
    for (let k = 0; k < 3; k++) {
      if (k === i) continue;
      const share = rows[k][i] / rows[i][i];
      rows[k] = rows[k].map((x, j) => x - share * rows[i][j]);
    }
  return rows.map((row, i) => row[3] / row[i]);
}
