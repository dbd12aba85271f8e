/** What a file says about a mesh, in the file's own order, and the mesh that it makes. */
import {listed} from '../../../lib/text.js';
import {cellShape, typesIn, type Cells, type CellShape, type CellType} from '../cell-types.js';
import {assembled, distinctNodes, type Mesh, type MeshField} from '../mesh.js';
import {invertedCells, requireGoodCells, unreferencedNodes} from '../quality.js';
import {bodyDimension, boundary} from '../topology.js';
import {byName} from '../transform.js';
import {TupleIndex} from '../tuple-index.js';

/** Cells in the order of the file. */
export class FileCells {
  private readonly lists: {[T in CellType]?: number[]} = {};
  /** The type of each cell, and its number within the type. */
  private readonly types: CellType[] = [];
  private readonly numbers: number[] = [];

  get count(): number {
    return this.types.length;
  }

  /** @returns the number of the cell in the file, from 0 */
  add(type: CellType, nodes: ArrayLike<number>): number {
    const list = (this.lists[type] ??= []);
    this.numbers.push(list.length / cellShape(type).nodes);
    for (let i = 0; i < nodes.length; i++) list.push(nodes[i]);
    return this.types.push(type) - 1;
  }

  cells(): Cells {
    return Object.fromEntries(Object.entries(this.lists).map(([type, nodes]) => [type, Int32Array.from(nodes)]));
  }

  /** For each cell of the file its number in the mesh. */
  order(): Int32Array {
    const firsts = new Map<CellType, number>();
    let first = 0;
    for (const {shape, nodes} of typesIn(this.cells())) {
      firsts.set(shape.type, first);
      first += nodes.length / shape.nodes;
    }
    return Int32Array.from(this.types, (type, i) => firsts.get(type)! + this.numbers[i]);
  }
}

/** A named group of cells of a file, by their numbers there. */
export interface FileGroup {
  readonly name: string;
  readonly cells: readonly number[];
}

export interface FileMesh {
  /** Three coordinates for each point. */
  readonly points: Float64Array;
  readonly cells: FileCells;
  readonly groups?: readonly FileGroup[];
  readonly pointFields?: {readonly [name: string]: MeshField};
  /** In the file's order of cells. */
  readonly cellFields?: {readonly [name: string]: MeshField};
}

/** What is made of the cells of a file. */
export type CellTreatment = 'check' | 'orient' | 'keep';

/**
 * The mesh of a file.
 * @param dimension of the points; undefined drops z where it is 0 everywhere and there are no solid cells
 * @throws OptionError 'bad-mesh' as `meshOf` does
 */
export function meshOfFile(file: FileMesh, dimension: 2 | 3 | undefined, treatment: CellTreatment): Mesh {
  const cells = file.cells.cells();
  const flat = file.points.every((x, i) => i % 3 !== 2 || x === 0) && bodyDimension(cells) < 3;
  const order = file.cells.order();
  const width = dimension ?? (flat ? 2 : 3);
  const points = width === 3 ? file.points : file.points.filter((_, i) => i % 3 !== 2);
  let mesh = assembled({
    points,
    dimension: width,
    cells,
    fields: {points: file.pointFields, cells: byName(file.cellFields ?? {}, field => reordered(field, order))},
  });
  if (treatment !== 'keep') mesh = withoutFreePoints(mesh);
  if (treatment === 'orient') mesh = {...mesh, cells: oriented(mesh)};
  if (treatment !== 'keep') requireGoodCells(mesh);
  return withGroups(mesh, file.groups ?? [], order);
}

function reordered({values, components}: MeshField, order: Int32Array): MeshField {
  const sorted = new Float64Array(values.length);
  order.forEach((to, from) => {
    for (let c = 0; c < components; c++) sorted[to * components + c] = values[from * components + c];
  });
  return {values: sorted, components};
}

/** The mesh without points that belong to no cell, such as the centres of Gmsh's circles. */
function withoutFreePoints(mesh: Mesh): Mesh {
  const {points, dimension, cells, fields} = mesh;
  const free = new Set(unreferencedNodes(mesh));
  if (free.size === 0) return mesh;
  const numbers = new Int32Array(points.length / dimension);
  let next = 0;
  for (let node = 0; node < numbers.length; node++) numbers[node] = free.has(node) ? -1 : next++;
  const kept = ({values, components}: MeshField): MeshField => ({
    values: values.filter((_, i) => !free.has(Math.floor(i / components))),
    components,
  });
  return {
    ...mesh,
    points: kept({values: points, components: dimension}).values,
    cells: Object.fromEntries(typesIn(cells).map(({shape, nodes}) => [shape.type, nodes.map(node => numbers[node])])),
    fields: {points: byName(fields.points, kept), cells: fields.cells},
  };
}

/** The cells with inverted ones turned around. */
function oriented(mesh: Mesh): Cells {
  const inverted = invertedCells(mesh);
  if (inverted.length === 0) return mesh.cells;
  const cells = Object.fromEntries(typesIn(mesh.cells).map(({shape, nodes}) => [shape.type, nodes.slice()]));
  for (const {shape, cell} of inverted) {
    const at = cell * shape.nodes;
    const row = Array.from(cells[shape.type].subarray(at, at + shape.nodes));
    mirrored(shape).forEach((place, i) => (cells[shape.type][at + i] = row[place]));
  }
  return cells;
}

/** Corners of a cell seen from the other side, by dimension and number. */
const mirrors: {readonly [linear: string]: readonly number[]} = {
  line2: [1, 0],
  tri3: [0, 2, 1],
  quad4: [0, 3, 2, 1],
  tet4: [0, 2, 1, 3],
  hex8: [0, 3, 2, 1, 4, 7, 6, 5],
};

/** For each node of a turned cell its place in the cell as it was. */
function mirrored({linear, corners, edges, faceNodes, nodes, order}: CellShape): number[] {
  const turn = mirrors[linear];
  if (order === 1) return [...turn];
  const same = (a: readonly number[], b: readonly number[]): boolean =>
    a.length === b.length && a.every(x => b.includes(x));
  const placeOf = (parts: readonly (readonly number[])[], part: readonly number[]): number =>
    parts.findIndex(one =>
      same(
        one,
        part.map(corner => turn[corner]),
      ),
    );
  const places = [
    ...turn,
    ...edges.map(edge => corners + placeOf(edges, edge)),
    ...faceNodes.map(face => corners + edges.length + placeOf(faceNodes, face)),
  ];
  return places.length < nodes ? [...places, nodes - 1] : places;
}

/** The mesh with a cell set and a node set for each group, and a facet set for groups of its boundary's dimension. */
function withGroups(mesh: Mesh, groups: readonly FileGroup[], order: Int32Array): Mesh {
  if (groups.length === 0) return mesh;
  const body = bodyDimension(mesh.cells);
  const rows: {readonly shape: CellShape; readonly row: Int32Array}[] = [];
  for (const {shape, nodes} of typesIn(mesh.cells))
    for (let i = 0; i < nodes.length; i += shape.nodes) rows.push({shape, row: nodes.subarray(i, i + shape.nodes)});
  const outward = outwardFacets(mesh);
  const nodes: {[name: string]: Int32Array} = {};
  const cells: {[name: string]: Int32Array} = {};
  const facets: {[name: string]: Cells} = {};
  for (const name of new Set(groups.map(group => group.name))) {
    const members = groups.filter(group => group.name === name).flatMap(group => group.cells.map(cell => order[cell]));
    cells[name] = distinctNodes(members);
    nodes[name] = distinctNodes(Array.from(cells[name]).flatMap(cell => Array.from(rows[cell].row)));
    const lists: {[type: string]: number[]} = {};
    for (const cell of cells[name]) {
      const {shape, row} = rows[cell];
      if (shape.dimension !== body - 1) continue;
      (lists[shape.type] ??= []).push(...outward(shape, row));
    }
    if (Object.keys(lists).length > 0) facets[name] = byName(lists, list => Int32Array.from(list));
  }
  return {...mesh, sets: {nodes, cells, facets}};
}

/** The nodes of a facet with the normal outwards, if it lies on the boundary; otherwise as they are. */
function outwardFacets(mesh: Mesh): (shape: CellShape, row: Int32Array) => Int32Array {
  const outer = boundary(mesh);
  const index = new TupleIndex(4);
  const found: Int32Array[] = [];
  for (const {shape, nodes} of typesIn(outer))
    for (let i = 0; i < nodes.length; i += shape.nodes) {
      const row = nodes.subarray(i, i + shape.nodes);
      found[index.add(row.subarray(0, shape.corners))] = row;
    }
  return ({corners, nodes}, row) => {
    const number = index.find(row.subarray(0, corners));
    return number >= 0 && found[number].length === nodes ? found[number] : row;
  };
}

/** The end of a sentence about cells that are not supported. */
export const supportedCells = (types: readonly string[]): string => `Cells may be ${listed(types, 20)}.`;
