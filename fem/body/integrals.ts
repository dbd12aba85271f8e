/** Integrals of shape functions over a body's cells: volumes, and forces and masses spread to nodes. */
import * as tf from '@tensorflow/tfjs';
import {constantTensor} from '../../lib/internal.js';
import type {Mesh} from '../mesh/mesh.js';
import {
  assembled,
  geometryOf,
  normalsOf,
  ruleFor,
  tangentsOf,
  tracedGeometry,
  type CellBlock,
  type CellRule,
} from './blocks.js';
import {atPoints, cellRows} from './cell-coefficients.js';
import type {ReadField} from './coefficient.js';
import {vectorsOf, type VectorAt, type VectorField} from './loads.js';

/** The cells of a block with the rule for products of shape functions. */
export interface Volumes {
  readonly block: CellBlock;
  readonly rule: CellRule;
  /** [cells, points] */
  readonly weights: tf.Tensor;
}

/** Weights of blocks whose nodes stay where the mesh has them. */
const fixedWeights = new WeakMap<CellBlock, Float64Array>();

/** Areas of surfaces in space, and lengths of lines, are volumes. @param positions where they are tensors */
export function volumesOf(block: CellBlock, {points, dimension: d}: Mesh, positions: tf.Tensor | undefined): Volumes {
  const {shape, nodes, count} = block;
  const rule = ruleFor(shape.type, 'mass');
  if (shape.dimension < d) {
    const X = positions ?? constantTensor(points, [points.length / d, d]);
    const T = tangentsOf(tf.gather(X, tf.tensor1d(nodes, 'int32')), count, shape.nodes, d, rule);
    return {block, rule, weights: tf.mul(lengthsOf(normalsOf(T)), constantTensor(rule.weights, [1, rule.count]))};
  }
  if (positions !== undefined)
    return {block, rule, weights: tracedGeometry(block, positions, rule).weights as tf.Tensor};
  let weights = fixedWeights.get(block);
  if (weights === undefined) fixedWeights.set(block, (weights = geometryOf(block, points, rule).weights));
  return {block, rule, weights: constantTensor(weights, [count, rule.count])};
}

/** Lengths of vectors given by components. */
export const lengthsOf = (vectors: readonly tf.Tensor[]): tf.Tensor => tf.sqrt(tf.addN(vectors.map(x => tf.square(x))));

/** A field's values at the points of cells: [cells, points], [cells, 1] or []. */
export function fieldAtPoints({block, rule}: Pick<Volumes, 'block' | 'rule'>, field: ReadField): tf.Tensor {
  return field.per === 'body' ? tf.reshape(field.tensor, []) : atPoints(cellRows(block, field), field, block, rule);
}

/** Weights times fields, [cells, points]. */
export const weighted = (volumes: Volumes, fields: readonly ReadField[]): tf.Tensor =>
  fields.reduce((product, field) => tf.mul(product, fieldAtPoints(volumes, field)), volumes.weights);

/** ∫ N b dV times the fields in `scale`, [nodes, axes]. */
export function spreadVectors(
  volumes: readonly Volumes[],
  field: VectorField,
  at: VectorAt,
  scale: readonly ReadField[],
): tf.Tensor {
  const [total, d] = at.X.shape;
  return volumes
    .map(part => {
      const {block, rule} = part;
      const [n, np] = [block.shape.nodes, rule.count];
      const N = constantTensor(rule.N, [np, n]) as tf.Tensor2D;
      const own = tf.reshape(tf.gather(at.X, tf.tensor1d(block.nodes, 'int32')), [block.count, n, d]);
      const rows = tf.reshape<tf.Rank.R2>(tf.transpose(own, [0, 2, 1]), [block.count * d, n]);
      const places = tf.transpose(tf.reshape(tf.matMul(rows, N, false, true), [block.count, d, np]), [0, 2, 1]);
      const vectors = vectorsOf(field, {...at, X: tf.reshape(places, [block.count * np, d])}, 'bodyForce');
      const forces = tf.mul(
        tf.reshape(vectors, [block.count, np, d]),
        tf.reshape(weighted(part, scale), [block.count, np, 1]),
      );
      const columns = tf.reshape<tf.Rank.R2>(tf.transpose(forces, [0, 2, 1]), [block.count * d, np]);
      const nodal = tf.transpose(tf.reshape(tf.matMul(columns, N), [block.count, d, n]), [0, 2, 1]);
      return assembled(nodal, block.nodes, total);
    })
    .reduce((sum, nodal) => tf.add(sum, nodal));
}

/** A thickness or area at nodes, [nodes, 1], or one number, []; of a field by cells the mean of those at each node. */
export function sectionAtNodes({per, tensor}: ReadField, blocks: readonly CellBlock[], total: number): tf.Tensor {
  if (per === 'body') return tf.reshape(tensor, []);
  if (per === 'nodes') return tf.reshape(tensor, [total, 1]);
  const counts = new Float64Array(total);
  const sums = blocks.map(({count, first, nodes, shape}) => {
    for (const node of nodes) counts[node]++;
    const own = tf.reshape(tf.slice(tf.reshape(tensor, [-1]), [first], [count]), [count, 1]);
    return assembled(tf.tile(own, [1, shape.nodes]), nodes, total);
  });
  return tf.div(
    sums.reduce((sum, x) => tf.add(sum, x)),
    constantTensor(
      counts.map(x => Math.max(x, 1)),
      [total, 1],
    ),
  );
}
