/**
 * The state of rigid bodies by components. In maximal coordinates q [bodies, 7] holds the centre of mass in world axes
 * and the rotation as a unit quaternion, v [bodies, 6] the velocity of the centre in world axes and the angular
 * velocity in body axes. The ground is one more body, the last, which rests at the origin.
 */
import * as tf from '@tensorflow/tfjs';
import {constantTensor} from '../../lib/index.js';
import {cross, rateOf, rotate, add, type Quat, type Vec} from './vectors.js';
import type {V3} from './numbers.js';

/** Where bodies are; the ground the last. */
export interface Pose {
  readonly position: Vec;
  readonly rotation: Quat;
}

/** How bodies move; the ground the last. */
export interface Twist {
  /** Of the centre, world axes. */
  readonly velocity: Vec;
  /** Body axes. */
  readonly omega: Vec;
}

/** Force at the centre in world axes, torque about it in body axes. */
export interface Wrench {
  readonly force: Vec;
  readonly torque: Vec;
}

const withGround = (column: tf.Tensor, value: number): tf.Tensor => tf.concat([column, constantTensor(value, [1])]);

/** @param q [bodies, 7] */
export function poseOf(q: tf.Tensor): Pose {
  const [x, y, z, w, i, j, k] = tf.unstack(q, 1);
  const ground = [0, 0, 0, 1, 0, 0, 0];
  const all = [x, y, z, w, i, j, k].map((column, axis) => withGround(column, ground[axis]));
  return {position: [all[0], all[1], all[2]], rotation: [all[3], all[4], all[5], all[6]]};
}

/** @param v [bodies, 6] */
export function twistOf(v: tf.Tensor): Twist {
  const all = tf.unstack(v, 1).map(column => withGround(column, 0));
  return {velocity: [all[0], all[1], all[2]], omega: [all[3], all[4], all[5]]};
}

/** q' of [bodies, 7] for v [bodies, 6]. */
export function rateOfPose(q: tf.Tensor, v: tf.Tensor): tf.Tensor {
  const [, , , w, i, j, k] = tf.unstack(q, 1);
  const [x, y, z, ...omega] = tf.unstack(v, 1);
  return tf.stack([x, y, z, ...rateOf([w, i, j, k], omega as unknown as Vec)], 1);
}

/** [bodies, 6] of wrenches without that of the ground. */
export function stacked({force, torque}: Wrench): tf.Tensor {
  const bodies = force[0].shape[0]! - 1;
  return tf.stack(
    [...force, ...torque].map(column => tf.slice(column, [0], [bodies])),
    1,
  );
}

/** Some of the bodies, by constant numbers. */
export class Choice {
  private readonly index: Int32Array;
  constructor(bodies: readonly number[]) {
    this.index = Int32Array.from(bodies);
  }
  of(column: tf.Tensor): tf.Tensor {
    return tf.gather(column, tf.tensor1d(this.index, 'int32'));
  }
  vector([x, y, z]: Vec): Vec {
    return [this.of(x), this.of(y), this.of(z)];
  }
  rotation([w, x, y, z]: Quat): Quat {
    return [this.of(w), this.of(x), this.of(y), this.of(z)];
  }
  pose({position, rotation}: Pose): Pose {
    return {position: this.vector(position), rotation: this.rotation(rotation)};
  }
  twist({velocity, omega}: Twist): Twist {
    return {velocity: this.vector(velocity), omega: this.vector(omega)};
  }
  /** Adds numbers of the chosen up by body. @param bodies with the ground */
  scatter(column: tf.Tensor, bodies: number): tf.Tensor {
    return tf.unsortedSegmentSum(column, tf.tensor1d(this.index, 'int32'), bodies);
  }
}

/** Vectors of body axes or world axes as constants, one a row. */
export const constants = (vectors: readonly V3[]): Vec => {
  const column = (axis: 0 | 1 | 2): tf.Tensor =>
    constantTensor(
      Float64Array.from(vectors, vector => vector[axis]),
      [vectors.length],
    );
  return [column(0), column(1), column(2)];
};

/** Where points are that lie at `local` of their bodies. */
export const pointOf = ({position, rotation}: Pose, local: Vec): Vec => add(position, rotate(rotation, local));

/** How fast they move. */
export const pointVelocity = ({rotation}: Pose, {velocity, omega}: Twist, local: Vec): Vec =>
  add(velocity, rotate(rotation, cross(omega, local)));
