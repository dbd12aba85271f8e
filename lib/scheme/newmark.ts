/**
 * Schemes whose unknown is the acceleration a⁺, with M a⁺ = f⁺ at the end of the step: Newmark's
 * family (Newmark 1959) and the acceleration form of implicit Euler. Newmark carries a in its state.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import type {Formulation, Scheme, StepPoint} from './scheme.js';
import type {ThetaOptions} from './theta.js';
import {implicitEulerInVelocity} from './theta.js';

/** Positions and velocities at the end of the step, from the acceleration there. */
type Kinematics = (at: StepPoint, a: tf.Tensor) => {q: tf.Tensor; v: tf.Tensor};

/** M(q⁺) a⁺ − f(q⁺, v⁺, t⁺). */
function accelerationForm(kinematics: Kinematics): Pick<Formulation, 'unknown' | 'residual'> {
  return {
    unknown: ['a'],
    residual: ({a}, at) => {
      const {q, v} = kinematics(at, a);
      return {a: tf.sub(at.mass(q, a), at.force(q, v, tf.add(at.t, at.h)))};
    },
  };
}

export interface NewmarkOptions {
  /** Share of a⁺ in the position; default ¼. */
  readonly beta?: number;
  /** Share of a⁺ in the velocity; default ½. */
  readonly gamma?: number;
}

/**
 * Newmark's method: v⁺ = v + h[(1−γ)a + γa⁺], q⁺ = q + hv + h²[(½−β)a + βa⁺].
 * Second order for γ = ½ only; unconditionally stable for 2β ≥ γ ≥ ½. (¼, ½) is the average
 * acceleration method, (1/6, ½) the linear one, (0, ½) the central difference. Starts at a = M⁻¹f.
 * @throws OptionError where β or γ is out of range
 */
export function newmark({beta = 0.25, gamma = 0.5}: NewmarkOptions = {}): Scheme {
  if (!(beta >= 0 && beta <= 1) || !(gamma >= 0 && gamma <= 1)) {
    throw new OptionError('bad-scheme', `newmark: beta and gamma must lie in [0, 1], not ${beta} and ${gamma}.`);
  }
  const kinematics: Kinematics = ({x, h}, a) => ({
    q: tf.addN([x.q, tf.mul(h, x.v), tf.mul(tf.square(h), tf.add(tf.mul(x.a, 0.5 - beta), tf.mul(a, beta)))]),
    v: tf.add(x.v, tf.mul(h, tf.add(tf.mul(x.a, 1 - gamma), tf.mul(a, gamma)))),
  });
  return {
    name: `newmark(${beta}, ${gamma})`,
    order: gamma === 0.5 ? 2 : 1,
    mechanics: {
      ...accelerationForm(kinematics),
      carry: ({x, t, acceleration}) => ({a: acceleration(x.q, x.v, t)}),
      update: ({a}, at) => ({...kinematics(at, a), a}),
    },
  };
}

/**
 * Implicit Euler: v⁺ = v + h a⁺, q⁺ = q + h v⁺. First order, L-stable. The unknown is v⁺ (default),
 * or a⁺ with M a⁺ = f⁺; both are the same step.
 */
export function implicitEuler({unknown = 'velocity', ...options}: ThetaOptions & {readonly unknown?: 'velocity' | 'acceleration'} = {}): Scheme {
  const inVelocity = implicitEulerInVelocity(options);
  if (unknown === 'velocity') return inVelocity;
  const kinematics: Kinematics = ({x, h}, a) => {
    const v = tf.add(x.v, tf.mul(h, a));
    return {v, q: tf.add(x.q, tf.mul(h, v))};
  };
  return {
    ...inVelocity,
    mechanics: {
      ...accelerationForm(kinematics),
      update: ({a}, at) => kinematics(at, a),
      guess: ({x}) => ({z: {a: tf.zerosLike(x.v)}}),
    },
  };
}
