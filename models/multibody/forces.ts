/**
 * Forces between bodies as users write them: springs with dampers between points, torsion springs, friction in joints
 * and torques of one's own about an axis. Points and axes in world coordinates at the start.
 */
import * as tf from '@tensorflow/tfjs';
import {any, callable, refuseUnknownOptions} from '../../lib/checks.js';
import type {Params} from '../../lib/index.js';
import {OptionError} from '../../lib/index.js';
import type {Coefficient} from '../coefficient.js';
import {coefficient} from '../coefficient.js';
import type {JointForce} from './joint-forces.js';
import {minus, norm, requireDirection, requireVector} from './numbers.js';

/** A force between bodies or in a joint by name, or a function that gives the wrenches of all bodies. */
export type BodyForce = SpringDamper | TorsionSpring | AxisTorque | JointForce | WrenchTerm;

/**
 * A wrench on every body, [bodies, 6] in the order they were given: force at the centre in world axes, torque about it
 * in body axes. q [bodies, 7] has positions and quaternions, v [bodies, 6] velocities in world axes and angular
 * velocities in body axes.
 */
export type WrenchTerm = (at: {
  readonly q: tf.Tensor;
  readonly v: tf.Tensor;
  readonly t: tf.Tensor;
  readonly params: Params;
}) => tf.Tensor;

/** Made by `springDamper`. */
export interface SpringDamper {
  readonly kind: 'springDamper';
  readonly a: string;
  readonly b: string;
  readonly from: readonly [number, number, number];
  readonly to: readonly [number, number, number];
  readonly stiffness: Coefficient;
  readonly damping: Coefficient;
  readonly length: Coefficient;
}

/** Made by `torsionSpring`. */
export interface TorsionSpring {
  readonly kind: 'torsionSpring';
  readonly a: string;
  readonly b: string;
  readonly axis: readonly [number, number, number];
  readonly stiffness: Coefficient;
  readonly damping: Coefficient;
  readonly angle: Coefficient;
}

/** Made by `axisTorque` and `jointFriction`. */
export interface AxisTorque {
  readonly kind: 'axisTorque';
  readonly a: string;
  readonly b: string;
  readonly axis: readonly [number, number, number];
  readonly torque: (at: AxisState) => tf.Tensor;
}

/** How b has turned against a about an axis, and how fast: scalars, radians. */
export interface AxisState {
  /** Zero at the start; beyond half a turn by more than half a radian only torques of its sine and cosine are defined. */
  readonly angle: tf.Tensor;
  readonly rate: tf.Tensor;
  readonly t: tf.Tensor;
  readonly params: Params;
}

/**
 * A spring with a damper between two points: tension stiffness·(l − length) + damping·l'.
 * @param spec.length at which the spring is not stressed; default the distance at the start
 * @throws OptionError 'bad-multibody', 'bad-coefficient'
 */
export function springDamper(
  a: string,
  b: string,
  spec: {
    readonly from: readonly [number, number, number];
    readonly to: readonly [number, number, number];
    readonly stiffness: Coefficient;
    readonly damping?: Coefficient;
    readonly length?: Coefficient;
  },
): SpringDamper {
  refuseUnknownOptions(
    spec,
    {from: any, to: any, stiffness: any, damping: any, length: any},
    'springDamper',
    'bad-multibody',
  );
  const [from, to] = [requireVector(spec.from, 'springDamper: from'), requireVector(spec.to, 'springDamper: to')];
  const {stiffness, damping = 0, length = norm(minus(to, from))} = spec;
  if (norm(minus(to, from)) === 0)
    throw new OptionError(
      'bad-multibody',
      'springDamper: from and to are one point, so that the spring has no direction.',
    );
  return {kind: 'springDamper', a, b, from, to, stiffness, damping, length};
}

/**
 * A torsion spring with a damper about an axis of a: torque −stiffness·(θ − angle) − damping·θ' on b, θ the turn of b
 * against a since the start. It is for bodies that a joint holds on that axis. A run ends in an error ('not-finite')
 * where θ passes half a turn by half a radian: poses do not count turns.
 * @param spec.angle at which the spring is not stressed; default 0, the start
 * @throws OptionError 'bad-multibody'
 */
export function torsionSpring(
  a: string,
  b: string,
  spec: {
    readonly axis: readonly [number, number, number];
    readonly stiffness: Coefficient;
    readonly damping?: Coefficient;
    readonly angle?: Coefficient;
  },
): TorsionSpring {
  refuseUnknownOptions(spec, {axis: any, stiffness: any, damping: any, angle: any}, 'torsionSpring', 'bad-multibody');
  const {stiffness, damping = 0, angle = 0} = spec;
  return {
    kind: 'torsionSpring',
    a,
    b,
    axis: requireDirection(spec.axis, 'torsionSpring: axis'),
    stiffness,
    damping,
    angle,
  };
}

/**
 * A torque of one's own about an axis of a, on b, and the opposite one on a: a motor's, a brake's.
 * @throws OptionError 'bad-multibody'
 */
export function axisTorque(
  a: string,
  b: string,
  spec: {readonly axis: readonly [number, number, number]; readonly torque: (at: AxisState) => tf.Tensor},
): AxisTorque {
  refuseUnknownOptions(spec, {axis: any, torque: callable}, 'axisTorque', 'bad-multibody');
  return {kind: 'axisTorque', a, b, axis: requireDirection(spec.axis, 'axisTorque: axis'), torque: spec.torque};
}

/**
 * Friction in a joint that turns: a torque against the turning, viscous·θ' + coulomb·tanh(θ'/velocityScale). The
 * smooth step is off from Coulomb's by less than one part in a thousand from |θ'| = 4 velocityScale on.
 * @throws OptionError 'bad-multibody', 'bad-coefficient'
 */
export function jointFriction(
  a: string,
  b: string,
  spec: {
    readonly axis: readonly [number, number, number];
    readonly viscous?: Coefficient;
    readonly coulomb?: Coefficient;
    /** [radians / time]; default 0.01. */
    readonly velocityScale?: Coefficient;
  },
): AxisTorque {
  refuseUnknownOptions(
    spec,
    {axis: any, viscous: any, coulomb: any, velocityScale: any},
    'jointFriction',
    'bad-multibody',
  );
  const viscous = coefficient(spec.viscous ?? 0, 'jointFriction: viscous');
  const coulomb = coefficient(spec.coulomb ?? 0, 'jointFriction: coulomb');
  const slow = coefficient(spec.velocityScale ?? 0.01, 'jointFriction: velocityScale', 'positive');
  return axisTorque(a, b, {
    axis: spec.axis,
    torque: ({rate, params}) =>
      tf.neg(tf.add(tf.mul(viscous(params), rate), tf.mul(coulomb(params), tf.tanh(tf.div(rate, slow(params)))))),
  });
}
