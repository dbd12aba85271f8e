/**
 * What is seen of a mesh: its facets (faces of solids, cells of sheets and lines), each divided into flat pieces, so
 * that curved sides are curved and fields vary within a cell. Places and values of the pieces' corners are combinations
 * of those of nodes.
 */
import {OptionError} from '../lib/index.js';
import {
  bodyDimension,
  boundary,
  cellShape,
  shapeFunctions,
  typesIn,
  type CellType,
  type Mesh,
} from '../fem/internal.js';

/** A facet's pieces and sides by numbers of samples. */
interface Facet {
  /** Polygons, or pairs on a line. */
  readonly pieces: readonly (readonly number[])[];
  /** Edges between corners; none for a line. */
  readonly sides: readonly {readonly corners: string; readonly samples: readonly number[]}[];
  /** The cell that it belongs to. */
  readonly cell: number;
}

/** The facets of a mesh. */
export interface MeshSurface {
  /** 1 for lines, 2 for sheets and plane bodies, 3 for solids, whose facets have the normal outwards. */
  readonly dimension: 1 | 2 | 3;
  readonly facets: readonly Facet[];
  readonly samples: number;
  /** Values at samples, from values at nodes with as many components. */
  sampled(values: ArrayLike<number>, components: number): Float64Array;
}

/** The parts of a cell of one type, by numbers of the points of a grid in it. */
interface Division {
  readonly pieces: readonly (readonly number[])[];
  readonly sides: readonly (readonly number[])[];
  /** The value of each node's shape function at each point of the grid. */
  readonly weights: readonly (readonly number[])[];
}

/** A cell whose edges are each divided by k. */
function divided(type: CellType, k: number): Division {
  const {dimension, corners} = cellShape(type);
  const ofTriangle = corners === 3;
  const grid: number[][] = [];
  const at = new Map<string, number>();
  for (let j = 0; j <= (dimension === 1 ? 0 : k); j++)
    for (let i = 0; i <= (ofTriangle ? k - j : k); i++) {
      at.set(`${i},${j}`, grid.length);
      grid.push(ofTriangle ? [i / k, j / k] : [(2 * i) / k - 1, (2 * j) / k - 1].slice(0, dimension));
    }
  const point = (i: number, j: number): number | undefined => at.get(`${i},${j}`);
  const whole = (piece: readonly (number | undefined)[]): number[][] =>
    piece.includes(undefined) ? [] : [piece as number[]];
  const pieces: number[][] = [];
  for (let j = 0; j < (dimension === 1 ? 1 : k); j++)
    for (let i = 0; i < k; i++) {
      const [a, b, c, d] = [point(i, j), point(i + 1, j), point(i + 1, j + 1), point(i, j + 1)];
      if (dimension === 1) pieces.push(...whole([a, b]));
      else pieces.push(...(ofTriangle ? [...whole([a, b, d]), ...whole([b, c, d])] : whole([a, b, c, d])));
    }
  const ends = (ofTriangle ? [[0, 0], [k, 0], [0, k]] : [[0, 0], [k, 0], [k, k], [0, k]]) // prettier-ignore
    .map(([i, j]) => [i, j] as const);
  const steps = Array.from({length: k + 1}, (_, s) => s / k);
  const sides = ends.map(([i, j], c) => {
    const [p, q] = ends[(c + 1) % ends.length];
    return steps.map(s => point(Math.round(i + (p - i) * s), Math.round(j + (q - j) * s))!);
  });
  const N = shapeFunctions(type);
  return {pieces, sides: dimension === 1 ? [] : sides, weights: grid.map(ref => [...N(ref).values])};
}

/** @param divisions of an edge of linear and of quadratic cells, by the number of facets */
export function surfaceOf(mesh: Mesh, divisions: (facets: number, order: 1 | 2) => number): MeshSurface {
  const dimension = bodyDimension(mesh.cells);
  if (dimension === 0) throw new OptionError('bad-plot', 'drawMesh: the mesh has no cells but points.');
  const isSolid = dimension === 3;
  const drawn = typesIn(isSolid ? boundary(mesh) : mesh.cells).filter(
    ({shape}) => shape.dimension === Math.min(dimension, 2),
  );
  const count = drawn.reduce((sum, {shape, nodes}) => sum + nodes.length / shape.nodes, 0);
  const owners = isSolid ? ownersOf(mesh) : undefined;
  const combinations: {readonly nodes: readonly number[]; readonly weights: readonly number[]}[] = [];
  const atNode = new Map<number, number>();
  const sample = (nodes: readonly number[], weights: readonly number[]): number => {
    const node = weights.findIndex(w => Math.abs(w - 1) < 1e-12);
    const known = node < 0 ? undefined : atNode.get(nodes[node]);
    if (known !== undefined) return known;
    if (node >= 0) atNode.set(nodes[node], combinations.length);
    combinations.push(node < 0 ? {nodes, weights} : {nodes: [nodes[node]], weights: [1]});
    return combinations.length - 1;
  };
  const facets: Facet[] = [];
  for (const {shape, nodes} of drawn) {
    const {pieces, sides, weights} = divided(shape.type, divisions(count, shape.order));
    for (let i = 0; i < nodes.length; i += shape.nodes) {
      const own = Array.from(nodes.subarray(i, i + shape.nodes));
      const numbers = weights.map(row => sample(own, row));
      const corners = own.slice(0, shape.corners);
      facets.push({
        pieces: pieces.map(piece => piece.map(p => numbers[p])),
        sides: sides.map((side, c) => ({
          corners: keyOf([corners[c], corners[(c + 1) % corners.length]]),
          samples: side.map(p => numbers[p]),
        })),
        cell: owners?.get(keyOf(corners)) ?? facets.length,
      });
    }
  }
  return {
    dimension: dimension as 1 | 2 | 3,
    facets,
    samples: combinations.length,
    sampled: (values, components) => {
      const found = new Float64Array(combinations.length * components);
      combinations.forEach(({nodes, weights}, s) =>
        nodes.forEach((node, i) => {
          for (let c = 0; c < components; c++) found[s * components + c] += weights[i] * values[node * components + c];
        }),
      );
      return found;
    },
  };
}

const keyOf = (nodes: readonly number[]): string => [...nodes].sort((a, b) => a - b).join(' ');

/** The cell of each facet of a solid, by the facet's corners. */
function ownersOf({cells}: Mesh): Map<string, number> {
  const owners = new Map<string, number>();
  let cell = 0;
  for (const {shape, nodes} of typesIn(cells).filter(one => one.shape.dimension === 3))
    for (let i = 0; i < nodes.length; i += shape.nodes, cell++)
      for (const facet of shape.facets)
        owners.set(keyOf(facet.nodes.slice(0, cellShape(facet.type).corners).map(n => nodes[i + n])), cell);
  return owners;
}

/** Edges of facets that meet at a larger angle than this are drawn as the body's outline: cos 30°. */
const SHARP = Math.cos(Math.PI / 6);

/** Sides of facets at the rim and at sharp edges: a body's outline. @param normals of facets, of any length */
export function outlineOf({facets}: MeshSurface, normals: readonly (readonly number[])[]): (readonly number[])[] {
  const sides = new Map<string, {readonly samples: readonly number[]; readonly of: number[]}>();
  facets.forEach((facet, f) => {
    for (const {corners, samples} of facet.sides) {
      const known = sides.get(corners);
      if (known === undefined) sides.set(corners, {samples, of: [f]});
      else known.of.push(f);
    }
    if (facet.sides.length === 0) sides.set(`line ${f}`, {samples: facet.pieces.flat(), of: []});
  });
  const isSharp = ([a, b]: readonly number[]): boolean => {
    const dot = normals[a].reduce((sum, x, k) => sum + x * normals[b][k], 0);
    return dot < SHARP * Math.hypot(...normals[a]) * Math.hypot(...normals[b]);
  };
  return [...sides.values()].filter(({of}) => of.length !== 2 || isSharp(of)).map(({samples}) => samples);
}
