/**
 * Meshes as data: points, cells by type, named sets, and fields at points and in cells. A mesh has no methods: it can
 * be stored, sent to a thread, or written by hand; `meshOf` checks one, and generators and readers make them.
 */
import {shown} from '../../lib/checks.js';
import {OptionError} from '../../lib/errors.js';
import {listed} from '../../lib/text.js';
import {cellShape, cellTypes, typesIn, type Cells, type CellType} from './cell-types.js';
import {requireGoodCells, requireReferencedNodes} from './quality.js';

/** Numbers at the points of a mesh or in its cells. */
export interface MeshField {
  /** One row of `components` numbers for each point or cell. */
  readonly values: Float64Array;
  readonly components: number;
}

/** Named parts of a mesh. */
export interface MeshSets {
  /** Node numbers, increasing. */
  readonly nodes: {readonly [name: string]: Int32Array};
  /** Cell numbers, increasing; `Mesh.cells` says how cells are numbered. */
  readonly cells: {readonly [name: string]: Int32Array};
  /** Facets of cells (edges in two dimensions, faces in three) by their nodes, with the normal outwards. */
  readonly facets: {readonly [name: string]: Cells};
}

/** A mesh of a body, as `meshOf`, `readMesh` and the generators make it. */
export interface Mesh {
  /** Coordinates, `dimension` for each point. */
  readonly points: Float64Array;
  readonly dimension: 1 | 2 | 3;
  /**
   * Node numbers of the cells of each type, row by row, in VTK's order of a cell's nodes. Cells are numbered from 0
   * through all types: first solids (tet4, tet10, hex8, hex20, hex27), then surfaces (tri3, tri6, quad4, quad8, quad9),
   * then lines (line2, line3) and points (point1), whatever the order of this object's keys.
   */
  readonly cells: Cells;
  readonly sets: MeshSets;
  readonly fields: {
    readonly points: {readonly [name: string]: MeshField};
    readonly cells: {readonly [name: string]: MeshField};
  };
}

/** Integers as an array, a typed array, or a list of rows. */
type Rows = ArrayLike<number> | readonly ArrayLike<number>[];
/** Numbers for each point or cell, flat or in rows. */
export type FieldValues = Rows | MeshField;

/** What `meshOf` takes. */
export interface MeshParts {
  /** Rows of one, two or three coordinates; or a flat array together with `dimension`. */
  readonly points: Rows;
  /** Needed only where `points` is flat. */
  readonly dimension?: 1 | 2 | 3;
  /** Rows of node numbers by type, or the same numbers in a flat array, in VTK's order. */
  readonly cells: {readonly [T in CellType]?: Rows};
  /** Node numbers, cell numbers, and the nodes of facets by their type. */
  readonly sets?: {
    readonly nodes?: {readonly [name: string]: ArrayLike<number>};
    readonly cells?: {readonly [name: string]: ArrayLike<number>};
    readonly facets?: {readonly [name: string]: {readonly [T in CellType]?: Rows}};
  };
  /** A number or a row for each point or cell; what is flat has as many components as its length gives. */
  readonly fields?: {
    readonly points?: {readonly [name: string]: FieldValues};
    readonly cells?: {readonly [name: string]: FieldValues};
  };
}

/**
 * A mesh of given points and cells.
 * @throws OptionError 'bad-mesh' where a number is not finite, a node does not exist, an array has a wrong length, a
 *   cell is inverted or degenerate (the message has the sign of its Jacobian at the corners), a node belongs to no
 *   cell, or a type of cells is not supported
 */
export function meshOf(parts: MeshParts): Mesh {
  const mesh = assembled(parts);
  requireReferencedNodes(mesh);
  requireGoodCells(mesh);
  return mesh;
}

/** A mesh whose arrays fit together; its cells may be inverted and its nodes unreferenced. @throws as `meshOf` */
export function assembled({points, dimension, cells, sets = {}, fields = {}}: MeshParts): Mesh {
  const {values: coordinates, width} = rows(points, dimension, 'points');
  if (width !== 1 && width !== 2 && width !== 3)
    throw bad(`points must have 1, 2 or 3 coordinates each, not ${width}. Give flat arrays with dimension.`);
  const bare = {points: coordinates, dimension: width, cells: readCells(cells, 'cells')} as const;
  coordinates.forEach((x, i) => {
    if (!Number.isFinite(x))
      throw bad(`point ${Math.floor(i / width)} is at ${shown(x)}; coordinates must be finite.`, {
        point: Math.floor(i / width),
      });
  });
  const nodeCount = pointCount(bare);
  requireNodes(bare.cells, nodeCount, 'cells');
  const count = cellCount(bare.cells);
  if (count === 0) throw bad('a mesh needs at least one cell.');
  const facets = Object.fromEntries(
    Object.entries(sets.facets ?? {}).map(([name, facet]) => {
      const read = readCells(facet, `facet set ${shown(name)}`);
      requireNodes(read, nodeCount, `facet set ${shown(name)}`);
      return [name, read];
    }),
  );
  return {
    ...bare,
    sets: {
      nodes: readSets(sets.nodes, nodeCount, 'node'),
      cells: readSets(sets.cells, count, 'cell'),
      facets,
    },
    fields: {
      points: readFields(fields.points, nodeCount, 'point'),
      cells: readFields(fields.cells, count, 'cell'),
    },
  };
}

/** How many points a mesh has. */
export const pointCount = ({points, dimension}: Pick<Mesh, 'points' | 'dimension'>): number =>
  points.length / dimension;

/** How many cells there are of all types. */
export const cellCount = (cells: Cells): number =>
  typesIn(cells).reduce((sum, {shape, nodes}) => sum + nodes.length / shape.nodes, 0);

/** The error of every check of a mesh. */
export const bad = (sentence: string, data: Readonly<Record<string, unknown>> = {}): OptionError =>
  new OptionError('bad-mesh', `Mesh: ${sentence}`, data);

const isRows = (given: Rows): given is readonly ArrayLike<number>[] =>
  !ArrayBuffer.isView(given) && given.length > 0 && typeof given[0] !== 'number';

/** Rows of one length as a flat array. @param width where the array is flat */
function rows(given: Rows, width: number | undefined, name: string): {values: Float64Array; width: number} {
  if (typeof given !== 'object' || given === null || !('length' in given))
    throw bad(`${name} must be an array of numbers or of rows of numbers, not ${shown(given)}.`);
  if (isRows(given)) {
    const length = given[0].length;
    const wrong = given.findIndex(row => row.length !== length);
    if (wrong >= 0)
      throw bad(`${name}: row ${wrong} has ${given[wrong].length} numbers and row 0 has ${length}.`, {row: wrong});
    if (width !== undefined && width !== length)
      throw bad(`${name} must have rows of ${width} numbers, not ${length}.`);
    const values = new Float64Array(given.length * length);
    given.forEach((row, i) => values.set(Array.from(row), i * length));
    return {values, width: length};
  }
  if (width === undefined || given.length % width !== 0)
    throw bad(
      width === undefined
        ? `${name}: a flat array needs dimension: 2 or 3.`
        : `${name} has ${given.length} numbers, which is no multiple of ${width}.`,
    );
  return {values: Float64Array.from(given), width};
}

function readCells(given: {readonly [T in CellType]?: Rows}, name: string): Cells {
  const wrong = Object.keys(given).find(type => !cellTypes.includes(type as CellType));
  if (wrong !== undefined)
    throw bad(`${name}: cells of type ${shown(wrong)} are not supported; types are ${cellTypes.join(', ')}.`);
  const cells: {[T in CellType]?: Int32Array} = {};
  for (const type of cellTypes) {
    const nodes = given[type];
    if (nodes === undefined || nodes.length === 0) continue;
    if (nodes instanceof Int32Array && nodes.length % cellShape(type).nodes === 0) cells[type] = nodes;
    else cells[type] = wholeNumbers(rows(nodes, cellShape(type).nodes, `${name}: ${type}`).values, `${name}: ${type}`);
  }
  return cells;
}

function wholeNumbers(values: ArrayLike<number>, name: string): Int32Array {
  for (let i = 0; i < values.length; i++)
    if (!Number.isInteger(values[i]) || Math.abs(values[i]) > 2 ** 31 - 1)
      throw bad(`${name} has ${shown(values[i])} at place ${i} where a whole number is needed.`);
  return Int32Array.from(values);
}

function requireNodes(cells: Cells, count: number, name: string): void {
  for (const {shape, nodes} of typesIn(cells)) {
    const wrong = nodes.findIndex(node => node < 0 || node >= count);
    if (wrong >= 0)
      throw bad(
        `${name}: ${shape.type} ${Math.floor(wrong / shape.nodes)} has node ${nodes[wrong]}, but there are `
          + `nodes 0 to ${count - 1}.`,
        {type: shape.type, cell: Math.floor(wrong / shape.nodes), node: nodes[wrong]},
      );
  }
}

function readSets(
  given: {readonly [name: string]: ArrayLike<number>} | undefined,
  count: number,
  kind: 'node' | 'cell',
): {readonly [name: string]: Int32Array} {
  return Object.fromEntries(
    Object.entries(given ?? {}).map(([name, members]) => {
      const sorted = wholeNumbers(members, `${kind} set ${shown(name)}`).sort();
      const distinct = sorted.filter((member, i) => i === 0 || member !== sorted[i - 1]);
      const wrong = distinct.find(member => member < 0 || member >= count);
      if (wrong !== undefined)
        throw bad(`${kind} set ${shown(name)} has ${kind} ${wrong}, but there are ${kind}s 0 to ${count - 1}.`, {
          set: name,
        });
      return [name, distinct];
    }),
  );
}

function readFields(
  given: {readonly [name: string]: FieldValues} | undefined,
  count: number,
  kind: 'point' | 'cell',
): {readonly [name: string]: MeshField} {
  return Object.fromEntries(
    Object.entries(given ?? {}).map(([name, field]) => [name, readField(field, count, `${kind} field ${shown(name)}`)]),
  );
}

/** A field of `count` rows. @param name begins the sentence of an error. @throws OptionError 'bad-mesh' */
export function readField(field: FieldValues, count: number, name: string): MeshField {
  const isField = 'components' in field;
  const values = isField
    ? field.values
    : 'length' in field && isRows(field)
      ? rows(field, undefined, name).values
      : null;
  const flat = values ?? Float64Array.from(field as ArrayLike<number>);
  const components = isField ? field.components : flat.length / count;
  if (!Number.isInteger(components) || flat.length !== count * components || components < 1)
    throw bad(`${name} has ${flat.length} numbers, but there are ${count} rows${isField ? ` of ${components}` : ''}.`);
  return {values: flat, components};
}

/**
 * The nodes of a named set: a node set, or the nodes of the facets or cells of that name.
 * @throws OptionError 'bad-mesh' where no set has the name; the message lists those that exist
 */
export function nodesOf(mesh: Mesh, name: string): Int32Array {
  const {nodes, facets, cells} = mesh.sets;
  if (Object.hasOwn(nodes, name)) return nodes[name];
  if (Object.hasOwn(facets, name)) return distinctNodes(typesIn(facets[name]).flatMap(one => Array.from(one.nodes)));
  if (Object.hasOwn(cells, name)) {
    const wanted = new Set(cells[name]);
    const found: number[] = [];
    eachCell(mesh.cells, (_, row, cell) => {
      if (wanted.has(cell)) found.push(...row);
    });
    return distinctNodes(found);
  }
  throw noSet(mesh, name);
}

/** @throws always: there is no set of this name */
export function noSet({sets}: Mesh, name: string): OptionError {
  const known = [...new Set([sets.nodes, sets.facets, sets.cells].flatMap(Object.keys))];
  return bad(
    `there is no set ${shown(name)}; ${known.length === 0 ? 'this mesh has none' : `there are ${listed(known, 20)}`}.`,
    {set: name},
  );
}

/** Node numbers, each once and increasing. */
export const distinctNodes = (nodes: Iterable<number>): Int32Array => Int32Array.from(new Set(nodes)).sort();

/** Calls a function for every cell in the order of their numbers, with its nodes as a view. */
export function eachCell(cells: Cells, visit: (type: CellType, nodes: Int32Array, cell: number) => void): void {
  let cell = 0;
  for (const {shape, nodes} of typesIn(cells))
    for (let i = 0; i < nodes.length; i += shape.nodes) visit(shape.type, nodes.subarray(i, i + shape.nodes), cell++);
}
