/**
 * Forces between bodies in maximal coordinates, all forces of one kind at once: the wrenches on all bodies as functions
 * of their poses and velocities.
 */
import * as tf from '@tensorflow/tfjs';
import type {Params} from '../../lib/index.js';
import {constantTensor} from '../../lib/index.js';
import type {Coefficient, Sign} from '../coefficient.js';
import {coefficient} from '../coefficient.js';
import type {Place} from './bodies.js';
import type {AxisTorque, SpringDamper, TorsionSpring} from './forces.js';
import {composed, conjugate, minus, outer, turnedBack, type Q4, type V3} from './numbers.js';
import {turningAbout, turns, type Turning} from './rows.js';
import {Choice, constants, difference, pointOf, pointVelocity, type Pose, type Twist, type Wrench} from './state.js';
import {cross, dot, length, neg, product, rotate, rotateBack, scale, sub, type Quat, type Vec} from './vectors.js';

/** Forces that name two bodies. */
export type BetweenBodies = SpringDamper | TorsionSpring | AxisTorque;

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

/** @throws OptionError 'unknown-body' */
export function forceGroups(
  forces: readonly BetweenBodies[],
  places: (name: string, asked: string) => Place,
): ForceGroup[] {
  const of = <K extends string>(kind: K): Extract<BetweenBodies, {kind: K}>[] =>
    forces.filter((force): force is Extract<BetweenBodies, {kind: K}> => force.kind === kind);
  const place = (name: string): Place => places(name, 'a force');
  const ground = places('ground', '').index;
  const groups: ForceGroup[] = [];
  const [springs, torsions, torques] = [of('springDamper'), of('torsionSpring'), of('axisTorque')];
  if (springs.length > 0) groups.push(springGroup(springs, place, ground));
  if (torsions.length > 0) groups.push(torsionGroup(torsions, place, ground));
  if (torques.length > 0) groups.push(torqueGroup(torques, place, ground));
  return groups;
}

/**
 * [forces] of one coefficient each.
 * @throws OptionError 'bad-coefficient' where a number does not have the sign that is required
 */
export function column(
  values: readonly Coefficient[],
  name: string,
  sign: Sign = 'any',
): (params: Params) => tf.Tensor {
  const read = values.map(value => coefficient(value, name, sign));
  if (values.every(value => typeof value === 'number')) {
    const numbers = Float64Array.from(values);
    return () => constantTensor(numbers, [numbers.length]);
  }
  return params => tf.stack(read.map(value => tf.reshape(value(params), [])));
}

/** Points of bodies a and b, how far they are apart, and what a force between them is on the bodies. */
export class PointPairs {
  private readonly a: Choice;
  private readonly b: Choice;
  constructor(
    private readonly pairs: readonly {readonly a: Place; readonly b: Place; readonly from: V3; readonly to: V3}[],
    ground: number,
  ) {
    this.a = new Choice(
      pairs.map(({a}) => a.index),
      ground,
    );
    this.b = new Choice(
      pairs.map(({b}) => b.index),
      ground,
    );
  }
  private locals(): [Vec, Vec] {
    const local = ({position, rotation}: Place, point: V3): V3 => turnedBack(rotation, minus(point, position));
    return [
      constants(this.pairs.map(({a, from}) => local(a, from))),
      constants(this.pairs.map(({b, to}) => local(b, to))),
    ];
  }
  separation(pose: Pose): Vec {
    const [onA, onB] = this.locals();
    return sub(pointOf(this.b.pose(pose), onB), pointOf(this.a.pose(pose), onA));
  }
  velocity(pose: Pose, twist: Twist): Vec {
    const [onA, onB] = this.locals();
    return difference(
      pointVelocity(this.b.pose(pose), this.b.twist(twist), onB),
      pointVelocity(this.a.pose(pose), this.a.twist(twist), onA),
    );
  }
  /** Of forces on the points of b, and the opposite ones on those of a: world axes. */
  wrench(pose: Pose, force: Vec): Wrench {
    const [onA, onB] = this.locals();
    const torque = (choice: Choice, local: Vec, f: Vec): Vec => cross(local, rotateBack(choice.rotation(pose), f));
    const gather = (onOne: Vec, onOther: Vec): Vec =>
      [0, 1, 2].map(i => tf.add(this.b.scatter(onOne[i]), this.a.scatter(onOther[i]))) as unknown as Vec;
    const back = neg(force);
    return {force: gather(force, back), torque: gather(torque(this.b, onB, force), torque(this.a, onA, back))};
  }
}

/** A coefficient of all forces of a kind, one number each, for each of these keys. */
const columnsOf = <K extends string>(
  forces: readonly Readonly<Record<K, Coefficient>>[],
  kind: string,
  keys: readonly K[],
): ((params: Params) => tf.Tensor)[] =>
  keys.map(key =>
    column(
      forces.map(force => force[key]),
      `${kind}: ${key}`,
    ),
  );

function springGroup(springs: readonly SpringDamper[], place: (name: string) => Place, ground: number): ForceGroup {
  const pairs = new PointPairs(
    springs.map(({a, b, from, to}) => ({a: place(a), b: place(b), from, to})),
    ground,
  );
  const [stiffness, damping, rest] = columnsOf(springs, 'springDamper', ['stiffness', 'damping', 'length']);
  return {
    wrench: ({pose, twist, params}) => {
      const d = pairs.separation(pose);
      const l = length(d);
      const rate = tf.div(dot(d, pairs.velocity(pose, twist)), l);
      const tension = tf.add(tf.mul(stiffness(params), tf.sub(l, rest(params))), tf.mul(damping(params), rate));
      return pairs.wrench(pose, scale(tf.neg(tf.div(tension, l)), d));
    },
    energy: ({pose, params}) => {
      const stretch = tf.sub(length(pairs.separation(pose)), rest(params));
      return tf.mul(0.5, tf.sum(tf.mul(stiffness(params), tf.square(stretch))));
    },
  };
}

/** Torques that differ by less of their size are the same: rounding of a sine some turns away. */
const sameTorque = 1e-9;

/** To here angles are continuous, so that Newton's iterates may lie beyond half a turn. */
const farthest = Math.PI + 0.5;

/** What a force that is not finite may mean. */
export const turnedTooFar =
  "A torque that depends on an angle, and not by its sine and cosine, is not defined beyond half a turn from the start: bodies' poses do not count turns. jointForce with coordinates: 'minimal' does.";

/** The turns of bodies b against a about axes of a, and what torques about those are on the bodies. */
export class Axes {
  private readonly rows: readonly {readonly a: number; readonly b: number; readonly turning: Turning}[];
  /** Rotations of b in axes of a, at the start. */
  private readonly started: readonly Q4[];
  private readonly a: Choice;
  private readonly b: Choice;
  constructor(
    pairs: readonly {readonly a: Place; readonly b: Place; readonly axis: V3}[],
    private readonly ground: number,
  ) {
    this.rows = pairs.map(({a, b, axis}) => ({a: a.index, b: b.index, turning: turningAbout(axis, a, b)}));
    this.started = pairs.map(({a, b}) => composed(conjugate(a.rotation), b.rotation));
    this.a = new Choice(
      pairs.map(({a}) => a.index),
      ground,
    );
    this.b = new Choice(
      pairs.map(({b}) => b.index),
      ground,
    );
  }
  angle(pose: Pose): tf.Tensor {
    const [c, s] = turns(this.rows, this.ground)(pose);
    return tf.atan2(s, c);
  }
  /**
   * A torque [rows] as a function of the angles [rows]. Poses tell angles up to full turns, and the signs of quaternions,
   * which go on along a motion, up to two of them: so angles are continuous to somewhat beyond half a turn. From there
   * on a torque that is another one a full turn away is NaN, which ends a run.
   */
  torqueOf(pose: Pose, torque: (angle: () => tf.Tensor) => tf.Tensor): tf.Tensor {
    const principal = this.angle(pose);
    const half = this.halfCosine(pose);
    const on = tf.sub(principal, tf.mul(2 * Math.PI, tf.sign(principal)));
    let read = false;
    const found = torque(() => {
      read = true;
      return tf.where(tf.less(half, 0), on, principal);
    });
    if (!read) return found;
    const others = [principal, on, tf.add(principal, 1)].map(angle => torque(() => angle));
    const size = others.reduce((sum, one) => tf.add(sum, tf.abs(one)), tf.abs(found));
    const jumps = tf.greater(tf.abs(tf.sub(others[0], others[1])), tf.mul(sameTorque, size));
    return tf.where(tf.logicalAnd(tf.less(half, Math.cos(farthest / 2)), jumps), tf.fill(found.shape, NaN), found);
  }
  /** cos ½θ, the scalar part of the rotation since the start, [rows]. */
  private halfCosine(pose: Pose): tf.Tensor {
    const [a, b] = [this.a.rotation(pose), this.b.rotation(pose)];
    const back: Quat | undefined = a && [a[0], ...neg([a[1], a[2], a[3]])];
    const now = back === undefined ? (b as Quat) : b === undefined ? back : product(back, b);
    const columns = now.map((column, i) =>
      tf.mul(
        column,
        constantTensor(
          Float64Array.from(this.started, start => start[i]),
          [this.started.length],
        ),
      ),
    );
    return tf.addN(columns);
  }
  private axis(pose: Pose): Vec {
    const local = constants(this.rows.map(({turning}) => outer(turning.firstOfA, turning.secondOfA)));
    return rotate(this.a.rotation(pose), local);
  }
  rate(pose: Pose, twist: Twist): tf.Tensor {
    return dot(this.axis(pose), difference(this.b.spin(pose, twist), this.a.spin(pose, twist)));
  }
  wrench(pose: Pose, torque: tf.Tensor): Wrench {
    const world = scale(torque, this.axis(pose));
    const onB = rotateBack(this.b.rotation(pose), world);
    const onA = rotateBack(this.a.rotation(pose), neg(world));
    const none = tf.zerosLike(pose.position[0]);
    return {
      force: [none, none, none],
      torque: [0, 1, 2].map(i => tf.add(this.b.scatter(onB[i]), this.a.scatter(onA[i]))) as unknown as Vec,
    };
  }
}

function torsionGroup(springs: readonly TorsionSpring[], place: (name: string) => Place, ground: number): ForceGroup {
  const axes = new Axes(
    springs.map(({a, b, axis}) => ({a: place(a), b: place(b), axis})),
    ground,
  );
  const [stiffness, damping, rest] = columnsOf(springs, 'torsionSpring', ['stiffness', 'damping', 'angle']);
  return {
    wrench: ({pose, twist, params}) => {
      const spring = axes.torqueOf(pose, angle => tf.mul(stiffness(params), tf.sub(angle(), rest(params))));
      return axes.wrench(pose, tf.neg(tf.add(spring, tf.mul(damping(params), axes.rate(pose, twist)))));
    },
    energy: ({pose, params}) =>
      tf.mul(0.5, tf.sum(tf.mul(stiffness(params), tf.square(tf.sub(axes.angle(pose), rest(params)))))),
  };
}

function torqueGroup(torques: readonly AxisTorque[], place: (name: string) => Place, ground: number): ForceGroup {
  const axes = new Axes(
    torques.map(({a, b, axis}) => ({a: place(a), b: place(b), axis})),
    ground,
  );
  return {
    wrench: ({pose, twist, t, params}) => {
      const rates = tf.unstack(axes.rate(pose, twist));
      const of = (angles: () => tf.Tensor): tf.Tensor =>
        tf.stack(
          torques.map(({torque}, i) => {
            const state = {
              get angle() {
                return tf.unstack(angles())[i];
              },
              rate: rates[i],
              t,
              params,
            };
            return tf.reshape(torque(state), []);
          }),
        );
      return axes.wrench(pose, axes.torqueOf(pose, of));
    },
  };
}
