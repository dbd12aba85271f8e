/** Checks of a mesh's geometry: the sign of each cell's Jacobian at its corners, and nodes that belong to no cell. */
import {OptionError} from '../../lib/errors.js';
import {listed} from '../../lib/text.js';
import {typesIn, type CellComplex, type CellShape} from './cell-types.js';

/**
 * Jacobians below this share of the product of the edges' lengths count as zero. The angle of such a corner is 1e-10
 * radians; coordinates with single precision still tell 1e-7 apart.
 */
const degenerate = 1e-10;

/** @throws OptionError 'bad-mesh' where a node belongs to no cell */
export function requireReferencedNodes(mesh: CellComplex): void {
  const free = unreferencedNodes(mesh);
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
  const signs = new Int8Array(8);
  for (const {shape, nodes} of typesIn(cells)) {
    const found = cornerSigns(shape, points, dimension);
    for (let i = 0; i < nodes.length; i += shape.nodes)
      if (!found(nodes, i, signs)) {
        const row = Array.from(nodes.subarray(i, i + shape.nodes));
        throw badCell(shape, i / shape.nodes, row, Array.from(signs.subarray(0, shape.corners)));
      }
  }
}

/** How many cells are inverted: with a Jacobian below zero at every corner. */
export function invertedCells({points, dimension, cells}: CellComplex): {shape: CellShape; cell: number}[] {
  const signs = new Int8Array(8);
  return typesIn(cells).flatMap(({shape, nodes}) => {
    const found = cornerSigns(shape, points, dimension);
    return Array.from({length: nodes.length / shape.nodes}, (_, cell) => cell)
      .filter(cell => !found(nodes, cell * shape.nodes, signs) && signs.subarray(0, shape.corners).every(s => s < 0))
      .map(cell => ({shape, cell}));
  });
}

function badCell({type}: CellShape, cell: number, nodes: readonly number[], signs: readonly number[]): OptionError {
  const inverted = signs.every(sign => sign < 0);
  const what = inverted ? 'inverted' : signs.some(sign => sign < 0) ? 'folded or not convex' : 'degenerate';
  const marks = signs.map(sign => (sign > 0 ? '+' : sign < 0 ? '−' : '0')).join(' ');
  return new OptionError(
    'bad-mesh',
    `Mesh: ${type} ${cell} with nodes ${nodes.join(', ')} is ${what}: its Jacobian has the signs ${marks} at its `
      + `corners.${inverted ? ' List its nodes the other way round; their order is that of VTK.' : ''}`,
    {type, cell, nodes, signs},
  );
}

/**
 * A function that writes the sign of a cell's Jacobian at each corner, 1 where it has none and does not vanish, and
 * returns whether all of them are 1.
 */
function cornerSigns(
  shape: CellShape,
  points: Float64Array,
  dimension: number,
): (nodes: Int32Array, from: number, signs: Int8Array) => boolean {
  const {frames, edges, corners, order} = shape;
  const middles = frames.map((frame, corner) =>
    frame.map(to => corners + edges.findIndex(([a, b]) => (a === corner && b === to) || (a === to && b === corner))),
  );
  /** Up to three vectors of three coordinates, those that a mesh of the plane lacks zero. */
  const vectors = new Float64Array(9);
  const signAt = (nodes: Int32Array, from: number, corner: number, quadratic: boolean): number => {
    const frame = frames[corner];
    const start = nodes[from + corner] * dimension;
    for (let e = 0; e < frame.length; e++) {
      const end = nodes[from + frame[e]] * dimension;
      const middle = quadratic ? nodes[from + middles[corner][e]] * dimension : 0;
      for (let k = 0; k < dimension; k++) {
        const chord = points[end + k] - points[start + k];
        // The derivative along a quadratic edge at its beginning.
        vectors[3 * e + k] = quadratic ? 4 * (points[middle + k] - points[start + k]) - chord : chord;
      }
    }
    // The edge of a line begins at its end there.
    const reverse = frame.length === 1 && corner === 1 && dimension === 1;
    return signOf(vectors, frame.length, dimension) * (reverse ? -1 : 1);
  };
  return (nodes, from, signs) => {
    let good = true;
    for (let corner = 0; corner < corners; corner++) {
      let sign = signAt(nodes, from, corner, order === 2);
      // Middles at the quarter of an edge, as at the tip of a crack, make it zero at the corner alone.
      if (sign === 0 && order === 2) sign = signAt(nodes, from, corner, false);
      signs[corner] = sign;
      good &&= sign > 0;
    }
    return good;
  };
}

/** The sign of the determinant of as many vectors as there are dimensions; of fewer, whether they span a volume. */
function signOf(v: Float64Array, count: number, dimension: number): number {
  if (count === 0) return 1;
  const a = Math.hypot(v[0], v[1], v[2]);
  if (count === 1) return a === 0 ? 0 : dimension === 1 ? Math.sign(v[0]) : 1;
  const size = a * Math.hypot(v[3], v[4], v[5]);
  const x = v[1] * v[5] - v[2] * v[4];
  const y = v[2] * v[3] - v[0] * v[5];
  const z = v[0] * v[4] - v[1] * v[3];
  if (count === 2) {
    const area = dimension === 2 ? z : Math.hypot(x, y, z);
    return Math.abs(area) <= degenerate * size ? 0 : Math.sign(area);
  }
  const volume = x * v[6] + y * v[7] + z * v[8];
  return Math.abs(volume) <= degenerate * size * Math.hypot(v[6], v[7], v[8]) ? 0 : Math.sign(volume);
}
