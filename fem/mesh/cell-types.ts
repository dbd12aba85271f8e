/**
 * The kinds of cells that a mesh may have, as one table: their corners, edges, facets and node order, which is that of
 * VTK (The VTK User's Guide, 11th ed., figures 19-20 and 19-21), and their numbers in files of VTK and Gmsh.
 */

/** The kinds of cells, with their number of nodes. */
export type CellType =
  | 'point1'
  | 'line2'
  | 'line3'
  | 'tri3'
  | 'tri6'
  | 'quad4'
  | 'quad8'
  | 'quad9'
  | 'tet4'
  | 'tet10'
  | 'hex8'
  | 'hex20'
  | 'hex27';

/** Cells by type: the node numbers of one cell after another. */
export type Cells = {readonly [T in CellType]?: Int32Array};

/** Points, row by row, and cells on them: a mesh without its sets and fields. */
export interface CellComplex {
  readonly points: Float64Array;
  readonly dimension: 1 | 2 | 3;
  readonly cells: Cells;
}

export interface CellShape {
  readonly type: CellType;
  /** 0 for a point, 3 for a tetrahedron. */
  readonly dimension: 0 | 1 | 2 | 3;
  readonly nodes: number;
  /** The first nodes of a cell are its corners. */
  readonly corners: number;
  readonly order: 1 | 2;
  /** The type with the same corners and no further nodes. */
  readonly linear: CellType;
  /** Pairs of corners; a quadratic cell has the middle of edge i as node `corners + i`. */
  readonly edges: readonly (readonly [number, number])[];
  /** Corners of the two-dimensional faces that carry a node in their middle, in the order of these nodes. */
  readonly faceNodes: readonly (readonly number[])[];
  /** Whether the last node is the centre of the cell. */
  readonly centre: boolean;
  /**
   * What bounds a cell, by local node numbers: ends of a line, edges of a surface, faces of a solid. The normal of a
   * facet, right of an edge's direction or by the right-hand rule, points out of the cell.
   */
  readonly facets: readonly {readonly type: CellType; readonly nodes: readonly number[]}[];
  /** For each corner its neighbours along edges, such that these edges in turn are right-handed. */
  readonly frames: readonly (readonly number[])[];
  /** The number of the type in files of VTK. */
  readonly vtk: number;
  /** The number of the type in files of Gmsh. */
  readonly gmsh: number;
  /** Places of the cell's nodes in Gmsh's order; undefined if the orders agree. */
  readonly gmshOrder?: readonly number[];
}

type Corners = Pick<CellShape, 'dimension' | 'edges' | 'frames'> & {
  readonly corners: number;
  /** Facets by their corners. */
  readonly sides: readonly (readonly number[])[];
};

const point: Corners = {dimension: 0, corners: 1, edges: [], frames: [[]], sides: []};
const line: Corners = {dimension: 1, corners: 2, edges: [[0, 1]], frames: [[1], [0]], sides: [[0], [1]]};
const triangle: Corners = {
  dimension: 2,
  corners: 3,
  edges: [[0, 1], [1, 2], [2, 0]], // prettier-ignore
  frames: [[1, 2], [2, 0], [0, 1]], // prettier-ignore
  sides: [[0, 1], [1, 2], [2, 0]], // prettier-ignore
};
const quadrilateral: Corners = {
  dimension: 2,
  corners: 4,
  edges: [[0, 1], [1, 2], [2, 3], [3, 0]], // prettier-ignore
  frames: [[1, 3], [2, 0], [3, 1], [0, 2]], // prettier-ignore
  sides: [[0, 1], [1, 2], [2, 3], [3, 0]], // prettier-ignore
};
const tetrahedron: Corners = {
  dimension: 3,
  corners: 4,
  edges: [[0, 1], [1, 2], [2, 0], [0, 3], [1, 3], [2, 3]], // prettier-ignore
  frames: [[1, 2, 3], [2, 0, 3], [0, 1, 3], [0, 2, 1]], // prettier-ignore
  sides: [[0, 1, 3], [1, 2, 3], [2, 0, 3], [0, 2, 1]], // prettier-ignore
};
const hexahedron: Corners = {
  dimension: 3,
  corners: 8,
  // prettier-ignore
  edges: [[0, 1], [1, 2], [2, 3], [3, 0], [4, 5], [5, 6], [6, 7], [7, 4], [0, 4], [1, 5], [2, 6], [3, 7]],
  // prettier-ignore
  frames: [[1, 3, 4], [2, 0, 5], [3, 1, 6], [0, 2, 7], [7, 5, 0], [4, 6, 1], [5, 7, 2], [6, 4, 3]],
  // prettier-ignore
  sides: [[0, 4, 7, 3], [1, 2, 6, 5], [0, 1, 5, 4], [3, 7, 6, 2], [0, 3, 2, 1], [4, 5, 6, 7]],
};

/** The type of a facet with so many corners and nodes. */
const facetTypes: {readonly [corners: number]: {readonly [nodes: number]: CellType}} = {
  1: {1: 'point1'},
  2: {2: 'line2', 3: 'line3'},
  3: {3: 'tri3', 6: 'tri6'},
  4: {4: 'quad4', 8: 'quad8', 9: 'quad9'},
};

/** Which nodes a type has beside its corners. */
type Extra = 'none' | 'edges' | 'edges and middles';

function shape(
  type: CellType,
  {sides, ...base}: Corners,
  extra: Extra,
  linear: CellType,
  vtk: number,
  gmsh: number,
  gmshOrder?: readonly number[],
): CellShape {
  const {dimension, corners, edges} = base;
  const faceNodes = extra === 'edges and middles' && dimension === 3 ? sides : [];
  const centre = extra === 'edges and middles';
  const edgeNodes = extra === 'none' ? 0 : edges.length;
  const between = (a: number, b: number): number =>
    corners + edges.findIndex(([from, to]) => (from === a && to === b) || (from === b && to === a));
  const facets = sides.map((side, i) => {
    const nodes = [...side];
    // An edge's own facet has two corners and one middle, a face as many middles as corners.
    if (extra !== 'none' && side.length === 2) nodes.push(between(side[0], side[1]));
    if (extra !== 'none' && side.length > 2)
      side.forEach((corner, k) => nodes.push(between(corner, side[(k + 1) % side.length])));
    if (faceNodes.length > 0) nodes.push(corners + edgeNodes + i);
    return {type: facetTypes[side.length][nodes.length], nodes};
  });
  return {
    ...base,
    type,
    nodes: corners + edgeNodes + faceNodes.length + (centre ? 1 : 0),
    order: extra === 'none' ? 1 : 2,
    linear,
    faceNodes,
    centre,
    facets,
    vtk,
    gmsh,
    gmshOrder,
  };
}

const gmshTet10 = [0, 1, 2, 3, 4, 5, 6, 7, 9, 8];
const gmshHex20 = [0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 9, 16, 18, 19, 17, 10, 12, 14, 15];
const gmshHex27 = [...gmshHex20, 22, 23, 21, 24, 20, 25, 26];

/**
 * All types, those of the highest dimension first. The cells of a mesh are numbered in this order, so that the cells of
 * a body come before those of its boundary.
 */
export const cellShapes: readonly CellShape[] = [
  shape('tet4', tetrahedron, 'none', 'tet4', 10, 4),
  shape('tet10', tetrahedron, 'edges', 'tet4', 24, 11, gmshTet10),
  shape('hex8', hexahedron, 'none', 'hex8', 12, 5),
  shape('hex20', hexahedron, 'edges', 'hex8', 25, 17, gmshHex20),
  shape('hex27', hexahedron, 'edges and middles', 'hex8', 29, 12, gmshHex27),
  shape('tri3', triangle, 'none', 'tri3', 5, 2),
  shape('tri6', triangle, 'edges', 'tri3', 22, 9),
  shape('quad4', quadrilateral, 'none', 'quad4', 9, 3),
  shape('quad8', quadrilateral, 'edges', 'quad4', 23, 16),
  shape('quad9', quadrilateral, 'edges and middles', 'quad4', 28, 10),
  shape('line2', line, 'none', 'line2', 3, 1),
  shape('line3', line, 'edges', 'line2', 21, 8),
  shape('point1', point, 'none', 'point1', 1, 15),
];

const byType = Object.fromEntries(cellShapes.map(one => [one.type, one])) as {readonly [T in CellType]: CellShape};

/** The names of all types, in the order of `cellShapes`. */
export const cellTypes: readonly CellType[] = cellShapes.map(({type}) => type);

/** The row of the table for one type. */
export const cellShape = (type: CellType): CellShape => byType[type];

/** The types that a collection of cells has, in the order of the table, with their shapes and numbers of nodes. */
export function typesIn(cells: Cells): {readonly shape: CellShape; readonly nodes: Int32Array}[] {
  return cellShapes.flatMap(one => {
    const nodes = cells[one.type];
    return nodes === undefined || nodes.length === 0 ? [] : [{shape: one, nodes}];
  });
}
