/**
 * Forces between bodies as users write them: springs with dampers between points, torsion springs, friction in joints
 * and torques of one's own about an axis. Points and axes in world coordinates at the start.
 */
import * as tf from '@tensorflow/tfjs';
import {callable, optional, readOptions, typed, type Options, type OptionValues} from '../../lib/checks.js';
import type {Params} from '../../lib/index.js';
import {OptionError} from '../../lib/index.js';
import {quantity, type Coefficient} from '../coefficient.js';
import type {JointForce, JointState} from './joint-forces.js';
import {direction, minus, norm, vector} from './numbers.js';

/** A force between bodies or in a joint by name, or a function that gives the wrenches of all bodies. */
export type BodyForce = SpringDamper | AxisTorque | JointForce | WrenchTerm;

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

const springOptions = {
  /** A point of a. */
  from: vector,
  /** A point of b. */
  to: vector,
  /** [force / length]. */
  stiffness: typed<Coefficient>(),
  /** [force · time / length]; default 0. */
  damping: optional(typed<Coefficient>(), 0),
  /** At which the spring is not stressed [length]; default the distance at the start. */
  length: optional(typed<Coefficient>()),
};

/** Made by `springDamper`. */
export interface SpringDamper extends OptionValues<typeof springOptions> {
  readonly kind: 'springDamper';
  readonly a: string;
  readonly b: string;
  readonly length: Coefficient;
}

/** Made by `axisTorque`, `torsionSpring` and `jointFriction`. */
export interface AxisTorque {
  readonly kind: 'axisTorque';
  readonly a: string;
  readonly b: string;
  readonly axis: readonly [number, number, number];
  /** The torque, with the angle as its position. */
  readonly force: (at: JointState) => tf.Tensor;
  readonly energy?: (at: JointState) => tf.Tensor;
}

/** How b has turned against a about an axis, and how fast: scalars, radians. */
export interface AxisState {
  /**
   * Zero at the start; beyond half a turn by more than half a radian only torques of its sine and cosine are defined.
   */
  readonly angle: tf.Tensor;
  readonly rate: tf.Tensor;
  readonly t: tf.Tensor;
  readonly params: Params;
}

/**
 * A spring with a damper between two points: tension stiffness·(l − length) + damping·l'.
 * @throws OptionError 'bad-multibody', 'bad-coefficient'
 */
export function springDamper(a: string, b: string, spec: Options<typeof springOptions>): SpringDamper {
  const read = readOptions(spec, springOptions, 'springDamper', 'bad-multibody');
  const distance = norm(minus(read.to, read.from));
  if (distance === 0)
    throw new OptionError(
      'bad-multibody',
      'springDamper: from and to are one point, so that the spring has no direction.',
    );
  return {kind: 'springDamper', a, b, ...read, length: read.length ?? distance};
}

const torsionOptions = {
  axis: direction,
  /** [torque / radian]. */
  stiffness: quantity(),
  /** [torque · time / radian]; default 0. */
  damping: optional(quantity(), 0),
  /** At which the spring is not stressed [radians]; default 0, the start. */
  angle: optional(quantity(), 0),
};

/**
 * A torsion spring with a damper about an axis of a: torque −stiffness·(θ − angle) − damping·θ' on b, θ the turn of b
 * against a since the start. It is for bodies that a joint holds on that axis. A run ends in an error ('not-finite')
 * where θ passes half a turn by half a radian: poses do not count turns.
 * @throws OptionError 'bad-multibody', 'bad-coefficient'
 */
export function torsionSpring(a: string, b: string, spec: Options<typeof torsionOptions>): AxisTorque {
  const {axis, stiffness, damping, angle} = readOptions(spec, torsionOptions, 'torsionSpring', 'bad-multibody');
  const turned = ({position, params}: JointState): tf.Tensor => tf.sub(position, angle(params));
  return {
    kind: 'axisTorque',
    a,
    b,
    axis,
    force: at => tf.neg(tf.add(tf.mul(stiffness(at.params), turned(at)), tf.mul(damping(at.params), at.rate))),
    energy: at => tf.mul(0.5, tf.mul(stiffness(at.params), tf.square(turned(at)))),
  };
}

const torqueOptions = {axis: direction, torque: typed<(at: AxisState) => tf.Tensor>(callable)};

/**
 * A torque of one's own about an axis of a, on b, and the opposite one on a: a motor's, a brake's.
 * @throws OptionError 'bad-multibody'
 */
export function axisTorque(a: string, b: string, spec: Options<typeof torqueOptions>): AxisTorque {
  const {axis, torque} = readOptions(spec, torqueOptions, 'axisTorque', 'bad-multibody');
  const stateOf = (at: JointState): AxisState => ({
    get angle() {
      return at.position;
    },
    rate: at.rate,
    t: at.t,
    params: at.params,
  });
  return {kind: 'axisTorque', a, b, axis, force: at => torque(stateOf(at))};
}

const frictionOptions = {
  axis: direction,
  /** [torque · time / radian]; default 0. */
  viscous: optional(quantity(), 0),
  /** [torque]; default 0. */
  coulomb: optional(quantity(), 0),
  /** [radians / time]; default 0.01. */
  velocityScale: optional(quantity('positive'), 0.01),
};

/**
 * Friction in a joint that turns: a torque against the turning, viscous·θ' + coulomb·tanh(θ'/velocityScale). The
 * smooth step is off from Coulomb's by less than one part in a thousand from |θ'| = 4 velocityScale on.
 * @throws OptionError 'bad-multibody', 'bad-coefficient'
 */
export function jointFriction(a: string, b: string, spec: Options<typeof frictionOptions>): AxisTorque {
  const read = readOptions(spec, frictionOptions, 'jointFriction', 'bad-multibody');
  return axisTorque(a, b, {
    axis: read.axis,
    torque: ({rate, params}) => {
      const dry = tf.mul(read.coulomb(params), tf.tanh(tf.div(rate, read.velocityScale(params))));
      return tf.neg(tf.add(tf.mul(read.viscous(params), rate), dry));
    },
  });
}
