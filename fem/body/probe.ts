/** Values at places inside a body's cells. */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../../lib/index.js';
import {constantTensor} from '../../lib/internal.js';
import {isSimplex, shapeFunctions} from '../cells/shape-functions.js';
import type {Mesh} from '../mesh/mesh.js';
import {inverseOf, type CellBlock} from './blocks.js';

/**
 * How far from a surface or line in space a place may lie, by the size of its cell. The arc over a straight cell of 20°
 * rises by 0.044 of its chord.
 */
const flatness = 0.05;

/** How far outside of a cell, in reference coordinates, a place may lie by rounding. */
const tolerance = 1e-8;

/** @throws OptionError 'outside' where a place lies in no cell */
export function probeOf(
  mesh: Mesh,
  blocks: readonly CellBlock[],
  places: readonly (readonly number[])[],
): (nodal: tf.Tensor) => tf.Tensor {
  const found = places.map((place, i) => {
    for (const block of blocks) {
      const at = cellAt(mesh, block, place);
      if (at !== undefined) return at;
    }
    throw new OptionError('outside', `probe: place ${i}, (${place.join(', ')}), is outside of the body.`, {place: i});
  });
  const width = Math.max(...found.map(({nodes}) => nodes.length));
  const ids = new Int32Array(found.length * width);
  const weights = new Float64Array(found.length * width);
  found.forEach(({nodes, values}, i) => {
    ids.set(nodes, i * width);
    weights.set(values, i * width);
  });
  return nodal => {
    const rows = tf.reshape(tf.gather(nodal, tf.tensor1d(ids, 'int32')), [found.length, width, nodal.shape[1]!]);
    return tf.sum(tf.mul(rows, constantTensor(weights, [found.length, width, 1])), 1);
  };
}

/** The first cell that holds a place, with the values of its shape functions there. */
function cellAt(
  {points, dimension: d}: Mesh,
  {shape, nodes, count}: CellBlock,
  place: readonly number[],
): {nodes: Int32Array; values: readonly number[]} | undefined {
  const N = shapeFunctions(shape.type);
  const isThin = shape.dimension < d;
  for (let cell = 0; cell < count; cell++) {
    const own = nodes.subarray(cell * shape.nodes, (cell + 1) * shape.nodes);
    const ranges = place.map((_, k) => {
      let [low, high] = [Infinity, -Infinity];
      for (const node of own) {
        low = Math.min(low, points[node * d + k]);
        high = Math.max(high, points[node * d + k]);
      }
      return {low, high};
    });
    const size = Math.max(...ranges.map(({low, high}) => high - low));
    const isNear = place.every((x, k) => {
      const {low, high} = ranges[k];
      // Curved sides of quadratic cells bulge beyond their nodes.
      const margin = (shape.order === 1 ? 1e-8 : 0.25) * (high - low) + (isThin ? flatness * size : 0);
      return x >= low - margin && x <= high + margin;
    });
    const away = isThin ? flatness * size : Infinity;
    const at = isNear ? referencePlace(points, own, N, place, shape.dimension, isSimplex(shape), away) : undefined;
    if (at !== undefined) return {nodes: own, values: N(at).values};
  }
  return undefined;
}

/** Reference coordinates of the nearest place in a cell by Gauss–Newton; undefined where it is outside or `away`. */
function referencePlace(
  points: Float64Array,
  nodes: Int32Array,
  N: ReturnType<typeof shapeFunctions>,
  place: readonly number[],
  dimension: number,
  simplex: boolean,
  away: number,
): number[] | undefined {
  const d = place.length;
  let at = new Array<number>(dimension).fill(simplex ? 1 / (dimension + 1) : 0);
  let distance = Infinity;
  for (let iteration = 0; iteration < 20; iteration++) {
    const {values, derivatives} = N(at);
    const gap = place.map((x, a) => x - values.reduce((sum, v, i) => sum + v * points[nodes[i] * d + a], 0));
    distance = Math.hypot(...gap);
    const T = at.map((_, b) =>
      place.map((_x, a) => derivatives.reduce((sum, row, i) => sum + row[b] * points[nodes[i] * d + a], 0)),
    );
    const dot = (u: readonly number[], w: readonly number[]): number => u.reduce((sum, x, a) => sum + x * w[a], 0);
    const {inverse} = inverseOf(
      T.flatMap(u => T.map(w => dot(u, w))),
      dimension,
    );
    const step = at.map((_, b) => T.reduce((sum, t, c) => sum + inverse[b * dimension + c] * dot(t, gap), 0));
    at = at.map((x, b) => x + step[b]);
    if (!at.every(Number.isFinite)) return undefined;
    if (step.every(s => Math.abs(s) < 1e-13)) break;
  }
  const inside = simplex
    ? at.every(x => x >= -tolerance) && at.reduce((sum, x) => sum + x, 0) <= 1 + tolerance
    : at.every(x => Math.abs(x) <= 1 + tolerance);
  return inside && distance <= away ? at : undefined;
}
