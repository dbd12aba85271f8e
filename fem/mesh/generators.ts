/**
 * Structured meshes of simple shapes: a box of lattice cells, and shapes that are such boxes mapped and joined.
 * Quadratic cells follow curved boundaries, since all their nodes are mapped.
 */
import {boolean, oneOf, optional, positive, positiveInteger, readOptions, requireValue} from '../../lib/checks.js';
import {cellShape, cellTypes, type CellType} from './cell-types.js';
import {bad, type Mesh} from './mesh.js';
import {requireGoodCells} from './quality.js';
import {elevated} from './refine.js';
import {withSets} from './topology.js';
import {extruded, joined, withPoints} from './transform.js';

/** Names of a box's sides, by axis: those of the last axis are bottom and top. */
const sideNames = [
  [['left', 'right']],
  [['left', 'right'], ['bottom', 'top']], // prettier-ignore
  [['left', 'right'], ['front', 'back'], ['bottom', 'top']], // prettier-ignore
] as const;

/** The six tetrahedra of a cube around its diagonal from corner 0 to corner 6 (Kuhn 1960); neighbours agree. */
const kuhn = [[0, 1, 2, 6], [0, 2, 3, 6], [0, 3, 7, 6], [0, 7, 4, 6], [0, 4, 5, 6], [0, 5, 1, 6]]; // prettier-ignore

/**
 * An interval, a rectangle or a box with one corner at the origin.
 *
 * Its sides are node and facet sets: left and right along x; then bottom and top along the last axis; in space front
 * and back along y.
 * @param size its lengths along the axes: 1, 2 or 3 of them
 * @param divisions how many intervals each length has; triangles halve the squares between them, six tetrahedra fill a
 *   cube
 * @param cell a type of the dimension of `size`; default 'line2', 'quad4' or 'hex8'
 * @throws OptionError where these do not fit together
 */
export function box(
  size: readonly number[],
  divisions: readonly number[],
  cell: CellType = (['line2', 'quad4', 'hex8'] as const)[size.length - 1],
): Mesh {
  requireSizes(size, divisions, cell, 'box');
  const dimension = size.length as 1 | 2 | 3;
  const {linear} = cellShape(cell);
  const lattice = latticeBox(size, divisions, linear);
  const far = (x: readonly number[], axis: number): boolean => x[axis] === size[axis];
  const mesh = withSets(
    lattice,
    Object.fromEntries(
      sideNames[dimension - 1].flatMap(([low, high], axis) => [
        [low, (x: readonly number[]) => x[axis] === 0],
        [high, (x: readonly number[]) => far(x, axis)],
      ]),
    ),
  );
  return cell === linear ? mesh : elevated(mesh, cell);
}

function requireSizes(size: readonly number[], divisions: readonly number[], cell: CellType, owner: string): void {
  if (!Array.isArray(size) || size.length < 1 || size.length > 3)
    throw bad(`${owner}: size must be a list of 1, 2 or 3 lengths.`);
  size.forEach((length, k) => requireValue(length, positive, `${owner}: size[${k}]`));
  if (!Array.isArray(divisions) || divisions.length !== size.length)
    throw bad(
      `${owner}: divisions must be a list of ${size.length} whole numbers, as size has ${size.length} lengths.`,
    );
  divisions.forEach((count, k) => requireValue(count, positiveInteger, `${owner}: divisions[${k}]`));
  requireCell(cell, size.length, owner);
}

function requireCell(cell: CellType, dimension: number, owner: string): void {
  requireValue(cell, oneOf(...cellTypes.filter(type => cellShape(type).dimension === dimension)), `${owner}: cell`);
}

// prettier-ignore
const cubeCorners = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];
const simplices: {readonly [type: string]: readonly (readonly number[])[]} = {
  tri3: [[0, 1, 2], [0, 2, 3]], // prettier-ignore
  tet4: kuhn,
};

/** A box of linear cells, without sets. */
function latticeBox(size: readonly number[], divisions: readonly number[], type: CellType): Mesh {
  const dimension = size.length as 1 | 2 | 3;
  const [nx, ny = 0, nz = 0] = divisions;
  const strides = [1, nx + 1, (nx + 1) * (ny + 1)];
  const points = new Float64Array((nx + 1) * (ny + 1) * (nz + 1) * dimension);
  for (let k = 0, at = 0; k <= nz; k++)
    for (let j = 0; j <= ny; j++)
      for (let i = 0; i <= nx; i++)
        for (const [axis, step] of [i, j, k].slice(0, dimension).entries())
          points[at++] = size[axis] * (step / divisions[axis]);
  const corners = cubeCorners
    .slice(0, 2 ** dimension)
    .map(corner => corner.reduce((sum, step, axis) => sum + step * strides[axis], 0));
  const pieces = simplices[type] ?? [corners.map((_, c) => c)];
  const rows = new Int32Array(divisions.reduce((a, b) => a * b, 1) * pieces.length * pieces[0].length);
  for (let k = 0, at = 0; k < Math.max(nz, 1); k++)
    for (let j = 0; j < Math.max(ny, 1); j++)
      for (let i = 0; i < nx; i++)
        for (const piece of pieces)
          for (const corner of piece) rows[at++] = i + j * strides[1] + k * strides[2] + corners[corner];
  return {
    points,
    dimension,
    cells: {[type]: rows},
    sets: {nodes: {}, cells: {}, facets: {}},
    fields: {points: {}, cells: {}},
  };
}

/**
 * A long rectangle of cells that are about square, with the sets of `box`.
 * @param across how many cells its width has; its length has as many as fit
 * @param cell default 'quad4'
 */
export function strip(length: number, width: number, across = 1, cell: CellType = 'quad4'): Mesh {
  requireValue(length, positive, 'strip: length');
  requireValue(width, positive, 'strip: width');
  requireValue(across, positiveInteger, 'strip: across');
  requireCell(cell, 2, 'strip');
  return box([length, width], [Math.max(1, Math.round((length / width) * across)), across], cell);
}

type Point = readonly [number, number];

/** A square of the plane, mapped; its sides have the names of `box`, and are renamed. */
interface Block {
  readonly divisions: readonly number[];
  /** The image of the point (s, t) of the unit square. */
  at(s: number, t: number): Point;
  readonly names: {readonly [side: string]: string};
}

function fromBlocks(blocks: readonly Block[], size: number, cell: CellType): Mesh {
  const parts = blocks.map(({divisions, at, names}) => {
    const square = withPoints(box([1, 1], divisions, cell), ([s, t]) => at(s, t));
    const renamed = <T>(sets: {readonly [name: string]: T}): {[name: string]: T} =>
      Object.fromEntries(
        Object.entries(sets).flatMap(([side, set]) => (Object.hasOwn(names, side) ? [[names[side], set]] : [])),
      );
    const {nodes, facets} = square.sets;
    return {...square, sets: {nodes: renamed(nodes), cells: {}, facets: renamed(facets)}};
  });
  const mesh = joined(parts, 1e-9 * size);
  requireGoodCells(mesh);
  return mesh;
}

const between = ([a, b]: Point, [c, d]: Point, t: number): Point => [a + t * (c - a), b + t * (d - b)];
const onCircle = (radius: number, angle: number): Point => [radius * Math.cos(angle), radius * Math.sin(angle)];

/**
 * A disk around the origin: a square in its middle, and four blocks between it and the rim. The rim is the node and
 * facet set 'rim'.
 * @param divisions cells along a side of the square, four of which go around; half as many lie between it and the rim
 * @param cell default 'quad4'
 */
export function disk(radius: number, divisions: number, cell: CellType = 'quad4'): Mesh {
  requireValue(radius, positive, 'disk: radius');
  requireValue(divisions, positiveInteger, 'disk: divisions');
  requireCell(cell, 2, 'disk');
  // Sides between straight lines and arcs keep the angles at the square's corners, 120° in the best case, from 180°.
  const half = 0.5 * radius;
  const bulge = 0.12 * radius;
  const side = (quarter: number, s: number): Point => {
    const along = half * (2 * s - 1);
    const out = half + bulge * (1 - (2 * s - 1) ** 2);
    return turned([out, along], quarter);
  };
  const centre = (s: number, t: number): Point => {
    // A Coons patch of the four bulging sides.
    const [x, y] = [2 * s - 1, 2 * t - 1];
    return [x * (half + bulge * (1 - y * y)), y * (half + bulge * (1 - x * x))];
  };
  const outwards = Math.max(1, Math.round(divisions / 2));
  const ring = [0, 1, 2, 3].map((quarter): Block => ({
    divisions: [outwards, divisions],
    at: (s, t) => between(side(quarter, t), onCircle(radius, (quarter + t - 0.5) * (Math.PI / 2)), s),
    names: {right: 'rim'},
  }));
  return fromBlocks([{divisions: [divisions, divisions], at: centre, names: {}}, ...ring], radius, cell);
}

const turned = ([x, y]: Point, quarters: number): Point => (quarters === 0 ? [x, y] : turned([-y, x], quarters - 1));

/**
 * A cylinder along z with its base at z = 0 around the origin: a `disk` drawn out. Its node and facet sets are 'side',
 * 'bottom' and 'top'.
 * @param divisions those of the disk, and how many layers
 * @param cell default 'hex8'
 */
export function cylinder(
  radius: number,
  height: number,
  [around, layers]: readonly [number, number],
  cell: CellType = 'hex8',
): Mesh {
  requireCell(cell, 3, 'cylinder');
  const {linear, order} = cellShape(cell);
  const base = disk(radius, around, linear === 'tet4' ? 'tri3' : 'quad4');
  const {nodes, facets} = base.sets;
  const named = {...base, sets: {nodes: {side: nodes.rim}, cells: {}, facets: {side: facets.rim}}};
  const solid = extruded(named, height, layers);
  if (order === 1) return solid;
  const quadratic = elevated(solid, cell);
  return curved(quadratic, 'side', ([x, y, z]) => [...scaledTo([x, y], radius), z]);
}

const scaledTo = ([x, y]: Point, radius: number): Point => {
  const size = Math.hypot(x, y);
  return [(x / size) * radius, (y / size) * radius];
};

/**
 * Moves the nodes of a set onto a curved boundary. Nodes in the middle of faces and cells follow, so that a cell stays
 * the image of its edges.
 */
function curved(mesh: Mesh, set: string, onto: (x: readonly number[]) => readonly number[]): Mesh {
  const members = new Set(mesh.sets.nodes[set]);
  const moved = withPoints(mesh, (x, node) => (members.has(node) ? onto(x) : x));
  const {points} = moved;
  const shape = cellShape('hex27');
  const rows = moved.cells.hex27 ?? new Int32Array();
  const place = (row: number, local: number, k: number): number => points[rows[row + local] * 3 + k];
  const edgeOf = (a: number, b: number): number =>
    8 + shape.edges.findIndex(edge => edge.includes(a) && edge.includes(b));
  for (let row = 0; row < rows.length; row += 27)
    for (let k = 0; k < 3; k++) {
      // Transfinite interpolation (Gordon & Hall 1973) at the middle of a face, and at that of the cell.
      let edges = 0;
      let corners = 0;
      for (let i = 0; i < 12; i++) edges += place(row, 8 + i, k);
      for (let i = 0; i < 8; i++) corners += place(row, i, k);
      points[rows[row + 26] * 3 + k] = edges / 4 - corners / 4;
      shape.faceNodes.forEach((face, f) => {
        if (members.has(rows[row + 20 + f])) return;
        let middles = 0;
        let ends = 0;
        face.forEach((corner, i) => {
          middles += place(row, edgeOf(corner, face[(i + 1) % 4]), k);
          ends += place(row, corner, k);
        });
        points[rows[row + 20 + f] * 3 + k] = middles / 2 - ends / 4;
      });
    }
  requireGoodCells(moved);
  return moved;
}

/**
 * A ring around the origin, or a sector of it from the x-axis on. Its node and facet sets are 'inner' and 'outer', and
 * of a sector 'start' and 'end'.
 * @param divisions cells from the inner to the outer circle, and around
 * @param options `angle` of a sector in radians, at most and by default 2π; `cell`, default 'quad4'
 */
export function annulus(
  inner: number,
  outer: number,
  [outwards, around]: readonly [number, number],
  options: {readonly angle?: number; readonly cell?: CellType} = {},
): Mesh {
  const {angle, cell} = readOptions(
    options,
    {angle: optional(positive, 2 * Math.PI), cell: optional(planeCell, 'quad4')},
    'annulus',
  );
  requireValue(inner, positive, 'annulus: inner');
  if (!(outer > inner) || !Number.isFinite(outer)) throw bad(`annulus: outer must be above inner, ${inner}.`);
  if (angle > 2 * Math.PI) throw bad('annulus: angle must be at most 2π.');
  const whole = angle === 2 * Math.PI;
  if (whole && around < 3) throw bad('annulus: a whole ring needs at least 3 cells around.');
  const names = {left: 'inner', right: 'outer', ...(whole ? {} : {bottom: 'start', top: 'end'})};
  const at = (s: number, t: number): Point => onCircle(inner + s * (outer - inner), t * angle);
  return fromBlocks([{divisions: [outwards, around], at, names}], outer, cell);
}

const planeCell = oneOf(...cellTypes.filter(type => cellShape(type).dimension === 2));

/**
 * A rectangular plate around the origin with a round hole in its middle, or the quarter of it with x ≥ 0 and y ≥ 0. Its
 * node and facet sets are 'left', 'right', 'bottom', 'top' and 'hole'; of a quarter, left and bottom are the cuts.
 * @param size its width and height
 * @param divisions cells from the hole to the edge, and along each eighth of the hole
 * @param options `quarter`, default false; `cell`, default 'quad4'; `grading`, how many times longer the cells at the
 *   edge are than those at the hole, default 4
 */
export function plateWithHole(
  [width, height]: readonly [number, number],
  radius: number,
  [outwards, along]: readonly [number, number],
  options: {readonly quarter?: boolean; readonly cell?: CellType; readonly grading?: number} = {},
): Mesh {
  const {quarter, cell, grading} = readOptions(
    options,
    {quarter: optional(boolean, false), cell: optional(planeCell, 'quad4'), grading: optional(positive, 4)},
    'plateWithHole',
  );
  requireValue(width, positive, 'plateWithHole: width');
  requireValue(height, positive, 'plateWithHole: height');
  requireValue(radius, positive, 'plateWithHole: radius');
  const [w, h] = [width / 2, height / 2];
  if (!(radius < Math.min(w, h))) throw bad('plateWithHole: radius must be below half of the width and the height.');
  // Distances along a ray grow geometrically from cell to cell.
  const ratio = outwards > 1 ? grading ** (1 / (outwards - 1)) : 1;
  const graded = (s: number): number => (ratio === 1 ? s : (ratio ** (outwards * s) - 1) / (ratio ** outwards - 1));
  const rim: readonly (readonly [Point, string])[] = [
    [[w, 0], 'right'],
    [[w, h], 'top'],
    [[0, h], 'top'],
    [[-w, h], 'left'], // prettier-ignore
    [[-w, 0], 'left'],
    [[-w, -h], 'bottom'],
    [[0, -h], 'bottom'],
    [[w, -h], 'right'], // prettier-ignore
  ];
  const corner = Math.atan2(h, w);
  const angles = [0, corner, Math.PI / 2, Math.PI - corner].flatMap(angle => [angle]);
  const angleOf = (i: number): number => angles[i % 4] + Math.PI * Math.floor(i / 4);
  const blocks = rim.slice(0, quarter ? 2 : 8).map(([from, side], i): Block => {
    const [to] = rim[(i + 1) % 8];
    return {
      divisions: [outwards, along],
      at: (s, t) => {
        const hole = onCircle(radius, angleOf(i) + t * (angleOf(i + 1) - angleOf(i)));
        return between(hole, between(from, to, t), graded(s));
      },
      names: {
        left: 'hole',
        right: side,
        ...(quarter && i === 0 ? {bottom: 'bottom'} : {}),
        ...(quarter && i === 1 ? {top: 'left'} : {}),
      },
    };
  });
  return fromBlocks(blocks, Math.hypot(w, h), cell);
}
