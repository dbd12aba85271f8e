/**
 * Vectors [x, y, z] and unit quaternions [w, x, y, z] of numbers, for building models; vectors.ts has them as tensors.
 */
import {readBy, type Check} from '../../lib/checks.js';
import {OptionError} from '../../lib/index.js';

export type V3 = readonly [number, number, number];
/** w first. */
export type Q4 = readonly [number, number, number, number];
/** Orthonormal and right-handed. */
export type Frame = readonly [V3, V3, V3];

export const origin: V3 = [0, 0, 0];
export const units: Frame = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
];
export const identity: Q4 = [1, 0, 0, 0];
export const plus = (a: V3, b: V3): V3 => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const minus = (a: V3, b: V3): V3 => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scaled = (s: number, a: V3): V3 => [s * a[0], s * a[1], s * a[2]];
export const inner = (a: V3, b: V3): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const outer = (a: V3, b: V3): V3 => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
export const norm = (a: V3): number => Math.hypot(...a);

/** From body axes to world axes. */
export function turned([w, ...u]: Q4, a: V3): V3 {
  const t = scaled(2, outer(u, a));
  return plus(a, plus(scaled(w, t), outer(u, t)));
}

/** From world axes to body axes. */
export const turnedBack = ([w, x, y, z]: Q4, a: V3): V3 => turned([w, -x, -y, -z], a);

/** A point of the world at the start in the axes of a body, from its centre. */
export const local = ({position, rotation}: {readonly position: V3; readonly rotation: Q4}, point: V3): V3 =>
  turnedBack(rotation, minus(point, position));

/** b first, then a. */
export function composed([aw, ...a]: Q4, [bw, ...b]: Q4): Q4 {
  return [aw * bw - inner(a, b), ...plus(plus(scaled(aw, b), scaled(bw, a)), outer(a, b))];
}

export const conjugate = ([w, x, y, z]: Q4): Q4 => [w, -x, -y, -z];

/** An orthonormal right-handed frame whose last axis is that direction. */
export function frameAlong(axis: V3): Frame {
  const e = scaled(1 / norm(axis), axis);
  // The coordinate axis furthest from it, so that the product is never short.
  const far = e.map(Math.abs).reduce((least, x, i, all) => (x < all[least] ? i : least), 0);
  const aside = outer(e, [0, 1, 2].map(i => (i === far ? 1 : 0)) as unknown as V3);
  const first = scaled(1 / norm(aside), aside);
  return [first, outer(e, first), e];
}

/** @throws OptionError 'bad-multibody' unless it is three finite numbers */
export function requireVector(value: unknown, name: string): V3 {
  if (Array.isArray(value) && value.length === 3 && value.every(Number.isFinite)) return value as unknown as V3;
  throw new OptionError(
    'bad-multibody',
    `${name} must be three finite numbers [x, y, z], not ${JSON.stringify(value)}.`,
  );
}

/** A direction of length one. @throws OptionError 'bad-multibody' if it is zero */
export function requireDirection(value: unknown, name: string): V3 {
  const given = requireVector(value, name);
  if (norm(given) > 0) return scaled(1 / norm(given), given);
  throw new OptionError('bad-multibody', `${name} must be a direction, not [0, 0, 0].`);
}

/** A quaternion of length one. @throws OptionError 'bad-multibody' */
export function requireRotation(value: unknown, name: string): Q4 {
  const given = value as Q4;
  if (Array.isArray(value) && value.length === 4 && value.every(Number.isFinite) && Math.hypot(...given) > 0)
    return given.map(x => x / Math.hypot(...given)) as unknown as Q4;
  throw new OptionError(
    'bad-multibody',
    `${name} must be a quaternion [w, x, y, z] that is not zero, not ${JSON.stringify(value)}.`,
  );
}

/** Options that are vectors, directions or rotations. @throws OptionError 'bad-multibody' */
export const vector: Check<V3> = readBy<V3>(requireVector);
export const direction: Check<V3> = readBy<V3>(requireDirection);
export const rotation: Check<Q4> = readBy<Q4>(requireRotation);
