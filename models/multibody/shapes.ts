/** Shapes of bodies as users give them: hulls of balls (a ball, two ends of a capsule, eight corners of a box), and planes. */
import {any, positive, refuseUnknownOptions, requireValue} from '../../lib/checks.js';
import {OptionError} from '../../lib/index.js';
import {plus, requireDirection, requireVector, scaled, type V3} from './numbers.js';

/** Made by `sphere`, `capsule`, `box`, `plane`. */
export interface Shape {
  readonly kind: 'sphere' | 'capsule' | 'box' | 'plane';
  /** Balls of which the shape is the hull, with their centres in world coordinates at the start; of a plane none. */
  readonly balls: (centre: readonly [number, number, number], turned: Turned) => readonly Ball[];
  /** A point of a plane and its normal, world coordinates at the start. */
  readonly at?: readonly [number, number, number];
  readonly normal?: readonly [number, number, number];
}

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

/** @throws OptionError 'bad-multibody' where these two cannot touch */
export function requireShapes(shapes: readonly [Shape, Shape], name: string): void {
  const [one, other] = [shapes?.[0]?.kind, shapes?.[1]?.kind];
  const planes = [one, other].filter(kind => kind === 'plane').length;
  if (!(planes === 1 || (one === 'sphere' && other === 'sphere')))
    throw new OptionError(
      'bad-multibody',
      `${name}: ${String(one)} on ${String(other)} is not known; give a plane and a sphere, capsule or box, or two spheres.`,
    );
}
