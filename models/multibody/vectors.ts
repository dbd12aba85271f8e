/**
 * Vectors and rotations of many bodies at once: a vector is three tensors of the same shape [n], a rotation a unit
 * quaternion as four of them (w first). Written by components, every number of the result depends on the numbers of
 * its own body alone, which is the sparsity that the tracer finds.
 */
import * as tf from '@tensorflow/tfjs';

/** x, y, z. */
export type Vec = readonly [tf.Tensor, tf.Tensor, tf.Tensor];
/** w, x, y, z: from body axes to world axes. */
export type Quat = readonly [tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor];
/** Rows. */
export type Matrix3 = readonly [Vec, Vec, Vec];

export const add = (a: Vec, b: Vec): Vec => [tf.add(a[0], b[0]), tf.add(a[1], b[1]), tf.add(a[2], b[2])];
export const sub = (a: Vec, b: Vec): Vec => [tf.sub(a[0], b[0]), tf.sub(a[1], b[1]), tf.sub(a[2], b[2])];
export const scale = (s: tf.Tensor | number, a: Vec): Vec => [tf.mul(s, a[0]), tf.mul(s, a[1]), tf.mul(s, a[2])];
export const neg = (a: Vec): Vec => [tf.neg(a[0]), tf.neg(a[1]), tf.neg(a[2])];
export const dot = (a: Vec, b: Vec): tf.Tensor =>
  tf.add(tf.mul(a[0], b[0]), tf.add(tf.mul(a[1], b[1]), tf.mul(a[2], b[2])));
export const cross = (a: Vec, b: Vec): Vec => [
  tf.sub(tf.mul(a[1], b[2]), tf.mul(a[2], b[1])),
  tf.sub(tf.mul(a[2], b[0]), tf.mul(a[0], b[2])),
  tf.sub(tf.mul(a[0], b[1]), tf.mul(a[1], b[0])),
];
/** Σ of vectors, at least one. */
export const sum = (terms: readonly Vec[]): Vec => terms.reduce(add);
/** Rows by columns: M a. */
export const times = (m: Matrix3, a: Vec): Vec => [dot(m[0], a), dot(m[1], a), dot(m[2], a)];
export const length = (a: Vec): tf.Tensor => tf.sqrt(dot(a, a));

/** From body axes to world axes; without a rotation, those of the ground, as it is. */
export function rotate(rotation: Quat | undefined, a: Vec): Vec {
  if (rotation === undefined) return a;
  const [w, u] = parts(rotation);
  const t = scale(2, cross(u, a));
  return add(a, add(scale(w, t), cross(u, t)));
}

/** From world axes to body axes. */
export function rotateBack(rotation: Quat | undefined, a: Vec): Vec {
  if (rotation === undefined) return a;
  const [w, x, y, z] = rotation;
  return rotate([w, tf.neg(x), tf.neg(y), tf.neg(z)], a);
}

/** Hamilton's product: b first, then a. */
export function product(a: Quat, b: Quat): Quat {
  const [aw, au] = parts(a);
  const [bw, bu] = parts(b);
  const u = add(add(scale(aw, bu), scale(bw, au)), cross(au, bu));
  return [tf.sub(tf.mul(aw, bw), dot(au, bu)), ...u];
}

/** ½ q∘(0, ω): the rate of a quaternion whose body turns with ω, in body axes. */
export function rateOf(rotation: Quat, omega: Vec): Quat {
  const [w, u] = parts(rotation);
  const half = scale(0.5, omega);
  return [tf.neg(dot(u, half)), ...add(scale(w, half), cross(u, half))];
}

/** A cotangent of a quaternion as a torque in body axes: the transpose of `rateOf`. */
export function torqueOf(rotation: Quat, cotangent: Quat): Vec {
  const [w, u] = parts(rotation);
  const [cw, cu] = parts(cotangent);
  return scale(0.5, add(sub(scale(w, cu), scale(cw, u)), cross(cu, u)));
}

const parts = ([w, x, y, z]: Quat): [tf.Tensor, Vec] => [w, [x, y, z]];
