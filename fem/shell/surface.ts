/** Surfaces in space as shells and cloth read them: their cells, coefficients, tangents, and the membrane's energy. */
import * as tf from '@tensorflow/tfjs';
import {OptionError, type Params} from '../../lib/index.js';
import {constantTensor, type Bivariant, type ElementNodes} from '../../lib/internal.js';
import {bodyBlocks, ruleFor, tangentsOf, type CellBlock, type CellRule} from '../body/blocks.js';
import {positionsOf} from '../body/body.js';
import {fieldOf, plainNumbers, ranges, type FieldCoefficient, type ReadField} from '../body/coefficient.js';
import {nodeRows} from '../body/elements.js';
import {evaluated} from '../body/evaluate.js';
import type {Cells} from '../mesh/cell-types.js';
import type {Mesh} from '../mesh/mesh.js';

/** One type of cells. */
export interface SurfacePart {
  readonly block: CellBlock;
  readonly rule: CellRule;
  readonly rows: ElementNodes;
}

type ReadOne = (params: Params) => ReadField;

/** A surface with its coefficients. */
export interface Surface {
  readonly nodes: number;
  readonly blocks: readonly CellBlock[];
  readonly parts: readonly SurfacePart[];
  readonly coefficients: {readonly thickness: ReadOne; readonly E: ReadOne; readonly nu: ReadOne};
  /** A further coefficient. */
  readonly read: (given: FieldCoefficient, name: string) => ReadOne;
  /** What `bodyOf` takes of it. */
  readonly body: {
    readonly blocks: readonly CellBlock[];
    readonly density: ReadOne | undefined;
    readonly section: ReadOne;
    readonly isMassConstant: boolean;
    readonly surface: Cells;
  };
}

/** Plane stress allows incompressible materials. */
const poisson = {test: (x: number) => x > -1 && x <= 0.5, what: 'above −1 and at most 1/2'};

/** @throws OptionError for plane meshes, cells of other types, and constants outside of their range */
export function surfaceOf(
  owner: string,
  purpose: 'stiffness' | 'mass',
  given: {
    readonly mesh: Mesh;
    readonly thickness: FieldCoefficient;
    readonly E: FieldCoefficient;
    readonly nu: FieldCoefficient;
    readonly density?: FieldCoefficient | undefined;
  },
): Surface {
  const {mesh, density} = given;
  if (mesh.dimension !== 3)
    throw new OptionError(
      'bad-mesh',
      `${owner}: points need three coordinates: mapped(mesh, ([x, y]) => [x, y, 0]) puts a plane mesh into space.`,
    );
  const blocks = bodyBlocks(mesh, owner, 2, ['tri3', 'quad4']);
  const nodes = mesh.points.length / 3;
  const counts = {cells: blocks.reduce((sum, {count}) => sum + count, 0), nodes};
  const read = (value: FieldCoefficient, name: string, range: typeof ranges.any = ranges.nonNegative): ReadOne =>
    fieldOf(value, `${owner}: ${name}`, counts, range);
  const thickness = read(given.thickness, 'thickness', ranges.positive);
  return {
    nodes,
    blocks,
    parts: blocks.map(block => ({
      block,
      rule: ruleFor(block.shape.type, purpose),
      rows: nodeRows(block.nodes, block.shape.nodes),
    })),
    coefficients: {thickness, E: read(given.E, 'E', ranges.positive), nu: read(given.nu, 'nu', poisson)},
    read,
    body: {
      blocks,
      density: density === undefined ? undefined : read(density, 'density'),
      section: thickness,
      isMassConstant: [density ?? 1, given.thickness].every(value => plainNumbers(value) !== undefined),
      surface: Object.fromEntries(blocks.map(({shape, nodes: all}) => [shape.type, all])),
    },
  };
}

/** Tensors by name. */
export interface NamedTensors {
  readonly [name: string]: tf.Tensor;
}

/** What follows from reference positions [nodes, 3]: numbers, computed once, or tensors where `points` gives these. */
export function referenceData(
  mesh: Mesh,
  points: Bivariant<Params, tf.Tensor> | undefined,
  of: (X: tf.Tensor) => NamedTensors,
): (params: Params) => {readonly [name: string]: Float64Array | tf.Tensor} {
  if (points !== undefined) return params => of(points(params));
  const numbers = referenceNumbers(mesh, of);
  return () => numbers;
}

/** What follows from the mesh's own positions. */
export function referenceNumbers(
  mesh: Mesh,
  of: (X: tf.Tensor) => NamedTensors,
): {readonly [name: string]: Float64Array} {
  let sizes: (readonly [string, number])[] = [];
  const all = evaluated(
    () => {
      const found = Object.entries(of(positionsOf(mesh, undefined, {})));
      sizes = found.map(([name, {size}]) => [name, size]);
      return tf.concat(found.map(([, value]) => tf.reshape(value, [-1])));
    },
    {q: 0},
  );
  let at = 0;
  return Object.fromEntries(sizes.map(([name, size]) => [name, all.slice(at, (at += size))]));
}

/** Rows of nodes in cells, [cells, nodes, 3]. */
export const inCells = ({block}: Pick<SurfacePart, 'block'>, nodal: tf.Tensor): tf.Tensor =>
  tf.reshape(tf.gather(nodal, tf.tensor1d(block.nodes, 'int32')), [block.count, block.shape.nodes, 3]);

export const sumOf = (terms: readonly tf.Tensor[]): tf.Tensor => terms.reduce((total, term) => tf.add(total, term));
/** Products of vectors by components. */
export const dot = (a: readonly tf.Tensor[], b: readonly tf.Tensor[]): tf.Tensor =>
  sumOf(a.map((x, i) => tf.mul(x, b[i])));
export const cross = (a: readonly tf.Tensor[], b: readonly tf.Tensor[]): tf.Tensor[] =>
  a.map((_, i) => tf.sub(tf.mul(a[(i + 1) % 3], b[(i + 2) % 3]), tf.mul(a[(i + 2) % 3], b[(i + 1) % 3])));

/** Tangents of values [cells, nodes, 3] at points, by reference coordinate and component, [cells, points]. */
export function tangentVectors(values: tf.Tensor, rule: CellRule): tf.Tensor[][] {
  const [cells, n] = values.shape;
  const T = tangentsOf(values, cells, n, 3, rule);
  return [0, 1].map(alpha => T.map(row => row[alpha]));
}

/**
 * Derivatives of reference coordinates by lengths along an orthonormal basis at points whose first vector is the first
 * tangent: ∂ξ/∂s₁ = a, ∂ξ/∂s₂ = b, ∂η/∂s₂ = c; and areas. All are [cells, points].
 */
export function framesOf(X: tf.Tensor, {rule}: SurfacePart): NamedTensors {
  const [first, second] = tangentVectors(X, rule);
  const length = tf.sqrt(dot(first, first));
  const along = tf.div(dot(first, second), length);
  const rest = second.map((x, i) => tf.sub(x, tf.mul(along, tf.div(first[i], length))));
  const across = tf.sqrt(dot(rest, rest));
  return {
    a: tf.div(1, length),
    b: tf.neg(tf.div(along, tf.mul(length, across))),
    c: tf.div(1, across),
    weights: tf.mul(tf.mul(length, across), constantTensor(rule.weights, [1, rule.count])),
  };
}

/** Components 11, 22 and 12 in the orthonormal basis of `framesOf` of a symmetric tensor's covariant ones. */
export function inFrame({a, b, c}: NamedTensors, of: (i: number, j: number) => tf.Tensor): tf.Tensor[] {
  const [xx, xy, yy] = [of(0, 0), of(0, 1), of(1, 1)];
  return [
    tf.mul(tf.square(a), xx),
    sumOf([tf.mul(tf.square(b), xx), tf.mul(tf.mul(2, tf.mul(b, c)), xy), tf.mul(tf.square(c), yy)]),
    tf.mul(a, tf.add(tf.mul(b, xx), tf.mul(c, xy))),
  ];
}

/** Green's strain of the surface, from the tangents of reference positions and of displacements. */
export const membraneStrain =
  (G: readonly (readonly tf.Tensor[])[], U: readonly (readonly tf.Tensor[])[]) =>
  (i: number, j: number): tf.Tensor =>
    tf.mul(0.5, sumOf([dot(G[i], U[j]), dot(U[i], G[j]), dot(U[i], U[j])]));

/** Twice the energy of plane stress by area at E t/(1 − ν²) = 1, from strains 11, 22 and 12. */
export const planeStress = ([xx, yy, xy]: readonly tf.Tensor[], nu: tf.Tensor): tf.Tensor =>
  tf.sub(tf.square(tf.add(xx, yy)), tf.mul(tf.mul(2, tf.sub(1, nu)), tf.sub(tf.mul(xx, yy), tf.square(xy))));
