/**
 * Joints as users write them: between two bodies by name, 'ground' being the world; points and axes in world
 * coordinates at the start. A joint is the sequence of freedoms that it leaves: its constraints (rows.ts) and its
 * coordinates (tree.ts) follow from these. Others say what they hold (Haug, Computer Aided Kinematics and Dynamics of
 * Mechanical Systems, 1989, chapter 9).
 */
import type * as tf from '@tensorflow/tfjs';
import {callable, list, optional, positive, readBy, readOptions, text, typed} from '../../lib/checks.js';
import type {Check, Options, OptionValues} from '../../lib/checks.js';
import type {Params} from '../../lib/index.js';
import {OptionError} from '../../lib/index.js';
import type {Coefficient} from '../coefficient.js';
import type {CustomJoint} from './custom-joint.js';
import {direction, frameAlong, inner, origin, requireDirection, vector, type V3} from './numbers.js';

/** Made by `revolute` and its like, for `multibody`. */
export interface Joint {
  readonly kind: string;
  readonly a: string;
  readonly b: string;
}

/** An angle [] in radians as a function of time. */
export type Angle = (at: {readonly t: tf.Tensor; readonly params: Params}) => tf.Tensor;

const notZero: Check<number> = {
  what: 'a finite number other than 0',
  test: value => Number.isFinite(value) && value !== 0,
};

const range: Check<readonly [number, number]> = readBy((value, name) => {
  if (Array.isArray(value) && value.length === 2 && value[0] < value[1]) return value;
  throw new OptionError('bad-multibody', `${name} must be [least, greatest], not ${JSON.stringify(value)}.`);
});

const axes: Check<readonly [V3, V3]> = readBy((value, name) => {
  if (!Array.isArray(value) || value.length !== 2)
    throw new OptionError('bad-multibody', `${name} must be two directions, [[x, y, z], [x, y, z]].`);
  return [requireDirection(value[0], `${name}[0]`), requireDirection(value[1], `${name}[1]`)];
});

const point = {
  /** A point of the joint, in world coordinates at the start. */
  at: vector,
};
const pointAndAxis = {
  ...point,
  /** The joint's axis, in world coordinates at the start. */
  axis: direction,
};
const loads = {
  /**
   * Inertia of what turns with the joint's coordinate alone, as a motor's rotor behind a gear of ratio n, n² times its
   * own [mass · length², of a slide mass]; default 0. For minimal coordinates.
   */
  armature: optional(typed<Coefficient>(), 0),
  /** Least and greatest coordinate, from that at the start [radians, or length], as hard stops; ±Infinity for none. */
  limits: optional(range),
};
/** About which a reaction's torque is given; default the centre of b, or of a where b is the ground. */
const reference = {at: optional(vector)};

/** The options of joints by their kinds. */
const schemas = {
  revolute: {...pointAndAxis, ...loads},
  spherical: point,
  prismatic: {...reference, axis: direction, ...loads},
  compound: {
    /** From a to b, one to six. */
    steps: typed<readonly CompoundStep[]>(list),
  },
  cylindrical: pointAndAxis,
  universal: {
    ...point,
    /** Not parallel; they stay as they are to one another. */
    axes,
  },
  planar: pointAndAxis,
  fixed: reference,
  screw: {
    ...pointAndAxis,
    /** Advance per turn [length], right-handed where it is positive. */
    pitch: notZero,
  },
  distance: {
    from: vector,
    to: vector,
    /** Default: the distance at the start. */
    length: optional(positive),
  },
  rolling: {
    radius: positive,
    /** Axis of a wheel, through its centre. */
    axis: optional(direction),
    /** A point of the plane; default the origin. */
    at: optional(vector, [0, 0, 0]),
    /** Out of the plane, to where b is; default [0, 0, 1]. */
    normal: optional(direction, [0, 0, 1]),
  },
  gear: {
    axes,
    ratio: notZero,
    /** The body in which the axes are fixed; default 'ground'. */
    carrier: optional(text, 'ground'),
  },
  motor: {
    axis: direction,
    /** [] in radians, zero at the start; right-handed about the axis. */
    angle: typed<Angle>(callable),
  },
};
const steps = {
  turn: {turn: direction, at: vector, ...loads},
  slide: {slide: direction, ...loads},
  ball: {ball: vector, armature: loads.armature},
};

type Schemas = typeof schemas;

interface Ends {
  readonly a: string;
  readonly b: string;
}

/** A joint that leaves free a sequence of turns, slides and balls, from a to b. `kind` is its name in messages. */
export interface SteppedJoint extends Ends {
  readonly kind: SteppedKind;
  /** The point about which its reaction's torque is given, in world coordinates at the start. */
  readonly at: V3 | undefined;
  readonly steps: readonly KnownStep[];
}

type SteppedKind =
  'revolute' | 'spherical' | 'prismatic' | 'compound' | 'cylindrical' | 'universal' | 'planar' | 'fixed' | 'screw';
type ClosingKind = Exclude<keyof Schemas, SteppedKind>;

/** A joint as it was read. All but the stepped ones have no coordinates of their own. */
export type KnownJoint =
  SteppedJoint | {[K in ClosingKind]: {readonly kind: K} & Ends & OptionValues<Schemas[K]>}[ClosingKind] | CustomJoint;

/** One freedom of a joint, in world coordinates at the start. */
export type KnownStep = Loads
  & (
    | {readonly kind: 'turn'; readonly axis: V3; readonly at: V3}
    | {readonly kind: 'slide'; readonly axis: V3}
    | {readonly kind: 'ball'; readonly at: V3}
    /** A turn that also advances along its axis, by `lead` [length] for each radian. */
    | {readonly kind: 'screw'; readonly axis: V3; readonly at: V3; readonly lead: number}
  );

/** Armature and limits of a coordinate. */
export type Loads = OptionValues<typeof loads>;

/** The position of a joint, in world coordinates at the start. @interface */
export type JointPoint = Options<typeof point>;
/** The position and the axis of a joint, in world coordinates at the start. @interface */
export type JointAxis = Options<typeof pointAndAxis>;
/** Armature and limits of a joint's coordinate. @interface */
export type JointLoads = Options<typeof loads>;

/** One step of a compound joint: a turn about an axis, a slide along one, or a ball. World coordinates at the start. */
export type CompoundStep =
  | ({readonly turn: readonly [number, number, number]; readonly at: readonly [number, number, number]} & JointLoads)
  | ({readonly slide: readonly [number, number, number]} & JointLoads)
  | ({readonly ball: readonly [number, number, number]} & Pick<JointLoads, 'armature'>);

function joint<K extends keyof Schemas>(
  kind: K,
  a: string,
  b: string,
  spec: Options<Schemas[K]>,
  name: string = kind,
): {readonly kind: K} & Ends & OptionValues<Schemas[K]> {
  const read = readOptions(spec, schemas[kind], name, 'bad-multibody');
  if (typeof a === 'string' && typeof b === 'string' && a !== b) return {kind, a, b, ...read};
  throw new OptionError(
    'bad-multibody',
    `${name} joins two different bodies by name, or a body and 'ground'; `
      + `not ${JSON.stringify(a)} and ${JSON.stringify(b)}.`,
  );
}

const bare: Loads = {armature: 0, limits: undefined};

/** A joint of these freedoms. */
function stepped<K extends Exclude<SteppedKind, 'compound'>>(
  kind: K,
  a: string,
  b: string,
  spec: Options<Schemas[K]>,
  steps: (read: OptionValues<Schemas[K]>) => readonly KnownStep[],
): SteppedJoint {
  const read = joint(kind, a, b, spec);
  return {kind, a, b, at: read.at as V3 | undefined, steps: steps(read)};
}

/**
 * b turns about an axis of a.
 * @throws OptionError 'bad-multibody'
 */
export function revolute(a: string, b: string, spec: JointAxis & JointLoads): Joint {
  return stepped('revolute', a, b, spec, read => [{...read, kind: 'turn'}]);
}

/**
 * A point of b stays at one of a; b turns as it likes.
 * @throws OptionError 'bad-multibody'
 */
export function spherical(a: string, b: string, spec: JointPoint): Joint {
  return stepped('spherical', a, b, spec, ({at}) => [{kind: 'ball', at, ...bare}]);
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
  return stepped('prismatic', a, b, spec, ({at: _, ...read}) => [{...read, kind: 'slide'}]);
}

/**
 * Turns, slides and balls one after the other, each moved by those before it: b hangs on the last. In maximal
 * coordinates, up to three slides before or after one to three turns about one point, or before a ball.
 * @param spec.steps from a to b
 * @throws OptionError 'bad-multibody'
 */
export function compound(a: string, b: string, spec: {readonly steps: readonly CompoundStep[]}): Joint {
  const {steps: given} = joint('compound', a, b, spec);
  if (given.length === 0 || given.length > 6)
    throw new OptionError('bad-multibody', `compound: it has ${given.length} steps; give one to six.`);
  const known = given.map((step, i) => stepOf(step, `compound: steps[${i}]`));
  const at = known.map(step => ('at' in step ? step.at : undefined)).find(point => point !== undefined);
  return {kind: 'compound', a, b, at: at ?? origin, steps: known} as SteppedJoint;
}

function stepOf(step: CompoundStep, name: string): KnownStep {
  if ('turn' in step) {
    const {turn: axis, ...rest} = readOptions(step, steps.turn, name, 'bad-multibody');
    return {kind: 'turn', axis, ...rest};
  }
  if ('slide' in step) {
    const {slide: axis, ...rest} = readOptions(step, steps.slide, name, 'bad-multibody');
    return {kind: 'slide', axis, ...rest};
  }
  const {ball: at, armature} = readOptions(step, steps.ball, name, 'bad-multibody');
  return {...bare, kind: 'ball', at, armature};
}

/**
 * b turns about an axis of a and slides along it.
 * @throws OptionError 'bad-multibody'
 */
export function cylindrical(a: string, b: string, spec: JointAxis): Joint {
  return stepped('cylindrical', a, b, spec, ({axis, at}) => [
    {kind: 'slide', axis, ...bare},
    {kind: 'turn', axis, at, ...bare},
  ]);
}

/**
 * Hooke's joint: a cross whose first axis is fixed in a, the second in b.
 * @param spec.axes not parallel; they stay as they are to one another
 * @throws OptionError 'bad-multibody'
 */
export function universal(a: string, b: string, spec: Options<Schemas['universal']>): Joint {
  return stepped('universal', a, b, spec, ({axes: both, at}) => {
    // Beyond a degree from parallel a cross has no two directions to turn in.
    if (Math.abs(inner(...both)) > 0.9998)
      throw new OptionError('bad-multibody', 'universal: the two axes are parallel; a cross has two directions.');
    return both.map(axis => ({kind: 'turn', axis, at, ...bare}));
  });
}

/**
 * A point of b stays in a plane of a, to which `axis` is normal, and b turns about that normal.
 * @throws OptionError 'bad-multibody'
 */
export function planar(a: string, b: string, spec: JointAxis): Joint {
  return stepped('planar', a, b, spec, ({axis, at}) => {
    const [e, f, g] = frameAlong(axis);
    return [
      {kind: 'slide', axis: e, ...bare},
      {kind: 'slide', axis: f, ...bare},
      {kind: 'turn', axis: g, at, ...bare},
    ];
  });
}

/**
 * b stays as it is to a.
 * @param spec.at about which its reaction's torque is given; default the centre of b, or of a where b is the ground
 * @throws OptionError 'bad-multibody'
 */
export function fixed(a: string, b: string, spec: Partial<JointPoint> = {}): Joint {
  return stepped('fixed', a, b, spec, () => []);
}

/**
 * b turns about an axis of a and advances along it by `pitch` [length] a turn, right-handed where it is positive.
 * @throws OptionError 'bad-multibody'
 */
export function screw(a: string, b: string, spec: JointAxis & {readonly pitch: number}): Joint {
  return stepped('screw', a, b, spec, ({axis, at, pitch}) => [
    {kind: 'screw', axis, at, lead: pitch / (2 * Math.PI), ...bare},
  ]);
}

/**
 * Two points keep their distance: a massless rod with balls at its ends.
 * @param spec.length default: the distance at the start
 * @throws OptionError 'bad-multibody'
 */
export function distanceJoint(a: string, b: string, spec: Options<Schemas['distance']>): Joint {
  return joint('distance', a, b, spec, 'distanceJoint');
}

/**
 * b rolls on a plane of a without slip and without leaving it (nonholonomic): a ball about its centre of mass, or
 * where `axis` is given a thin wheel about that axis through its centre.
 * @throws OptionError 'bad-multibody'
 */
export function rolling(a: string, b: string, spec: Options<Schemas['rolling']>): Joint {
  if (b === 'ground')
    throw new OptionError('bad-multibody', "rolling: body b rolls on a's plane; b cannot be 'ground'.");
  return joint('rolling', a, b, spec);
}

/**
 * Gears: seen from the carrier, b turns `ratio` times as fast about the second axis as a about the first; negative
 * for wheels that mesh from outside on parallel axes. The joints that hold the wheels are given apart.
 * @throws OptionError 'bad-multibody'
 */
export function gear(a: string, b: string, spec: Options<Schemas['gear']>): Joint {
  return joint('gear', a, b, spec);
}

/**
 * A drive that turns b against a by a given angle about an axis; the joint that holds b on that axis is given apart.
 * Its reaction's torque is what the drive has to give.
 * @throws OptionError 'bad-multibody'
 */
export function motor(a: string, b: string, spec: Options<Schemas['motor']>): Joint {
  return joint('motor', a, b, spec);
}
