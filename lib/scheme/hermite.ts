/**
 * Dense output of a scheme that brings none of its own: Hermite's interpolation of the states at both
 * ends of a step. Its order is the scheme's: what it leaves out is no larger than what the steps did.
 *
 *   mechanics  order 1   q cubic from q and v; v linear, as v⁺ of such a scheme need not be q's slope
 *              order 2   q cubic from q and v, v its derivative
 *              order 3…  q quintic from q, v and a = M⁻¹f, v its derivative
 *   ode        order 1   y linear
 *              order 2…  y cubic from y and its rate
 *
 * Written as x + θ(…), so that θ = 0 gives the state itself.
 */
import * as tf from '@tensorflow/tfjs';
import type {Blocks} from '../system/equations.js';
import {derivativeAlong} from '../trace/differentials.js';
import {constantTensor} from '../trace/trace.js';
import type {StepPoint} from './scheme.js';

/** c₀ + θ(c₁ + θ(c₂ + …)). */
const polynomial = (theta: tf.Tensor, coefficients: readonly tf.Tensor[]): tf.Tensor =>
  coefficients.reduceRight((sum, c) => tf.add(c, tf.mul(theta, sum)));

/** v + (2c₂θ + 3c₃θ² + …)/h: the derivative by t = θh of a polynomial whose c₁ is hv. At θ = 0 it is v itself. */
function slope(theta: tf.Tensor, v: tf.Tensor, h: tf.Tensor, [, , ...coefficients]: readonly tf.Tensor[]): tf.Tensor {
  const rates = coefficients.map((c, i) => tf.mul(c, i + 2));
  return tf.add(v, tf.mul(theta, tf.div(polynomial(theta, rates), h)));
}

const linear = (theta: tf.Tensor, from: tf.Tensor, to: tf.Tensor): tf.Tensor =>
  tf.add(from, tf.mul(theta, tf.sub(to, from)));

/** Σ cᵢ xᵢ with numbers c. */
const weighted = (...terms: readonly (readonly [number, tf.Tensor])[]): tf.Tensor =>
  terms.map(([c, x]) => tf.mul(x, c)).reduce((sum, x) => tf.add(sum, x));

/** Coefficients of the cubic through x₀, x₁ with slopes s₀, s₁ (already times h). */
function cubic(x0: tf.Tensor, x1: tf.Tensor, s0: tf.Tensor, s1: tf.Tensor): tf.Tensor[] {
  const gain = tf.sub(x1, x0);
  return [x0, s0, weighted([3, gain], [-2, s0], [-1, s1]), weighted([-2, gain], [1, s0], [1, s1])];
}

/** Coefficients of the quintic with slopes s (times h) and curvatures c (times h²). */
function quintic(
  x0: tf.Tensor,
  x1: tf.Tensor,
  s0: tf.Tensor,
  s1: tf.Tensor,
  c0: tf.Tensor,
  c1: tf.Tensor,
): tf.Tensor[] {
  const half = tf.mul(c0, 0.5);
  const A = tf.sub(x1, tf.addN([x0, s0, half]));
  const B = tf.sub(s1, tf.add(s0, c0));
  const C = tf.sub(c1, c0);
  return [
    x0,
    s0,
    half,
    weighted([10, A], [-4, B], [0.5, C]),
    weighted([-15, A], [7, B], [-1, C]),
    weighted([6, A], [-3, B], [0.5, C]),
  ];
}

/** The value at θ of the cubic through x₀, x₁ with slopes s₀, s₁ (already times h). */
export const hermiteCubic = (theta: tf.Tensor, x0: tf.Tensor, x1: tf.Tensor, s0: tf.Tensor, s1: tf.Tensor): tf.Tensor =>
  polynomial(theta, cubic(x0, x1, s0, s1));

/** The quintic through q, v and a at both ends, with its first and second derivative. */
export function hermiteQuintic(theta: tf.Tensor, h: tf.Tensor, x: Blocks, next: Blocks): Blocks {
  const h2 = tf.square(h);
  const c = quintic(x.q, next.q, tf.mul(h, x.v), tf.mul(h, next.v), tf.mul(h2, x.a), tf.mul(h2, next.a));
  const bends = c.slice(3).map((coefficient, i) => tf.mul(coefficient, (i + 3) * (i + 2)));
  const bend = tf.div(polynomial(theta, bends), h2);
  return {q: polynomial(theta, c), v: slope(theta, x.v, h, c), a: tf.add(x.a, tf.mul(theta, bend))};
}

function mechanical(
  theta: tf.Tensor,
  order: number,
  {x, t, h, acceleration, constraints}: StepPoint,
  next: Blocks,
): Blocks {
  const slopes = [tf.mul(h, x.v), tf.mul(h, next.v)] as const;
  // The acceleration of M⁻¹f knows nothing of constraints: with them that which the scheme carries is taken, if it
  // does.
  const carried = constraints !== undefined && 'a' in x && 'a' in next;
  if (order < 3 || (constraints !== undefined && !carried)) {
    const q = cubic(x.q, next.q, ...slopes);
    return {q: polynomial(theta, q), v: order < 2 ? linear(theta, x.v, next.v) : slope(theta, x.v, h, q)};
  }
  const {q, v} = hermiteQuintic(
    theta,
    h,
    carried ? x : {...x, a: acceleration(x.q, x.v, t)},
    carried ? next : {...next, a: acceleration(next.q, next.v, tf.add(t, h))},
  );
  return {q, v};
}

/**
 * With hidden states or kinematics v is not the derivative of q, and takes its own cubic; the curvature of q is that
 * of N(q)v along the motion. Where constraints push and their accelerations are not carried, v is linear, of the
 * order of such a scheme.
 */
function general(theta: tf.Tensor, order: number, at: StepPoint, next: Blocks): Blocks {
  const {x, t, h, acceleration, constraints, positionRate} = at;
  const end = tf.add(t, h);
  const rate = ({q, v}: Blocks, when: tf.Tensor): tf.Tensor => positionRate(q, v, when);
  const known = 'a' in x || constraints === undefined;
  const slope = (place: Blocks, when: tf.Tensor): tf.Tensor =>
    'a' in x ? place.a : acceleration(place.q, place.v, when);
  const scaled = (f: typeof rate): readonly [tf.Tensor, tf.Tensor] => [tf.mul(h, f(x, t)), tf.mul(h, f(next, end))];
  const bend = (place: Blocks, when: tf.Tensor): tf.Tensor =>
    tf.mul(
      h,
      derivativeAlong(
        ({q, v, t: now}) => positionRate(q, v, now),
        {q: place.q, v: place.v, t: when},
        {q: rate(place, when), v: slope(place, when), t: constantTensor(1, [])},
      ),
    );
  return {
    q:
      order < 3 || !known
        ? hermiteCubic(theta, x.q, next.q, ...scaled(rate))
        : polynomial(theta, quintic(x.q, next.q, ...scaled(rate), ...scaled(bend))),
    v: order < 2 || !known ? linear(theta, x.v, next.v) : hermiteCubic(theta, x.v, next.v, ...scaled(slope)),
  };
}

/** Whether the derivatives of `hermite` at the step's ends are those of the motion there. */
export const hermiteFollowsRates = (order: number, at: StepPoint): boolean =>
  at.kind === 'ode' ? order >= 2 && !at.hasMassMatrix : order >= 3 && at.constraints === undefined;

/** The blocks q and v, or y, at t + θh. */
export function hermite(theta: tf.Tensor, order: number, at: StepPoint, next: Blocks): Blocks {
  if (at.kind === 'mechanics' && at.hasKinematicsOrStates) return general(theta, order, at, next);
  if (at.kind === 'mechanics') return mechanical(theta, order, at, next);
  // With a singular mass y' is not known; linear between states is of second order, as all that has no dense output
  // of its own.
  if (order < 2 || at.hasMassMatrix) return {y: linear(theta, at.x.y, next.y)};
  const {x, t, h, rate} = at;
  return {y: polynomial(theta, cubic(x.y, next.y, tf.mul(h, rate(x, t).y), tf.mul(h, rate(next, tf.add(t, h)).y)))};
}
