/**
 * The generalized-α method (Chung & Hulbert 1993) in the form of Arnold & Brüls (2007): beside the true
 * acceleration a, which obeys the equations of motion at the end of the step, an algorithmic one A moves
 * velocity and position as in Newmark's method,
 *
 *     (1−α_m)A⁺ + α_m A = (1−α_f)a⁺ + α_f a.
 *
 * A stands for the acceleration at t + Δh with Δ = α_m − α_f. What is carried is (A − a)/h, its rate of
 * lagging: it starts at Δ a₀', and stays right where the step changes. Newmark's method is α_m = α_f = 0,
 * that of Hilber, Hughes & Taylor (1977) α_m = 0.
 *
 * With constraints G⁺v⁺ differs from its exact value by a multiple of h² a''s part across them once the
 * method has settled. A start with the exact velocity settles by a swing of λ of the size of h; so the first
 * step begins with that offset (Arnold, Brüls & Cardona, Numer. Math. 129, 2015), and λ is of second order
 * from the first step on.
 */
import * as tf from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {finite, refuseUnknownOptions, shown} from '../given.js';
import type {Blocks} from '../system/equations.js';
import {constraintsOf, rowScale} from './constrained.js';
import type {Formulation, Scheme, StepPoint} from './scheme.js';

interface Weights {
  readonly alphaM: number;
  readonly alphaF: number;
  readonly beta: number;
  readonly gamma: number;
}

/** γ and β that make the method of second order with the most damping at high frequencies for these α. */
function weights(alphaM: number, alphaF: number): Weights {
  const lag = alphaM - alphaF;
  return {alphaM, alphaF, gamma: 0.5 - lag, beta: 0.25 * (1 - lag) ** 2};
}

/** A, and the end of the step from the true acceleration there. */
function end({alphaM, alphaF, beta, gamma}: Weights, {x, h, settle}: StepPoint, a: tf.Tensor, start = x.v): {A: tf.Tensor; next: tf.Tensor; q: tf.Tensor; v: tf.Tensor} {
  const A = tf.add(x.a, tf.mul(h, x.lag));
  const next = tf.div(tf.addN([tf.mul(a, 1 - alphaF), tf.mul(x.a, alphaF), tf.mul(A, -alphaM)]), 1 - alphaM);
  return {
    A,
    next,
    q: settle(tf.addN([x.q, tf.mul(h, start), tf.mul(tf.square(h), tf.add(tf.mul(A, 0.5 - beta), tf.mul(next, beta)))])),
    v: tf.add(start, tf.mul(h, tf.add(tf.mul(A, 1 - gamma), tf.mul(next, gamma)))),
  };
}

function family(name: string, w: Weights): Scheme {
  const lag = w.alphaM - w.alphaF;
  // How far a⁺ moves A⁺.
  const share = (1 - w.alphaF) / (1 - w.alphaM);
  const update = ({a}: Blocks, at: StepPoint, start?: tf.Tensor): Blocks => {
    const {q, v, next} = end(w, at, a, start);
    return {q, v, a, lag: tf.div(tf.sub(next, a), at.h)};
  };
  // What the step leaves out of Taylor's series for q, in units of h³a', and h a' is the change of A.
  const excess = lag / 2 + w.beta - 1 / 6;
  const mechanics: Formulation = {
    unknown: ['a'],
    errorOrder: 3,
    error: ({a}, at) => {
      const {A, next} = end(w, at, a);
      return {q: tf.mul(tf.mul(tf.square(at.h), tf.sub(next, A)), excess)};
    },
    carriesJerk: true,
    carry: ({x, t, acceleration, jerk}) => ({a: acceleration(x.q, x.v, t), lag: tf.mul(jerk(x.q, x.v, t), lag)}),
    residual: ({a}, at) => {
      const {q, v} = end(w, at, a);
      return {a: tf.sub(at.mass(q, a), at.force(q, v, tf.add(at.t, at.h)))};
    },
    update: (z, at) => update(z, at),
  };
  const pushed = ({x, h}: StepPoint): tf.Tensor => tf.add(x.v, tf.mul(tf.square(h), x.offset));
  const constrained: Formulation = {
    ...mechanics,
    multipliers: ['lambda'],
    // A⁺ follows a⁺ by its share.
    turned: ({lag: carried}, turn, {h}) => ({lag: tf.add(carried, tf.mul(tf.div(turn, h), share - 1))}),
    carriesNormalJerk: true,
    carry: at => ({...mechanics.carry?.(at), offset: tf.mul(at.normalJerk(), -excess)}),
    residual: ({a, lambda}, at) => {
      const {q, v} = end(w, at, a, pushed(at));
      const place = {q, v, t: tf.add(at.t, at.h)};
      const constraints = constraintsOf(at);
      const scale = rowScale(at, tf.mul(tf.square(at.h), w.beta * share), tf.mul(at.h, w.gamma * share));
      return {
        a: tf.sub(at.mass(q, a), tf.add(at.force(q, v, place.t), constraints.reaction(place, lambda))),
        lambda: constraints.rows(place, lambda, scale),
      };
    },
    update: (z, at) => ({...update(z, at, pushed(at)), lambda: z.lambda, offset: tf.zerosLike(z.a)}),
  };
  return {name, order: 2, mechanics, constrained};
}

function checkRange(name: string, value: number, low: number, high: number): void {
  if (typeof value !== 'number' || !(value >= low && value <= high)) {
    throw new OptionError('bad-scheme', `${name} must be a number in [${Number(low.toPrecision(4))}, ${high}], not ${shown(value)}.`);
  }
}

/**
 * The generalized-α method with spectral radius ρ∞ at infinite frequency: 1 damps nothing, 0 removes in one
 * step what the step does not resolve. Second order in q, v and λ for every ρ∞ (λ for ρ∞ < 1, or
 * stabilized: at 1 it is as weakly unstable as Newmark's), unconditionally stable. α_m = (2ρ∞−1)/(ρ∞+1),
 * α_f = ρ∞/(ρ∞+1).
 * @param options.rhoInf in [0, 1]; default 0.8, which takes unresolved vibrations to a thousandth in 31 steps
 * @throws OptionError where ρ∞ is out of range
 */
export function generalizedAlpha(options: {readonly rhoInf?: number} = {}): Scheme {
  refuseUnknownOptions(options, {rhoInf: finite}, 'generalizedAlpha', 'bad-scheme');
  const {rhoInf = 0.8} = options;
  checkRange('generalizedAlpha: rhoInf', rhoInf, 0, 1);
  return family(`generalizedAlpha(${rhoInf})`, weights((2 * rhoInf - 1) / (rhoInf + 1), rhoInf / (rhoInf + 1)));
}

/**
 * HHT-α (Hilber, Hughes & Taylor 1977) in their own sign: α in [−1/3, 0], of which 0 is the average
 * acceleration method and −1/3 damps most; γ = ½ − α, β = (1 − α)²/4, ρ∞ = (1 + α)/(1 − α).
 * Second order in q, v and λ, unconditionally stable.
 * @param options.alpha default −0.1, for which ρ∞ is 0.82
 * @throws OptionError where α is out of range
 */
export function hht(options: {readonly alpha?: number} = {}): Scheme {
  refuseUnknownOptions(options, {alpha: finite}, 'hht', 'bad-scheme');
  const {alpha = -0.1} = options;
  checkRange('hht: alpha', alpha, -1 / 3, 0);
  return family(`hht(${Number(alpha.toPrecision(6))})`, weights(0, -alpha));
}
