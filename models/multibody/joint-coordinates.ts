/**
 * Coordinates of joints in maximal coordinates: the angle of a joint with one turn and the shift of one with a slide,
 * read from the poses of their bodies, with the forces that act on them and their stops.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError, type Constraint} from '../../lib/index.js';
import {coordinateForces, Slides, Turns, type CoordinateAxis, type Coordinates} from './axis-coordinates.js';
import type {BodyPose} from './bodies.js';
import {coordinatesOf, requireCoordinate, stopsOf, type JointCoordinate, type JointForce} from './joint-forces.js';
import type {KnownJoint} from './joints.js';
import type {V3} from './numbers.js';
import {pointOfJoint} from './rows.js';
import {poseOf, type ForceGroup} from './state.js';

type JointAxis = CoordinateAxis & {readonly kind: 'turn' | 'slide'; readonly at: V3};

/** The axis of a joint that is one turn or one slide. */
function axisOf(joint: KnownJoint, places: (name: string) => BodyPose): JointAxis | undefined {
  const [only, second] = 'steps' in joint ? joint.steps : [];
  if (second !== undefined || (only?.kind !== 'turn' && only?.kind !== 'slide')) return undefined;
  const at = pointOfJoint(joint, places);
  return {kind: only.kind, axis: only.axis, a: places(joint.a), b: places(joint.b), at};
}

const along = (axes: readonly JointAxis[], ground: number): Coordinates =>
  axes[0].kind === 'turn' ? new Turns(axes, ground) : new Slides(axes, ground);

/** The turning joints and the sliding ones, each with their coordinates. */
const byKind = <T extends {readonly axis: JointAxis}>(
  all: readonly T[],
  ground: number,
): [readonly T[], Coordinates][] =>
  (['turn', 'slide'] as const)
    .map(kind => all.filter(({axis}) => axis.kind === kind))
    .filter(own => own.length > 0)
    .map(own => {
      const axes = own.map(({axis}) => axis);
      return [own, along(axes, ground)];
    });

/** Forces and stops on the joints' coordinates. */
export interface MaximalJointTerms {
  readonly groups: readonly ForceGroup[];
  readonly stops: Constraint | undefined;
}

/** @throws OptionError 'bad-multibody' where that needs minimal coordinates, 'unknown-joint' */
export function maximalJointTerms(
  joints: readonly (readonly [string, KnownJoint])[],
  forces: readonly JointForce[],
  places: (name: string) => BodyPose,
): MaximalJointTerms {
  const ground = places('ground').index;
  const refuse = (name: string, what: string): never => {
    throw new OptionError(
      'bad-multibody',
      `multibody: joint ${name} has ${what}, which needs coordinates: 'minimal'; `
        + 'in maximal ones revolute and prismatic joints have forces and limits.',
    );
  };
  const all = coordinatesOf(joints);
  for (const {name, own} of all) if (own.armature !== 0) refuse(name, 'armature');
  const placed = ({name, number}: JointCoordinate, what: string): JointAxis =>
    axisOf(joints[number][1], places) ?? refuse(name, what);
  const acting = forces.map(force => ({force, axis: placed(requireCoordinate(all, force), 'a jointForce')}));
  const limited = all.flatMap(one => {
    const {name, own} = one;
    if (own.limits === undefined) return [];
    const axis = placed(one, 'limits');
    if (axis.kind === 'turn' && own.limits.some(x => Number.isFinite(x) && Math.abs(x) >= Math.PI))
      refuse(name, `limits [${own.limits.join(', ')}] beyond half a turn`);
    return [{name, range: own.limits, axis}];
  });
  const groups = byKind(acting, ground).map(([own, coordinates]) => {
    const all = own.map(({force}) => force);
    return coordinateForces(all, coordinates);
  });
  const stopped = byKind(limited, ground);
  const position = (q: tf.Tensor): tf.Tensor =>
    tf.concat(stopped.map(([, coordinates]) => coordinates.position(poseOf(q))));
  return {
    groups,
    stops: stopsOf(
      stopped.flatMap(([own]) => own),
      position,
    )?.constraint,
  };
}

/** The coordinate of a joint, as functions of what moves: an angle within half a turn, or a shift. */
export function axisCoordinate(
  name: string,
  joint: KnownJoint,
  places: (name: string) => BodyPose,
): Pick<Coordinates, 'position' | 'rate'> {
  const axis = axisOf(joint, places);
  if (axis !== undefined) return along([axis], places('ground').index);
  throw new OptionError(
    'bad-multibody',
    `coordinate: joint '${name}' is ${joint.kind}, with no coordinate to be read from the poses of its bodies; `
      + "revolute and prismatic joints have one. Joints of the tree of coordinates: 'minimal' have theirs.",
    {joint: name},
  );
}
