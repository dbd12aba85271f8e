/**
 * Angles and shifts of bodies b against bodies a along axes, read from their poses, several at once, and the forces
 * that act on them: torsion springs, torques about an axis, and the forces of joints in maximal coordinates.
 */
import * as tf from '@tensorflow/tfjs';
import {constantTensor, noEvent} from '../../lib/internal.js';
import type {BodyPose} from './bodies.js';
import type {JointState} from './joint-forces.js';
import {composed, conjugate, local, outer, turnedBack, type Q4, type V3} from './numbers.js';
import {turningAbout, turns, type Turning} from './rows.js';
import {
  actionAndReaction,
  constants,
  difference,
  numbers,
  relativeSpin,
  sidesOf,
  type ForceGroup,
  type Instant,
  type Pose,
  type Sides,
  type Wrench,
} from './state.js';
import {add, cross, dot, neg, product, rotate, rotateBack, scale, sub, type Quat, type Vec} from './vectors.js';

/** Two places and an axis between them: world coordinates at the start. */
export interface CoordinateAxis {
  readonly a: BodyPose;
  readonly b: BodyPose;
  readonly axis: V3;
}

/** Angles, or shifts, of several pairs of bodies at once. */
export interface Coordinates {
  position(pose: Pose): tf.Tensor;
  rate(at: Pick<Instant, 'pose' | 'twist'>): tf.Tensor;
  /** Forces [pairs] as a function of the coordinates [pairs]. */
  force(pose: Pose, of: (position: () => tf.Tensor) => tf.Tensor): tf.Tensor;
  wrench(pose: Pose, force: tf.Tensor): Wrench;
}

const indices = (pairs: readonly CoordinateAxis[]): {a: number; b: number}[] =>
  pairs.map(({a, b}) => ({a: a.index, b: b.index}));

/** How far b is along an axis of a, from where it was at the start. */
export class Slides implements Coordinates {
  private readonly sides: Sides;
  constructor(
    private readonly rows: readonly (CoordinateAxis & {readonly at: V3})[],
    ground: number,
  ) {
    this.sides = sidesOf(indices(rows), ground);
  }
  private pointOn(side: 'a' | 'b'): Vec {
    return constants(this.rows.map(row => local(row[side], row.at)));
  }
  private axis(pose: Pose): Vec {
    const local = constants(this.rows.map(({a, axis}) => turnedBack(a.rotation, axis)));
    return rotate(this.sides[0].rotation(pose), local);
  }
  /** From the centres to the point of b, world axes. */
  private arms(pose: Pose): readonly [Vec, Vec] {
    const [a, b] = this.sides;
    const onB = rotate(b.rotation(pose), this.pointOn('b'));
    const point = b.position(pose);
    const centre = a.position(pose);
    const there = point === undefined ? onB : add(point, onB);
    return [centre === undefined ? there : sub(there, centre), onB];
  }
  position(pose: Pose): tf.Tensor {
    const [toB] = this.arms(pose);
    return dot(this.axis(pose), sub(toB, rotate(this.sides[0].rotation(pose), this.pointOn('a'))));
  }
  rate({pose, twist}: Pick<Instant, 'pose' | 'twist'>): tf.Tensor {
    const arms = this.arms(pose);
    const [ofA, ofB] = this.sides.map((choice, i) => {
      const own = choice.twist(twist);
      return own && add(own.velocity, cross(choice.spin(pose, twist) as Vec, arms[i]));
    });
    return dot(this.axis(pose), difference(ofB, ofA));
  }
  force(pose: Pose, of: (position: () => tf.Tensor) => tf.Tensor): tf.Tensor {
    return of(() => this.position(pose));
  }
  wrench(pose: Pose, force: tf.Tensor): Wrench {
    const [fromA] = this.arms(pose);
    const arms = [rotateBack(this.sides[0].rotation(pose), fromA), this.pointOn('b')] as const;
    return actionAndReaction(pose, this.sides, {force: scale(force, this.axis(pose)), arms});
  }
}

/** Torques that differ by less of their size are the same: rounding of a sine some turns away. */
const sameTorque = 1e-9;

/** To here angles are continuous, so that Newton's iterates may lie beyond half a turn. */
const farthest = Math.PI + 0.5;

/** A possible cause of a force that is not finite. */
export const turnedTooFar =
  'A torque that depends on an angle, and not by its sine and cosine, '
  + 'is not defined beyond half a turn from the start: '
  + "bodies' poses do not count turns. jointForce with coordinates: 'minimal' does.";

/** The turns of bodies b against a about axes of a. */
export class Turns implements Coordinates {
  private readonly turnings: readonly Turning[];
  /** Rotations of b in axes of a, at the start. */
  private readonly started: readonly Q4[];
  private readonly sides: Sides;
  constructor(pairs: readonly CoordinateAxis[], ground: number) {
    this.turnings = pairs.map(({a, b, axis}) => turningAbout(axis, a, b));
    this.started = pairs.map(({a, b}) => composed(conjugate(a.rotation), b.rotation));
    this.sides = sidesOf(indices(pairs), ground);
  }
  position(pose: Pose): tf.Tensor {
    const [c, s] = turns(this.turnings, this.sides, pose);
    return tf.atan2(s, c);
  }
  /**
   * Poses tell angles up to full turns, and the signs of quaternions, which go on along a motion, up to two of them: so
   * angles are continuous to somewhat beyond half a turn. From there on a torque that is another one a full turn away
   * is NaN, which ends a run.
   */
  force(pose: Pose, torque: (angle: () => tf.Tensor) => tf.Tensor): tf.Tensor {
    const principal = this.position(pose);
    const half = this.halfCosine(pose);
    const on = noEvent(() => tf.sub(principal, tf.mul(2 * Math.PI, tf.sign(principal))));
    let read = false;
    const found = torque(() => {
      read = true;
      return noEvent(() => tf.where(tf.less(half, 0), on, principal));
    });
    if (!read) return found;
    const others = [principal, on, tf.add(principal, 1)].map(angle => torque(() => angle));
    const size = others.reduce((sum, one) => tf.add(sum, tf.abs(one)), tf.abs(found));
    return noEvent(() => {
      const jumps = tf.greater(tf.abs(tf.sub(others[0], others[1])), tf.mul(sameTorque, size));
      return tf.where(tf.logicalAnd(tf.less(half, Math.cos(farthest / 2)), jumps), tf.fill(found.shape, NaN), found);
    });
  }
  /** cos ½θ, the scalar part of the rotation since the start, [rows]. */
  private halfCosine(pose: Pose): tf.Tensor {
    const [a, b] = this.sides.map(side => side.rotation(pose));
    const back: Quat | undefined = a && [a[0], ...neg([a[1], a[2], a[3]])];
    const now = back === undefined ? (b as Quat) : b === undefined ? back : product(back, b);
    const started = (i: number): tf.Tensor => numbers(this.started.map(start => start[i]));
    return tf.addN(now.map((column, i) => tf.mul(column, started(i))));
  }
  private axis(pose: Pose): Vec {
    const local = constants(this.turnings.map(({firstOfA, secondOfA}) => outer(firstOfA, secondOfA)));
    return rotate(this.sides[0].rotation(pose), local);
  }
  rate(at: Pick<Instant, 'pose' | 'twist'>): tf.Tensor {
    return dot(this.axis(at.pose), relativeSpin(this.sides, at));
  }
  wrench(pose: Pose, torque: tf.Tensor): Wrench {
    return actionAndReaction(pose, this.sides, {couple: scale(torque, this.axis(pose))});
  }
}

/** A force on a coordinate, and the energy that it stores. */
export interface CoordinateForce {
  readonly force: (at: JointState) => tf.Tensor;
  readonly energy?: ((at: JointState) => tf.Tensor) | undefined;
}

/** Forces on the coordinates of one kind, one each. */
export function coordinateForces(forces: readonly CoordinateForce[], coordinates: Coordinates): ForceGroup {
  const statesAt = (at: Instant, positions: () => tf.Tensor): JointState[] =>
    tf.unstack(coordinates.rate(at)).map((rate, i) => ({
      get position() {
        return tf.unstack(positions())[i];
      },
      rate,
      t: at.t,
      params: at.params,
    }));
  return {
    wrench: at => {
      const values = (positions: () => tf.Tensor): tf.Tensor =>
        tf.stack(statesAt(at, positions).map((state, i) => tf.reshape(forces[i].force(state), [])));
      return coordinates.wrench(at.pose, coordinates.force(at.pose, values));
    },
    energy: at => {
      const all = statesAt(at, () => coordinates.position(at.pose));
      const terms = forces.flatMap(({energy}, i) => (energy === undefined ? [] : [tf.reshape(energy(all[i]), [])]));
      return terms.length === 0 ? constantTensor(0, []) : tf.addN(terms);
    },
  };
}
