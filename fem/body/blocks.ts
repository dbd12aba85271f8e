/** The cells of a body by type, with what their integrals need at each quadrature point. */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../../lib/index.js';
import {constantTensor} from '../../lib/internal.js';
import {massDegree, quadrature, stiffnessDegree, type Quadrature} from '../cells/quadrature.js';
import {shapeFunctions} from '../cells/shape-functions.js';
import {cellShape, cellTypes, typesIn, type Cells, type CellShape, type CellType} from '../mesh/cell-types.js';
import type {Mesh} from '../mesh/mesh.js';
import {bodyDimension} from '../mesh/topology.js';

/** A quadrature rule on a type of cell with its shape functions. */
export interface CellRule extends Quadrature {
  readonly count: number;
  /** [points, nodes] */
  readonly N: Float64Array;
  /** [nodes, axes · points], the points of one axis after those of another. */
  readonly dN: Float64Array;
}

/** Cells of one type. */
export interface CellBlock {
  readonly shape: CellShape;
  readonly nodes: Int32Array;
  readonly count: number;
  /** The number of the first of them in the mesh. */
  readonly first: number;
}

const blocksIn = (cells: Cells, dimension: number): CellBlock[] => {
  let first = 0;
  return typesIn(cells).flatMap(({shape, nodes}) => {
    const block = {shape, nodes, count: nodes.length / shape.nodes, first};
    first += block.count;
    return shape.dimension === dimension ? [block] : [];
  });
};

/**
 * The cells that fill a body.
 * @param types those that are allowed; default all of the dimension
 * @throws OptionError 'bad-mesh' where there are none, or others
 */
export function bodyBlocks(mesh: Mesh, owner: string, dimension: number, types?: readonly CellType[]): CellBlock[] {
  const blocks = blocksIn(mesh.cells, dimension);
  const wrong = blocks.find(({shape}) => types !== undefined && !types.includes(shape.type));
  if (blocks.length > 0 && dimension > 0 && wrong === undefined) return blocks;
  const needed = types ?? cellTypes.filter(type => cellShape(type).dimension === dimension);
  throw new OptionError(
    'bad-mesh',
    `${owner}: the mesh, whose points have ${mesh.dimension} coordinates, has ${wrong?.shape.type ?? 'no'} cells to `
      + `fill a body; cells can be ${needed.join(', ')} here.`,
  );
}

/** The facets on which loads act: boundaries of the body, and surfaces in space. */
export const facetBlocks = (facets: Cells, mesh: Mesh): CellBlock[] =>
  [mesh.dimension - 1, bodyDimension(mesh.cells) - 1]
    .filter((dimension, i, all) => dimension > 0 && all.indexOf(dimension) === i)
    .flatMap(dimension => blocksIn(facets, dimension));

/** A rule with the values of the shape functions at its points. */
function ruleOf(type: CellType, rule: Quadrature): CellRule {
  const {dimension, nodes} = cellShape(type);
  const count = rule.points.length;
  const N = new Float64Array(count * nodes);
  const dN = new Float64Array(nodes * dimension * count);
  const at = shapeFunctions(type);
  rule.points.forEach((point, p) => {
    const {values, derivatives} = at(point);
    N.set(values, p * nodes);
    derivatives.forEach((row, i) => row.forEach((d, k) => (dN[(i * dimension + k) * count + p] = d)));
  });
  return {...rule, count, N, dN};
}

const kept = new Map<string, CellRule>();

/** The rule of a type for one purpose; the point in the middle is 'centre'. */
export function ruleFor(type: CellType, purpose: 'stiffness' | 'mass' | 'centre'): CellRule {
  const key = `${type} ${purpose}`;
  let rule = kept.get(key);
  if (rule === undefined) {
    const degree = {stiffness: stiffnessDegree, mass: massDegree, centre: () => 1}[purpose](type);
    kept.set(key, (rule = ruleOf(type, quadrature(type, degree))));
  }
  return rule;
}

/** Derivatives of shape functions by reference positions X, and the volumes of the points. */
export interface Geometry {
  /** [cells, nodes, axes · points] */
  readonly gradients: Float64Array | tf.Tensor;
  /** [cells, points] */
  readonly weights: Float64Array | tf.Tensor;
}

/** @throws OptionError 'inverted-cell' where a Jacobian is not above zero, with the number of the cell */
export function geometryOf(
  {shape, nodes, count, first}: CellBlock,
  points: Float64Array,
  rule: CellRule,
): {readonly gradients: Float64Array; readonly weights: Float64Array} {
  const d = shape.dimension;
  const gradients = new Float64Array(count * shape.nodes * d * rule.count);
  const weights = new Float64Array(count * rule.count);
  const [J, inverse] = [new Float64Array(d * d), new Float64Array(d * d)];
  for (let cell = 0; cell < count; cell++)
    for (let p = 0; p < rule.count; p++) {
      J.fill(0);
      for (let i = 0; i < shape.nodes; i++)
        for (let a = 0; a < d; a++)
          for (let b = 0; b < d; b++)
            J[a * d + b] += points[nodes[cell * shape.nodes + i] * d + a] * rule.dN[(i * d + b) * rule.count + p];
      const determinant = invert(J, d, inverse);
      if (!(determinant > 0))
        throw new OptionError(
          'inverted-cell',
          `Mesh: cell ${first + cell} (${shape.type}) is inverted or too distorted: its Jacobian at `
            + `point ${p} is ${determinant.toPrecision(3)}. `
            + `Its nodes are ${nodesOfCell(nodes, cell, shape.nodes).join(', ')}.`,
          {cell: first + cell},
        );
      weights[cell * rule.count + p] = determinant * rule.weights[p];
      for (let i = 0; i < shape.nodes; i++)
        for (let a = 0; a < d; a++) {
          let sum = 0;
          for (let b = 0; b < d; b++) sum += rule.dN[(i * d + b) * rule.count + p] * inverse[b * d + a];
          gradients[((cell * shape.nodes + i) * d + a) * rule.count + p] = sum;
        }
    }
  return {gradients, weights};
}

const nodesOfCell = (nodes: Int32Array, cell: number, width: number): number[] =>
  Array.from(nodes.subarray(cell * width, (cell + 1) * width));

/** The determinant and the inverse of a matrix of up to three rows. */
export function inverseOf(J: ArrayLike<number>, d: number): {determinant: number; inverse: Float64Array} {
  const inverse = new Float64Array(d * d);
  return {determinant: invert(J, d, inverse), inverse};
}

/** Writes the inverse of a matrix; returns its determinant. */
function invert(J: ArrayLike<number>, d: number, inverse: Float64Array): number {
  if (d === 1) {
    inverse[0] = 1 / J[0];
    return J[0];
  }
  if (d === 2) {
    const determinant = J[0] * J[3] - J[1] * J[2];
    inverse[0] = J[3] / determinant;
    inverse[1] = -J[1] / determinant;
    inverse[2] = -J[2] / determinant;
    inverse[3] = J[0] / determinant;
    return determinant;
  }
  for (let i = 0; i < 3; i++)
    for (let j = 0; j < 3; j++) {
      const [a, b, c, e] = [((i + 1) % 3) * 3, ((i + 2) % 3) * 3, (j + 1) % 3, (j + 2) % 3];
      inverse[j * 3 + i] = J[a + c] * J[b + e] - J[a + e] * J[b + c];
    }
  const determinant = J[0] * inverse[0] + J[1] * inverse[3] + J[2] * inverse[6];
  for (let k = 0; k < 9; k++) inverse[k] /= determinant;
  return determinant;
}

/** Geometry from positions that are tensors, [nodes, axes]: derivatives by them are those of a shape. */
export function tracedGeometry({shape, nodes, count}: CellBlock, points: tf.Tensor, rule: CellRule): Geometry {
  const d = shape.dimension;
  const [n, np] = [shape.nodes, rule.count];
  const J = tangentsOf(tf.gather(points, tf.tensor1d(nodes, 'int32')), count, n, d, rule);
  const entry = (a: number, b: number): tf.Tensor => J[a][b];
  const cofactor = (i: number, j: number): tf.Tensor => {
    if (d === 2) return tf.mul((i + j) % 2 === 0 ? 1 : -1, entry(1 - i, 1 - j));
    const [a, b, c, e] = [(i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3];
    return tf.sub(tf.mul(entry(a, c), entry(b, e)), tf.mul(entry(a, e), entry(b, c)));
  };
  const axes = Array.from({length: d}, (_, k) => k);
  const cofactors = axes.map(i => axes.map(j => cofactor(i, j)));
  const determinant = axes.map(j => tf.mul(J[0][j], cofactors[0][j])).reduce((sum, x) => tf.add(sum, x));
  const weights = tf.mul(determinant, constantTensor(rule.weights, [1, np]));
  const dN = axes.map(b => {
    const values = Array.from({length: n}, (_, i) => rule.dN.subarray((i * d + b) * np, (i * d + b + 1) * np));
    return constantTensor(
      values.flatMap(row => Array.from(row)),
      [1, n, np],
    );
  });
  const columns = axes.map(a =>
    axes
      .map(b => tf.mul(dN[b], tf.expandDims(tf.div(cofactors[a][b], determinant), 1)))
      .reduce((sum, x) => tf.add(sum, x)),
  );
  return {gradients: tf.reshape(tf.stack(columns, 2), [count, n, d * np]), weights};
}

/** Derivatives of positions by reference coordinates, by component and coordinate, [cells, points] each. */
export function tangentsOf(at: tf.Tensor, count: number, n: number, d: number, rule: CellRule): tf.Tensor[][] {
  const own = rule.dN.length / (n * rule.count);
  const columns = tf.matMul(
    tf.reshape(tf.transpose(tf.reshape(at, [count, n, d]), [0, 2, 1]), [count * d, n]),
    constantTensor(rule.dN, [n, own * rule.count]),
  );
  const all = tf.reshape(columns, [count, d, own, rule.count]);
  return Array.from({length: d}, (_, a) =>
    Array.from({length: own}, (_x, b) =>
      tf.reshape(tf.slice(all, [0, a, b, 0], [count, 1, 1, rule.count]), [count, rule.count]),
    ),
  );
}

/**
 * A vector across each point of surfaces in space or lines in the plane, or along lines in space, by components
 * [cells, points]; its length is the area or length by reference area.
 * @param tangents of `tangentsOf`
 */
export function normalsOf(tangents: readonly (readonly tf.Tensor[])[]): tf.Tensor[] {
  if (tangents.length === 2) return [tangents[1][0], tf.neg(tangents[0][0])];
  if (tangents[0].length === 1) return tangents.map(([t]) => t);
  return [
    [1, 2],
    [2, 0],
    [0, 1],
  ].map(([a, b]) =>
    // prettier-ignore
    tf.sub(tf.mul(tangents[a][0], tangents[b][1]), tf.mul(tangents[b][0], tangents[a][1])),
  );
}

/** Sums rows of cells' nodes, [cells, nodes, axes], to rows of the mesh's nodes. */
export function assembled(contributions: tf.Tensor, nodes: Int32Array, total: number): tf.Tensor {
  const width = contributions.size / nodes.length;
  const rows = tf.reshape<tf.Rank.R2>(contributions, [nodes.length, width]);
  return tf.unsortedSegmentSum(rows, tf.tensor1d(nodes, 'int32'), total);
}
