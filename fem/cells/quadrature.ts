/**
 * Quadrature on reference cells: Gauss and Legendre's rules and their products; on triangles and tetrahedra symmetric
 * rules of few points (Strang & Fix 1973; Dunavant, Int. J. Numer. Meth. Engng 21, 1985), beyond them products on a
 * collapsed cube (Stroud 1971).
 */
import {cellShape, type CellType} from '../mesh/cell-types.js';
import {isSimplex} from './shape-functions.js';

/** Points in reference coordinates, and a weight for each. */
export interface Quadrature {
  readonly points: readonly (readonly number[])[];
  readonly weights: readonly number[];
}

/** Gauss and Legendre's rule on [−1, 1], exact to degree 2 n − 1. */
export function gaussLegendre(n: number): Quadrature {
  const points: number[][] = [];
  const weights: number[] = [];
  for (let i = 0; i < n; i++) {
    let x = -Math.cos((Math.PI * (i + 0.75)) / (n + 0.5));
    let slope = 1;
    for (let iteration = 0; iteration < 8; iteration++) {
      let [before, value] = [1, x];
      for (let k = 2; k <= n; k++) [before, value] = [value, ((2 * k - 1) * x * value - (k - 1) * before) / k];
      slope = n === 1 ? 1 : (n * (x * value - before)) / (x * x - 1);
      x -= value / slope;
    }
    points.push([x]);
    weights.push(2 / ((1 - x * x) * slope * slope));
  }
  return {points, weights};
}

/** The product of one rule in so many dimensions; the first coordinate runs fastest. */
function power({points, weights}: Quadrature, dimension: number): Quadrature {
  let all: {point: number[]; weight: number}[] = [{point: [], weight: 1}];
  for (let k = 0; k < dimension; k++)
    all = points.flatMap(([x], i) =>
      all.map(({point, weight}) => ({point: [...point, x], weight: weight * weights[i]})),
    );
  return {points: all.map(({point}) => point), weights: all.map(({weight}) => weight)};
}

/** A rule whose points have barycentric coordinates that are all arrangements of those given. */
function symmetric(dimension: number, orbits: readonly {coordinates: readonly number[]; weight: number}[]): Quadrature {
  const volume = dimension === 2 ? 1 / 2 : 1 / 6;
  const all = orbits.flatMap(({coordinates, weight}) => {
    const [first, ...rest] = coordinates;
    const places = rest.every(x => Math.abs(x - first) < 1e-15) ? [0] : coordinates.map((_, i) => i);
    return places.map(place => ({
      point: coordinates.map((_, i) => (i === place ? first : rest[0])).slice(1),
      weight: weight * volume,
    }));
  });
  return {points: all.map(({point}) => point), weights: all.map(({weight}) => weight)};
}

const orbit = (first: number, corners: number, weight: number): {coordinates: number[]; weight: number} => ({
  coordinates: [first, ...new Array<number>(corners - 1).fill((1 - first) / (corners - 1))],
  weight,
});

function simplexRule(dimension: number, degree: number): Quadrature {
  const corners = dimension + 1;
  if (degree <= 1) return symmetric(dimension, [orbit(1 / corners, corners, 1)]);
  if (degree === 2)
    return symmetric(dimension, [orbit(dimension === 2 ? 2 / 3 : (5 + 3 * Math.sqrt(5)) / 20, corners, 1 / corners)]);
  if (degree <= 4 && dimension === 2)
    return symmetric(2, [
      orbit(0.108103018168070, 3, 0.223381589678011), // prettier-ignore
      orbit(0.816847572980459, 3, 0.109951743655322),
    ]);
  return collapsed(dimension, degree);
}

/** The cube [0, 1]ᵈ folded to a simplex, where x = s, y = (1 − s) t, z = (1 − s)(1 − t) u. */
function collapsed(dimension: number, degree: number): Quadrature {
  const cube = power(gaussLegendre(Math.ceil((degree + dimension) / 2)), dimension);
  const weights: number[] = [];
  const points = cube.points.map((point, i) => {
    let rest = 1;
    let weight = cube.weights[i] / 2 ** dimension;
    const folded = point.map((x, k) => {
      const s = (1 + x) / 2;
      const here = rest * s;
      weight *= (1 - s) ** (dimension - 1 - k);
      rest *= 1 - s;
      return here;
    });
    weights.push(weight);
    return folded;
  });
  return {points, weights};
}

/** A rule on a type of cell that is exact for polynomials of this degree (in each coordinate, for products). */
export function quadrature(type: CellType, degree: number): Quadrature {
  const shape = cellShape(type);
  if (isSimplex(shape)) return simplexRule(shape.dimension, degree);
  return power(gaussLegendre(Math.ceil((degree + 1) / 2)), shape.dimension);
}

/** The degree that stiffness needs: all terms of an undistorted cell. */
export function stiffnessDegree(type: CellType): number {
  const shape = cellShape(type);
  if (isSimplex(shape)) return shape.order === 1 ? 1 : 2;
  return shape.order === 1 ? 3 : 5;
}

/** The degree that products of two shape functions need. */
export function massDegree(type: CellType): number {
  const shape = cellShape(type);
  if (isSimplex(shape)) return 2 * shape.order;
  return shape.order === 1 ? 3 : 5;
}
