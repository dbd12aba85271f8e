/** Parts of a mesh: nodes by a predicate, boundary facets, named sets. */
import {requireValue, callable, shown} from '../../lib/checks.js';
import {cellShape, typesIn, type CellComplex, type Cells, type CellType} from './cell-types.js';
import {bad, distinctNodes, eachCell, pointCount, type Mesh} from './mesh.js';
import {TupleIndex} from './tuple-index.js';

/** A condition on the coordinates of a point. */
export type Where = (x: readonly number[], node: number) => boolean;

/** The highest dimension of a cell: 3 for solids, whatever surfaces and lines the mesh also has. */
export const bodyDimension = (cells: Cells): number => Math.max(0, ...typesIn(cells).map(({shape}) => shape.dimension));

/** The coordinates of a node. */
export const pointAt = ({points, dimension}: CellComplex, node: number): number[] =>
  Array.from(points.subarray(node * dimension, (node + 1) * dimension));

/**
 * Nodes by a condition on their coordinates.
 * @param where gets a node's coordinates, and its number
 * @returns the numbers of the nodes for which `where` is true, increasing
 * @throws OptionError where `where` is no function
 */
export function select(mesh: CellComplex, where: Where): Int32Array {
  requireValue(where, callable, 'select: where');
  const found: number[] = [];
  for (let node = 0; node < pointCount(mesh); node++) if (where(pointAt(mesh, node), node)) found.push(node);
  return Int32Array.from(found);
}

/**
 * The boundary of a body: facets that belong to one cell only, of the cells of the highest dimension.
 * @param where only facets all of whose nodes fulfil this
 * @returns their nodes by type, with the normal outwards
 */
export function boundary(mesh: CellComplex, where?: Where): Cells {
  const within = where === undefined ? undefined : new Set(select(mesh, where));
  const dimension = bodyDimension(mesh.cells);
  const body = typesIn(mesh.cells).filter(({shape}) => shape.dimension === dimension);
  const total = body.reduce((sum, {shape, nodes}) => sum + (nodes.length / shape.nodes) * shape.facets.length, 0);
  const index = new TupleIndex(4, total);
  const numbers = new Int32Array(total);
  const times = new Uint8Array(total);
  let at = 0;
  for (const {shape, nodes} of body) {
    const ends = shape.facets.map(facet => facet.nodes.slice(0, cellShape(facet.type).corners));
    const rows = ends.map(places => new Int32Array(places.length));
    for (let i = 0; i < nodes.length; i += shape.nodes)
      for (let f = 0; f < ends.length; f++) {
        for (let c = 0; c < ends[f].length; c++) rows[f][c] = nodes[i + ends[f][c]];
        numbers[at] = index.add(rows[f]);
        times[numbers[at]] = Math.min(times[numbers[at++]] + 1, 2);
      }
  }
  const found: {[T in CellType]?: number[]} = {};
  at = 0;
  for (const {shape, nodes} of body)
    for (let i = 0; i < nodes.length; i += shape.nodes)
      for (const {type, nodes: places} of shape.facets) {
        if (times[numbers[at++]] > 1) continue;
        const row = places.map(place => nodes[i + place]);
        if (within === undefined || row.every(node => within.has(node))) (found[type] ??= []).push(...row);
      }
  return typedCells(found);
}

/** Lists of node numbers as cells. */
export const typedCells = (lists: {readonly [T in CellType]?: ArrayLike<number>}): Cells =>
  Object.fromEntries(Object.entries(lists).map(([type, nodes]) => [type, Int32Array.from(nodes)]));

/**
 * The mesh with further named sets. A condition on coordinates names three of them at once: the nodes that fulfil it,
 * the boundary facets and the cells all of whose nodes do.
 * @throws OptionError 'bad-mesh' where no node fulfils a condition
 */
export function withSets<M extends Mesh>(mesh: M, sets: {readonly [name: string]: Where}): M {
  const nodes = {...mesh.sets.nodes};
  const facets = {...mesh.sets.facets};
  const cells = {...mesh.sets.cells};
  const outer = boundary(mesh);
  for (const [name, where] of Object.entries(sets)) {
    nodes[name] = select(mesh, where);
    if (nodes[name].length === 0)
      throw bad(`set ${shown(name)} would be empty: no node fulfils its condition. Compare with a tolerance.`, {name});
    const members = new Set(nodes[name]);
    const facet = facetsWithin(outer, members);
    if (typesIn(facet).length > 0) facets[name] = facet;
    const inside: number[] = [];
    eachCell(mesh.cells, (_, row, cell) => {
      if (row.every(node => members.has(node))) inside.push(cell);
    });
    if (inside.length > 0) cells[name] = Int32Array.from(inside);
  }
  return {...mesh, sets: {nodes, facets, cells}};
}

/** Facets all of whose nodes are among `members`. */
function facetsWithin(facets: Cells, members: ReadonlySet<number>): Cells {
  const found: {[T in CellType]?: number[]} = {};
  eachCell(facets, (type, row) => {
    if (row.every(node => members.has(node))) (found[type] ??= []).push(...row);
  });
  return typedCells(found);
}

/** The nodes of facets, each once. */
export const facetNodes = (facets: Cells): Int32Array =>
  distinctNodes(typesIn(facets).flatMap(({nodes}) => Array.from(nodes)));
