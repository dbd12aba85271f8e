/**
 * Forces between bodies in maximal coordinates, all forces of one kind at once: the wrenches on all bodies as functions
 * of their poses and velocities.
 */
import * as tf from '@tensorflow/tfjs';
import type {Params} from '../../lib/index.js';
import {coordinateForces, Turns} from './axis-coordinates.js';
import type {Coefficient, Sign} from '../coefficient.js';
import {coefficient} from '../coefficient.js';
import type {BodyPose} from './bodies.js';
import type {AxisTorque, SpringDamper} from './forces.js';
import {local} from './numbers.js';
import {
  actionAndReaction,
  constants,
  difference,
  numbers,
  pointOf,
  pointVelocity,
  sidesOf,
  type ForceGroup,
  type Pose,
} from './state.js';
import {dot, length, scale, sub, type Vec} from './vectors.js';

/** Forces that name two bodies. */
export type BetweenBodies = SpringDamper | AxisTorque;

/** @throws OptionError 'unknown-body' */
export function forceGroups(
  forces: readonly BetweenBodies[],
  places: (name: string, asked: string) => BodyPose,
): ForceGroup[] {
  const place = (name: string): BodyPose => places(name, 'a force');
  const ground = places('ground', '').index;
  const springs = forces.filter((force): force is SpringDamper => force.kind === 'springDamper');
  const torques = forces.filter((force): force is AxisTorque => force.kind === 'axisTorque');
  return [
    ...(springs.length === 0 ? [] : [springGroup(springs, place, ground)]),
    ...(torques.length === 0 ? [] : [torqueGroup(torques, place, ground)]),
  ];
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
    return () => numbers(values);
  }
  return params => tf.stack(read.map(value => tf.reshape(value(params), [])));
}

function springGroup(springs: readonly SpringDamper[], place: (name: string) => BodyPose, ground: number): ForceGroup {
  const pairs = springs.map(spring => ({a: place(spring.a).index, b: place(spring.b).index}));
  const sides = sidesOf(pairs, ground);
  const [a, b] = sides;
  const arms = (): [Vec, Vec] => [
    constants(springs.map(spring => local(place(spring.a), spring.from))),
    constants(springs.map(spring => local(place(spring.b), spring.to))),
  ];
  const separation = (pose: Pose, [onA, onB]: [Vec, Vec]): Vec =>
    sub(pointOf(b.pose(pose), onB), pointOf(a.pose(pose), onA));
  const columnOf = (key: 'stiffness' | 'damping' | 'length') =>
    column(
      springs.map(spring => spring[key]),
      `springDamper: ${key}`,
    );
  const [stiffness, damping, rest] = (['stiffness', 'damping', 'length'] as const).map(columnOf);
  return {
    wrench: ({pose, twist, params}) => {
      const [onA, onB] = arms();
      const d = separation(pose, [onA, onB]);
      const l = length(d);
      const velocity = difference(
        pointVelocity(b.pose(pose), b.twist(twist), onB),
        pointVelocity(a.pose(pose), a.twist(twist), onA),
      );
      const rate = tf.div(dot(d, velocity), l);
      const tension = tf.add(tf.mul(stiffness(params), tf.sub(l, rest(params))), tf.mul(damping(params), rate));
      return actionAndReaction(pose, sides, {force: scale(tf.neg(tf.div(tension, l)), d), arms: [onA, onB]});
    },
    energy: ({pose, params}) => {
      const stretch = tf.sub(length(separation(pose, arms())), rest(params));
      return tf.mul(0.5, tf.sum(tf.mul(stiffness(params), tf.square(stretch))));
    },
  };
}

function torqueGroup(torques: readonly AxisTorque[], place: (name: string) => BodyPose, ground: number): ForceGroup {
  const axes = torques.map(({a, b, axis}) => ({a: place(a), b: place(b), axis}));
  return coordinateForces(torques, new Turns(axes, ground));
}
