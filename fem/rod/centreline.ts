/**
 * The elements of a centreline: lengths, axes of the cross-section (tangent, normal, binormal) and reference curvature.
 * Elements are straight; a curved rod is a polygon whose corners keep their angles. Axes without a given normal are
 * those of Bishop (Am. Math. Monthly 82, 1975): from element to element they turn about the corner, not the tangent.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError, type Numeric} from '../../lib/index.js';
import {constantTensor, readNumeric} from '../../lib/internal.js';
import {assembled} from '../body/blocks.js';
import type {Mesh} from '../mesh/mesh.js';
import {components, cross, dot, plus, rotationVector, scaled, type Vector3} from './rotation.js';

/** Numbers of all elements. */
export interface ElementGeometry {
  /** [elements] */
  readonly length: tf.Tensor;
  /** Rows tangent, normal (and in space binormal) of each element, [elements, axes, axes]. */
  readonly axes: tf.Tensor;
}

/** Nodes where two elements meet, one that ends and one that begins there. */
export interface Corners {
  readonly before: Int32Array;
  readonly after: Int32Array;
}

/** The first nodes of elements, or the second ones. */
const ends = (nodes: Int32Array, k: 0 | 1): Int32Array => nodes.filter((_, i) => i % 2 === k);
const rows = (x: tf.Tensor, numbers: Int32Array): tf.Tensor => tf.gather(x, tf.tensor1d(numbers, 'int32'));

/**
 * Lengths and axes.
 * @param nodes two of each element
 * @param X positions, [nodes, axes]
 * @param normals [elements, 3], in space; their parts across the tangents are taken
 */
export function geometryOf(nodes: Int32Array, X: tf.Tensor, normals: tf.Tensor | undefined): ElementGeometry {
  const chord = components(tf.sub(rows(X, ends(nodes, 1)), rows(X, ends(nodes, 0))));
  const length = tf.sqrt(dot(chord, chord));
  const tangent = chord.map(x => tf.div(x, length));
  if (normals === undefined) {
    const [x, y] = tangent;
    return {length, axes: tf.reshape(tf.stack([x, y, tf.neg(y), x], 1), [-1, 2, 2])};
  }
  const t = tangent as unknown as Vector3;
  const given = components(normals) as unknown as Vector3;
  const across = plus(given, scaled(tf.neg(dot(given, t)), t));
  const n = scaled(tf.reciprocal(tf.sqrt(dot(across, across))), across);
  return {length, axes: tf.reshape(tf.stack([...t, ...n, ...cross(t, n)], 1), [-1, 3, 3])};
}

export function cornersOf(nodes: Int32Array): Corners {
  const count = nodes.length / 2;
  const begins = new Map<number, number[]>();
  const stops = new Map<number, number[]>();
  const add = (at: Map<number, number[]>, node: number, e: number): unknown =>
    at.set(node, [...(at.get(node) ?? []), e]);
  for (let e = 0; e < count; e++) {
    add(begins, nodes[2 * e], e);
    add(stops, nodes[2 * e + 1], e);
  }
  const pairs = [...stops].flatMap(([node, before]) => {
    const after = begins.get(node) ?? [];
    return before.length === 1 && after.length === 1 ? [[before[0], after[0]]] : [];
  });
  return {before: Int32Array.from(pairs, ([e]) => e), after: Int32Array.from(pairs, ([, e]) => e)};
}

/**
 * Curvature of the centreline as each element has it, in its axes: [elements, 3], of a plane rod [elements, 1]. At a
 * corner it is the angle by the mean length of its two elements, in an element the mean of its corners.
 */
export function referenceCurvature({length, axes}: ElementGeometry, {before, after}: Corners): tf.Tensor {
  const [count, d] = axes.shape;
  const width = d === 2 ? 1 : 3;
  if (before.length === 0) return constantTensor(0, [count, width]);
  const [a, b] = [before, after].map(numbers => rows(axes, numbers));
  const turn = components(tf.reshape(tf.matMul(a, b, false, true), [-1, d * d]));
  const q = (k: number, transposed: number): tf.Tensor => tf.sub(turn[k], turn[transposed]);
  const angles =
    d === 2
      ? [rotationVector([tf.add(1, turn[0]), tf.zerosLike(turn[0]), tf.zerosLike(turn[0]), turn[2]])[2]]
      : rotationVector([tf.addN([turn[0], turn[4], turn[8], tf.onesLike(turn[0])]), q(7, 5), q(2, 6), q(3, 1)]);
  const mean = tf.mul(0.5, tf.add(rows(length, before), rows(length, after)));
  const curvature = tf.div(tf.stack([...angles], 1), tf.reshape(mean, [-1, 1]));
  const numbers = Int32Array.from([...before, ...after]);
  const corners = new Float64Array(count);
  for (const e of numbers) corners[e]++;
  return tf.div(
    assembled(tf.concat([curvature, curvature]), numbers, count),
    constantTensor(
      corners.map(n => Math.max(n, 1)),
      [count, 1],
    ),
  );
}

/**
 * Bishop's normals, [elements, 3], from a mesh's positions. Each chain of elements begins with the axis that is the
 * farthest from its first tangent.
 */
export function bishopNormals({points, cells}: Mesh): Float64Array {
  const nodes = cells.line2!;
  const {before, after} = cornersOf(nodes);
  const next = new Map(Array.from(before, (e, i) => [e, after[i]]));
  const inner = new Set(after);
  const normals = new Float64Array((3 * nodes.length) / 2);
  const tangent = (e: number): number[] => {
    const chord = [0, 1, 2].map(k => points[3 * nodes[2 * e + 1] + k] - points[3 * nodes[2 * e] + k]);
    return chord.map(x => x / Math.hypot(...chord));
  };
  const done = new Set<number>();
  const chain = (first: number): void => {
    let t = tangent(first);
    const farthest = t.map(Math.abs).reduce((best, x, k, all) => (x < all[best] ? k : best), 0);
    let n = t.map((x, k) => (k === farthest ? 1 : 0) - x * t[farthest]);
    for (let e: number | undefined = first; e !== undefined && !done.has(e); e = next.get(e)) {
      const now = tangent(e);
      const along = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, x, k) => sum + x * b[k], 0);
      // Where a rod turns back on itself every axis is as good.
      const share = along(n, now) / Math.max(1 + along(t, now), Number.EPSILON);
      n = n.map((x, k) => x - share * (t[k] + now[k]));
      normals.set(n, 3 * e);
      done.add(e);
      t = now;
    }
  };
  // Those that nothing precedes first; what is left are rings.
  for (const e of normals.keys()) if (3 * e < normals.length && !inner.has(e)) chain(e);
  for (const e of inner) if (!done.has(e)) chain(e);
  return normals;
}

/** Normals as numbers, [elements, 3]. @throws OptionError where there are too few, or one is along its element */
export function requireNormals({points, cells}: Mesh, given: Numeric): Float64Array {
  const nodes = cells.line2!;
  const count = nodes.length / 2;
  const {values} = readNumeric(given, 'rod: normals');
  if (values.length !== 3 && values.length !== 3 * count)
    throw new OptionError(
      'bad-rod',
      `rod: normals has ${values.length} numbers; give one normal, or one for each of ${count} elements.`,
    );
  const normals = Float64Array.from({length: 3 * count}, (_, i) => values[i % values.length]);
  for (let e = 0; e < count; e++) {
    const n = normals.subarray(3 * e, 3 * e + 3);
    const t = n.map((_, k) => points[3 * nodes[2 * e + 1] + k] - points[3 * nodes[2 * e] + k]);
    const across = Math.hypot(n[1] * t[2] - n[2] * t[1], n[2] * t[0] - n[0] * t[2], n[0] * t[1] - n[1] * t[0]);
    // An angle of 1e-6 leaves ten digits of its direction.
    if (across > 1e-6 * Math.hypot(...n) * Math.hypot(...t)) continue;
    throw new OptionError('bad-rod', `rod: the normal of element ${e} is along the element. Give one across it.`, {
      element: e,
    });
  }
  return normals;
}
