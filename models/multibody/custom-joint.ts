/**
 * A joint of one's own: an equation of points of b as they are seen from a. Every joint of positions can be written so,
 * as three points carry a pose; the rows of the joints that ship (rows.ts) are batched over all joints of a kind, and
 * so are faster.
 */
import * as tf from '@tensorflow/tfjs';
import {callable, list, readOptions, typed, type Options} from '../../lib/checks.js';
import type {Params} from '../../lib/index.js';
import {OptionError, ShapeError} from '../../lib/index.js';
import type {BodyPose} from './bodies.js';
import {local, requireVector, turned, units} from './numbers.js';
import {Choice, constants, pointOf, type Instant} from './state.js';
import {add, rotateBack, scale, sub, type Vec} from './vectors.js';

/** The arguments of a custom joint's gap. */
export interface CustomJointAt {
  /**
   * Where the points of b are, [points, 3], seen from a: in world axes for the ground, and for a body in the axes that
   * are the world's at the start and move with it.
   */
  readonly points: tf.Tensor2D;
  readonly t: tf.Tensor;
  readonly params: Params;
}

const customOptions = {
  /** Points of b, in world coordinates at the start; the reaction's torque is about the first. */
  points: typed<readonly (readonly [number, number, number])[]>(list),
  /** Names of the rows in messages, one for each number of the gap. */
  rows: typed<readonly string[]>(list),
  /** [rows], traced like a force, of the points as a sees them. */
  gap: typed<(at: CustomJointAt) => tf.Tensor>(callable),
};

/** Made by `customJoint`. */
export interface CustomJoint extends Options<typeof customOptions> {
  readonly kind: 'custom';
  readonly a: string;
  readonly b: string;
}

/**
 * A joint of your own between a and b: `gap` is zero where it holds, and at the start.
 * @throws OptionError 'bad-multibody'; ShapeError 'custom-joint' when traced
 */
export function customJoint(a: string, b: string, spec: Options<typeof customOptions>): CustomJoint {
  const {points, rows, gap} = readOptions(spec, customOptions, 'customJoint', 'bad-multibody');
  if (typeof a !== 'string' || typeof b !== 'string' || a === b)
    throw new OptionError('bad-multibody', `customJoint joins two different bodies by name, or 'ground' and a body.`);
  if (points.length === 0 || rows.length === 0)
    throw new OptionError(
      'bad-multibody',
      'customJoint: points must be a list of points of b, and rows a list of names, one for each number of the gap.',
    );
  const read = points.map((point, i) => requireVector(point, `customJoint: points[${i}]`));
  return {kind: 'custom', a, b, points: read, rows, gap};
}

/** [rows]. */
export function customGap(
  {points, rows, gap}: CustomJoint,
  a: BodyPose,
  b: BodyPose,
  ground: number,
  {pose, t, params}: Pick<Instant, 'pose' | 't' | 'params'>,
): tf.Tensor {
  const [from, to] = [a, b].map(({index}) => new Choice(Array<number>(points.length).fill(index), ground));
  const there = pointOf(to.pose(pose), constants(points.map(point => local(b, point))));
  const {position, rotation} = from.pose(pose);
  const seen =
    position === undefined
      ? there
      : units.reduce<Vec>(
          (sum, axis, i) =>
            add(sum, scale(rotateBack(rotation, sub(there, position))[i], constants([turned(a.rotation, axis)]))),
          constants([a.position]),
        );
  const value = gap({points: tf.stack([...broadcast(seen, points.length)], 1) as tf.Tensor2D, t, params});
  if (!(value instanceof tf.Tensor) || value.size !== rows.length)
    throw new ShapeError(
      'custom-joint',
      `customJoint: gap must return a tensor of ${rows.length} numbers, `
        + `one for each of its rows (${rows.join(', ')}); `
        + `it returned ${value instanceof tf.Tensor ? `shape [${value.shape.join(', ')}]` : typeof value}.`,
    );
  return tf.reshape(value, [rows.length]);
}

const broadcast = (a: Vec, count: number): tf.Tensor[] => a.map(x => tf.broadcastTo(x, [count]));
