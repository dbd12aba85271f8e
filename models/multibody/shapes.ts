/**
 * Shapes of bodies as users give them: hulls of balls (a ball, two ends of a capsule, corners of a box or of any convex
 * body), ellipsoids, planes, and surfaces f = 0.
 */
import type * as tf from '@tensorflow/tfjs';
import {any, callable, positive, refuseUnknownOptions, requireValue} from '../../lib/checks.js';
import type {Params} from '../../lib/index.js';
import {OptionError} from '../../lib/index.js';
import {plus, requireDirection, requireVector, scaled, type V3} from './numbers.js';

/** Made by `sphere`, `capsule`, `box`, `ellipsoid`, `hull`, `plane`, `implicitSurface`, `heightField`. */
export interface Shape {
  readonly kind: ShapeKind;
  /** Balls of which the shape is the hull, with their centres in world coordinates at the start; of what is no hull of balls none. */
  readonly balls: (centre: readonly [number, number, number], turned: Turned) => readonly Ball[];
  /** A point of a plane, the centre of a box or an ellipsoid, the origin of a surface: world coordinates at the start. */
  readonly at?: readonly [number, number, number];
  /** Of a plane. */
  readonly normal?: readonly [number, number, number];
  /** Half edges of a box, half axes of an ellipsoid. */
  readonly half?: readonly [number, number, number];
  /** Of a surface. */
  readonly value?: SurfaceFunction;
}

/** The function that made a shape. */
export type ShapeKind =
  'sphere' | 'capsule' | 'box' | 'ellipsoid' | 'hull' | 'plane' | 'implicitSurface' | 'heightField';

/** f at points whose coordinates are tensors of one shape [n], element by element: positive outside of what is solid. */
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

type Point = readonly [number, number, number];

/**
 * A ball.
 * @param spec.at its centre, in world coordinates at the start; default the body's
 * @throws OptionError 'bad-multibody'
 */
export function sphere(spec: {readonly radius: number; readonly at?: Point}): Shape {
  refuseUnknownOptions(spec, {radius: any, at: any}, 'sphere', 'bad-multibody');
  requireValue(spec.radius, positive, 'sphere: radius', 'bad-multibody');
  const at = spec.at === undefined ? undefined : requireVector(spec.at, 'sphere: at');
  return {kind: 'sphere', balls: centre => [{centre: at ?? centre, radius: spec.radius}]};
}

/**
 * A cylinder with half balls at its ends; `from` and `to` are the ends of its axis, in world coordinates at the start.
 * @throws OptionError 'bad-multibody'
 */
export function capsule(spec: {readonly radius: number; readonly from: Point; readonly to: Point}): Shape {
  refuseUnknownOptions(spec, {radius: any, from: any, to: any}, 'capsule', 'bad-multibody');
  requireValue(spec.radius, positive, 'capsule: radius', 'bad-multibody');
  const {radius} = spec;
  const ends = [requireVector(spec.from, 'capsule: from'), requireVector(spec.to, 'capsule: to')];
  return {kind: 'capsule', balls: () => ends.map(centre => ({centre, radius}))};
}

/**
 * A box along the axes of its body.
 * @param spec.size of its edges [length]
 * @param spec.at its centre, in world coordinates at the start; default the body's
 * @throws OptionError 'bad-multibody'
 */
export function box(spec: {readonly size: Point; readonly at?: Point}): Shape {
  refuseUnknownOptions(spec, {size: any, at: any}, 'box', 'bad-multibody');
  const half = scaled(0.5, requireVector(spec.size, 'box: size'));
  if (!half.every(x => x > 0)) throw new OptionError('bad-multibody', 'box: size must be three positive lengths.');
  const at = spec.at === undefined ? undefined : requireVector(spec.at, 'box: at');
  const corners = [-1, 1].flatMap(x => [-1, 1].flatMap(y => [-1, 1].map((z): V3 => [x, y, z])));
  return {
    kind: 'box',
    half,
    ...(at === undefined ? {} : {at}),
    balls: (centre, turn) =>
      corners.map(sign => ({
        centre: plus(at ?? centre, turn([sign[0] * half[0], sign[1] * half[1], sign[2] * half[2]])),
        radius: 0,
      })),
  };
}

/**
 * All that lies behind a plane.
 * @param spec.at a point of it, in world coordinates at the start; default the origin
 * @param spec.normal out of what is solid; default [0, 0, 1]
 * @throws OptionError 'bad-multibody'
 */
export function plane(spec: {readonly at?: Point; readonly normal?: Point} = {}): Shape {
  refuseUnknownOptions(spec, {at: any, normal: any}, 'plane', 'bad-multibody');
  return {
    kind: 'plane',
    balls: () => [],
    at: requireVector(spec.at ?? [0, 0, 0], 'plane: at'),
    normal: requireDirection(spec.normal ?? [0, 0, 1], 'plane: normal'),
  };
}

/**
 * An ellipsoid along the axes of its body.
 * @param spec.radii its half axes [length]
 * @param spec.at its centre, in world coordinates at the start; default the body's
 * @throws OptionError 'bad-multibody'
 */
export function ellipsoid(spec: {readonly radii: Point; readonly at?: Point}): Shape {
  refuseUnknownOptions(spec, {radii: any, at: any}, 'ellipsoid', 'bad-multibody');
  const half = requireVector(spec.radii, 'ellipsoid: radii');
  if (!half.every(x => x > 0))
    throw new OptionError('bad-multibody', 'ellipsoid: radii must be three positive lengths.');
  const at = spec.at === undefined ? {} : {at: requireVector(spec.at, 'ellipsoid: at')};
  return {kind: 'ellipsoid', balls: () => [], half, ...at};
}

/**
 * The convex hull of points. On a plane every point is a contact of its own, so give none but its vertices.
 * @param spec.points in world coordinates at the start
 * @throws OptionError 'bad-multibody'
 */
export function hull(spec: {readonly points: readonly Point[]}): Shape {
  refuseUnknownOptions(spec, {points: any}, 'hull', 'bad-multibody');
  const {points} = spec;
  if (!Array.isArray(points) || points.length === 0)
    throw new OptionError('bad-multibody', 'hull: points must be a list of one point or more.');
  const all = points.map((point, i) => requireVector(point, `hull: points[${i}]`));
  return {kind: 'hull', balls: () => all.map(centre => ({centre, radius: 0}))};
}

/**
 * A smooth surface f(x, y, z) = 0, solid where f < 0, in the axes of its body.
 * @param spec.value f, element by element of tensors [n], with a gradient that is not zero near the surface; its units do not matter
 * @param spec.at where its origin is, in world coordinates at the start; default the centre of the body
 * @throws OptionError 'bad-multibody'
 */
export function implicitSurface(spec: {readonly value: SurfaceFunction; readonly at?: Point}): Shape {
  refuseUnknownOptions(spec, {value: any, at: any}, 'implicitSurface', 'bad-multibody');
  requireValue(spec.value, callable, 'implicitSurface: value', 'bad-multibody');
  const at = spec.at === undefined ? {} : {at: requireVector(spec.at, 'implicitSurface: at')};
  return {kind: 'implicitSurface', balls: () => [], value: spec.value, ...at};
}

/** What each shape can touch. */
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
    `${name}: ${String(one?.kind)} on ${String(other?.kind)} is not known; give a plane and a sphere, capsule, box, ellipsoid or hull, a sphere and a sphere, capsule, box, implicitSurface or heightField, two capsules, or two boxes.`,
  );
}
