/**
 * Joints as users write them: between two bodies by name, 'ground' being the world; points and axes in world
 * coordinates at the start. What each asks of its two bodies is said by a few kinds of rows (rows.ts), after
 * Haug, Computer Aided Kinematics and Dynamics of Mechanical Systems (1989), chapter 9.
 */
import type * as tf from '@tensorflow/tfjs';
import {any, callable, list, refuseUnknownOptions} from '../../lib/checks.js';
import type {Params} from '../../lib/index.js';
import {OptionError} from '../../lib/index.js';
import type {Coefficient} from '../coefficient.js';
import type {CustomJoint} from './custom-joint.js';
import {inner, requireDirection, requireVector, type V3} from './numbers.js';

/** Made by `revolute` and its like, for `multibody`. */
export interface Joint {
  readonly kind: string;
  readonly a: string;
  readonly b: string;
}

/** What a joint is made of. */
export type KnownJoint =
  | ({readonly kind: 'revolute'} & Ends & PointAndAxis & Loads)
  | ({readonly kind: 'cylindrical' | 'planar'} & Ends & PointAndAxis)
  | ({readonly kind: 'prismatic'} & Ends & Loads & {readonly at: V3 | undefined; readonly axis: V3})
  | ({readonly kind: 'compound'} & Ends & {readonly at: V3; readonly steps: readonly KnownStep[]})
  | ({readonly kind: 'spherical' | 'fixed'} & Ends & {readonly at: V3 | undefined})
  | ({readonly kind: 'universal'} & Ends & {readonly at: V3; readonly axes: readonly [V3, V3]})
  | ({readonly kind: 'screw'} & Ends & PointAndAxis & {readonly pitch: number})
  | ({readonly kind: 'distance'} & Ends & {readonly from: V3; readonly to: V3; readonly length: number | undefined})
  | ({readonly kind: 'rolling'} & Ends & Rolls)
  | ({readonly kind: 'gear'} & Ends & Meshes)
  | ({readonly kind: 'motor'} & Ends & {readonly axis: V3; readonly angle: Angle})
  | CustomJoint;

/** A step of a compound joint, in world coordinates at the start; that of a slide has no point. */
export type KnownStep =
  | ({readonly kind: 'turn'; readonly axis: V3; readonly at: V3} & Loads)
  | ({readonly kind: 'slide'; readonly axis: V3} & Loads)
  | ({readonly kind: 'ball'; readonly at: V3} & Loads);

/** What a coordinate of a joint has of its own. */
export interface Loads {
  readonly armature: Coefficient;
  readonly limits: readonly [number, number] | undefined;
}

interface Ends {
  readonly a: string;
  readonly b: string;
}
interface PointAndAxis {
  readonly at: V3;
  readonly axis: V3;
}
interface Rolls {
  readonly at: V3;
  readonly normal: V3;
  readonly radius: number;
  readonly axis: V3 | undefined;
}
interface Meshes {
  readonly axes: readonly [V3, V3];
  readonly ratio: number;
  readonly carrier: string;
}

/** An angle [] in radians as a function of time. */
export type Angle = (at: {readonly t: tf.Tensor; readonly params: Params}) => tf.Tensor;

/** Where a joint is, in world coordinates at the start. */
export interface JointPoint {
  readonly at: readonly [number, number, number];
}
/** Where a joint is and along what, in world coordinates at the start. */
export interface JointAxis extends JointPoint {
  readonly axis: readonly [number, number, number];
}

/** What the coordinate of a joint may have beside its axis. */
export interface JointLoads {
  /**
   * Inertia of what turns with the joint's coordinate alone, as a motor's rotor behind a gear of ratio n, n² times its own
   * [mass · length², of a slide mass]; default 0. For minimal coordinates.
   */
  readonly armature?: Coefficient;
  /** Least and greatest coordinate, from that at the start [radians, or length], held as hard stops; ±Infinity for none. */
  readonly limits?: readonly [number, number];
}

/** One step of a compound joint: a turn about an axis, a slide along one, or a ball. World coordinates at the start. */
export type CompoundStep =
  | ({readonly turn: readonly [number, number, number]; readonly at: readonly [number, number, number]} & JointLoads)
  | ({readonly slide: readonly [number, number, number]} & JointLoads)
  | ({readonly ball: readonly [number, number, number]} & Pick<JointLoads, 'armature'>);

/** What errors call the row of a stop. */
export const limitName = (joint: string, end: 'least' | 'greatest'): string => `${end} limit of joint ${joint}`;

function loadsOf({armature = 0, limits}: JointLoads, name: string): Loads {
  if (limits === undefined) return {armature, limits};
  const [low, high] = limits;
  if (limits.length !== 2 || !(low < high))
    throw new OptionError('bad-multibody', `${name}: limits must be [least, greatest], not ${JSON.stringify(limits)}.`);
  return {armature, limits: [low, high]};
}

const withAxis = (kind: 'cylindrical' | 'planar', a: string, b: string, spec: JointAxis): Joint => {
  refuseUnknownOptions(spec, {at: any, axis: any}, kind, 'bad-multibody');
  return known({
    kind,
    ...ends(kind, a, b),
    at: requireVector(spec.at, `${kind}: at`),
    axis: requireDirection(spec.axis, `${kind}: axis`),
  });
};

/**
 * b turns about an axis of a.
 * @throws OptionError 'bad-multibody'
 */
export function revolute(a: string, b: string, spec: JointAxis & JointLoads): Joint {
  refuseUnknownOptions(spec, {at: any, axis: any, armature: any, limits: list}, 'revolute', 'bad-multibody');
  return known({
    kind: 'revolute',
    ...ends('revolute', a, b),
    at: requireVector(spec.at, 'revolute: at'),
    axis: requireDirection(spec.axis, 'revolute: axis'),
    ...loadsOf(spec, 'revolute'),
  });
}

/**
 * A point of b stays at one of a; b turns as it likes.
 * @throws OptionError 'bad-multibody'
 */
export function spherical(a: string, b: string, spec: JointPoint): Joint {
  refuseUnknownOptions(spec, {at: any}, 'spherical', 'bad-multibody');
  return known({kind: 'spherical', ...ends('spherical', a, b), at: requireVector(spec.at, 'spherical: at')});
}

/**
 * b slides along an axis of a and does not turn against it.
 * @param spec.at about which its reaction's torque is given; default the centre of b, or of a where b is the ground
 * @throws OptionError 'bad-multibody'
 */
export function prismatic(
  a: string,
  b: string,
  spec: Partial<JointPoint> & Pick<JointAxis, 'axis'> & JointLoads,
): Joint {
  refuseUnknownOptions(spec, {at: any, axis: any, armature: any, limits: list}, 'prismatic', 'bad-multibody');
  return known({
    kind: 'prismatic',
    ...ends('prismatic', a, b),
    at: spec.at === undefined ? undefined : requireVector(spec.at, 'prismatic: at'),
    axis: requireDirection(spec.axis, 'prismatic: axis'),
    ...loadsOf(spec, 'prismatic'),
  });
}

/**
 * Turns, slides and balls one after the other, each moved by those before it: b hangs on the last. In maximal coordinates,
 * up to three slides before or after one to three turns about one point, or before a ball.
 * @param spec.steps from a to b
 * @throws OptionError 'bad-multibody'
 */
export function compound(a: string, b: string, spec: {readonly steps: readonly CompoundStep[]}): Joint {
  refuseUnknownOptions(spec, {steps: list}, 'compound', 'bad-multibody');
  const steps = spec.steps.map((step, i) => stepOf(step, `compound: steps[${i}]`));
  const first = steps.find((step): step is Exclude<KnownStep, {kind: 'slide'}> => step.kind !== 'slide');
  if (steps.length === 0 || steps.length > 6)
    throw new OptionError('bad-multibody', `compound: it has ${steps.length} steps; give one to six.`);
  return known({kind: 'compound', ...ends('compound', a, b), at: first?.at ?? [0, 0, 0], steps});
}

function stepOf(step: CompoundStep, name: string): KnownStep {
  const check = (known: readonly string[]): void =>
    refuseUnknownOptions(step, Object.fromEntries(known.map(key => [key, any])), name, 'bad-multibody');
  if ('turn' in step) {
    check(['turn', 'at', 'armature', 'limits']);
    const axis = requireDirection(step.turn, `${name}.turn`);
    return {kind: 'turn', axis, at: requireVector(step.at, `${name}.at`), ...loadsOf(step, name)};
  }
  if ('slide' in step) {
    check(['slide', 'armature', 'limits']);
    return {kind: 'slide', axis: requireDirection(step.slide, `${name}.slide`), ...loadsOf(step, name)};
  }
  check(['ball', 'armature']);
  return {kind: 'ball', at: requireVector(step.ball, `${name}.ball`), ...loadsOf(step, name)};
}

/**
 * b turns about an axis of a and slides along it.
 * @throws OptionError 'bad-multibody'
 */
export function cylindrical(a: string, b: string, spec: JointAxis): Joint {
  return withAxis('cylindrical', a, b, spec);
}

/**
 * Hooke's joint: a cross whose first axis is fixed in a, the second in b.
 * @param spec.axes not parallel; they stay as they are to one another
 * @throws OptionError 'bad-multibody'
 */
export function universal(
  a: string,
  b: string,
  spec: JointPoint & {readonly axes: readonly [readonly [number, number, number], readonly [number, number, number]]},
): Joint {
  refuseUnknownOptions(spec, {at: any, axes: any}, 'universal', 'bad-multibody');
  const axes = pair(spec.axes, 'universal: axes');
  // Beyond a degree from parallel a cross has no two directions to turn in.
  if (Math.abs(inner(...axes)) > 0.9998)
    throw new OptionError('bad-multibody', 'universal: the two axes are parallel; a cross has two directions.');
  return known({kind: 'universal', ...ends('universal', a, b), at: requireVector(spec.at, 'universal: at'), axes});
}

/**
 * A point of b stays in a plane of a, to which `axis` is normal, and b turns about that normal.
 * @throws OptionError 'bad-multibody'
 */
export function planar(a: string, b: string, spec: JointAxis): Joint {
  return withAxis('planar', a, b, spec);
}

/**
 * b stays as it is to a.
 * @param spec.at about which its reaction's torque is given; default the centre of b, or of a where b is the ground
 * @throws OptionError 'bad-multibody'
 */
export function fixed(a: string, b: string, spec: Partial<JointPoint> = {}): Joint {
  refuseUnknownOptions(spec, {at: any}, 'fixed', 'bad-multibody');
  return known({
    kind: 'fixed',
    ...ends('fixed', a, b),
    at: spec.at === undefined ? undefined : requireVector(spec.at, 'fixed: at'),
  });
}

/**
 * b turns about an axis of a and advances along it by `pitch` [length] a turn, right-handed where it is positive.
 * @throws OptionError 'bad-multibody'
 */
export function screw(a: string, b: string, spec: JointAxis & {readonly pitch: number}): Joint {
  refuseUnknownOptions(spec, {at: any, axis: any, pitch: any}, 'screw', 'bad-multibody');
  const {pitch} = spec;
  if (!Number.isFinite(pitch) || pitch === 0)
    throw new OptionError('bad-multibody', `screw: pitch must be a length a turn other than 0, not ${pitch}.`);
  return known({
    kind: 'screw',
    ...ends('screw', a, b),
    at: requireVector(spec.at, 'screw: at'),
    axis: requireDirection(spec.axis, 'screw: axis'),
    pitch,
  });
}

/**
 * Two points keep their distance: a massless rod with balls at its ends.
 * @param spec.length default: the distance at the start
 * @throws OptionError 'bad-multibody'
 */
export function distanceJoint(
  a: string,
  b: string,
  spec: {
    readonly from: readonly [number, number, number];
    readonly to: readonly [number, number, number];
    readonly length?: number;
  },
): Joint {
  refuseUnknownOptions(spec, {from: any, to: any, length: any}, 'distanceJoint', 'bad-multibody');
  const {length} = spec;
  if (length !== undefined && !(length > 0 && Number.isFinite(length)))
    throw new OptionError('bad-multibody', `distanceJoint: length must be positive, not ${length}.`);
  return known({
    kind: 'distance',
    ...ends('distanceJoint', a, b),
    from: requireVector(spec.from, 'distanceJoint: from'),
    to: requireVector(spec.to, 'distanceJoint: to'),
    length,
  });
}

/**
 * b rolls on a plane of a without slip and without leaving it (nonholonomic): a ball about its centre of mass, or
 * where `axis` is given a thin wheel about that axis through its centre.
 * @param spec.at a point of the plane
 * @param spec.normal out of the plane, to where b is; default [0, 0, 1]
 * @throws OptionError 'bad-multibody'
 */
export function rolling(
  a: string,
  b: string,
  spec: {
    readonly radius: number;
    readonly axis?: readonly [number, number, number];
    readonly at?: readonly [number, number, number];
    readonly normal?: readonly [number, number, number];
  },
): Joint {
  refuseUnknownOptions(spec, {radius: any, axis: any, at: any, normal: any}, 'rolling', 'bad-multibody');
  const {radius, axis} = spec;
  if (!(radius > 0 && Number.isFinite(radius)))
    throw new OptionError('bad-multibody', `rolling: radius must be positive, not ${radius}.`);
  if (b === 'ground')
    throw new OptionError('bad-multibody', "rolling: b is what rolls, and cannot be 'ground'; a has the plane.");
  return known({
    kind: 'rolling',
    ...ends('rolling', a, b),
    radius,
    axis: axis === undefined ? undefined : requireDirection(axis, 'rolling: axis'),
    at: requireVector(spec.at ?? [0, 0, 0], 'rolling: at'),
    normal: requireDirection(spec.normal ?? [0, 0, 1], 'rolling: normal'),
  });
}

/**
 * Gears: seen from the carrier, b turns `ratio` times as fast about the second axis as a about the first; negative
 * for wheels that mesh from outside on parallel axes. The joints that hold the wheels are given apart.
 * @param spec.carrier in which the axes are fixed; default 'ground'
 * @throws OptionError 'bad-multibody'
 */
export function gear(
  a: string,
  b: string,
  spec: {
    readonly axes: readonly [readonly [number, number, number], readonly [number, number, number]];
    readonly ratio: number;
    readonly carrier?: string;
  },
): Joint {
  refuseUnknownOptions(spec, {axes: any, ratio: any, carrier: any}, 'gear', 'bad-multibody');
  const {ratio, carrier = 'ground'} = spec;
  if (!Number.isFinite(ratio) || ratio === 0)
    throw new OptionError('bad-multibody', `gear: ratio must be a finite number other than 0, not ${ratio}.`);
  return known({kind: 'gear', ...ends('gear', a, b), axes: pair(spec.axes, 'gear: axes'), ratio, carrier});
}

/**
 * A drive that turns b against a by a given angle about an axis; the joint that holds b on that axis is given apart.
 * Its reaction's torque is what the drive has to give.
 * @param spec.angle [] in radians, zero at the start; right-handed about the axis
 * @throws OptionError 'bad-multibody'
 */
export function motor(
  a: string,
  b: string,
  spec: {readonly axis: readonly [number, number, number]; readonly angle: Angle},
): Joint {
  refuseUnknownOptions(spec, {axis: any, angle: callable}, 'motor', 'bad-multibody');
  return known({
    kind: 'motor',
    ...ends('motor', a, b),
    axis: requireDirection(spec.axis, 'motor: axis'),
    angle: spec.angle,
  });
}

const known = (joint: KnownJoint): Joint => joint;

function ends(kind: string, a: string, b: string): Ends {
  if (typeof a !== 'string' || typeof b !== 'string' || a === b)
    throw new OptionError(
      'bad-multibody',
      `${kind} joins two different bodies by name, or a body and 'ground'; not ${JSON.stringify(a)} and ${JSON.stringify(b)}.`,
    );
  return {a, b};
}

function pair(axes: unknown, name: string): [V3, V3] {
  if (!Array.isArray(axes) || axes.length !== 2)
    throw new OptionError('bad-multibody', `${name} must be two directions, [[x, y, z], [x, y, z]].`);
  return [requireDirection(axes[0], `${name}[0]`), requireDirection(axes[1], `${name}[1]`)];
}
