/**
 * The state of rigid bodies by components. In maximal coordinates q [bodies, 7] holds the centre of mass in world axes
 * and the rotation as a unit quaternion, v [bodies, 6] the velocity of the centre in world axes and the angular
 * velocity in body axes. The ground is one more body, the last, which rests at the origin.
 */
import * as tf from '@tensorflow/tfjs';
import type {Params} from '../../lib/index.js';
import {constantTensor} from '../../lib/internal.js';
import {add, cross, neg, rotate, rotateBack, sub, type Quat, type Vec} from './vectors.js';
import type {V3} from './numbers.js';

/** Where bodies are; the ground the last. */
export interface Pose {
  readonly position: Vec;
  readonly rotation: Quat;
}

/** How bodies move; the ground the last. */
export interface Twist {
  /** Velocity of the centre, world axes. */
  readonly velocity: Vec;
  /** Body axes. */
  readonly omega: Vec;
}

/** Force at the centre in world axes, torque about it in body axes. */
export interface Wrench {
  readonly force: Vec;
  readonly torque: Vec;
}

/** Bodies at an instant; the ground last. */
export interface Instant {
  readonly pose: Pose;
  readonly twist: Twist;
  readonly t: tf.Tensor;
  readonly params: Params;
}

/** Forces of one kind, all at once. */
export interface ForceGroup {
  wrench(at: Instant): Wrench;
  /** Stored energy [J], a scalar. */
  energy?(at: Instant): tf.Tensor;
}

/** Numbers of the bodies with that of the ground. */
export const withGround = (column: tf.Tensor, value = 0): tf.Tensor => tf.concat([column, constantTensor(value, [1])]);

/** @param q [bodies, 7] */
export function poseOf(q: tf.Tensor): Pose {
  const [x, y, z, w, i, j, k] = tf.unstack(q, 1);
  const ground = [0, 0, 0, 1, 0, 0, 0];
  const all = [x, y, z, w, i, j, k].map((column, axis) => withGround(column, ground[axis]));
  return {position: [all[0], all[1], all[2]], rotation: [all[3], all[4], all[5], all[6]]};
}

/** @param v [bodies, 6] */
export function twistOf(v: tf.Tensor): Twist {
  const all = tf.unstack(v, 1).map(column => withGround(column));
  return {velocity: [all[0], all[1], all[2]], omega: [all[3], all[4], all[5]]};
}

/** [bodies, 6] of wrenches without that of the ground. */
export function stacked({force, torque}: Wrench): tf.Tensor {
  const bodies = force[0].shape[0] - 1;
  const columns = [...force, ...torque].map(column => tf.slice(column, [0], [bodies]));
  return tf.stack(columns, 1);
}

/** A pose of some bodies; undefined where all of them are the ground, at rest at the origin. */
export interface SomePose {
  readonly position: Vec | undefined;
  readonly rotation: Quat | undefined;
}

/** Some of the bodies, by constant numbers. */
export class Choice {
  private readonly index: Int32Array;
  /** All of them are the ground, of which nothing has to be computed. */
  private readonly still: boolean;
  /** @param ground its number, that of bodies */
  constructor(
    bodies: readonly number[],
    private readonly ground: number,
  ) {
    this.index = Int32Array.from(bodies);
    this.still = bodies.every(body => body === ground);
  }
  private of(column: tf.Tensor): tf.Tensor {
    return tf.gather(column, tf.tensor1d(this.index, 'int32'));
  }
  rotation({rotation}: Pose): Quat | undefined {
    return this.still ? undefined : (rotation.map(x => this.of(x)) as unknown as Quat);
  }
  position({position}: Pose): Vec | undefined {
    return this.still ? undefined : (position.map(x => this.of(x)) as unknown as Vec);
  }
  pose(pose: Pose): SomePose {
    return {position: this.position(pose), rotation: this.rotation(pose)};
  }
  twist({velocity, omega}: Twist): Twist | undefined {
    if (this.still) return undefined;
    const all = [...velocity, ...omega].map(x => this.of(x));
    return {velocity: [all[0], all[1], all[2]], omega: [all[3], all[4], all[5]]};
  }
  /** Angular velocities in world axes. */
  spin(pose: Pose, {omega}: Twist): Vec | undefined {
    return this.still ? undefined : rotate(this.rotation(pose), omega.map(x => this.of(x)) as unknown as Vec);
  }
  /** Adds numbers of the chosen up by body, the ground last. */
  scatter(column: tf.Tensor): tf.Tensor {
    return tf.unsortedSegmentSum(column, tf.tensor1d(this.index, 'int32'), this.ground + 1);
  }
}

/** The bodies a and b of joints, forces or contacts. */
export type Sides = readonly [a: Choice, b: Choice];

export function sidesOf(pairs: readonly {readonly a: number; readonly b: number}[], ground: number): Sides {
  const choice = (side: 'a' | 'b'): Choice => {
    const bodies = pairs.map(pair => pair[side]);
    return new Choice(bodies, ground);
  };
  return [choice('a'), choice('b')];
}

/** Angular velocities of bodies b against bodies a, world axes. */
export const relativeSpin = ([a, b]: Sides, {pose, twist}: Pick<Instant, 'pose' | 'twist'>): Vec =>
  difference(b.spin(pose, twist), a.spin(pose, twist));

/**
 * Wrenches on all bodies of forces and couples on bodies b, in world axes, and of the opposite ones on bodies a.
 * @param arms from the centres of a and of b to where the forces act, body axes
 */
export function actionAndReaction(
  pose: Pose,
  [a, b]: Sides,
  {force, arms, couple}: {readonly force?: Vec; readonly arms?: readonly [Vec, Vec]; readonly couple?: Vec},
): Wrench {
  const onSide = (choice: Choice, arm: Vec | undefined, sign: (x: Vec) => Vec): Vec[] => {
    const local = (x: Vec): Vec => rotateBack(choice.rotation(pose), sign(x));
    return [
      ...(force === undefined || arm === undefined ? [] : [cross(arm, local(force))]),
      ...(couple === undefined ? [] : [local(couple)]),
    ];
  };
  const gathered = (onB: Vec, onA: Vec): Vec =>
    [0, 1, 2].map(i => tf.add(b.scatter(onB[i]), a.scatter(onA[i]))) as unknown as Vec;
  const none = (): tf.Tensor => tf.zerosLike(pose.position[0]);
  return {
    force: force === undefined ? [none(), none(), none()] : gathered(force, neg(force)),
    torque: gathered(onSide(b, arms?.[1], x => x).reduce(add), onSide(a, arms?.[0], neg).reduce(add)),
  };
}

/** Numbers as a constant, one a row. */
export const numbers = (values: readonly number[]): tf.Tensor =>
  constantTensor(Float64Array.from(values), [values.length]);

/** Vectors of body axes or world axes as constants, one a row. */
export const constants = (vectors: readonly V3[]): Vec => {
  const column = (axis: 0 | 1 | 2): tf.Tensor => numbers(vectors.map(vector => vector[axis]));
  return [column(0), column(1), column(2)];
};

/** Where points are that lie at `local` of their bodies. */
export function pointOf({position, rotation}: SomePose, local: Vec): Vec {
  const arm = rotate(rotation, local);
  return position === undefined ? arm : add(position, arm);
}

/** How fast they move; undefined on the ground. */
export const pointVelocity = ({rotation}: SomePose, twist: Twist | undefined, local: Vec): Vec | undefined =>
  twist === undefined ? undefined : add(twist.velocity, rotate(rotation, cross(twist.omega, local)));

/** b − a, of which one may be the ground's zero. */
export function difference(b: Vec | undefined, a: Vec | undefined): Vec {
  if (a === undefined && b === undefined) throw new Error('a joint between the ground and itself');
  if (a === undefined) return b as Vec;
  return b === undefined ? neg(a) : sub(b, a);
}
