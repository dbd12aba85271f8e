/**
 * Rotations by quaternions [w, x, y, z], vectors by components; each component is a tensor of one shape, such as
 * [cells]. A quaternion stands for the same rotation whatever its length, which no function here asks to be one.
 */
import * as tf from '@tensorflow/tfjs';

/** A vector in space by its components. */
export type Vector3 = readonly [tf.Tensor, tf.Tensor, tf.Tensor];
/** A quaternion by its components, the scalar first. */
export type Quaternion = readonly [tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor];

/** The columns of a matrix [rows, n]. */
export const components = (x: tf.Tensor): tf.Tensor[] =>
  tf.split(x, x.shape[1]!, 1).map(column => tf.reshape(column, [-1]));

export const dot = (a: readonly tf.Tensor[], b: readonly tf.Tensor[]): tf.Tensor =>
  a.map((x, k) => tf.mul(x, b[k])).reduce((sum, x) => tf.add(sum, x));

export const cross = (a: Vector3, b: Vector3): Vector3 => {
  const component = (i: number, j: number): tf.Tensor => tf.sub(tf.mul(a[i], b[j]), tf.mul(a[j], b[i]));
  return [component(1, 2), component(2, 0), component(0, 1)];
};

export const scaled = (s: tf.Tensor | number, [x, y, z]: Vector3): Vector3 => [
  tf.mul(s, x),
  tf.mul(s, y),
  tf.mul(s, z),
];
export const plus = (a: Vector3, b: Vector3): Vector3 => [tf.add(a[0], b[0]), tf.add(a[1], b[1]), tf.add(a[2], b[2])];

const vectorPart = ([, x, y, z]: Quaternion): Vector3 => [x, y, z];

/** The rotation b after that of a is undone, ā b: what neighbours differ by, as seen from the first. */
export function relative(a: Quaternion, b: Quaternion): Quaternion {
  const [va, vb] = [vectorPart(a), vectorPart(b)];
  const v = plus(plus(scaled(a[0], vb), scaled(tf.neg(b[0]), va)), cross(vb, va));
  return [tf.add(tf.mul(a[0], b[0]), dot(va, vb)), ...v];
}

/** The rotation halfway from a to b. */
export function halfway(a: Quaternion, b: Quaternion): Quaternion {
  const [la, lb] = [a, b].map(q => tf.sqrt(dot(q, q)));
  const component = (k: number): tf.Tensor => tf.add(tf.mul(a[k], lb), tf.mul(b[k], la));
  return [component(0), component(1), component(2), component(3)];
}

/** A vector turned by a quaternion's rotation, or back by its inverse. */
export function turned(q: Quaternion, y: Vector3, back = false): Vector3 {
  const v = vectorPart(q);
  const w = back ? tf.neg(q[0]) : q[0];
  const sum = plus(
    plus(scaled(tf.sub(tf.square(w), dot(v, v)), y), scaled(tf.mul(2, dot(v, y)), v)),
    scaled(tf.mul(2, w), cross(v, y)),
  );
  return scaled(tf.reciprocal(dot(q, q)), sum);
}

/**
 * The coefficients of atan(x)/x = Σ (−x²)^k / (2k + 1). At x = tan(π/16), that is at an angle of π, the eleventh term
 * is 2e-17; at 3π/2 it is 4e-13.
 */
const arctangentTerms = 11;

/**
 * The rotation vector of a quaternion, smooth for all angles below 2π: the tangent of a quarter of the angle is
 * |v| / (|q| + w), then tan(a/2) = tan a / (1 + √(1 + tan² a)) twice, and the arctangent by its series.
 */
export function rotationVector(q: Quaternion): Vector3 {
  const v = vectorPart(q);
  let factor = tf.reciprocal(tf.add(tf.sqrt(dot(q, q)), q[0]));
  const square = dot(v, v);
  for (let halving = 0; halving < 2; halving++) {
    const tangent2 = tf.mul(square, tf.square(factor));
    factor = tf.div(factor, tf.add(1, tf.sqrt(tf.add(1, tangent2))));
  }
  const x2 = tf.mul(square, tf.square(factor));
  let series: tf.Tensor = tf.onesLike(x2);
  series = tf.mul(series, 1 / (2 * arctangentTerms - 1));
  for (let k = arctangentTerms - 2; k >= 0; k--) series = tf.sub(1 / (2 * k + 1), tf.mul(x2, series));
  return scaled(tf.mul(tf.mul(16, factor), series), v);
}
