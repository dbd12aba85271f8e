/**
 * Rigid bodies in the plane: q [bodies, 3] holds the centre of mass (x, y) and the angle of each, in
 * radians. The mass is diagonal and constant, so no velocity terms belong to the forces. Pins are
 * bilateral rows, all gathered at once: a graph of the same few nodes for any number of joints.
 */
import * as tf from '@tensorflow/tfjs';
import {readOptions, type Options} from '../lib/checks.js';
import type {Constraint, Mass} from '../lib/index.js';
import {bilateral, OptionError, ShapeError} from '../lib/index.js';
import {constantTensor} from '../lib/internal.js';
import type {Coefficient} from './coefficient.js';
import {quantity} from './coefficient.js';
import type {ConservativeTerm} from './energy.js';
import {gravity, standardGravity} from './gravity.js';

const planarOptions = {
  /** [mass], one number or [bodies]. */
  mass: quantity('positive'),
  /** About the centre of mass [mass · length²], one number or [bodies]; m l²/12 for a slender bar. */
  inertia: quantity('positive'),
};

/** Bodies in the plane: their masses and moments of inertia. @interface */
export type PlanarBodiesSpec = Options<typeof planarOptions>;

/**
 * The mass of planar bodies, [bodies, 3].
 * @throws OptionError 'bad-coefficient'; ShapeError 'planar-shape', 'coefficient-shape' when traced
 */
export function lumpedMass(spec: PlanarBodiesSpec): Mass {
  const {mass, inertia} = readOptions(spec, planarOptions, 'planarBodies.lumpedMass');
  return ({q, params}) => {
    const bodies = requirePlanar(q, 'planarBodies.lumpedMass');
    const column = (read: typeof mass): tf.Tensor =>
      tf.reshape(tf.broadcastTo(read(params, [bodies], 'the bodies'), [bodies]), [bodies, 1]);
    return tf.concat([column(mass), column(mass), column(inertia)], 1);
  };
}

/** Gravity on planar bodies along −y; g [length / time²], default 9.80665. */
export function weight(mass: Mass, g: Coefficient = standardGravity): ConservativeTerm {
  return gravity({mass, g, direction: [0, -1, 0]});
}

/** A point of a body, in the body's frame (at its centre of mass, rotated by its angle); for the ground, in space. */
export interface BodyPoint {
  readonly body: number | 'ground';
  readonly at: readonly [number, number];
}

/** Two points that coincide: a revolute joint. */
export type Pin = readonly [BodyPoint, BodyPoint];

/**
 * Positions of points of bodies in space, [points, 2].
 * @throws OptionError 'bad-pin'; when traced ShapeError 'planar-shape', OptionError 'body-out-of-range'
 */
export function bodyPoints(points: readonly BodyPoint[]): (q: tf.Tensor) => tf.Tensor {
  points.forEach((point, index) => checkPoint(point, index));
  const offsets = (axis: 0 | 1): tf.Tensor =>
    constantTensor(
      Float64Array.from(points, ({at}) => at[axis]),
      [points.length],
    );
  return q => {
    const bodies = requirePlanar(q, 'bodyPoints');
    const beyond = points.find(({body}) => body !== 'ground' && body >= bodies);
    if (beyond !== undefined)
      throw new OptionError(
        'body-out-of-range',
        `bodyPoints: there is no body ${beyond.body}; q of shape [${q.shape.join(', ')}] has bodies 0 to `
          + `${bodies - 1}.`,
        {body: beyond.body, bodies},
      );
    // The ground is one more body, which rests at the origin.
    const bodyOf = Int32Array.from(points, ({body}) => (body === 'ground' ? bodies : body));
    const rows = tf.tensor1d(bodyOf, 'int32');
    const all = tf.gather(tf.concat([q, tf.zeros([1, 3])]), rows);
    const column = (i: number): tf.Tensor => tf.reshape(tf.slice(all, [0, i], [points.length, 1]), [points.length]);
    const [c, s] = [tf.cos(column(2)), tf.sin(column(2))];
    const [a, b] = [offsets(0), offsets(1)];
    return tf.stack(
      [tf.add(column(0), tf.sub(tf.mul(c, a), tf.mul(s, b))), tf.add(column(1), tf.add(tf.mul(s, a), tf.mul(c, b)))],
      1,
    );
  };
}

/**
 * Revolute joints. λ [2 joints] is the force on the first point of each joint, x and y; the second has the
 * opposite one. Redundant joints are allowed (see docs/constraints.md).
 * @throws as `bodyPoints`
 */
export function pins(joints: readonly Pin[]): Constraint {
  const given: unknown = joints;
  if (!Array.isArray(given) || given.length === 0)
    throw new OptionError('bad-pin', 'pins takes a list of at least one pair of body points.');
  const [first, second] = [0, 1].map(side => bodyPoints(joints.map(joint => joint[side])));
  return bilateral(({q}) => tf.reshape(tf.sub(first(q), second(q)), [2 * joints.length]));
}

function checkPoint({body, at}: BodyPoint, index: number): void {
  const known = body === 'ground' || (Number.isInteger(body) && body >= 0);
  if (known && at.length === 2 && at.every(Number.isFinite)) return;
  throw new OptionError(
    'bad-pin',
    `bodyPoints: point ${index} is ${JSON.stringify({body, at})}; `
      + "give a body number (or 'ground') and two finite coordinates.",
    {index},
  );
}

function requirePlanar(q: tf.Tensor, name: string): number {
  if (q.shape.length === 2 && q.shape[1] === 3) return q.shape[0];
  throw new ShapeError(
    'planar-shape',
    `${name}: q has shape [${q.shape.join(', ')}]; planar bodies need [bodies, 3]: x, y and the angle of each.`,
    {q: q.shape},
  );
}
