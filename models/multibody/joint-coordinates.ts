/**
 * Coordinates of joints in maximal coordinates: the angle of a revolute joint and the shift of a prismatic one, read
 * from the poses of their bodies, with the forces that act on them and their stops.
 */
import * as tf from '@tensorflow/tfjs';
import {constantTensor, OptionError, unilateral, type Constraint} from '../../lib/index.js';
import {coordinateForces, Slides, Turns, type Axis, type Coordinates} from './axis-coordinates.js';
import type {Place} from './bodies.js';
import {coordinatesOf, requireCoordinate, type JointForce} from './joint-forces.js';
import {limitName, type KnownJoint} from './joints.js';
import type {V3} from './numbers.js';
import {pointOfJoint} from './rows.js';
import {poseOf, type ForceGroup, type Pose} from './state.js';

type Kind = 'revolute' | 'prismatic';
type JointAxis = Axis & {readonly at: V3};

const coordinatesAlong = (kind: Kind, axes: readonly JointAxis[], ground: number): Coordinates =>
  kind === 'revolute' ? new Turns(axes, ground) : new Slides(axes, ground);

/** What joints have on their coordinates. */
export interface MaximalJointTerms {
  readonly groups: readonly ForceGroup[];
  readonly stops: Constraint | undefined;
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
      `multibody: joint ${name} has ${what}, which needs coordinates: 'minimal'; `
        + 'in maximal ones revolute and prismatic joints have forces and limits.',
    );
  };
  const all = joints.flatMap(([name, joint]) => coordinatesOf(joint).map((own, step) => ({name, joint, own, step})));
  for (const {name, own} of all) if (own.armature !== 0) refuse(name, 'armature');
  const plain = ({name, joint}: (typeof all)[number], what: string): JointAxis & {kind: Kind} => {
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
  const ofKind = <T extends {readonly axis: JointAxis & {kind: Kind}}, R>(
    all: readonly T[],
    make: (own: readonly T[], coordinates: Coordinates) => R,
  ): R[] =>
    kinds.flatMap(kind => {
      const own = all.filter(({axis}) => axis.kind === kind);
      const axes = own.map(({axis}) => axis);
      return own.length === 0 ? [] : [make(own, coordinatesAlong(kind, axes, ground))];
    });
  const groups = ofKind(acting, (own, coordinates) =>
    coordinateForces(
      own.map(({force}) => force),
      coordinates,
    ),
  );
  const gaps = ofKind(limited, gapsOf);
  const rows = gaps.flatMap(({names}) => names);
  const gap = ({q}: {q: tf.Tensor}): tf.Tensor => tf.concat(gaps.map(one => one.gap(poseOf(q))));
  return {groups, stops: rows.length === 0 ? undefined : {...unilateral(gap), rows}};
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
      `coordinate: joint '${name}' is ${joint.kind}, with no coordinate to be read from the poses of its bodies; `
        + "revolute and prismatic joints have one. Joints of the tree of coordinates: 'minimal' have theirs.",
      {joint: name},
    );
  const axes = [{a: places(joint.a), b: places(joint.b), axis: joint.axis, at: pointOfJoint(joint, places)}];
  const ground = places('ground').index;
  return coordinatesAlong(joint.kind, axes, ground);
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
