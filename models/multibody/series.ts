/**
 * Poses of bodies and reactions of joints from saved series. A reaction is the transposed derivative of a joint's rows
 * with respect to the pose of its body, times their multipliers. It is computed in double precision by a run over the
 * saved states in which nothing moves and the reaction is observed.
 */
import * as tf from '@tensorflow/tfjs';
import {explicitEuler, mechanics, signal, simulate} from '../../lib/index.js';
import type {NumericParams, Params, Trajectory} from '../../lib/index.js';
import type {BodyPose} from './bodies.js';
import type {KnownJoint} from './joints.js';
import {local} from './numbers.js';
import {pointOfJoint, type JointRows, type ConstraintRows} from './rows.js';
import {constants, numbers, poseOf, twistOf, type Instant} from './state.js';
import {add, cross, neg, rotate, sub, torqueOf, type Quat, type Vec} from './vectors.js';

/** Motion of one body, row-major. */
export interface PoseSeries {
  /** Centre of mass, world axes, [saved, 3]. */
  readonly position: Float64Array;
  /** Quaternion, w first, [saved, 4]. */
  readonly rotation: Float64Array;
  /** Velocity of the centre of mass, world axes, [saved, 3]. */
  readonly velocity: Float64Array;
  /** Body axes, [saved, 3]. */
  readonly angularVelocity: Float64Array;
}

/** Reaction of one joint on its body b, world axes, row-major. */
export interface ReactionSeries {
  /** [saved, 3]. */
  readonly force: Float64Array;
  /** About the joint's point, which moves with b (with a where b is the ground), [saved, 3]. */
  readonly torque: Float64Array;
}

/** The part of a trajectory that is read. */
export type BodySeries = Pick<Trajectory, 'values'>;

/** Columns from..to of the rows of one body. */
function part(values: Float64Array, row: number, width: number, rows: number, from: number, to: number): Float64Array {
  const saved = values.length / (rows * width);
  const size = to - from;
  const out = new Float64Array(saved * size);
  for (let i = 0; i < saved; i++) {
    const start = (i * rows + row) * width + from;
    out.set(values.subarray(start, start + size), i * size);
  }
  return out;
}

export function posesAlong(trajectory: BodySeries, body: number, bodies: number): PoseSeries {
  const [q, v] = [trajectory.values('q'), trajectory.values('v')];
  if (body === bodies) {
    const saved = trajectory.values('t').length;
    const rotation = new Float64Array(4 * saved).map((_, i) => (i % 4 === 0 ? 1 : 0));
    const [position, velocity, angularVelocity] = [0, 1, 2].map(() => new Float64Array(3 * saved));
    return {position, rotation, velocity, angularVelocity};
  }
  return {
    position: part(q, body, 7, bodies, 0, 3),
    rotation: part(q, body, 7, bodies, 3, 7),
    velocity: part(v, body, 6, bodies, 0, 3),
    angularVelocity: part(v, body, 6, bodies, 3, 6),
  };
}

const still = mechanics({mass: 1, forces: []});

/** A function of saved numbers and of parameters at every saved time, in double precision, row-major. */
export function along(
  series: {readonly [name: string]: {readonly values: Float64Array; readonly shape: readonly number[]}},
  saved: number,
  f: (at: {readonly [name: string]: tf.Tensor}, params: Params) => tf.Tensor,
  params: NumericParams = {},
): Float64Array {
  // One sample has no time between samples: it is given twice.
  const count = Math.max(saved, 2);
  const times = Float64Array.from({length: count}, (_, i) => i);
  const names = Object.keys(series);
  const inputs = names.map(name => {
    const {values} = series[name];
    const width = values.length / saved;
    const rows = Array.from({length: count}, (_, i) => {
      const k = Math.min(i, saved - 1);
      return Array.from(values.subarray(k * width, (k + 1) * width));
    });
    return signal(times, rows);
  });
  const trajectory = simulate(
    still,
    {q: 0, v: 0},
    {
      scheme: explicitEuler(),
      dt: 1,
      steps: saved - 1,
      params,
      observe: ({t, params: read}) =>
        f(
          Object.fromEntries(names.map((name, i) => [name, tf.reshape(inputs[i].at(t), [...series[name].shape])])),
          // Spread, all of them count as read: a run has parameters that are not read here.
          {...read},
        ),
    },
  );
  trajectory.dispose();
  return trajectory.values('observed');
}

export function reactionsAlong(
  trajectory: BodySeries,
  joint: KnownJoint,
  number: number,
  rows: JointRows,
  places: (name: string) => BodyPose,
  bodies: number,
  given: NumericParams,
): ReactionSeries {
  const saved = trajectory.values('t').length;
  // The multipliers of joints come before those of stops and contacts.
  const multipliers = trajectory.values('lambda');
  const mask = [rows.positions, rows.velocities].flatMap(part =>
    Array.from({length: part?.count ?? 0}, (_, i) => Number(part?.of[number].includes(i))),
  );
  const onGround = joint.b === 'ground';
  const body = places(onGround ? joint.a : joint.b);
  // A point of b: on the ground it stays where it is.
  const point = pointOfJoint(joint, places);
  const onBodyAxes = local(body, point);
  const wrench = along(
    {
      q: {values: trajectory.values('q'), shape: [bodies, 7]},
      v: {values: trajectory.values('v'), shape: [bodies, 6]},
      lambda: {values: multipliers, shape: [multipliers.length / saved]},
      t: {values: trajectory.values('t'), shape: []},
    },
    saved,
    ({q, v, lambda, t}, params) => {
      const at = {pose: poseOf(q), twist: twistOf(v), t, params};
      const own = tf.mul(tf.slice(lambda, [0], [mask.length]), numbers(mask));
      const of = (x: tf.Tensor): tf.Tensor => tf.slice(x, [body.index], [1]);
      const rotation = at.pose.rotation.map(of) as unknown as Quat;
      const [force, torque] = wrenchOf(rows, at, own).map(all => all.map(of) as unknown as Vec);
      const centre = at.pose.position.map(of) as unknown as Vec;
      const arm = onGround ? sub(constants([point]), centre) : rotate(rotation, constants([onBodyAxes]));
      const onBody = sub(rotate(rotation, torque), cross(arm, force));
      const sign = onGround ? neg : (x: Vec): Vec => x;
      return tf.concat([...sign(force), ...sign(onBody)]);
    },
    given,
  );
  return columnsOf(wrench);
}

/** Force and torque of [saved, 6]. */
export const columnsOf = (wrench: Float64Array): ReactionSeries => ({
  force: part(wrench, 0, 6, 1, 0, 3),
  torque: part(wrench, 0, 6, 1, 3, 6),
});

/** Force at the centre in world axes, torque about it in body axes. */
export type SeriesCotangent = readonly [Vec, Vec];

/**
 * Forces and torques on all bodies of the rows of joints: the transposed derivatives of the rows with respect to poses
 * and velocities, times the multipliers [rows], those of positions first.
 */
export function wrenchOf({positions, velocities}: JointRows, at: Instant, lambda: tf.Tensor): SeriesCotangent {
  const {pose, twist} = at;
  const held = positions?.count ?? 0;
  const pulled = (
    rows: ConstraintRows,
    from: number,
    moved: (x: readonly tf.Tensor[]) => Instant,
    x: readonly tf.Tensor[],
  ) => {
    const own = tf.slice(lambda, [from], [rows.count]);
    return tf.grads((...all: tf.Tensor[]) => readingAll(tf.sum(tf.mul(own, rows.gap(moved(all)))), all))([...x]);
  };
  const wrenches: SeriesCotangent[] = [];
  if (positions !== undefined) {
    const posed = ([x, y, z, ...r]: readonly tf.Tensor[]) => {
      return {...at, pose: {position: [x, y, z] as const, rotation: r as unknown as Quat}};
    };
    const [x, y, z, ...r] = pulled(positions, 0, posed, [...pose.position, ...pose.rotation]);
    wrenches.push([[x, y, z], torqueOf(pose.rotation, r as unknown as Quat)]);
  }
  if (velocities !== undefined) {
    const moving = ([x, y, z, a, b, c]: readonly tf.Tensor[]) => {
      return {...at, twist: {velocity: [x, y, z] as const, omega: [a, b, c] as const}};
    };
    const [x, y, z, a, b, c] = pulled(velocities, held, moving, [...twist.velocity, ...twist.omega]);
    wrenches.push([
      [x, y, z],
      [a, b, c],
    ]);
  }
  return [0, 1].map(i => wrenches.map(wrench => wrench[i]).reduce(add)) as unknown as SeriesCotangent;
}

/** tfjs refuses the gradient by an input that a function does not read, as the position of a drive is. */
const readingAll = (value: tf.Tensor, inputs: readonly tf.Tensor[]): tf.Tensor =>
  inputs.reduce((total, x) => tf.add(total, tf.mul(0, tf.sum(x))), value);
