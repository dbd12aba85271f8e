/** Rotations and inertias as files write them: Euler's angles, axes and angles, matrices; numbers, no tensors. */
import {
  composed,
  identity,
  inner,
  minus,
  norm,
  origin,
  outer,
  plus,
  scaled,
  turned,
  type Q4,
  type V3,
} from '../multibody/numbers.js';
import type {M3, LinkPose, Weight} from './description.js';

export const unit = (q: Q4): Q4 => q.map(x => x / Math.hypot(...q)) as unknown as Q4;

export const aboutAxis = (axis: V3, angle: number): Q4 => {
  const [x, y, z] = scaled(Math.sin(angle / 2) / norm(axis), axis);
  return [Math.cos(angle / 2), x, y, z];
};

/** Turns one after the other: letters x, y, z about the axes that turn along, X, Y, Z about those that stay. */
export function fromEuler(angles: readonly number[], sequence: string): Q4 {
  return [...sequence].reduce<Q4>((rotation, letter, i) => {
    const axis = [...'xyz'].map(one => (one === letter.toLowerCase() ? 1 : 0)) as unknown as V3;
    const turn = aboutAxis(axis, angles[i]);
    return letter === letter.toLowerCase() ? composed(rotation, turn) : composed(turn, rotation);
  }, identity);
}

/** The quaternion of the rotation with these columns, from its largest component (Shepperd 1978). */
export function fromAxes(x: V3, y: V3, z: V3): Q4 {
  const trace = x[0] + y[1] + z[2];
  const squares = [trace, x[0] - y[1] - z[2], y[1] - x[0] - z[2], z[2] - x[0] - y[1]];
  switch (squares.indexOf(Math.max(...squares))) {
    case 0:
      return unit([1 + trace, y[2] - z[1], z[0] - x[2], x[1] - y[0]]);
    case 1:
      return unit([y[2] - z[1], 1 + squares[1], x[1] + y[0], z[0] + x[2]]);
    case 2:
      return unit([z[0] - x[2], x[1] + y[0], 1 + squares[2], y[2] + z[1]]);
    default:
      return unit([x[1] - y[0], z[0] + x[2], y[2] + z[1], 1 + squares[3]]);
  }
}

/** The shortest turn of the z axis to a direction. */
export function alongZ(direction: V3): Q4 {
  const [x, y, z] = scaled(1 / norm(direction), direction);
  // Straight down there are many; about x is one.
  return z < -1 + 1e-14 ? [0, 1, 0, 0] : unit([1 + z, -y, x, 0]);
}

/** x to a, y in the plane of a and b. */
export function fromXY(a: V3, b: V3): Q4 {
  const x = scaled(1 / norm(a), a);
  const rest = minus(b, scaled(inner(x, b), x));
  const y = scaled(1 / norm(rest), rest);
  return fromAxes(x, y, outer(x, y));
}

export const here: LinkPose = {position: origin, rotation: identity};

/** A place in the axes of another. */
export const within = (outside: LinkPose, {position, rotation}: LinkPose): LinkPose => ({
  position: plus(outside.position, turned(outside.rotation, position)),
  rotation: composed(outside.rotation, rotation),
});

export const diagonal = ([x, y, z]: V3): M3 => [
  [x, 0, 0],
  [0, y, 0],
  [0, 0, z],
];

export const isDiagonal = (m: M3): boolean => m.every((row, i) => row.every((x, j) => i === j || x === 0));

/** R M Rᵀ. */
export function turnedMatrix(rotation: Q4, m: M3): M3 {
  const axes = diagonal([1, 1, 1]).map(e => turned(rotation, e));
  const entry = (i: number, j: number): number =>
    [0, 1, 2].reduce((sum, k) => sum + [0, 1, 2].reduce((s, l) => s + axes[k][i] * m[k][l] * axes[l][j], 0), 0);
  // Symmetric to the last digit.
  const row = (i: number): V3 => [0, 1, 2].map(j => entry(Math.min(i, j), Math.max(i, j))) as unknown as V3;
  return [row(0), row(1), row(2)];
}

/** A weight whose inertia is principal at a place. */
export const principal = (mass: number, moments: V3, {position, rotation}: LinkPose): Weight => ({
  mass,
  centre: position,
  inertia: turnedMatrix(rotation, diagonal(moments)),
});

export const moved = (place: LinkPose, {mass, centre, inertia}: Weight): Weight => ({
  mass,
  centre: plus(place.position, turned(place.rotation, centre)),
  inertia: turnedMatrix(place.rotation, inertia),
});

/** All of them as one, by Steiner's theorem; undefined where they weigh nothing. */
export function together(weights: readonly Weight[]): Weight | undefined {
  const mass = weights.reduce((sum, weight) => sum + weight.mass, 0);
  if (!(mass > 0)) return undefined;
  const centre = weights.reduce<V3>((sum, weight) => plus(sum, scaled(weight.mass / mass, weight.centre)), origin);
  const rows = [0, 1, 2].map(i =>
    [0, 1, 2].map(j =>
      weights.reduce((sum, weight) => {
        const d = minus(weight.centre, centre);
        return sum + weight.inertia[i][j] + weight.mass * ((i === j ? inner(d, d) : 0) - d[i] * d[j]);
      }, 0),
    ),
  );
  return {mass, centre, inertia: rows as unknown as M3};
}
