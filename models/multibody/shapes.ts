/**
 * Shapes of bodies as users give them: hulls of balls (a ball, two ends of a capsule, corners of a box or of any convex
 * body), ellipsoids, planes, and surfaces f = 0.
 */
import type * as tf from '@tensorflow/tfjs';
import {
  callable,
  list,
  optional,
  positive,
  readBy,
  readOptions,
  typed,
  type Check,
  type Options,
} from '../../lib/checks.js';
import type {Params} from '../../lib/index.js';
import {OptionError} from '../../lib/index.js';
import {direction, plus, requireVector, scaled, vector, type V3} from './numbers.js';

/** Made by `sphere`, `capsule`, `box`, `ellipsoid`, `hull`, `plane`, `implicitSurface`, `heightField`. */
export interface Shape {
  readonly kind: ShapeKind;
  /** Balls of which the shape is the hull, with centres in world coordinates at the start; none for other shapes. */
  readonly balls: (centre: readonly [number, number, number], turned: Turned) => readonly Ball[];
  /**
   * A point of a plane, the centre of a box or an ellipsoid, the origin of a surface: world coordinates at the start.
   */
  readonly at?: readonly [number, number, number];
  /** Normal of a plane. */
  readonly normal?: readonly [number, number, number];
  /** Half edges of a box, half axes of an ellipsoid. */
  readonly half?: readonly [number, number, number];
  /** Function of a surface. */
  readonly value?: SurfaceFunction;
}

/** The function that made a shape. */
export type ShapeKind =
  'sphere' | 'capsule' | 'box' | 'ellipsoid' | 'hull' | 'plane' | 'implicitSurface' | 'heightField';

/**
 * f at points whose coordinates are tensors of one shape [n], element by element: positive outside of what is solid.
 */
export type SurfaceFunction = (at: {
  readonly x: tf.Tensor;
  readonly y: tf.Tensor;
  readonly z: tf.Tensor;
  readonly params: Params;
}) => tf.Tensor;

/** From body axes to world axes at the start. */
export type Turned = (a: readonly [number, number, number]) => readonly [number, number, number];

/** A centre in world coordinates at the start, and a radius. */
export interface Ball {
  readonly centre: readonly [number, number, number];
  readonly radius: number;
}

/** Three positive lengths. */
const lengths: Check<V3> = readBy((value, name) => {
  const given = requireVector(value, name);
  if (given.every(x => x > 0)) return given;
  throw new OptionError('bad-multibody', `${name} must be three positive lengths.`);
});

/** In world coordinates at the start; default the centre of the body. */
const centre = {at: optional(vector)};

const ballOptions = {radius: positive, ...centre};

/**
 * A ball.
 * @param spec.at its centre, in world coordinates at the start; default the body's
 * @throws OptionError 'bad-multibody'
 */
export function sphere(spec: Options<typeof ballOptions>): Shape {
  const {radius, at} = readOptions(spec, ballOptions, 'sphere', 'bad-multibody');
  return {kind: 'sphere', balls: own => [{centre: at ?? own, radius}]};
}

const capsuleOptions = {radius: positive, from: vector, to: vector};

/**
 * A cylinder with half balls at its ends; `from` and `to` are the ends of its axis, in world coordinates at the start.
 * @throws OptionError 'bad-multibody'
 */
export function capsule(spec: Options<typeof capsuleOptions>): Shape {
  const {radius, from, to} = readOptions(spec, capsuleOptions, 'capsule', 'bad-multibody');
  return {kind: 'capsule', balls: () => [from, to].map(end => ({centre: end, radius}))};
}

const signs = [-1, 1];
const corners = signs.flatMap(x => signs.flatMap(y => signs.map((z): V3 => [x, y, z])));
/** Corners of a box with these half edges, from its centre. */
export const cornersOf = (half: V3): V3[] => corners.map(([x, y, z]) => [x * half[0], y * half[1], z * half[2]]);

const boxOptions = {size: lengths, ...centre};

/**
 * A box along the axes of its body.
 * @param spec.size of its edges [length]
 * @param spec.at its centre, in world coordinates at the start; default the body's
 * @throws OptionError 'bad-multibody'
 */
export function box(spec: Options<typeof boxOptions>): Shape {
  const {size, at} = readOptions(spec, boxOptions, 'box', 'bad-multibody');
  const half = scaled(0.5, size);
  return {
    kind: 'box',
    half,
    at,
    balls: (own, turn) => cornersOf(half).map(corner => ({centre: plus(at ?? own, turn(corner)), radius: 0})),
  };
}

const planeOptions = {at: optional(vector, [0, 0, 0]), normal: optional(direction, [0, 0, 1])};

/**
 * All that lies behind a plane.
 * @param spec.at a point of it, in world coordinates at the start; default the origin
 * @param spec.normal out of what is solid; default [0, 0, 1]
 * @throws OptionError 'bad-multibody'
 */
export function plane(spec: Options<typeof planeOptions> = {}): Shape {
  return {kind: 'plane', balls: () => [], ...readOptions(spec, planeOptions, 'plane', 'bad-multibody')};
}

const ellipsoidOptions = {radii: lengths, ...centre};

/**
 * An ellipsoid along the axes of its body.
 * @param spec.radii its half axes [length]
 * @param spec.at its centre, in world coordinates at the start; default the body's
 * @throws OptionError 'bad-multibody'
 */
export function ellipsoid(spec: Options<typeof ellipsoidOptions>): Shape {
  const {radii: half, at} = readOptions(spec, ellipsoidOptions, 'ellipsoid', 'bad-multibody');
  return {kind: 'ellipsoid', balls: () => [], half, at};
}

const hullOptions = {points: typed<readonly (readonly [number, number, number])[]>(list)};

/**
 * The convex hull of points. On a plane every point is a contact of its own, so give none but its vertices.
 * @param spec.points in world coordinates at the start
 * @throws OptionError 'bad-multibody'
 */
export function hull(spec: Options<typeof hullOptions>): Shape {
  const {points} = readOptions(spec, hullOptions, 'hull', 'bad-multibody');
  if (points.length === 0) throw new OptionError('bad-multibody', 'hull: points must be a list of one point or more.');
  const all = points.map((point, i) => requireVector(point, `hull: points[${i}]`));
  return {kind: 'hull', balls: () => all.map(point => ({centre: point, radius: 0}))};
}

const surfaceOptions = {value: typed<SurfaceFunction>(callable), ...centre};

/**
 * A smooth surface f(x, y, z) = 0, solid where f < 0, in the axes of its body.
 * @param spec.value f, element by element of tensors [n], with a gradient that is not zero near the surface; its units
 *   do not matter
 * @param spec.at where its origin is, in world coordinates at the start; default the centre of the body
 * @throws OptionError 'bad-multibody'
 */
export function implicitSurface(spec: Options<typeof surfaceOptions>): Shape {
  const read = readOptions(spec, surfaceOptions, 'implicitSurface', 'bad-multibody');
  return {kind: 'implicitSurface', balls: () => [], ...read};
}

/** Shapes that each shape can touch. */
const partners: {readonly [over in ShapeKind]: readonly ShapeKind[]} = {
  sphere: ['plane', 'sphere', 'capsule', 'box', 'implicitSurface', 'heightField'],
  capsule: ['plane', 'capsule'],
  box: ['plane', 'box'],
  ellipsoid: ['plane'],
  hull: ['plane'],
  plane: [],
  implicitSurface: [],
  heightField: [],
};

/** Whether the second of two shapes is what the first lies on. */
export const liesOn = (over: Shape, under: Shape): boolean => partners[over.kind].includes(under.kind);

/** @throws OptionError 'bad-multibody' where these two cannot touch */
export function requireShapes(shapes: readonly [Shape, Shape], name: string): void {
  const [one, other] = [shapes?.[0], shapes?.[1]];
  const known = (shape: Shape | undefined): shape is Shape =>
    shape !== undefined && Object.hasOwn(partners, shape.kind);
  if (known(one) && known(other) && (liesOn(one, other) || liesOn(other, one))) return;
  throw new OptionError(
    'bad-multibody',
    `${name}: ${String(one?.kind)} on ${String(other?.kind)} is not known; give a plane and a sphere, capsule, box, `
      + 'ellipsoid or hull, a sphere and a sphere, capsule, box, implicitSurface or heightField, two capsules, '
      + 'or two boxes.',
  );
}
