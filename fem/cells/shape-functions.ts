/**
 * Shape functions of every type of cell and their derivatives in reference coordinates. Lines, quadrilaterals and
 * hexahedra have coordinates from −1 to 1; triangles and tetrahedra have the corner 0 at the origin and the others at
 * one along each axis. Nodes are in VTK's order (Zienkiewicz & Taylor, The Finite Element Method, vol. 1, chapter 4).
 */
import {cellShape, type CellShape, type CellType} from '../mesh/cell-types.js';

/** Shape functions at one place: their values by node, and derivatives by node and axis. */
export interface ShapeValues {
  readonly values: readonly number[];
  readonly derivatives: readonly (readonly number[])[];
}

/** Whether a cell is a triangle or a tetrahedron. */
export const isSimplex = ({dimension, corners}: CellShape): boolean => dimension >= 2 && corners === dimension + 1;

// prettier-ignore
const signs = [
  [-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1], [-1, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1],
] as const;

/** Reference coordinates of the nodes of a cell. */
export function referenceNodes(type: CellType): number[][] {
  const shape = cellShape(type);
  const {dimension, corners, edges, faceNodes, order, centre} = shape;
  const simplexCorner = (i: number): number[] => Array.from({length: dimension}, (_, k) => (k === i - 1 ? 1 : 0));
  const corner = (i: number): number[] => (isSimplex(shape) ? simplexCorner(i) : signs[i].slice(0, dimension));
  const middle = (of: readonly number[]): number[] =>
    Array.from({length: dimension}, (_, k) => of.reduce((sum, i) => sum + corner(i)[k], 0) / of.length);
  return [
    ...Array.from({length: corners}, (_, i) => corner(i)),
    ...(order === 1 ? [] : edges.map(middle)),
    ...faceNodes.map(middle),
    ...(centre ? [middle(Array.from({length: corners}, (_, i) => i))] : []),
  ];
}

/** The shape functions of a type as a function of reference coordinates. */
export function shapeFunctions(type: CellType): (at: readonly number[]) => ShapeValues {
  const shape = cellShape(type);
  if (isSimplex(shape)) return at => simplexFunctions(shape, at);
  const nodes = referenceNodes(type);
  return shape.order === 2 && !shape.centre && shape.dimension > 1
    ? at => collected(nodes.map(node => serendipityFunction(node, at)))
    : at => collected(nodes.map(node => lagrangeFunction(node, at, shape.order)));
}

interface OneFunction {
  readonly value: number;
  readonly gradient: readonly number[];
}

const collected = (all: readonly OneFunction[]): ShapeValues => ({
  values: all.map(({value}) => value),
  derivatives: all.map(({gradient}) => gradient),
});

/** The product of functions of one coordinate each, and its gradient. */
function productOf(factors: readonly (readonly [value: number, slope: number])[]): OneFunction {
  const without = (k: number): number =>
    factors.reduce((product, [value], i) => (i === k ? product : product * value), 1);
  return {value: without(-1), gradient: factors.map(([, slope], k) => slope * without(k))};
}

/** Lagrange's polynomial of one coordinate that is one at `node` and zero at the other nodes. */
function lagrange(node: number, x: number, order: number): readonly [number, number] {
  if (order === 1) return [(1 + node * x) / 2, node / 2];
  return node === 0 ? [1 - x * x, -2 * x] : [(x * (x + node)) / 2, x + node / 2];
}

const lagrangeFunction = (node: readonly number[], at: readonly number[], order: number): OneFunction =>
  productOf(node.map((c, k) => lagrange(c, at[k], order)));

/** Quadratic functions without nodes inside faces and cells. */
function serendipityFunction(node: readonly number[], at: readonly number[]): OneFunction {
  if (node.includes(0))
    return productOf(node.map((c, k) => (c === 0 ? [1 - at[k] * at[k], -2 * at[k]] : lagrange(c, at[k], 1))));
  const linear = productOf(node.map((c, k) => lagrange(c, at[k], 1)));
  const bracket = node.reduce((sum, c, k) => sum + c * at[k], 1 - node.length);
  return {
    value: linear.value * bracket,
    gradient: linear.gradient.map((slope, k) => slope * bracket + linear.value * node[k]),
  };
}

/** Polynomials of barycentric coordinates L. */
function simplexFunctions({dimension, corners, edges, order}: CellShape, at: readonly number[]): ShapeValues {
  const L = [1 - at.reduce((sum, x) => sum + x, 0), ...at];
  const slopes = Array.from({length: corners}, (_, i) =>
    Array.from({length: dimension}, (_x, k) => (i === 0 ? -1 : i === k + 1 ? 1 : 0)),
  );
  if (order === 1) return {values: L, derivatives: slopes};
  return {
    values: [...L.map(l => l * (2 * l - 1)), ...edges.map(([a, b]) => 4 * L[a] * L[b])],
    derivatives: [
      ...slopes.map((slope, i) => slope.map(s => (4 * L[i] - 1) * s)),
      ...edges.map(([a, b]) => slopes[a].map((s, k) => 4 * (s * L[b] + L[a] * slopes[b][k]))),
    ],
  };
}
