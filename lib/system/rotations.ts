/**
 * Kinematics of free bodies in space: position and unit quaternion (w, x, y, z) of each, velocity in world axes and
 * angular velocity ω in body axes. p' = v and r' = ½ r∘(0, ω); an increment turns by the exponential, r∘exp(½Δ), which
 * is exact at constant ω (Arnold & Hairer and Brüls & Cardona, J. Comput. Nonlinear Dyn. 5, 2010, use it so).
 */
import * as tf from '@tensorflow/tfjs';
import type {Kinematics} from './kinematics.js';
import type {Params} from './params.js';

/** The four columns, [bodies, 1] each. */
const columns = (r: tf.Tensor, count: number): tf.Tensor[] => tf.split(r, count, -1);

/** Hamilton's product of quaternions [bodies, 4]. */
function product(a: tf.Tensor, b: tf.Tensor): tf.Tensor {
  const [aw, ax, ay, az] = columns(a, 4);
  const [bw, bx, by, bz] = columns(b, 4);
  const row = (...terms: readonly (readonly [number, tf.Tensor, tf.Tensor])[]): tf.Tensor =>
    terms.map(([sign, x, y]) => tf.mul(tf.mul(x, y), sign)).reduce((sum, term) => tf.add(sum, term));
  return tf.concat(
    [
      row([1, aw, bw], [-1, ax, bx], [-1, ay, by], [-1, az, bz]),
      row([1, aw, bx], [1, ax, bw], [1, ay, bz], [-1, az, by]),
      row([1, aw, by], [-1, ax, bz], [1, ay, bw], [1, az, bx]),
      row([1, aw, bz], [1, ax, by], [-1, ay, bx], [1, az, bw]),
    ],
    -1,
  );
}

/** 0 + ω as quaternions. */
const pure = (omega: tf.Tensor): tf.Tensor => {
  const [x] = columns(omega, 3);
  return tf.concat([tf.zerosLike(x), omega], -1);
};

/**
 * Below this |Δ|² the series of cos ½|Δ| and sin(½|Δ|)/|Δ| are taken, to the sixth order in |Δ|: what they leave out,
 * |Δ|⁸/10⁷, is below rounding, and the root has a derivative at 0 nowhere.
 */
const small = 1e-3;

/** exp(½Δ), [bodies, 4]: (cos ½|Δ|, Δ sin(½|Δ|)/|Δ|). */
function exponential(increment: tf.Tensor): tf.Tensor {
  const s = tf.sum(tf.square(increment), -1, true);
  const near = tf.less(s, small);
  const angle = tf.sqrt(tf.where(near, tf.onesLike(s), s));
  const half = tf.mul(angle, 0.5);
  const series = (...coefficients: readonly number[]): tf.Tensor =>
    coefficients.reduceRight<tf.Tensor>((sum, c) => tf.add(c, tf.mul(s, sum)), tf.zerosLike(s));
  const cosine = tf.where(near, series(1, -1 / 8, 1 / 384, -1 / 46080), tf.cos(half));
  const sine = tf.where(near, series(1 / 2, -1 / 48, 1 / 3840, -1 / 645120), tf.div(tf.sin(half), angle));
  return tf.concat([cosine, tf.mul(increment, sine)], -1);
}

const normalized = (r: tf.Tensor): tf.Tensor => tf.div(r, tf.sqrt(tf.sum(tf.square(r), -1, true)));

/**
 * Kinematics of unit quaternions [..., 4] with angular velocities [..., 3] in body axes, for use in other kinematics,
 * and that of free bodies.
 */
export const quaternions = {
  /** ½ r∘(0, ω). */
  rate: (r: tf.Tensor, omega: tf.Tensor): tf.Tensor => tf.mul(0.5, product(r, pure(omega))),
  /** r∘exp(½Δ). */
  retract: (r: tf.Tensor, increment: tf.Tensor): tf.Tensor => product(r, exponential(increment)),
  /** r/|r|. */
  project: normalized,
  freeBodies,
} as const;

/** Position and quaternion of each body, [bodies, 3] and [bodies, 4]. */
const parts = (q: tf.Tensor): [tf.Tensor, tf.Tensor] => tf.split(q, [3, 4], -1) as [tf.Tensor, tf.Tensor];
const velocities = (v: tf.Tensor): [tf.Tensor, tf.Tensor] => tf.split(v, [3, 3], -1) as [tf.Tensor, tf.Tensor];

/**
 * The kinematics of free bodies: q [7] or [bodies, 7] with each body's position and unit quaternion, w first, and v [6]
 * or [bodies, 6] with its velocity in world axes and its angular velocity in body axes. Forces and mass correspond to
 * v: a force in world axes, a torque in body axes, including the gyroscopic torque −ω×Jω.
 */
export function freeBodies<P = Params>(): Kinematics<P> {
  return {
    rate: ({q, v}) => {
      const [, r] = parts(q);
      const [linear, omega] = velocities(v);
      return tf.concat([linear, quaternions.rate(r, omega)], -1);
    },
    retract: ({q, increment}) => {
      const [p, r] = parts(q);
      const [linear, omega] = velocities(increment);
      return tf.concat([tf.add(p, linear), quaternions.retract(r, omega)], -1);
    },
    project: ({q}) => {
      const [p, r] = parts(q);
      return tf.concat([p, quaternions.project(r)], -1);
    },
  };
}
