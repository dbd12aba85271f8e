/**
 * Coordinates of joints in maximal coordinates: the angle of a revolute joint and the shift of a prismatic one, read from
 * the poses of their bodies, with the forces that act on them and their stops.
 */
import * as tf from '@tensorflow/tfjs';
import {constantTensor, OptionError, unilateral, type Constraint} from '../../lib/index.js';
import type {Place} from './bodies.js';
import {Axes, type ForceGroup, type Instant} from './force-groups.js';
import {coordinatesOf, requireCoordinate, type JointForce, type JointState} from './joint-forces.js';
import {limitName, type KnownJoint} from './joints.js';
import {minus, turnedBack, type V3} from './numbers.js';
import {pointOfJoint} from './rows.js';
import {Choice, constants, difference, poseOf, type Pose, type Twist, type Wrench} from './state.js';
import {add, cross, dot, neg, rotate, rotateBack, scale, sub, type Vec} from './vectors.js';

/** A joint between two places, along an axis through a point: world coordinates at the start. */
interface Axis {
  readonly a: Place;
  readonly b: Place;
  readonly axis: V3;
  readonly at: V3;
}

/** Angles, or shifts, of several joints at once. */
interface Coordinates {
  position(pose: Pose): tf.Tensor;
  rate(pose: Pose, twist: Twist): tf.Tensor;
  /** Forces [joints] as a function of the coordinates [joints]. */
  force(pose: Pose, of: (position: () => tf.Tensor) => tf.Tensor): tf.Tensor;
  wrench(pose: Pose, force: tf.Tensor): Wrench;
}

/** How far b is along an axis of a, from where it was at the start. */
class Slides implements Coordinates {
  private readonly a: Choice;
  private readonly b: Choice;
  constructor(
    private readonly rows: readonly Axis[],
    ground: number,
  ) {
    this.a = new Choice(
      rows.map(({a}) => a.index),
      ground,
    );
    this.b = new Choice(
      rows.map(({b}) => b.index),
      ground,
    );
  }
  private local(side: 'a' | 'b'): Vec {
    return constants(this.rows.map(row => turnedBack(row[side].rotation, minus(row.at, row[side].position))));
  }
  private axis(pose: Pose): Vec {
    return rotate(this.a.rotation(pose), constants(this.rows.map(({a, axis}) => turnedBack(a.rotation, axis))));
  }
  /** From the centres to the point of b, world axes. */
  private arms(pose: Pose): [Vec, Vec] {
    const onB = rotate(this.b.rotation(pose), this.local('b'));
    const point = this.b.position(pose);
    const centre = this.a.position(pose);
    const there = point === undefined ? onB : add(point, onB);
    return [centre === undefined ? there : sub(there, centre), onB];
  }
  position(pose: Pose): tf.Tensor {
    const [toB] = this.arms(pose);
    return dot(this.axis(pose), sub(toB, rotate(this.a.rotation(pose), this.local('a'))));
  }
  rate(pose: Pose, twist: Twist): tf.Tensor {
    const [fromA, fromB] = this.arms(pose);
    const velocity = (choice: Choice, arm: Vec): Vec | undefined => {
      const own = choice.twist(twist);
      return own && add(own.velocity, cross(choice.spin(pose, twist) as Vec, arm));
    };
    return dot(this.axis(pose), difference(velocity(this.b, fromB), velocity(this.a, fromA)));
  }
  force(pose: Pose, of: (position: () => tf.Tensor) => tf.Tensor): tf.Tensor {
    return of(() => this.position(pose));
  }
  wrench(pose: Pose, force: tf.Tensor): Wrench {
    const [fromA, fromB] = this.arms(pose);
    const push = scale(force, this.axis(pose));
    const torque = (choice: Choice, arm: Vec, f: Vec): Vec => rotateBack(choice.rotation(pose), cross(arm, f));
    const gather = (onB: Vec, onA: Vec): Vec =>
      [0, 1, 2].map(i => tf.add(this.b.scatter(onB[i]), this.a.scatter(onA[i]))) as unknown as Vec;
    const back = neg(push);
    return {force: gather(push, back), torque: gather(torque(this.b, fromB, push), torque(this.a, fromA, back))};
  }
}

/** What joints have on their coordinates. */
export interface MaximalJointTerms {
  readonly groups: readonly ForceGroup[];
  readonly stops: {readonly count: number; readonly constraint: Constraint} | undefined;
}

/** @throws OptionError 'bad-multibody' where that needs minimal coordinates, 'unknown-joint' */
export function maximalJointTerms(
  joints: readonly (readonly [string, KnownJoint])[],
  forces: readonly JointForce[],
  places: (name: string) => Place,
): MaximalJointTerms {
  const ground = places('ground').index;
  const refuse = (name: string, what: string): never => {
    throw new OptionError(
      'bad-multibody',
      `multibody: joint ${name} has ${what}, which needs coordinates: 'minimal'; in maximal ones revolute and prismatic joints have forces and limits.`,
    );
  };
  const all = joints.flatMap(([name, joint]) => coordinatesOf(joint).map((own, step) => ({name, joint, own, step})));
  for (const {name, own} of all) if (own.armature !== 0) refuse(name, 'armature');
  const plain = ({name, joint}: (typeof all)[number], what: string): Axis & {kind: 'revolute' | 'prismatic'} => {
    if (joint.kind !== 'revolute' && joint.kind !== 'prismatic') return refuse(name, what);
    const at = pointOfJoint(joint, places);
    return {kind: joint.kind, a: places(joint.a), b: places(joint.b), axis: joint.axis, at};
  };
  const acting = forces.map(force => ({force, axis: plain(requireCoordinate(all, force), 'a jointForce')}));
  const limited = all.flatMap(one =>
    one.own.limits === undefined ? [] : [{limits: one.own.limits, name: one.name, axis: plain(one, 'limits')}],
  );
  for (const {limits, name, axis} of limited)
    if (axis.kind === 'revolute' && limits.some(x => Number.isFinite(x) && Math.abs(x) >= Math.PI))
      refuse(name, `limits [${limits.join(', ')}] beyond half a turn`);
  const kinds = ['revolute', 'prismatic'] as const;
  const of = (kind: (typeof kinds)[number], axes: readonly Axis[]): Coordinates =>
    kind === 'revolute' ? turnsOf(axes, ground) : new Slides(axes, ground);
  const groups = kinds.flatMap(kind => {
    const own = acting.filter(({axis}) => axis.kind === kind);
    if (own.length === 0) return [];
    return [groupOf(own.map(({force}) => force), of(kind, own.map(({axis}) => axis)))]; // prettier-ignore
  });
  const gaps = kinds.flatMap(kind => {
    const own = limited.filter(({axis}) => axis.kind === kind);
    return own.length === 0 ? [] : [gapsOf(own, of(kind, own.map(({axis}) => axis)))]; // prettier-ignore
  });
  const rows = gaps.flatMap(({names}) => names);
  return {
    groups,
    stops:
      rows.length === 0
        ? undefined
        : {
            count: rows.length,
            constraint: {...unilateral(({q}) => tf.concat(gaps.map(({gap}) => gap(poseOf(q))))), rows},
          },
  };
}

/** The coordinate of a joint, as functions of what moves: an angle within half a turn, or a shift. */
export function axisCoordinate(
  name: string,
  joint: KnownJoint,
  places: (name: string) => Place,
): Pick<Coordinates, 'position' | 'rate'> {
  if (joint.kind !== 'revolute' && joint.kind !== 'prismatic')
    throw new OptionError(
      'bad-multibody',
      `coordinate: joint '${name}' is ${joint.kind}, with no coordinate to be read from the poses of its bodies; revolute and prismatic joints have one. Joints of the tree of coordinates: 'minimal' have theirs.`,
      {joint: name},
    );
  const axes = [{a: places(joint.a), b: places(joint.b), axis: joint.axis, at: pointOfJoint(joint, places)}];
  const ground = places('ground').index;
  return joint.kind === 'revolute' ? turnsOf(axes, ground) : new Slides(axes, ground);
}

const turnsOf = (axes: readonly Axis[], ground: number): Coordinates => {
  const of = new Axes(axes, ground);
  return {
    position: pose => of.angle(pose),
    rate: (pose, twist) => of.rate(pose, twist),
    force: (pose, torque) => of.torqueOf(pose, torque),
    wrench: (pose, torque) => of.wrench(pose, torque),
  };
};

function groupOf(forces: readonly JointForce[], coordinates: Coordinates): ForceGroup {
  const statesAt = ({pose, twist, t, params}: Instant, positions: () => tf.Tensor): JointState[] =>
    tf.unstack(coordinates.rate(pose, twist)).map((rate, i) => ({
      get position() {
        return tf.unstack(positions())[i];
      },
      rate,
      t,
      params,
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

/** Finite ends of the ranges: least first, then greatest. */
function gapsOf(
  limited: readonly {readonly limits: readonly [number, number]; readonly name: string}[],
  coordinates: Coordinates,
): {readonly names: string[]; readonly gap: (pose: Pose) => tf.Tensor} {
  const ends = ([0, 1] as const).map(side => {
    const rows = [...limited.keys()].filter(i => Number.isFinite(limited[i].limits[side]));
    return {side, rows, bounds: Float64Array.from(rows, i => limited[i].limits[side])};
  });
  const gap = (pose: Pose): tf.Tensor => {
    const position = coordinates.position(pose);
    return tf.concat(
      ends
        .filter(({rows}) => rows.length > 0)
        .map(({side, rows, bounds}) => {
          const own = tf.gather(position, tf.tensor1d(rows, 'int32'));
          const over = tf.sub(own, constantTensor(bounds, [bounds.length]));
          return side === 0 ? over : tf.neg(over);
        }),
    );
  };
  const names = ends.flatMap(({side, rows}) =>
    rows.map(i => limitName(limited[i].name, side === 0 ? 'least' : 'greatest')),
  );
  return {names, gap};
}
