/** Transverse shears of shell cells, from those along their edges: MITC4 and MITC3. */
import * as tf from '@tensorflow/tfjs';
import {constantTensor} from '../../lib/internal.js';
import type {CellRule} from '../body/blocks.js';
import type {CellType} from '../mesh/cell-types.js';

/** Values at the nodes of cells, [cells, nodes, 3]. */
interface ShearState {
  readonly X: tf.Tensor;
  readonly u: tf.Tensor;
  readonly D: tf.Tensor;
  /** The change of the unit director. */
  readonly turned: tf.Tensor;
}

/** Which edges are tied, from which node to which, and the shears at a place that follow from theirs. */
interface Tying {
  readonly edges: readonly (readonly [number, number])[];
  /** Half the edge by a reference coordinate of length two, the whole by one of length one. */
  readonly scale: number;
  /** Factors of the edges' shears for the two covariant shears at a place. */
  readonly factors: (place: readonly number[]) => readonly [readonly number[], readonly number[]];
}

// prettier-ignore
const tied: {readonly [T in CellType]?: Tying} = {
  quad4: {
    edges: [[0, 1], [3, 2], [0, 3], [1, 2]],
    scale: 1 / 2,
    factors: ([x, y]) => [[(1 - y) / 2, (1 + y) / 2, 0, 0], [0, 0, (1 - x) / 2, (1 + x) / 2]],
  },
  // Along each side the shear is constant; c = γ₀₂ − γ₀₁ − γ₁₂ is how they go around.
  tri3: {
    edges: [[0, 1], [0, 2], [1, 2]],
    scale: 1,
    factors: ([r, s]) => [[1 - s, s, -s], [r, 1 - r, r]],
  },
};

/** The covariant shears 2 ε_ξ3 and 2 ε_η3 at the points of a rule, [cells, points] each. */
export function tiedShears(type: CellType, {X, u, D, turned}: ShearState, rule: CellRule): tf.Tensor[] {
  const {edges, scale, factors} = tied[type]!;
  const [cells, n] = X.shape;
  const rows = (entry: (edge: readonly [number, number], node: number) => number): tf.Tensor =>
    constantTensor(
      edges.flatMap(edge => Array.from({length: n}, (_, node) => entry(edge, node))),
      [edges.length, n],
    );
  const differences = rows(([from, to], node) => (node === to ? scale : node === from ? -scale : 0));
  const means = rows(([from, to], node) => (node === to || node === from ? 0.5 : 0));
  /** Components of edges, [cells, edges] each. */
  const along = (matrix: tf.Tensor, values: tf.Tensor): tf.Tensor[] => {
    const columns = tf.reshape(tf.transpose(values, [2, 0, 1]), [3 * cells, n]);
    const product = tf.reshape(tf.matMul(columns, matrix, false, true), [3, cells, edges.length]);
    return [0, 1, 2].map(k =>
      tf.reshape(tf.slice(product, [k, 0, 0], [1, cells, edges.length]), [cells, edges.length]),
    );
  };
  const [dX, du] = [X, u].map(values => along(differences, values));
  const [mD, mt] = [D, turned].map(values => along(means, values));
  const shears = [0, 1, 2]
    .flatMap(k => [tf.mul(dX[k], mt[k]), tf.mul(du[k], tf.add(mD[k], mt[k]))])
    .reduce((sum, part) => tf.add(sum, part));
  return [0, 1].map(alpha =>
    tf.matMul(
      shears,
      constantTensor(
        rule.points.flatMap(place => factors(place)[alpha]),
        [rule.count, edges.length],
      ),
      false,
      true,
    ),
  );
}
