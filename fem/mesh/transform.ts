/** Meshes from meshes: moved points, extrusion of a plane mesh, and blocks joined where their points coincide. */
import {callable, positive, positiveInteger, requireValue, shown} from '../../lib/checks.js';
import {typesIn, type Cells, type CellType} from './cell-types.js';
import {bad, cellCount, distinctNodes, pointCount, type Mesh} from './mesh.js';
import {requireGoodCells} from './quality.js';
import {pointAt, typedCells} from './topology.js';

/** The new coordinates of a point, by its old ones and its number. */
export type PointMap = (x: readonly number[], node: number) => readonly number[];

/**
 * The mesh with its points moved, also into more dimensions: `mapped(sheet, ([x, y]) => [x, y, 0])`.
 * @param map gets a point's coordinates and its number, and returns one to three coordinates
 * @throws OptionError 'bad-mesh' where a coordinate is not finite, or a cell is inverted or degenerate afterwards
 */
export function mapped(mesh: Mesh, map: PointMap): Mesh {
  requireValue(map, callable, 'mapped: map');
  const moved = withPoints(mesh, map);
  requireGoodCells(moved);
  return moved;
}

/** The mesh with its points moved, without a check of its cells. @throws OptionError as `mapped` does */
export function withPoints(mesh: Mesh, map: PointMap): Mesh {
  const count = pointCount(mesh);
  const dimension = map(pointAt(mesh, 0), 0).length;
  if (dimension !== 1 && dimension !== 2 && dimension !== 3)
    throw bad(`mapped: a point has 1, 2 or 3 coordinates, not ${dimension}.`);
  const points = new Float64Array(count * dimension);
  for (let node = 0; node < count; node++) {
    const x = map(pointAt(mesh, node), node);
    if (x.length !== dimension || !x.every(Number.isFinite))
      throw bad(`mapped: node ${node} goes to [${x.join(', ')}]; ${dimension} finite coordinates are needed.`, {node});
    points.set(x, node * dimension);
  }
  return {...mesh, points, dimension};
}

/** A function of each value of an object, by the same names. */
export const byName = <T, R>(
  named: {readonly [name: string]: T},
  map: (value: T, name: string) => R,
): {[name: string]: R} => Object.fromEntries(Object.entries(named).map(([name, value]) => [name, map(value, name)]));

/**
 * A plane mesh drawn out along z: quad4 cells become hex8, tri3 cells three tet4 each. Sets keep their names: edges
 * become the sides over them, nodes and cells all those above them. Lines of the plane and fields are not kept.
 * @param ends names of the node and facet sets at z = 0 and z = `height`
 * @throws OptionError where the mesh is not in the plane, has other cells or both types, or has sets of these names
 */
export function extruded(
  mesh: Mesh,
  height: number,
  layers: number,
  ends: readonly [string, string] = ['bottom', 'top'],
): Mesh {
  requireValue(height, positive, 'extruded: height');
  requireValue(layers, positiveInteger, 'extruded: layers');
  const types = typesIn(mesh.cells).filter(({shape}) => shape.dimension === 2);
  const type = types[0]?.shape.type;
  if (mesh.dimension !== 2 || types.length !== 1 || (type !== 'tri3' && type !== 'quad4'))
    throw bad('extruded needs a mesh of the plane whose surfaces are all tri3 or all quad4.');
  const {sets} = mesh;
  const taken = ends.find(name => [sets.nodes, sets.cells, sets.facets].some(named => Object.hasOwn(named, name)));
  if (taken !== undefined)
    throw bad(`extruded: the mesh has a set ${shown(taken)} already; name the ends by the last argument.`);
  const count = pointCount(mesh);
  const base: Cells = {[type]: types[0].nodes};
  const below = cellCount(base);
  const pieces = type === 'tri3' ? 3 : 1;
  const points = new Float64Array(count * (layers + 1) * 3);
  for (let node = 0; node < points.length / 3; node++) {
    const under = (node % count) * 2;
    points[3 * node] = mesh.points[under];
    points[3 * node + 1] = mesh.points[under + 1];
    points[3 * node + 2] = height * (Math.floor(node / count) / layers);
  }
  const levels = Array.from({length: layers + 1}, (_, layer) => layer * count);
  const over = (nodes: Int32Array): Int32Array =>
    Int32Array.from(levels.flatMap(level => Array.from(nodes, node => node + level)));
  const column = (cell: number, layer: number): number[] =>
    Array.from({length: pieces}, (_, piece) => (cell + layer * below) * pieces + piece);
  const inside = (cells: Int32Array): Int32Array =>
    Int32Array.from(
      levels
        .slice(1)
        .flatMap((_, layer) => Array.from(cells.filter(cell => cell < below)).flatMap(cell => column(cell, layer))),
    ).sort();
  const all = Int32Array.from({length: count}, (_, node) => node);
  const drawn = (cells: Cells): Cells => drawnOut(cells, levels.slice(0, -1), count, type === 'tri3');
  return {
    points,
    dimension: 3,
    cells: drawn(base),
    sets: {
      nodes: {...byName(sets.nodes, over), [ends[0]]: all, [ends[1]]: all.map(node => node + levels[layers])},
      cells: byName(sets.cells, inside),
      facets: {
        ...byName(sets.facets, drawn),
        [ends[0]]: reversed(base),
        [ends[1]]: {[type]: types[0].nodes.map(node => node + levels[layers])},
      },
    },
    fields: {points: {}, cells: {}},
  };
}

/** Cells between each of some levels and the next one, which is `count` nodes further. */
function drawnOut(cells: Cells, levels: readonly number[], count: number, simplices: boolean): Cells {
  const found: {[T in CellType]?: number[]} = {};
  for (const level of levels)
    for (const {shape, nodes} of typesIn(cells))
      for (let i = 0; i < nodes.length; i += shape.nodes) {
        const row = Array.from(nodes.subarray(i, i + shape.nodes));
        const [type, ...rows] = drawnOutCell(row, count, simplices);
        const into = (found[type] ??= []);
        for (const one of rows) for (const node of one) into.push(node + level);
      }
  return typedCells(found);
}

/**
 * The type over an edge or a surface, and the nodes of each piece. A side is cut from the lower node of its base up to
 * the higher one, so that neighbours agree (Dompierre et al., How to subdivide pyramids, prisms and hexahedra into
 * tetrahedra, 1999).
 */
function drawnOutCell(row: readonly number[], count: number, simplices: boolean): [CellType, ...number[][]] {
  const up = (node: number): number => node + count;
  const [a, b] = row;
  if (row.length === 2 && !simplices) return ['quad4', [a, b, up(b), up(a)]];
  if (row.length === 2)
    return a < b ? ['tri3', [a, b, up(b)], [a, up(b), up(a)]] : ['tri3', [a, b, up(a)], [b, up(b), up(a)]];
  if (row.length === 4) return ['hex8', [...row, ...row.map(up)]];
  const [i, j, k] = [...row].sort((x, y) => x - y);
  const isEven = (a === i && b === j) || (a === j && b === k) || (a === k && b === i);
  const tetrahedra = [[i, j, k, up(k)], [i, up(j), j, up(k)], [i, up(i), up(j), up(k)]]; // prettier-ignore
  return ['tet4', ...(isEven ? tetrahedra : tetrahedra.map(([p, q, r, s]) => [p, r, q, s]))];
}

/** Linear surfaces seen from the other side. */
const reversed = (cells: Cells): Cells =>
  typedCells(
    Object.fromEntries(
      typesIn(cells).map(({shape, nodes}) => [
        shape.type,
        nodes.map((_, i) => nodes[i - (i % shape.nodes) + ((shape.nodes - (i % shape.nodes)) % shape.nodes)]),
      ]),
    ),
  );

/**
 * For every point the number of the first one at its place, counted without those that repeat another.
 * @param tolerance up to which distance in each coordinate points are one; 0 for equal coordinates
 */
export function coincident(points: Float64Array, dimension: number, tolerance: number): Int32Array {
  let low = Infinity;
  let high = -Infinity;
  for (const x of points) [low, high] = [Math.min(low, x), Math.max(high, x)];
  // Buckets far larger than the tolerance, so that few points are looked for in two of them; far smaller than a cell.
  const width = Math.max(1e3 * tolerance, 1e-6 * (high - low), Number.MIN_VALUE);
  const buckets = new Map<number, number[]>();
  const firsts: number[] = [];
  const numbers = new Int32Array(points.length / dimension);
  const keys = (start: number): number[] => {
    let found = [0];
    for (let k = 0; k < dimension; k++) {
      const x = points[start + k];
      const places = new Set([Math.floor((x - tolerance) / width), Math.floor((x + tolerance) / width)]);
      found = found.flatMap(key =>
        Array.from(places, place => Math.imul(key ^ (place | 0), 0x9e3779b1) ^ (key >>> 13)),
      );
    }
    return found;
  };
  for (let point = 0; point < numbers.length; point++) {
    const start = point * dimension;
    const near = keys(start);
    let same = -1;
    for (const key of near)
      for (const number of buckets.get(key) ?? []) {
        let equal = true;
        for (let k = 0; k < dimension && equal; k++)
          equal = Math.abs(points[firsts[number] * dimension + k] - points[start + k]) <= tolerance;
        if (equal) same = number;
      }
    if (same < 0) {
      same = firsts.push(point) - 1;
      // In all buckets within its tolerance: who looks from any of them finds it.
      for (const key of new Set(near)) buckets.set(key, [...(buckets.get(key) ?? []), same]);
    }
    numbers[point] = same;
  }
  return numbers;
}

/** Meshes as one: their points joined where they coincide, and their sets by name. Fields are not kept. */
export function joined(meshes: readonly Mesh[], tolerance: number): Mesh {
  const {dimension} = meshes[0];
  const all = Float64Array.from(meshes.flatMap(({points}) => Array.from(points)));
  const numbers = coincident(all, dimension, tolerance);
  const count = numbers.reduce((most, number) => Math.max(most, number), -1) + 1;
  const points = new Float64Array(count * dimension);
  for (let i = numbers.length - 1; i >= 0; i--)
    points.set(all.subarray(i * dimension, (i + 1) * dimension), numbers[i] * dimension);
  const cells: {[T in CellType]?: number[]} = {};
  const nodes: {[name: string]: number[]} = {};
  const facets: {[name: string]: {[T in CellType]?: number[]}} = {};
  let first = 0;
  const into = (lists: {[T in CellType]?: number[]}, from: Cells): void => {
    for (const {shape, nodes: rows} of typesIn(from)) {
      const list = (lists[shape.type] ??= []);
      rows.forEach(node => list.push(numbers[first + node]));
    }
  };
  for (const mesh of meshes) {
    into(cells, mesh.cells);
    for (const [name, facet] of Object.entries(mesh.sets.facets)) into((facets[name] ??= {}), facet);
    for (const [name, members] of Object.entries(mesh.sets.nodes))
      members.forEach(node => (nodes[name] ??= []).push(numbers[first + node]));
    first += pointCount(mesh);
  }
  return {
    points,
    dimension,
    cells: typedCells(cells),
    sets: {nodes: byName(nodes, distinctNodes), cells: {}, facets: byName(facets, typedCells)},
    fields: {points: {}, cells: {}},
  };
}
