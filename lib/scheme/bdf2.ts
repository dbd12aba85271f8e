/**
 * The two-step backward differentiation formula (Curtiss & Hirschfelder 1952) on steps of any length:
 * the derivative at the end of the quadratic through x⁻, x and x⁺ is x' there. With ω = h/h⁻ and
 * d = (x − x⁻)/h⁻, both of which are carried,
 *
 *     (1+2ω)(x⁺ − x) = h[ωd + (1+ω)x'⁺].
 *
 * The state before the first one follows from the first step (start.ts): x⁻ lies where x⁺ − 2x + x⁻ = h²x'', with x''
 * filtered. For y' = λy that makes the first step a one-step method of second order, with R = (1 − ½z²/(1 − z)²)/(1 −
 * z) and z = hλ, A- and L-stable. Second order from there on, in the multipliers too. Zero-stable while ω < 1 + √2
 * (Grigorieff 1983).
 */
import * as tf from '@tensorflow/tfjs';
import type {Blocks} from '../system/equations.js';
import type {Formulation, Scheme, StepPoint} from './scheme.js';

/** ωd and the shares of both: x⁺ = x + h[ωd + (1+ω)x'⁺]/(1+2ω). */
const ratio = ({x, h}: StepPoint): tf.Tensor => tf.div(h, x.lastStep);
const whole = (omega: tf.Tensor): tf.Tensor => tf.add(1, tf.mul(omega, 2));

/** x⁺ − x from x'⁺. */
function increment(at: StepPoint, d: tf.Tensor, rate: tf.Tensor): tf.Tensor {
  const omega = ratio(at);
  return tf.div(tf.mul(at.h, tf.add(tf.mul(omega, d), tf.mul(tf.add(1, omega), rate))), whole(omega));
}

/** x'⁺ from x⁺, times h(1+ω)/(1+2ω). */
function gain(at: StepPoint, x: tf.Tensor, d: tf.Tensor, next: tf.Tensor): tf.Tensor {
  const omega = ratio(at);
  return tf.sub(tf.sub(next, x), tf.div(tf.mul(tf.mul(at.h, omega), d), whole(omega)));
}

/** h(1+ω)/(1+2ω). */
function weight(at: StepPoint): tf.Tensor {
  const omega = ratio(at);
  return tf.div(tf.mul(at.h, tf.add(1, omega)), whole(omega));
}

const slope = ({h}: Pick<StepPoint, 'h'>, x: tf.Tensor, next: tf.Tensor): tf.Tensor => tf.div(tf.sub(next, x), h);

/** q⁺ from v⁺. */
const position = (at: StepPoint, v: tf.Tensor): tf.Tensor => at.retract(at.x.q, increment(at, at.x.meanVelocity, v));

/** (q⁺ − q)/h: with q' = N(q)v in the frame of velocities. */
function positionSlope(at: StepPoint, v: tf.Tensor, q: tf.Tensor): tf.Tensor {
  const moved = at.unknownPosition.between(at.x.q, q, () => increment(at, at.x.meanVelocity, v));
  return tf.div(moved, at.h);
}

/** (x − x⁻)/h where the second difference of x⁻, x and x⁺ is h²x''. */
const past = (h: tf.Tensor, x: tf.Tensor, next: tf.Tensor, second: tf.Tensor): tf.Tensor =>
  tf.sub(tf.div(tf.sub(next, x), h), tf.mul(h, second));

/**
 * Milne's device: the explicit two-step formula x + h[(1+ω)x' − ωd] errs by h³x'''(1+ω)/(6ω) the other way,
 * and of the difference of both the share (1+ω)/(2+3ω) is the implicit one's.
 */
function estimate(at: StepPoint, x: tf.Tensor, d: tf.Tensor, rate: tf.Tensor, next: tf.Tensor): tf.Tensor {
  const omega = ratio(at);
  const predicted = tf.add(x, tf.mul(at.h, tf.sub(tf.mul(tf.add(1, omega), rate), tf.mul(omega, d))));
  return tf.mul(tf.sub(next, predicted), tf.div(tf.add(1, omega), tf.add(2, tf.mul(omega, 3))));
}

/**
 * From the velocity v⁺ at the end of the first step. Of positions the third difference counts too, for the multipliers:
 * (q − q⁻)/h is v − ½h a + h²a'/6 with a = (v⁺ − v)/h − ½h a'.
 */
function started({x, h}: StepPoint, v: tf.Tensor, jerk: tf.Tensor): Blocks {
  const slope = tf.addN([tf.mul(x.v, 1.5), tf.mul(v, -0.5), tf.mul(tf.square(h), tf.mul(jerk, 5 / 12))]);
  return {meanVelocity: slope, meanAcceleration: past(h, x.v, v, jerk), lastStep: h};
}

/**
 * The formula's slope of exact positions misses the exact velocity by h²a'/3. Across the constraints, whose
 * positions are exact, all velocities of the past must miss by as much, or λ starts with a swing of the size
 * of h: the first step begins with v moved so, and its difference from v⁻ as it is.
 */
const settledVelocity = ({x, h}: StepPoint): tf.Tensor =>
  x.offset === undefined ? x.v : tf.sub(x.v, tf.mul(tf.square(h), x.offset));

const mechanics: Formulation = {
  unknown: ['v'],
  multipliers: ['lambda'],
  supports: {kinematics: true, contacts: 'soft'},
  derivatives: {meanVelocity: 1, meanAcceleration: 2},
  carry: {
    reads: ['first', 'jerk', 'normalJerk'],
    from: (at, {first, jerk, normalJerk}) => {
      if (at.constraints === undefined) return started(at, first.v, jerk);
      const offset = tf.div(normalJerk(), 3);
      // v⁺ misses the exact velocity by that.
      return {...started(at, tf.add(first.v, tf.mul(tf.square(at.h), offset)), jerk), offset};
    },
  },
  residual: ({v}, at) => {
    const q = position(at, v);
    return {
      v: tf.sub(
        at.mass(q, gain(at, settledVelocity(at), at.x.meanAcceleration, v)),
        tf.mul(weight(at), at.force(q, v, tf.add(at.t, at.h))),
      ),
    };
  },
  update: ({v}, at) => {
    const q = position(at, v);
    return {
      q,
      v,
      meanVelocity: positionSlope(at, v, q),
      meanAcceleration: slope(at, settledVelocity(at), v),
      lastStep: at.h,
      ...(at.x.offset === undefined ? {} : {offset: tf.zerosLike(v)}),
    };
  },
  error: {
    order: 3,
    // Only between positions without general kinematics there are differences that an error can be estimated by.
    estimate: ({v}, at) =>
      at.hasKinematicsOrStates ? undefined : {q: estimate(at, at.x.q, at.x.meanVelocity, at.x.v, position(at, v))},
  },
};

/** For M y' = f(y, t). */
const firstOrder: Formulation = {
  unknown: ['y'],
  derivatives: {meanRate: 1},
  residual: ({y}, at) => {
    const end = tf.add(at.t, at.h);
    const inertia = at.mass(y, gain(at, at.x.y, at.x.meanRate, y), end);
    return {y: tf.sub(inertia, tf.mul(weight(at), at.rightHandSide({y}, end).y))};
  },
  update: ({y}, at) => ({y, meanRate: slope(at, at.x.y, y), lastStep: at.h}),
};

/** Without a mass. */
const massless: Formulation = {
  ...firstOrder,
  carry: {
    reads: ['first', 'jerk'],
    from: ({x, h}, {first, jerk}) => ({meanRate: past(h, x.y, first.y, jerk), lastStep: h}),
  },
  error: {
    order: 3,
    estimate: ({y}, at) => ({y: estimate(at, at.x.y, at.x.meanRate, at.rate({y: at.x.y}, at.t).y, y)}),
  },
};

/**
 * With a mass, also a singular one. There is no y'' to start from: the past follows from a first step of implicit
 * Euler, which costs no order, and Milne's device is filtered as runge-kutta-error.ts has it, (M − cJ) E = M e.
 */
const massive: Formulation = {
  ...firstOrder,
  supports: {mass: 2},
  carry: {reads: ['first'], from: ({x, h}, {first}) => ({meanRate: slope({h}, x.y, first.y), lastStep: h})},
  error: {
    order: 3,
    estimate: ({y}, at, shift) => {
      const omega = ratio(at);
      const {rightHandSide, mass} = at;
      const share = tf.div(tf.add(1, omega), tf.add(2, tf.mul(omega, 3)));
      // So far from x that a second estimate is the first one, filtered once more.
      const place = tf.sub(at.x.y, tf.div(shift.y, tf.mul(share, whole(omega))));
      const linear = tf.add(tf.sub(y, at.x.y), tf.mul(tf.mul(at.h, omega), at.x.meanRate));
      const slopes = tf.mul(tf.mul(at.h, tf.add(1, omega)), rightHandSide({y: place}, at.t).y);
      return {y: tf.mul(tf.sub(mass(at.x.y, linear, at.t), slopes), share)};
    },
    filter: ({y}, at) => ({
      y: tf.sub(at.mass(at.x.y, y, at.t), tf.mul(weight(at), at.rightHandSide({y: tf.add(at.x.y, y)}, at.t).y)),
    }),
  },
  // The quadratic through x⁻, x and x⁺.
  dense: (theta, _, {x, h}, next) => {
    const s = tf.mul(theta, h);
    const mean = slope({h}, x.y, next.y);
    const bend = tf.div(tf.sub(mean, x.meanRate), tf.add(h, x.lastStep));
    return {y: tf.addN([x.y, tf.mul(s, mean), tf.mul(tf.mul(s, tf.sub(s, h)), bend)])};
  },
};

/**
 * BDF2: second order, L-stable, with two steps. It damps more than the generalized-α method with ρ∞ = 0
 * does at low frequencies, and needs one force per step. It supports only contacts that are springs: its history would
 * contain an impact.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {bdf2, ode, simulate} from 'stiffgrad';
 *
 * const decay = ode(({y}) => tf.neg(y));
 * console.log(simulate(decay, {y: 1}, {scheme: bdf2(), dt: 0.01, steps: 100}).values('y')[100]); // → 0.368
 * ```
 */
export function bdf2(): Scheme {
  return {name: 'bdf2', order: 2, dissipative: true, mechanics, ode: ({mass}) => (mass ? massive : massless)};
}
