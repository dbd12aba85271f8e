/**
 * Triangles in a polygon with holes: points along the sides and on a triangular lattice inside, their Delaunay
 * triangulation (the package delaunator), some rounds of smoothing. A side that the triangulation does not contain is
 * split until it does (Ruppert, J. Algorithms 18, 1995, without the refinement for angles).
 */
import Delaunator from 'delaunator';
import {list, listOf, oneOf, optional, positive, readOptions, requireValue, typed} from '../../lib/checks.js';
import type {CellType} from './cell-types.js';
import {bad, type Mesh} from './mesh.js';
import {elevated} from './refine.js';
import {requireGoodCells} from './quality.js';

type Point = readonly [number, number];

/** A piece of a side: numbers of its end points, and of the side in `names`. */
type Segment = readonly [from: number, to: number, side: number];

/**
 * Least distance of inner points from the sides, in lengths of an edge: half the height of an equilateral triangle and
 * a little more, so that triangles along a side are no flatter than 45°.
 */
const clearance = 0.55;
/** Rounds in which each inner point moves to the mean of its neighbours: more change angles by less than a degree. */
const smoothings = 6;
/** Halvings of a side that is missing: of corners nearer than that no double precision triangulation tells. */
const mostSplits = 30;

/**
 * Triangles of about one size in a polygon. The pieces of side i, from corner i to the next, are the node and facet set
 * `side<i>`; those of hole i together are `hole<i>`.
 * @param corners of the outline, in either direction, the first one not repeated
 * @param options `h`, the length of edges; `holes`, further outlines inside; `cell`, 'tri3' (default) or 'tri6'
 * @throws OptionError 'bad-mesh' where outlines cross themselves or each other, or a hole lies outside
 */
export function polygon(
  corners: readonly Point[],
  options: {readonly h: number; readonly holes?: readonly (readonly Point[])[]; readonly cell?: CellType},
): Mesh {
  const {h, holes, cell} = readOptions(
    options,
    {
      h: positive,
      holes: optional(listOf('outlines', typed<readonly Point[]>(list)), []),
      cell: optional(oneOf<CellType>('tri3', 'tri6'), 'tri3'),
    },
    'polygon',
  );
  const loops = [corners, ...holes];
  loops.forEach((loop, i) => requireLoop(loop, i === 0 ? 'corners' : `holes[${i - 1}]`));
  requireApart(loops);
  const outline = new Outline(loops, h);
  const inner = latticePoints(loops, outline, h);
  const mesh = triangulated(outline, inner, loops, h);
  requireGoodCells(mesh);
  return cell === 'tri6' ? elevated(mesh, 'tri6') : mesh;
}

function requireLoop(loop: readonly Point[], name: string): void {
  requireValue(loop, list, `polygon: ${name}`);
  if (loop.length < 3) throw bad(`polygon: ${name} needs at least 3 corners.`);
  loop.forEach((corner, i) => {
    if (corner.length !== 2 || !corner.every(Number.isFinite))
      throw bad(`polygon: ${name}[${i}] must be a pair of finite numbers.`);
  });
}

/** @throws OptionError where two sides touch that are no neighbours, or a hole lies outside */
function requireApart(loops: readonly (readonly Point[])[]): void {
  const sides = loops.flatMap((loop, l) =>
    loop.map((from, i) => ({from, to: loop[(i + 1) % loop.length], l, i, count: loop.length})),
  );
  sides.forEach((a, n) => {
    if (a.from[0] === a.to[0] && a.from[1] === a.to[1])
      throw bad(`polygon: corners ${a.i} and ${(a.i + 1) % a.count} of ${loopName(a.l)} are at one place.`);
    for (const b of sides.slice(n + 1)) {
      const neighbours = a.l === b.l && (Math.abs(a.i - b.i) === 1 || Math.abs(a.i - b.i) === a.count - 1);
      if (!neighbours && cross(a, b))
        throw bad(`polygon: side ${a.i} of ${loopName(a.l)} crosses or touches side ${b.i} of ${loopName(b.l)}.`);
    }
  });
  loops.slice(1).forEach((hole, i) => {
    const others = loops.filter((_, l) => l !== i + 1);
    if (!isInside(hole[0], others)) throw bad(`polygon: ${loopName(i + 1)} lies outside, or within another hole.`);
  });
}

const loopName = (l: number): string => (l === 0 ? 'the outline' : `holes[${l - 1}]`);

const turn = (a: Point, b: Point, c: Point): number =>
  Math.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));

interface Side {
  readonly from: Point;
  readonly to: Point;
}

function cross({from: a, to: b}: Side, {from: c, to: d}: Side): boolean {
  const spans = (p: Point, k: 0 | 1): boolean => Math.min(a[k], b[k]) <= p[k] && p[k] <= Math.max(a[k], b[k]);
  const within = (p: Point): boolean => spans(p, 0) && spans(p, 1);
  const [p, q, r, s] = [turn(a, b, c), turn(a, b, d), turn(c, d, a), turn(c, d, b)];
  if (p === 0 && within(c)) return true;
  if (q === 0 && within(d)) return true;
  return p * q < 0 && r * s <= 0;
}

/** Even-odd rule over all outlines. */
function isInside([x, y]: Point, loops: readonly (readonly Point[])[]): boolean {
  let inside = false;
  for (const loop of loops)
    loop.forEach(([ax, ay], i) => {
      const [bx, by] = loop[(i + 1) % loop.length];
      if (ay > y !== by > y && x < ax + ((y - ay) / (by - ay)) * (bx - ax)) inside = !inside;
    });
  return inside;
}

/** Twice the area, above zero where the outline is counterclockwise. */
const doubleArea = (loop: readonly Point[]): number =>
  loop.reduce((sum, [x, y], i) => {
    const [u, v] = loop[(i + 1) % loop.length];
    return sum + x * v - u * y;
  }, 0);

/** The sides in pieces, with the body on their left. */
class Outline {
  readonly points: Point[] = [];
  segments: Segment[] = [];
  readonly names: string[] = [];

  constructor(loops: readonly (readonly Point[])[], h: number) {
    loops.forEach((loop, l) => {
      const first = this.points.length;
      const forwards = doubleArea(loop) > 0 === (l === 0);
      const chain: [Point, number][] = [];
      loop.forEach((from, i) => {
        const to = loop[(i + 1) % loop.length];
        if (l === 0 || i === 0) this.names.push(l === 0 ? `side${i}` : `hole${l - 1}`);
        const side = this.names.length - 1;
        const pieces = Math.max(1, Math.ceil(Math.hypot(to[0] - from[0], to[1] - from[1]) / h - 1e-9));
        for (let k = 0; k < pieces; k++) {
          const t = k / pieces;
          chain.push([[from[0] + t * (to[0] - from[0]), from[1] + t * (to[1] - from[1])], side]);
        }
      });
      chain.forEach(([point, side], i) => {
        this.points.push(point);
        const [a, b] = [first + i, first + ((i + 1) % chain.length)];
        this.segments.push(forwards ? [a, b, side] : [b, a, side]);
      });
    });
  }

  /** Halves those segments for which `missing` is true. @returns their new points */
  halve(missing: (segment: Segment) => boolean): Point[] {
    const added: Point[] = [];
    this.segments = this.segments.flatMap((segment): Segment[] => {
      if (!missing(segment)) return [segment];
      const [a, b, side] = segment;
      const [[ax, ay], [bx, by]] = [this.points[a], this.points[b]];
      const middle: Point = [(ax + bx) / 2, (ay + by) / 2];
      added.push(middle);
      const number = this.points.push(middle) - 1;
      return [[a, number, side], [number, b, side]]; // prettier-ignore
    });
    return added;
  }
}

/** Points of a triangular lattice inside, not too near to a side. */
function latticePoints(loops: readonly (readonly Point[])[], {points, segments}: Outline, h: number): Point[] {
  const xs = loops[0].map(([x]) => x);
  const ys = loops[0].map(([, y]) => y);
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const rowHeight = (Math.sqrt(3) / 2) * h;
  const near = new Map<string, Segment[]>();
  const bucket = (x: number, y: number): string => `${Math.floor(x / h)},${Math.floor(y / h)}`;
  for (const segment of segments) {
    const [x, y] = points[segment[0]];
    const key = bucket(x, y);
    near.set(key, [...(near.get(key) ?? []), segment]);
  }
  const isNear = (p: Point): boolean => {
    // A segment is no longer than h: one that is near begins in one of these buckets.
    for (let i = -2; i <= 2; i++)
      for (let j = -2; j <= 2; j++)
        for (const [a, b] of near.get(bucket(p[0] + i * h, p[1] + j * h)) ?? [])
          if (distance(p, points[a], points[b]) < clearance * h) return true;
    return false;
  };
  const found: Point[] = [];
  for (let row = 1; low + row * rowHeight < high; row++)
    for (let x = left + (row % 2 === 0 ? 0.5 : 1) * h; x < right; x += h) {
      const point: Point = [x, low + row * rowHeight];
      if (isInside(point, loops) && !isNear(point)) found.push(point);
    }
  return found;
}

function distance([x, y]: Point, [ax, ay]: Point, [bx, by]: Point): number {
  const [dx, dy] = [bx - ax, by - ay];
  const t = Math.min(1, Math.max(0, ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy)));
  return Math.hypot(x - ax - t * dx, y - ay - t * dy);
}

/** Smooths the inner points and triangulates, until every piece of a side is an edge. */
function triangulated(
  outline: Outline,
  given: readonly Point[],
  loops: readonly (readonly Point[])[],
  h: number,
): Mesh {
  let inner = [...given];
  for (let splits = 0, round = 0; splits < mostSplits;) {
    const points = [...outline.points, ...inner];
    const triangles = insideTriangles(points, loops, h);
    const edges = new Set<number>();
    for (let i = 0; i < triangles.length; i++)
      edges.add(triangles[i] * points.length + triangles[i - (i % 3) + ((i + 1) % 3)]);
    const isMissing = ([a, b]: Segment): boolean => !edges.has(a * points.length + b);
    if (outline.segments.some(isMissing)) {
      const added = outline.halve(isMissing);
      inner = inner.filter(point =>
        added.every(middle => Math.hypot(point[0] - middle[0], point[1] - middle[1]) > h / 2),
      );
      splits++;
    } else if (round++ < smoothings) inner = smoothed(points, triangles, outline.points.length);
    else return meshFrom(outline, points, triangles);
  }
  throw bad('polygon: corners or sides are too near to each other; no triangulation has all sides.');
}

/** Triangles whose centroid lies inside, counterclockwise, without flat ones along a side. */
function insideTriangles(points: readonly Point[], loops: readonly (readonly Point[])[], h: number): number[] {
  const {triangles} = new Delaunator(Float64Array.from(points.flat()));
  const found: number[] = [];
  for (let i = 0; i < triangles.length; i += 3) {
    // delaunator orders them for an axis y that points downwards.
    const [a, c, b] = [triangles[i], triangles[i + 1], triangles[i + 2]];
    const [p, q, r] = [points[a], points[b], points[c]];
    const area = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
    // Points of one straight side may be off it by rounding.
    if (Math.abs(area) < 1e-10 * h * Math.max(distanceOf(p, q), distanceOf(q, r), distanceOf(r, p))) continue;
    const centroid: Point = [(p[0] + q[0] + r[0]) / 3, (p[1] + q[1] + r[1]) / 3];
    if (isInside(centroid, loops)) found.push(...(area > 0 ? [a, b, c] : [a, c, b]));
  }
  return found;
}

const distanceOf = (a: Point, b: Point): number => Math.hypot(a[0] - b[0], a[1] - b[1]);

/** The inner points, from number `first` on, at the means of their neighbours. */
function smoothed(points: readonly Point[], triangles: readonly number[], first: number): Point[] {
  const sums = points.map(() => [0, 0, 0]);
  triangles.forEach((node, i) => {
    // An inner edge is counted from both sides, so that every neighbour of an inner point counts twice.
    for (const step of [1, 2]) {
      const other = points[triangles[i - (i % 3) + ((i + step) % 3)]];
      sums[node][0] += other[0];
      sums[node][1] += other[1];
      sums[node][2]++;
    }
  });
  return points.slice(first).map(([x, y], i): Point => {
    const [sx, sy, count] = sums[first + i];
    return count === 0 ? [x, y] : [sx / count, sy / count];
  });
}

function meshFrom({segments, names}: Outline, points: readonly Point[], triangles: readonly number[]): Mesh {
  const facets = names.map((_, side) =>
    Int32Array.from(segments.filter(segment => segment[2] === side).flatMap(([a, b]) => [a, b])),
  );
  return {
    points: Float64Array.from(points.flat()),
    dimension: 2,
    cells: {tri3: Int32Array.from(triangles)},
    sets: {
      nodes: Object.fromEntries(names.map((name, i) => [name, Int32Array.from(new Set(facets[i])).sort()])),
      cells: {},
      facets: Object.fromEntries(names.map((name, i) => [name, {line2: facets[i]}])),
    },
    fields: {points: {}, cells: {}},
  };
}
