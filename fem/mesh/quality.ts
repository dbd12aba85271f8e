/** Checks of a mesh's geometry: the sign of each cell's Jacobian at its corners, and nodes that belong to no cell. */
import {OptionError} from '../../lib/errors.js';
import {listed} from '../../lib/text.js';
import {typesIn, type CellComplex, type CellShape} from './cell-types.js';

/**
 * Jacobians below this share of the product of the edges' lengths count as zero. The angle of such a corner is 1e-10
 * radians, while coordinates of nine digits still tell 1e-9 apart.
 */
const degenerate = 1e-10;

/** @throws OptionError 'bad-mesh' where a node belongs to no cell */
export function requireReferencedNodes({points, dimension, cells}: CellComplex): void {
  const free = unreferencedNodes({points, dimension, cells});
  if (free.length > 0)
    throw new OptionError(
      'bad-mesh',
      `Mesh: ${free.length === 1 ? 'node' : 'nodes'} ${listed(free)} ${free.length === 1 ? 'belongs' : 'belong'} to `
        + 'no cell. Leave such points out.',
      {nodes: free},
    );
}

/** The numbers of the nodes that belong to no cell. */
export function unreferencedNodes({points, dimension, cells}: CellComplex): number[] {
  const used = new Uint8Array(points.length / dimension);
  for (const {nodes} of typesIn(cells)) for (const node of nodes) used[node] = 1;
  const free: number[] = [];
  used.forEach((one, node) => {
    if (one === 0) free.push(node);
  });
  return free;
}

/**
 * Checks that every cell has a Jacobian above zero at its corners. A cell of fewer dimensions than the points, such as
 * a surface in space, has no sign; there it must not vanish.
 * @throws OptionError 'bad-mesh' with the first such cell and the signs at its corners
 */
export function requireGoodCells({points, dimension, cells}: CellComplex): void {
  for (const {shape, nodes} of typesIn(cells))
    for (let i = 0; i < nodes.length; i += shape.nodes) {
      const row = nodes.subarray(i, i + shape.nodes);
      const signs = cornerSigns(shape, row, points, dimension);
      if (signs.every(sign => sign > 0)) continue;
      const inverted = signs.every(sign => sign < 0);
      const what = inverted ? 'inverted' : signs.some(sign => sign < 0) ? 'folded or not convex' : 'degenerate';
      const marks = signs.map(sign => (sign > 0 ? '+' : sign < 0 ? '−' : '0')).join(' ');
      throw new OptionError(
        'bad-mesh',
        `Mesh: ${shape.type} ${i / shape.nodes} with nodes ${row.join(', ')} is ${what}: its Jacobian has the signs `
          + `${marks} at its corners.${inverted ? ' List its nodes the other way round (VTK has their order).' : ''}`,
        {type: shape.type, cell: i / shape.nodes, nodes: Array.from(row), signs},
      );
    }
}

/** The sign of a cell's Jacobian at each corner; 1 where it has none and does not vanish. */
function cornerSigns(shape: CellShape, nodes: Int32Array, points: Float64Array, dimension: number): number[] {
  return shape.frames.map((frame, corner) => {
    const quadratic = frame.map(to => tangent(shape, nodes, points, dimension, corner, to));
    const sign = signOf(quadratic, dimension);
    if (sign !== 0 || shape.order === 1) return sign;
    // Middles at the quarter of an edge, as at the tip of a crack, make it zero at the corner alone.
    const chords = frame.map(to => difference(points, dimension, nodes[corner], nodes[to]));
    return signOf(chords, dimension);
  });
}

/** The derivative of the position along an edge at its beginning. */
function tangent(
  shape: CellShape,
  nodes: Int32Array,
  points: Float64Array,
  dimension: number,
  from: number,
  to: number,
): number[] {
  const chord = difference(points, dimension, nodes[from], nodes[to]);
  if (shape.order === 1) return chord;
  const edge = shape.edges.findIndex(([a, b]) => (a === from && b === to) || (a === to && b === from));
  const half = difference(points, dimension, nodes[from], nodes[shape.corners + edge]);
  return half.map((x, k) => 4 * x - chord[k]);
}

const difference = (points: Float64Array, dimension: number, from: number, to: number): number[] =>
  Array.from({length: dimension}, (_, k) => points[to * dimension + k] - points[from * dimension + k]);

function signOf(vectors: readonly number[][], dimension: number): number {
  if (vectors.length === 0) return 1;
  const size = vectors.reduce((product, vector) => product * Math.hypot(...vector), 1);
  const measure = vectors.length === dimension ? determinant(vectors) : magnitude(vectors);
  return Math.abs(measure) <= degenerate * size ? 0 : Math.sign(measure);
}

function determinant(v: readonly number[][]): number {
  if (v.length === 1) return v[0][0];
  if (v.length === 2) return v[0][0] * v[1][1] - v[0][1] * v[1][0];
  const [a, b, c] = v;
  return dot(a, cross(b, c));
}

/** Length of a vector, or area between two. */
function magnitude(v: readonly number[][]): number {
  if (v.length === 1) return Math.hypot(...v[0]);
  return Math.hypot(...cross(v[0], v[1]));
}

const dot = (a: readonly number[], b: readonly number[]): number => a.reduce((sum, x, i) => sum + x * b[i], 0);

const cross = (a: readonly number[], b: readonly number[]): number[] => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
