/** A surface as flat pieces between its nodes: segments in the plane, triangles in space. */
import {typesIn, type CellComplex, type Cells, type CellType} from '../mesh/cell-types.js';
import {eachCell} from '../mesh/mesh.js';

/** Places of a facet's nodes that make its pieces, in the order that keeps its normal. */
const splits: {readonly [T in CellType]?: readonly (readonly number[])[]} = {
  line2: [[0, 1]],
  line3: [[0, 2], [2, 1]],
  tri3: [[0, 1, 2]],
  tri6: [[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]],
  quad4: [[0, 1, 2], [0, 2, 3]],
  quad8: [[0, 4, 7], [4, 1, 5], [5, 2, 6], [6, 3, 7], [4, 5, 7], [5, 6, 7]],
  quad9: [[0, 4, 8], [0, 8, 7], [4, 1, 5], [4, 5, 8], [8, 5, 2], [8, 2, 6], [7, 8, 6], [7, 6, 3]],
}; // prettier-ignore

/** Flat pieces of a surface. */
export interface Pieces {
  readonly count: number;
  /** The nodes of the pieces, corner by corner. */
  readonly corners: readonly Int32Array[];
  /** 1 at nodes on the rim of an open surface, [nodes]. */
  readonly rim: Float64Array;
}

/** @param total how many nodes there are */
export function piecesOf(facets: Cells, total: number): Pieces {
  const rows = typesIn(facets).flatMap(({shape, nodes}) =>
    Array.from({length: nodes.length / shape.nodes}, (_, i) =>
      (splits[shape.type] ?? []).map(places => places.map(place => nodes[i * shape.nodes + place])),
    ).flat(),
  );
  // Sides that belong to one piece are those of the rim.
  const sides = new Map<string, readonly number[]>();
  for (const row of rows)
    for (const corner of row) {
      const side = row.filter(node => node !== corner).sort((a, b) => a - b);
      const key = side.join(' ');
      if (!sides.delete(key)) sides.set(key, side);
    }
  const rim = new Float64Array(total);
  for (const side of sides.values()) for (const node of side) rim[node] = 1;
  const corners = Array.from({length: rows[0].length}, (_, k) => Int32Array.from(rows, row => row[k]));
  return {count: rows.length, corners, rim};
}

/**
 * Which pieces are no obstacle for which facets of the same surface: those that hang together with the facet within a
 * distance. The surface itself, however it bends there, is no contact.
 * @param facets the nodes of each facet
 * @returns [facets, pieces], 1 for such a piece
 */
export function neighbouring(
  {count, corners}: Pieces,
  facets: readonly Int32Array[],
  points: Float64Array,
  dimension: number,
  distance: number,
): Uint8Array {
  const at = new Map<number, number[]>();
  for (const nodes of corners)
    nodes.forEach((node, piece) => {
      const known = at.get(node);
      if (known === undefined) at.set(node, [piece]);
      else known.push(piece);
    });
  const near = (a: number, b: number): boolean => {
    let sum = 0;
    for (let k = 0; k < dimension; k++) sum += (points[a * dimension + k] - points[b * dimension + k]) ** 2;
    return sum <= distance ** 2;
  };
  const found = new Uint8Array(facets.length * count);
  facets.forEach((own, facet) => {
    const reached = new Set(own);
    for (const node of reached)
      for (const piece of at.get(node) ?? []) {
        found[facet * count + piece] = 1;
        for (const nodes of corners) if (own.some(start => near(start, nodes[piece]))) reached.add(nodes[piece]);
      }
  });
  return found;
}

/** Whether some of these nodes hang together through cells. */
export function areConnected({points, dimension, cells}: CellComplex, some: Int32Array, others: Int32Array): boolean {
  const parent = Int32Array.from({length: points.length / dimension}, (_, i) => i);
  const root = (node: number): number => {
    while (parent[node] !== node) node = parent[node] = parent[parent[node]];
    return node;
  };
  eachCell(cells, (_, row) => {
    for (const node of row) parent[root(node)] = root(row[0]);
  });
  const roots = new Set(Array.from(some, root));
  return others.some(node => roots.has(root(node)));
}
