/** Quadratic cells from linear ones, and uniform refinement, which splits the cells at the same new nodes. */
import {oneOf, requireValue, shown} from '../../lib/checks.js';
import {cellShape, cellTypes, typesIn, type Cells, type CellShape, type CellType} from './cell-types.js';
import {bad, distinctNodes, pointCount, type Mesh, type MeshField} from './mesh.js';
import {boundary} from './topology.js';
import {byName} from './transform.js';
import {TupleIndex} from './tuple-index.js';

/** The quadratic type with the same corners, with nodes in the middle of faces and cells or without. */
const quadraticTypes: {readonly [linear: string]: {readonly full: CellType; readonly serendipity: CellType}} = {
  line2: {full: 'line3', serendipity: 'line3'},
  tri3: {full: 'tri6', serendipity: 'tri6'},
  quad4: {full: 'quad9', serendipity: 'quad8'},
  tet4: {full: 'tet10', serendipity: 'tet10'},
  hex8: {full: 'hex27', serendipity: 'hex20'},
  point1: {full: 'point1', serendipity: 'point1'},
};

/**
 * Makes linear cells quadratic by nodes in the middle of their edges, which stay straight, and for quad9 and hex27 also
 * in the middle of faces and cells. Old nodes keep their numbers; sets and fields follow, those at points by means.
 * @param type of the cells of the body afterwards: 'line3', 'tri6', 'quad8', 'quad9', 'tet10', 'hex20' or 'hex27'; all
 *   other cells of the mesh become quadratic, too
 * @throws OptionError where the mesh has no cells that could become such, or has quadratic cells already
 */
export function elevated(mesh: Mesh, type: CellType): Mesh {
  requireValue(type, oneOf(...cellTypes.filter(one => cellShape(one).order === 2)), 'elevated: type');
  const {linear, centre} = cellShape(type);
  if ((mesh.cells[linear]?.length ?? 0) === 0)
    throw bad(`elevated to ${type}: the mesh has no ${linear} cells; it has ${presentTypes(mesh.cells)}.`);
  return withMiddles(mesh, centre ? 'full' : 'serendipity', `elevated to ${type}`);
}

const presentTypes = (cells: Cells): string =>
  typesIn(cells)
    .map(({shape}) => shape.type)
    .join(', ');

/**
 * Splits every cell at the middles of its edges: into 2 lines, 4 triangles or quadrilaterals, 8 tetrahedra or
 * hexahedra. Tetrahedra are cut along the shortest diagonal, so that their shape does not deteriorate. Old nodes keep
 * their numbers; sets and fields follow, those at points by means.
 * @throws OptionError where the mesh has quadratic cells: refine first, then call `elevated`
 */
export function refined(mesh: Mesh): Mesh {
  const quadratic = withMiddles(mesh, 'full', 'refined');
  const types = typesIn(quadratic.cells);
  const parents: number[] = [];
  let first = 0;
  for (const {shape, nodes} of types) {
    const pieces = childrenOf(shape)[0].length;
    for (let cell = 0; cell < nodes.length / shape.nodes; cell++)
      for (let piece = 0; piece < pieces; piece++) parents.push(first + cell);
    first += nodes.length / shape.nodes;
  }
  const {sets, fields} = quadratic;
  return {
    ...quadratic,
    cells: split(quadratic, quadratic.cells),
    sets: {
      nodes: sets.nodes,
      cells: byName(sets.cells, members => {
        const wanted = new Set(members);
        return Int32Array.from(parents.keys()).filter(child => wanted.has(parents[child]));
      }),
      facets: byName(sets.facets, facets => split(quadratic, facets)),
    },
    fields: {points: fields.points, cells: byName(fields.cells, field => fieldRows(field, parents))},
  };
}

function fieldRows({values, components}: MeshField, rows: readonly number[]): MeshField {
  const chosen = new Float64Array(rows.length * components);
  rows.forEach((row, i) => {
    for (let c = 0; c < components; c++) chosen[i * components + c] = values[row * components + c];
  });
  return {values: chosen, components};
}

/** The mesh with quadratic cells. @param what begins the sentence of an error */
function withMiddles(mesh: Mesh, kind: 'full' | 'serendipity', what: string): Mesh {
  const quadratic = typesIn(mesh.cells).find(({shape}) => shape.order === 2);
  if (quadratic !== undefined)
    throw bad(`${what}: the mesh has ${quadratic.shape.type} cells; only linear cells can be split.`);
  const middles = new Middles(mesh, kind);
  const cells = middles.cells(mesh.cells);
  const facets = byName(mesh.sets.facets, (facet, name) => middles.cells(facet, `facet set ${shown(name)}`));
  const {dimension, fields} = mesh;
  const coordinates = middles.rows({values: mesh.points, components: dimension}).values;
  return {
    points: coordinates,
    dimension,
    cells,
    sets: {
      nodes: byName(mesh.sets.nodes, (nodes, name) => middles.nodeSet(nodes, facets[name], name)),
      cells: mesh.sets.cells,
      facets,
    },
    fields: {points: byName(fields.points, field => middles.rows(field)), cells: fields.cells},
  };
}

/** New nodes in the middle of edges, faces and cells, numbered after those of the mesh in this order. */
class Middles {
  private readonly edges: TupleIndex;
  private readonly faces: TupleIndex;
  private readonly solids: TupleIndex;
  private readonly count: number;
  private boundaryNodes: Set<number> | undefined;

  constructor(
    private readonly mesh: Mesh,
    private readonly kind: 'full' | 'serendipity',
  ) {
    this.count = pointCount(mesh);
    this.edges = new TupleIndex(2, this.count);
    this.faces = new TupleIndex(4, this.count);
    this.solids = new TupleIndex(8);
    for (const {shape, nodes} of typesIn(mesh.cells)) {
      const {edges, faces, centre} = this.partsOf(shape);
      for (let i = 0; i < nodes.length; i += shape.nodes) {
        for (const edge of edges) this.edges.add(corners(nodes, i, edge));
        for (const face of faces) this.faces.add(corners(nodes, i, face));
        if (centre) this.centres(shape).add(nodes.subarray(i, i + shape.corners));
      }
    }
  }

  private partsOf({linear, edges}: CellShape): {
    type: CellType;
    edges: CellShape['edges'];
    faces: CellShape['faceNodes'];
    centre: boolean;
  } {
    const type = quadraticTypes[linear][this.kind];
    return {type, edges, faces: cellShape(type).faceNodes, centre: cellShape(type).centre};
  }

  /** A quadrilateral's centre is the middle of the face that a hexahedron may have there. */
  private centres({dimension}: CellShape): TupleIndex {
    return dimension === 3 ? this.solids : this.faces;
  }

  /** Linear cells or facets of the mesh with their new nodes. @param name begins the sentence of an error */
  cells(linear: Cells, name = 'cells'): Cells {
    const found: {[T in CellType]?: Int32Array} = {};
    for (const {shape, nodes} of typesIn(linear)) {
      const {type, edges, faces, centre} = this.partsOf(shape);
      const width = cellShape(type).nodes;
      const rows = new Int32Array((nodes.length / shape.nodes) * width);
      let at = 0;
      for (let i = 0; i < nodes.length; i += shape.nodes) {
        for (let c = 0; c < shape.corners; c++) rows[at++] = nodes[i + c];
        for (const edge of edges) rows[at++] = this.numberOf(this.edges, corners(nodes, i, edge), name);
        for (const face of faces) rows[at++] = this.numberOf(this.faces, corners(nodes, i, face), name);
        if (centre) rows[at++] = this.numberOf(this.centres(shape), nodes.subarray(i, i + shape.corners), name);
      }
      found[type] = rows;
    }
    return found;
  }

  private numberOf(index: TupleIndex, nodes: ArrayLike<number>, name: string): number {
    const found = index.find(nodes);
    if (found < 0) throw bad(`${name}: no cell has an edge or a face with the nodes ${Array.from(nodes).join(', ')}.`);
    const before = index === this.edges ? 0 : this.edges.count + (index === this.faces ? 0 : this.faces.count);
    return this.count + before + found;
  }

  /** Numbers at the old nodes, and their means at the new ones. */
  rows({values, components}: MeshField): MeshField {
    const all = new Float64Array((this.count + this.edges.count + this.faces.count + this.solids.count) * components);
    all.set(values);
    let at = this.count * components;
    this.eachParents((members, from, to) => {
      for (let c = 0; c < components; c++) {
        let sum = 0;
        for (let i = from; i < to; i++) sum += values[members[i] * components + c];
        all[at++] = sum / (to - from);
      }
    });
    return {values: all, components};
  }

  private eachParents(visit: (members: Int32Array, from: number, to: number) => void): void {
    for (const {members, width, count} of [this.edges, this.faces, this.solids])
      for (let i = 0; i < count; i++) visit(members, i * width, (i + 1) * width);
  }

  /**
   * A node set with the new nodes that belong to it: those of the facets and cells of its name. Without these,
   * it is those whose corners are all in the set, and which lie on the boundary if the whole set does.
   */
  nodeSet(nodes: Int32Array, facets: Cells | undefined, name: string): Int32Array {
    const {cells} = this.mesh.sets;
    const found = [...nodes];
    const add = ({nodes: more}: {readonly nodes: Int32Array}): void => more.forEach(node => found.push(node));
    if (facets !== undefined) typesIn(facets).forEach(add);
    if (facets !== undefined && !Object.hasOwn(cells, name)) return distinctNodes(found);
    const members = new Set(nodes);
    const outer = this.onBoundary();
    const allOutside = nodes.every(node => outer.has(node));
    let node = this.count;
    this.eachParents((parents, from, to) => {
      let all = true;
      for (let i = from; i < to && all; i++) all = members.has(parents[i]);
      if (all && (!allOutside || outer.has(node))) found.push(node);
      node++;
    });
    return distinctNodes(found);
  }

  private onBoundary(): ReadonlySet<number> {
    return (this.boundaryNodes ??= new Set(
      typesIn(this.cells(boundary(this.mesh))).flatMap(({nodes}) => Array.from(nodes)),
    ));
  }
}

const corners = (nodes: Int32Array, from: number, places: readonly number[]): number[] =>
  places.map(place => nodes[from + place]);

/** Cells of a quadratic mesh, with all middles, split into linear ones. */
function split({points, dimension}: Mesh, cells: Cells): Cells {
  const found: {[T in CellType]?: Int32Array} = {};
  for (const {shape, nodes} of typesIn(cells)) {
    const choices = childrenOf(shape);
    const [{length}, [{length: width}]] = [choices[0], choices[0]];
    const rows = new Int32Array((nodes.length / shape.nodes) * length * width);
    let at = 0;
    for (let i = 0; i < nodes.length; i += shape.nodes) {
      const choice = choices.length === 1 ? 0 : shortestDiagonal(points, dimension, nodes.subarray(i));
      for (const child of choices[choice]) for (const place of child) rows[at++] = nodes[i + place];
    }
    found[shape.linear] = rows;
  }
  return found;
}

/** Opposite middles of a tetrahedron's edges. */
const diagonals = [[4, 9], [5, 7], [6, 8]] as const; // prettier-ignore

function shortestDiagonal(points: Float64Array, dimension: number, nodes: Int32Array): number {
  const lengths = diagonals.map(([a, b]) => {
    let sum = 0;
    for (let k = 0; k < dimension; k++)
      sum += (points[nodes[a] * dimension + k] - points[nodes[b] * dimension + k]) ** 2;
    return sum;
  });
  // Equal lengths may differ by rounding; the first of them is taken, so that like cells are split alike.
  const least = Math.min(...lengths) * (1 + 1e-9);
  return lengths.findIndex(length => length <= least);
}

type Children = readonly (readonly number[])[];

/** The corners of a hexahedron's eight parts, on its lattice of 3 × 3 × 3 nodes. */
const lattice = [
  [[0, 8, 1], [11, 24, 9], [3, 10, 2]], // prettier-ignore
  [[16, 22, 17], [20, 26, 21], [19, 23, 18]], // prettier-ignore
  [[4, 12, 5], [15, 25, 13], [7, 14, 6]], // prettier-ignore
];
const octants: Children = [0, 1].flatMap(z =>
  [0, 1].flatMap(y =>
    [0, 1].map(x =>
      [z, z + 1].flatMap(k => [lattice[k][y][x], lattice[k][y][x + 1], lattice[k][y + 1][x + 1], lattice[k][y + 1][x]]),
    ),
  ),
);

const tetCorners: Children = [[0, 4, 6, 7], [4, 1, 5, 8], [6, 5, 2, 9], [7, 8, 9, 3]]; // prettier-ignore
/** The octahedron between the corners of a tetrahedron, split along each of `diagonals`. */
const octahedron: readonly Children[] = [
  [[4, 9, 5, 6], [4, 9, 6, 7], [4, 9, 7, 8], [4, 9, 8, 5]], // prettier-ignore
  [[5, 7, 4, 8], [5, 7, 8, 9], [5, 7, 9, 6], [5, 7, 6, 4]], // prettier-ignore
  [[6, 8, 4, 5], [6, 8, 5, 9], [6, 8, 9, 7], [6, 8, 7, 4]], // prettier-ignore
];

const childTable: {readonly [linear: string]: readonly Children[]} = {
  point1: [[[0]]],
  line2: [[[0, 2], [2, 1]]], // prettier-ignore
  tri3: [[[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]]], // prettier-ignore
  quad4: [[[0, 4, 8, 7], [4, 1, 5, 8], [8, 5, 2, 6], [7, 8, 6, 3]]], // prettier-ignore
  hex8: [octants],
  tet4: octahedron.map(inner => [...tetCorners, ...inner]),
};

/** The ways to split a quadratic cell: one, or for a tetrahedron one for each diagonal. */
const childrenOf = ({linear}: CellShape): readonly Children[] => childTable[linear];
