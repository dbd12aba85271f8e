/** Stresses and strains at the points of cells, and their means in cells and at nodes. */
import * as tf from '@tensorflow/tfjs';
import {traced} from '../../lib/index.js';
import {constantTensor} from '../../lib/internal.js';
import {shapeFunctions, referenceNodes} from '../cells/shape-functions.js';
import {assembled, type CellBlock, type CellRule} from '../body/blocks.js';
import {Deformation, pairs} from './deformation.js';

/** Kinds of stress. */
export type StressKind = 'cauchy' | 'vonMises';
/** Places of stresses and strains. */
export type StressPlace = 'nodes' | 'cells' | 'points';

const axes = [0, 1, 2] as const;
const name = (i: number, j: number): string => `h${i}${j}`;

/** [.., 3, 3] of components. */
const matrix = (entry: (i: number, j: number) => tf.Tensor): tf.Tensor =>
  tf.stack(
    axes.map(i =>
      tf.stack(
        axes.map(j => entry(i, j)),
        -1,
      ),
    ),
    -2,
  );

/** Cauchy's stress P Fᵀ/J, or P for small strains, where P is the energy's derivative by H: [cells, points, 3, 3]. */
export function cauchyOf(
  {H}: Deformation,
  energy: (deformation: Deformation) => tf.Tensor,
  isLinear: boolean,
): tf.Tensor {
  const zero = tf.zerosLike(H[0][0]!);
  const full = axes.map(i => axes.map(j => H[i][j] ?? zero));
  // Components out of the plane, which are zero, stay out but for the one across it.
  const isUsed = (i: number, j: number): boolean => H[i][j] !== undefined || (i === 2 && j === 2);
  const at: Record<string, tf.Tensor> = {};
  for (const i of axes) for (const j of axes) if (isUsed(i, j)) at[name(i, j)] = full[i][j];
  const of = (given: {readonly [key: string]: tf.Tensor}): tf.Tensor =>
    energy(new Deformation(axes.map(i => axes.map(j => given[name(i, j)]))));
  const P = axes.map(i =>
    axes.map(j => (isUsed(i, j) ? traced.derivativeAlong(of, at, {[name(i, j)]: tf.onesLike(full[i][j])}) : undefined)),
  );
  if (isLinear) return matrix((i, j) => P[i][j] ?? zero);
  const F = (i: number, j: number): tf.Tensor => (i === j ? tf.add(full[i][j], 1) : full[i][j]);
  const J = tf.add(new Deformation(full).volumeChange, 1);
  return matrix((i, j) => {
    const terms = axes.flatMap(k => (P[i][k] === undefined ? [] : [tf.mul(P[i][k], F(j, k))]));
    return terms.length === 0
      ? zero
      : tf.div(
          terms.reduce((sum, x) => tf.add(sum, x)),
          J,
        );
  });
}

/** Green's strain, or the small strain. */
export function greenStrainOf(deformation: Deformation, isLinear: boolean): tf.Tensor {
  const entries = isLinear ? deformation.smallStrain : deformation.greenStrain;
  const zero = tf.zerosLike(deformation.H[0][0]!);
  return matrix((i, j) => {
    const k = pairs.findIndex(([a, b]) => (a === i && b === j) || (a === j && b === i));
    return entries[k] ?? zero;
  });
}

/** √(3/2 s : s) of the deviator s. */
export function vonMises(stress: tf.Tensor): tf.Tensor {
  const identity = constantTensor([1, 0, 0, 0, 1, 0, 0, 0, 1], [3, 3]);
  const mean = tf.div(tf.sum(tf.mul(stress, identity), [-2, -1], true), 3);
  const deviator = tf.sub(stress, tf.mul(mean, identity));
  return tf.sqrt(tf.mul(1.5, tf.sum(tf.square(deviator), [-2, -1])));
}

/** Values at points, [cells, points, 3, 3], of all types of cells, where they are asked for. */
export function averaged(
  parts: readonly {
    readonly block: CellBlock;
    readonly rule: CellRule;
    readonly weights: tf.Tensor;
    readonly values: tf.Tensor;
  }[],
  where: StressPlace,
  total: number,
): tf.Tensor {
  if (where === 'points') return tf.concat(parts.map(({values}) => tf.reshape(values, [-1, 3, 3])));
  if (where === 'cells')
    return tf.concat(
      parts.map(({block, rule, weights, values}) => {
        const share = tf.reshape(tf.div(weights, tf.sum(weights, 1, true)), [block.count, rule.count, 1, 1]);
        return tf.sum(tf.mul(values, share), 1);
      }),
    );
  const counts = new Float64Array(total);
  const sums = parts.map(({block, rule, values}) => {
    for (const node of block.nodes) counts[node]++;
    const n = block.shape.nodes;
    const rows = tf.reshape(tf.transpose(tf.reshape(values, [block.count, rule.count, 9]), [0, 2, 1]), [
      -1,
      rule.count,
    ]);
    const out = constantTensor(extrapolation(block, rule), [n, rule.count]) as tf.Tensor2D;
    const nodal = tf.reshape(tf.matMul(rows as tf.Tensor2D, out, false, true), [block.count, 9, n]);
    return assembled(tf.transpose(nodal, [0, 2, 1]), block.nodes, total);
  });
  const shares = constantTensor(
    counts.map(count => (count === 0 ? 0 : 1 / count)),
    [total, 1],
  );
  return tf.reshape(
    tf.mul(
      sums.reduce((sum, x) => tf.add(sum, x)),
      shares,
    ),
    [total, 3, 3],
  );
}

/**
 * From values at points to values at nodes: the functions of the cell's corners that fit best, where there are as many
 * points as corners, else the mean. [nodes, points]
 */
function extrapolation({shape}: CellBlock, rule: CellRule): Float64Array {
  const out = new Float64Array(shape.nodes * rule.count).fill(1 / rule.count);
  if (rule.count < shape.corners) return out;
  const N = shapeFunctions(shape.linear);
  const A = rule.points.map(point => N(point).values);
  const normal = Array.from({length: shape.corners}, (_, i) =>
    Array.from({length: shape.corners}, (_x, j) => A.reduce((sum, row) => sum + row[i] * row[j], 0)),
  );
  const inverse = inverseOf(normal);
  referenceNodes(shape.type).forEach((node, m) => {
    const at = N(node).values;
    const weights = inverse.map(row => row.reduce((sum, x, j) => sum + x * at[j], 0));
    A.forEach((row, p) => (out[m * rule.count + p] = row.reduce((sum, x, i) => sum + x * weights[i], 0)));
  });
  return out;
}

/** The inverse of a small positive definite matrix by Gauss and Jordan's elimination. */
function inverseOf(given: readonly (readonly number[])[]): number[][] {
  const n = given.length;
  const rows = given.map((row, i) => [...row, ...row.map((_, j) => (i === j ? 1 : 0))]);
  for (let k = 0; k < n; k++) {
    const pivot = rows[k][k];
    rows[k] = rows[k].map(x => x / pivot);
    for (let i = 0; i < n; i++) {
      const factor = rows[i][k];
      if (i !== k) rows[i] = rows[i].map((x, j) => x - factor * rows[k][j]);
    }
  }
  return rows.map(row => row.slice(n));
}
