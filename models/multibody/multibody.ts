/**
 * Rigid bodies with joints in maximal coordinates: Newton's and Euler's equations of every body by itself, joints as
 * constraints on them (Haug 1989; Géradin & Cardona, Flexible Multibody Dynamics, 2001). Rotations are unit
 * quaternions moved by the exponential map (Brüls & Cardona 2010); the matrix of a step is as sparse as the mechanism.
 */
import * as tf from '@tensorflow/tfjs';
import {list, object, oneOf, optional, readOptions, typed, type Options} from '../../lib/checks.js';
import type {Constraint, MechanicalSystem, NumericParams, Observe, Params, Trajectory} from '../../lib/index.js';
import {freeBodies} from '../../lib/internal.js';
import {bilateral, mechanics, nonholonomic, OptionError} from '../../lib/index.js';
import type {Drawn} from '../figure.js';
import {readBodies, type Bodies, type BodySpec, type BodyPose} from './bodies.js';
import {contactGroups, type BodyContact} from './contacts.js';
import {turnedTooFar} from './axis-coordinates.js';
import {forceGroups, type BetweenBodies} from './force-groups.js';
import type {BodyForce, WrenchTerm} from './forces.js';
import {contactOutlines, figureOf, groundOf, outlinesOf} from './drawing.js';
import {axisCoordinate, maximalJointTerms} from './joint-coordinates.js';
import {jointTerms, type JointForce} from './joint-forces.js';
import type {Joint, KnownJoint} from './joints.js';
import {minimalSystem, wholeSeries} from './minimal.js';
import {treeOf} from './tree.js';
import {local, requireVector, vector, type V3} from './numbers.js';
import {posesAlong, reactionsAlong, type PoseSeries, type ReactionSeries} from './series.js';
import {rigidContacts, rigidEnergies, type RigidContact} from './rigid-contacts.js';
import {jointRows, type JointRows} from './rows.js';
import type {Shape} from './shapes.js';
import {
  Choice,
  constants,
  pointOf,
  poseOf,
  stacked,
  twistOf,
  withGround,
  type ForceGroup,
  type Instant,
} from './state.js';
import {add, cross, dot, neg, rotate, times, type Vec} from './vectors.js';

const multibodyOptions = {
  /** [length / time²], world axes; default none. */
  gravity: optional(vector, [0, 0, 0]),
  /** By name; their order is that of the rows of q and v. */
  bodies: typed<{readonly [name: string]: BodySpec}>(object),
  /** By name. */
  joints: optional(typed<{readonly [name: string]: Joint}>(object), {}),
  forces: optional(typed<readonly BodyForce[]>(list), []),
  /** Made by `contact`, which yields, and `rigidContact`, which does not and asks for `scheme: moreau()`. */
  contacts: optional(typed<readonly (BodyContact | RigidContact)[]>(list), []),
  /**
   * By the names of bodies: what `animate` draws of them beside the shapes of contacts; default bars to their joints.
   */
  shapes: optional(typed<{readonly [body: string]: readonly Shape[]}>(object), {}),
  /**
   * 'maximal' (default): six velocities a body, all joints constraints. 'minimal': the coordinates of joints along a
   * spanning tree; joints that close loops, and those without coordinates of their own, are constraints.
   */
  coordinates: optional(oneOf('maximal', 'minimal'), 'maximal'),
};

/** The argument of `multibody`. @interface */
export type MultibodySpec = Options<typeof multibodyOptions>;

/** The start of a run of a multibody system. */
export interface MultibodyStart {
  /** [bodies, 7], centre and quaternion, w first, of each body; or the joints' coordinates, flat. */
  readonly q: readonly (readonly number[])[] | readonly number[];
  /**
   * [bodies, 6], velocity of the centre in world axes and angular velocity in body axes; or the joints' velocities,
   * flat.
   */
  readonly v: readonly (readonly number[])[] | readonly number[];
}

/** Made by `multibody`: a mechanical system with what its series mean. */
export interface Multibody extends MechanicalSystem, Drawn {
  readonly initial: MultibodyStart;
  /** The number of a body: its row in q and v. @throws OptionError 'unknown-body' */
  body(name: string): number;
  /** Pose and velocity of a body, at every saved time. @throws OptionError 'unknown-body' */
  pose(trajectory: SavedMotion, body: string): PoseSeries;
  /**
   * Force and torque of a joint on its body b, at every saved time, from the multipliers there. For schemes whose
   * multipliers are means over the step (docs/constraints.md), the reaction is a mean too.
   * @param params those of the run, as `simulate` takes them, where the model reads any
   * @throws OptionError 'unknown-joint', 'bad-parameter', and 'bad-multibody' in minimal coordinates with rigid
   *   contacts
   */
  reaction(trajectory: SavedMotion, joint: string, params?: NumericParams): ReactionSeries;
  /**
   * The coordinate of a joint and its rate, [], from a to b and zero at the start, for `options.observe`: of a revolute
   * joint an angle, of a prismatic one a shift. Angles lie in (−π, π], except those of the tree of minimal coordinates,
   * which count turns.
   * @param step of joints with several coordinates, in minimal coordinates; default 0. A ball has a quaternion and an
   *   angular velocity.
   * @throws OptionError 'unknown-joint', and 'bad-multibody' for a joint without such a coordinate
   */
  coordinate(joint: string, step?: number): JointCoordinateOf;
  /**
   * Where a point of a body is, [3] in world axes, in either coordinates: for `options.observe`, as a marker is
   * measured.
   * @param at the point at the start, in world coordinates
   * @throws OptionError 'unknown-body', 'bad-multibody'
   */
  point(body: string, at: readonly [number, number, number]): (state: {readonly q: tf.Tensor}) => tf.Tensor;
  /** Kinetic energy, that of gravity (zero at the origin), of springs and of contacts [], for `options.observe`. */
  readonly energy: Observe;
  /** Linear momentum and angular momentum about the origin, [6], world axes; for `options.observe`. */
  readonly momentum: Observe;
}

/** The result of `coordinate` of a multibody system. */
export interface JointCoordinateOf {
  readonly position: Observe;
  readonly rate: Observe;
}

/** Saved values, as a trajectory has them. */
export type SavedMotion = Pick<Trajectory, 'values'>;

/**
 * Rigid bodies in space. q [bodies, 7] holds the centre of mass and a unit quaternion (w first) of each, v [bodies, 6]
 * the velocity of the centre in world axes and the angular velocity in body axes. The start is where the bodies are
 * said to be; joints are made to fit there. Velocities that break a joint are an InconsistentStateError of the run, or
 * with `consistent: 'project'` are moved to the nearest that do not. More joints than are needed may be given
 * (docs/constraints.md, redundant constraints).
 * @throws OptionError 'bad-multibody', 'unknown-body', 'bad-coefficient'; ShapeError 'inertia-shape' when traced
 * @example
 * ```ts
 * import {simulate} from 'stiffgrad';
 * import {multibody, revolute} from 'stiffgrad/models';
 *
 * const rod = multibody({
 *   gravity: [0, 0, -9.81],
 *   bodies: {rod: {mass: 1, inertia: [1e-3, 1 / 12, 1 / 12], position: [0.5, 0, 0]}},
 *   joints: {pin: revolute('ground', 'rod', {at: [0, 0, 0], axis: [0, 1, 0]})},
 * });
 * const path = simulate(rod, rod.initial, {dt: 0.01, steps: 20});
 * console.log(Math.hypot(...rod.pose(path, 'rod').position.slice(-3))); // → 0.5000
 * ```
 */
export function multibody(spec: MultibodySpec): Multibody {
  const {gravity, forces, contacts, shapes, ...read} = readOptions(
    spec,
    multibodyOptions,
    'multibody',
    'bad-multibody',
  );
  const bodies = readBodies(read.bodies);
  const joints = Object.entries(read.joints) as [string, KnownJoint][];
  const places = (name: string): BodyPose => bodies.place(name, 'a joint');
  const given = joints.map(([, joint]) => joint);
  const {groups: between, own, inJoints} = forcesOf(forces, bodies);
  const minimal = read.coordinates === 'minimal';
  const ofJoints = minimal ? undefined : maximalJointTerms(joints, inJoints, places);
  const found = (name: string, asked: string): BodyPose => bodies.place(name, asked);
  const rigid = contacts.filter((one): one is RigidContact => 'kind' in one);
  const touching = (at: PlaceOf): Constraint[] => rigidContacts(rigid, found, at);
  const springs = rigidEnergies(rigid, found);
  const groups = [
    ...between,
    ...(ofJoints?.groups ?? []),
    ...contactGroups(
      contacts.filter((one): one is BodyContact => !('kind' in one)),
      found,
    ),
  ];
  const wrenches = [bodyForces(bodies, gravity, groups), ...own];
  const {
    system,
    initial,
    whole,
    rows,
    saved,
    branch,
    stored,
    inTree: coordinateInTree,
  } = ofJoints === undefined
    ? withTree(bodies, joints, wrenches, inJoints, places, touching)
    : inMaximal(bodies, joints, wrenches, ofJoints.stops, places, touching);
  const width = minimal ? [initial.v.length] : [bodies.names.length, 6];
  const at = ({q, v, t, params}: Parameters<Observe>[0]): Instant => {
    const all = whole(q, v);
    return {pose: poseOf(all.q), twist: twistOf(all.v), t, params};
  };
  const turning = forces.some(
    force => typeof force !== 'function' && ['axisTorque', 'jointForce'].includes(force.kind),
  );
  return {
    ...system,
    ...(turning ? {notFinite: turnedTooFar} : {}),
    initial,
    body: name => {
      if (name === 'ground') throw new OptionError('unknown-body', "multibody: 'ground' has no row; it does not move.");
      return bodies.place(name, 'multibody').index;
    },
    pose: (trajectory, body) => posesAlong(saved(trajectory), bodies.place(body, 'pose').index, bodies.names.length),
    reaction: (trajectory, name, params = {}) => {
      const number = requireJoint(joints, name, 'reaction');
      if (branch !== undefined && rigid.length > 0)
        throw new OptionError(
          'bad-multibody',
          'multibody: reactions in minimal coordinates do not know the forces of rigid contacts; '
            + "take coordinates: 'maximal'.",
        );
      return (
        branch?.(trajectory, number, params)
        ?? reactionsAlong(saved(trajectory), given[number], number, rows, places, bodies.names.length, params)
      );
    },
    coordinate: (name, step = 0) => {
      const number = requireJoint(joints, name, 'coordinate');
      const own = coordinateInTree?.(number, step);
      if (own !== undefined) return own;
      const coordinate = axisCoordinate(name, given[number], places);
      return {
        position: place => tf.reshape(coordinate.position(at(place).pose), []),
        rate: place => tf.reshape(coordinate.rate(at(place)), []),
      };
    },
    point: (name, there) => {
      const place = bodies.place(name, 'point');
      const arm = local(place, requireVector(there, 'point: at'));
      const rider = new Choice([place.index], bodies.names.length);
      return ({q}) => tf.concat([...pointOf(rider.pose(poseOf(whole(q, tf.zeros(width)).q)), constants([arm]))]);
    },
    energy: place => {
      const more = stored?.(place);
      const ofBodies = energyOf(bodies, gravity, [...groups, ...springs], at(place));
      return more === undefined ? ofBodies : tf.add(ofBodies, more);
    },
    momentum: place => momentumOf(bodies, at(place)),
    figure: figureOf(
      bodies.names.length,
      given,
      new Set(bodies.names.flatMap((name, i) => (shapes[name]?.length ? [] : [i]))),
      [...outlinesOf(shapes, name => bodies.place(name, 'shapes')), ...contactOutlines(contacts, places)],
      places,
      q => whole(tf.reshape(q, minimal ? [-1] : [bodies.names.length, 7]), tf.zeros(width)).q,
      groundOf(contacts),
    ),
  };
}

function requireJoint(joints: readonly (readonly [string, KnownJoint])[], name: string, asked: string): number {
  const number = joints.findIndex(([known]) => known === name);
  if (number >= 0) return number;
  const names = joints.slice(0, 8).map(([known]) => known);
  throw new OptionError(
    'unknown-joint',
    `${asked} names joint '${name}', but there ${names.length === 0 ? 'are none' : `are ${names.join(', ')}`}.`,
    {joint: name},
  );
}

/**
 * Where bodies are and how they move, of a state in the model's coordinates; at rest where no velocity is asked for.
 */
type PlaceOf = (q: tf.Tensor, v: tf.Tensor | undefined, t: tf.Tensor, params: Params) => Instant;

/** A system in its coordinates, and what these mean. */
interface Coordinates {
  readonly system: MechanicalSystem;
  readonly initial: MultibodyStart;
  /** As states of maximal coordinates: a state, and saved ones. */
  whole(q: tf.Tensor, v: tf.Tensor): {q: tf.Tensor; v: tf.Tensor};
  saved(trajectory: SavedMotion): SavedMotion;
  readonly rows: JointRows;
  /** Energy of the joints' own terms, where `whole` does not see it. */
  readonly stored?: (at: Parameters<Observe>[0]) => tf.Tensor | undefined;
  /** The coordinate of a joint where it is one of the state's own numbers. */
  readonly inTree?: (number: number, step: number) => JointCoordinateOf | undefined;
  /** The reaction of a joint that has no rows. */
  readonly branch?: (trajectory: SavedMotion, number: number, params: NumericParams) => ReactionSeries | undefined;
}

function inMaximal(
  bodies: Bodies,
  joints: readonly (readonly [string, KnownJoint])[],
  wrenches: readonly WrenchTerm[],
  stops: Constraint | undefined,
  places: (name: string) => BodyPose,
  touching: (at: PlaceOf) => Constraint[],
): Coordinates {
  const rows = jointRows(joints, places);
  const system = mechanics({
    mass: massOf(bodies),
    forces: wrenches,
    constraints: constraintsOf(rows, (q, v) => ({q, v}), stops, touching),
    kinematics: freeBodies(),
  });
  return {system, rows, initial: startOf(bodies), whole: (q, v) => ({q, v}), saved: trajectory => trajectory};
}

function withTree(
  bodies: Bodies,
  named: readonly (readonly [string, KnownJoint])[],
  wrenches: readonly WrenchTerm[],
  inJoints: readonly JointForce[],
  places: (name: string) => BodyPose,
  touching: (at: PlaceOf) => Constraint[],
): Coordinates {
  const joints = named.map(([, joint]) => joint);
  const tree = treeOf(bodies.names.map(places), joints, places);
  if (tree.velocities === 0)
    throw new OptionError('bad-multibody', 'multibody: the joints leave nothing to move; leave one out.');
  const loops = new Set(tree.loops);
  const rows = jointRows(named, places, loops);
  const own = jointTerms(tree, named, inJoints);
  const minimal = minimalSystem(bodies, tree, wrenches, rows, own, places);
  const constraints = constraintsOf(
    rows,
    (q, v) => minimal.whole(q, v ?? tf.zeros([tree.velocities])),
    own.stops?.constraint,
    touching,
  );
  // With a constraint a step needs the mass: what its multipliers do to velocities.
  const accelerations = constraints.length === 0 ? minimal.accelerations : undefined;
  const system = mechanics({
    mass: accelerations === undefined ? ({q, params}) => minimal.mass(q, params) : 1,
    forces: ({q, v, t, params}) => (accelerations ?? minimal.force)(q, v, t, params),
    constraints,
    ...(minimal.kinematics === undefined ? {} : {kinematics: minimal.kinematics}),
  });
  return {
    system,
    rows,
    initial: {q: tree.start, v: minimal.start(startOf(bodies).v)},
    whole: (q, v) => minimal.whole(q, v),
    stored: ({q, v, t, params}) => own.energy(q, v, t, params),
    inTree: (number, step) => {
      const state = own.state(number, step);
      if (state === undefined) return undefined;
      return {
        position: ({q, v, t, params}) => state(q, v, t, params).position,
        rate: ({q, v, t, params}) => state(q, v, t, params).rate,
      };
    },
    saved: trajectory => wholeSeries(trajectory, tree, minimal, bodies.names.length),
    branch: (trajectory, number, params) =>
      loops.has(number) ? undefined : minimal.reaction(trajectory, joints[number], number, params),
  };
}

function forcesOf(
  forces: readonly BodyForce[],
  bodies: Bodies,
): {
  readonly groups: readonly ForceGroup[];
  readonly own: readonly WrenchTerm[];
  readonly inJoints: readonly JointForce[];
} {
  forces.forEach((force, i) => {
    if (typeof force !== 'function' && typeof (force as {kind?: unknown} | undefined)?.kind !== 'string')
      throw new OptionError(
        'bad-multibody',
        `multibody: forces[${i}] must be made by springDamper, torsionSpring, axisTorque, jointFriction or jointForce, `
          + 'or be a function giving wrenches [bodies, 6].',
      );
  });
  const own = forces.filter((force): force is WrenchTerm => typeof force === 'function');
  const known = forces.filter((force): force is Exclude<BodyForce, WrenchTerm> => typeof force !== 'function');
  const between = known.filter((force): force is BetweenBodies => force.kind !== 'jointForce');
  const inJoints = known.filter((force): force is JointForce => force.kind === 'jointForce');
  return {own, inJoints, groups: forceGroups(between, (name, asked) => bodies.place(name, asked))};
}

/** [bodies, 6], or [bodies, 6, 6] where an inertia has products. */
function massOf(bodies: Bodies): (at: {q: tf.Tensor; params: Params}) => tf.Tensor {
  return ({params}) => {
    const m = bodies.mass(params);
    const {matrix, diagonal} = bodies.inertia(params);
    if (diagonal) return tf.stack([m, m, m, matrix[0][0], matrix[1][1], matrix[2][2]], 1);
    const none = tf.zerosLike(m);
    const row = (...entries: tf.Tensor[]): tf.Tensor => tf.stack(entries, 1);
    return tf.stack(
      [
        row(m, none, none, none, none, none),
        row(none, m, none, none, none, none),
        row(none, none, m, none, none, none),
        ...matrix.map(entries => row(none, none, none, ...entries)),
      ],
      1,
    );
  };
}

/** J ω in body axes, the ground last. */
function spin(bodies: Bodies, {twist, params}: Instant): Vec {
  const {matrix, diagonal} = bodies.inertia(params);
  const {omega} = twist;
  if (diagonal) return [0, 1, 2].map(i => tf.mul(withGround(matrix[i][i]), omega[i])) as unknown as Vec;
  return times(matrix.map(row => row.map(x => withGround(x))) as unknown as typeof matrix, omega);
}

/** Weight, gyroscopic torques and the forces between bodies. */
function bodyForces(bodies: Bodies, gravity: V3, groups: readonly ForceGroup[]): WrenchTerm {
  return ({q, v, t, params}) => {
    const at: Instant = {pose: poseOf(q), twist: twistOf(v), t, params};
    const mass = withGround(bodies.mass(params));
    const weight = gravity.map(g => tf.mul(g, mass)) as unknown as Vec;
    const gyroscopic = neg(cross(at.twist.omega, spin(bodies, at)));
    const all = groups.map(group => group.wrench(at));
    return stacked({
      force: all.reduce((sum, {force}) => add(sum, force), weight),
      torque: all.reduce((sum, {torque}) => add(sum, torque), gyroscopic),
    });
  };
}

function constraintsOf(
  {positions, velocities}: JointRows,
  whole: (q: tf.Tensor, v: tf.Tensor | undefined) => {q: tf.Tensor; v: tf.Tensor | undefined},
  stops: Constraint | undefined,
  touching: (at: PlaceOf) => Constraint[],
): Constraint[] {
  const at: PlaceOf = (q, v, t, params) => {
    const all = whole(q, v);
    const still = (): tf.Tensor => tf.zeros([all.q.shape[0], 6]);
    return {pose: poseOf(all.q), twist: twistOf(v === undefined ? still() : (all.v ?? still())), t, params};
  };
  return [
    ...(positions === undefined
      ? []
      : [{...bilateral(({q, t, params}) => positions.gap(at(q, undefined, t, params))), rows: positions.names}]),
    ...(velocities === undefined
      ? []
      : [{...nonholonomic(({q, v, t, params}) => velocities.gap(at(q, v, t, params))), rows: velocities.names}]),
    ...(stops === undefined ? [] : [stops]),
    ...touching(at),
  ];
}

function startOf(bodies: Bodies): {
  readonly q: readonly (readonly number[])[];
  readonly v: readonly (readonly number[])[];
} {
  const places = bodies.names.map(name => bodies.place(name, 'multibody'));
  return {
    q: places.map(({position, rotation}) => [...position, ...rotation]),
    v: bodies.velocities.map(({velocity, omega}) => [...velocity, ...omega]),
  };
}

function energyOf(bodies: Bodies, gravity: V3, groups: readonly Pick<ForceGroup, 'energy'>[], at: Instant): tf.Tensor {
  const {pose, twist, params} = at;
  const mass = withGround(bodies.mass(params));
  const height = gravity.reduce<tf.Tensor>(
    (sum, g, i) => tf.add(sum, tf.mul(g, pose.position[i])),
    tf.zerosLike(pose.position[0]),
  );
  const linear = tf.mul(0.5, dot(twist.velocity, twist.velocity));
  const whole = tf.add(
    tf.sum(tf.mul(mass, tf.sub(linear, height))),
    tf.sum(tf.mul(0.5, dot(twist.omega, spin(bodies, at)))),
  );
  return groups.reduce((sum, group) => (group.energy === undefined ? sum : tf.add(sum, group.energy(at))), whole);
}

function momentumOf(bodies: Bodies, at: Instant): tf.Tensor {
  const {pose, twist, params} = at;
  const mass = withGround(bodies.mass(params));
  const linear = twist.velocity.map(u => tf.mul(mass, u)) as unknown as Vec;
  const angular = add(cross(pose.position, linear), rotate(pose.rotation, spin(bodies, at)));
  return tf.stack([...linear, ...angular].map(x => tf.sum(x)));
}
