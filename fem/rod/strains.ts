/**
 * Strains of straight elements between two nodes that move and turn (Simo, Comput. Methods Appl. Mech. Engng 49, 1985;
 * Reissner 1972 in the plane), with the rotation halfway between the nodes and the relative rotation of the second to
 * the first: unchanged by rigid motions (Crisfield & Jelenić, Proc. R. Soc. Lond. A 455, 1999).
 */
import * as tf from '@tensorflow/tfjs';
import {components, dot, halfway, relative, rotationVector, turned, type Quaternion, type Vector3} from './rotation.js';

/** Strains along the axes of the elements; each a tensor [elements]. */
export interface RodStrains {
  /** Extension and shear along the tangent, the normal and, in space, the binormal. */
  readonly force: readonly tf.Tensor[];
  /** Change of twist and of curvature about the normal and the binormal; of a plane rod, of curvature. */
  readonly moment: readonly tf.Tensor[];
  /** What |p|² of the two nodes' quaternions differ from 1; none in the plane. */
  readonly excess: readonly tf.Tensor[];
}

/** Nodal values of a rod: displacements, and in the plane an angle, in space a quaternion less 1: [w − 1, x, y, z]. */
export const rodWidth = (dimension: number): number => (dimension === 2 ? 3 : 7);

/**
 * @param x nodal values of elements, [elements, 2, 3] or [elements, 2, 7]
 * @param length [elements]
 * @param axes [elements, axes · axes]
 */
export function strainsOf(x: tf.Tensor, length: tf.Tensor, axes: tf.Tensor): RodStrains {
  const count = x.shape[0];
  const width = x.shape[2]!;
  const values = components(tf.reshape(x, [count, 2 * width]));
  const [a, b] = [values.slice(0, width), values.slice(width)];
  const d = width === 3 ? 2 : 3;
  const entries = components(tf.reshape(axes, [count, d * d]));
  const axis = (k: number): tf.Tensor[] => entries.slice(k * d, (k + 1) * d);
  const tangent = axis(0);
  /** The chord by the reference length. */
  const chord = tangent.map((t, k) => tf.add(t, tf.div(tf.sub(b[k], a[k]), length)));
  const along = (v: readonly tf.Tensor[]): tf.Tensor[] => Array.from({length: d}, (_, k) => dot(axis(k), v));
  const stretched = ([first, ...rest]: readonly tf.Tensor[]): tf.Tensor[] => [tf.sub(first, 1), ...rest];
  if (d === 2) {
    const middle = tf.mul(0.5, tf.add(a[2], b[2]));
    const [c, s] = [tf.cos(middle), tf.sin(middle)];
    const [cx, cy] = chord;
    const back = [tf.add(tf.mul(c, cx), tf.mul(s, cy)), tf.sub(tf.mul(c, cy), tf.mul(s, cx))];
    return {force: stretched(along(back)), moment: [tf.div(tf.sub(b[2], a[2]), length)], excess: []};
  }
  const [p, r] = [a, b].map((v): Quaternion => [tf.add(1, v[3]), v[4], v[5], v[6]]);
  const back = turned(halfway(p, r), chord as unknown as Vector3, true);
  const turn = rotationVector(relative(p, r)).map(component => tf.div(component, length));
  const excess = [a, b].map(v => tf.add(tf.mul(2, v[3]), dot(v.slice(3), v.slice(3))));
  return {force: stretched(along(back)), moment: along(turn), excess};
}
