/**
 * The two-step backward differentiation formula (Curtiss & Hirschfelder 1952) on steps of any length:
 * the derivative at the end of the quadratic through x⁻, x and x⁺ is x' there. With ω = h/h⁻ and
 * d = (x − x⁻)/h⁻, both of which are carried,
 *
 *     (1+2ω)(x⁺ − x) = h[ωd + (1+ω)x'⁺].
 *
 * The state before the first one follows from the first step (start.ts): x⁻ lies where x⁺ − 2x + x⁻ = h²x'', with x'' filtered.
 * For y' = λy that makes the first step a one-step method of second order, with R = (1 − ½z²/(1 − z)²)/(1 − z) and z = hλ,
 * A- and L-stable. Second order from there on, in the multipliers too. Zero-stable while ω < 1 + √2 (Grigorieff 1983).
 */
import * as tf from '@tensorflow/tfjs';
import {constraintsOf, rowScale} from './constrained.js';
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
const position = (at: StepPoint, v: tf.Tensor): tf.Tensor =>
  at.stabilizePosition(at.moved(at.x.q, increment(at, at.x.meanVelocity, v)));

/** (q⁺ − q)/h: with q' = N(q)v in the frame of velocities. */
const positionSlope = (at: StepPoint, v: tf.Tensor, q: tf.Tensor): tf.Tensor => {
  const along = (): tf.Tensor => {
    const gained = increment(at, at.x.meanVelocity, v);
    return at.stabilizing === undefined ? gained : tf.add(gained, at.stabilizing(at.moved(at.x.q, gained)));
  };
  return tf.div(at.unknownPosition.between(at.x.q, q, along), at.h);
};

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

/** Between positions without general kinematics there are differences that an error can be estimated by. */
const estimated: Pick<Formulation, 'errorOrder' | 'error'> = {
  errorOrder: 3,
  error: ({v}, at) => ({q: estimate(at, at.x.q, at.x.meanVelocity, at.x.v, position(at, v))}),
};

const moving: Formulation = {
  unknown: ['v'],
  moves: true,
  derivatives: {meanVelocity: 1, meanAcceleration: 2},
  startsAhead: true,
  carriesJerk: 'filtered',
  carry: (at, {first, jerk}) => started(at, first.v, jerk),
  residual: ({v}, at) => {
    const q = position(at, v);
    return {
      v: tf.sub(
        at.mass(q, gain(at, at.x.v, at.x.meanAcceleration, v)),
        tf.mul(weight(at), at.force(q, v, tf.add(at.t, at.h))),
      ),
    };
  },
  update: ({v}, at) => {
    const q = position(at, v);
    return {q, v, meanVelocity: positionSlope(at, v, q), meanAcceleration: slope(at, at.x.v, v), lastStep: at.h};
  },
};

/**
 * The formula's slope of exact positions misses the exact velocity by h²a'/3. Across the constraints, whose
 * positions are exact, all velocities of the past must miss by as much, or λ starts with a swing of the size
 * of h: the first step begins with v moved so, and its difference from v⁻ as it is.
 */
const settledVelocity = ({x, h}: StepPoint): tf.Tensor => tf.sub(x.v, tf.mul(tf.square(h), x.offset));

const movingConstrained: Formulation = {
  ...moving,
  multipliers: ['lambda'],
  carriesNormalJerk: true,
  carry: (at, {first, jerk, normalJerk}) => {
    const offset = tf.div(normalJerk(), 3);
    // v⁺ misses the exact velocity by that.
    return {...started(at, tf.add(first.v, tf.mul(tf.square(at.h), offset)), jerk), offset};
  },
  residual: ({v, lambda}, at) => {
    const place = {q: position(at, v), v, t: tf.add(at.t, at.h)};
    const start = settledVelocity(at);
    const constraints = constraintsOf(at);
    const push = tf.add(at.force(place.q, v, place.t), constraints.reaction(place, lambda));
    return {
      v: tf.sub(at.mass(place.q, gain(at, start, at.x.meanAcceleration, v)), tf.mul(weight(at), push)),
      lambda: constraints.rows(place, lambda, rowScale(at, weight(at), 1)),
    };
  },
  update: (z, at) => ({
    ...moving.update(z, at),
    meanAcceleration: slope(at, settledVelocity(at), z.v),
    lambda: z.lambda,
    offset: tf.zerosLike(z.v),
  }),
};

const withEstimate = (base: Formulation): Formulation => ({...base, ...estimated, moves: false, moving: base});
const mechanics = withEstimate(moving);
const constrained = withEstimate(movingConstrained);

/** The same for y' = f(y, t). */
const firstOrder: Formulation = {
  unknown: ['y'],
  derivatives: {meanRate: 1},
  errorOrder: 3,
  error: ({y}, at) => ({y: estimate(at, at.x.y, at.x.meanRate, at.rate({y: at.x.y}, at.t).y, y)}),
  startsAhead: true,
  carriesJerk: 'filtered',
  carry: ({x, h}, {first, jerk}) => ({meanRate: past(h, x.y, first.y, jerk), lastStep: h}),
  residual: ({y}, at) => ({
    y: tf.sub(gain(at, at.x.y, at.x.meanRate, y), tf.mul(weight(at), at.rate({y}, tf.add(at.t, at.h)).y)),
  }),
  update: ({y}, at) => ({y, meanRate: slope(at, at.x.y, y), lastStep: at.h}),
};

/**
 * The same for M y' = f, also singular. There is no y'' to start from: the past follows from a first step of implicit Euler,
 * which costs no order, and Milne's device is filtered as runge-kutta-error.ts has it, (M − cJ) E = M e.
 */
const massive: Formulation = {
  unknown: ['y'],
  masses: 2,
  movingMass: true,
  derivatives: {meanRate: 1},
  errorOrder: 3,
  error: ({y}, at, shift) => {
    const omega = ratio(at);
    const {rightHandSide, mass} = at;
    const share = tf.div(tf.add(1, omega), tf.add(2, tf.mul(omega, 3)));
    // So far from x that a second estimate is the first one, filtered once more.
    const place = tf.sub(at.x.y, tf.div(shift.y, tf.mul(share, whole(omega))));
    const linear = tf.add(tf.sub(y, at.x.y), tf.mul(tf.mul(at.h, omega), at.x.meanRate));
    const slopes = tf.mul(tf.mul(at.h, tf.add(1, omega)), rightHandSide({y: place}, at.t).y);
    return {y: tf.mul(tf.sub(mass(at.x.y, linear, at.t), slopes), share)};
  },
  errorFilter: ({y}, at) => ({
    y: tf.sub(at.mass(at.x.y, y, at.t), tf.mul(weight(at), at.rightHandSide({y: tf.add(at.x.y, y)}, at.t).y)),
  }),
  startsAhead: true,
  carry: ({x, h}, {first}) => ({meanRate: slope({h}, x.y, first.y), lastStep: h}),
  residual: ({y}, at) => ({
    y: tf.sub(
      at.mass(y, gain(at, at.x.y, at.x.meanRate, y), tf.add(at.t, at.h)),
      tf.mul(weight(at), at.rightHandSide({y}, tf.add(at.t, at.h)).y),
    ),
  }),
  update: ({y}, at) => ({y, meanRate: slope(at, at.x.y, y), lastStep: at.h}),
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
 */
export function bdf2(): Scheme {
  return {
    name: 'bdf2',
    order: 2,
    mechanics,
    constrained,
    ode: {...firstOrder, massive},
    contacts: 'soft',
    dissipative: true,
  };
}
