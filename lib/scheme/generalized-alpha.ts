/**
 * The generalized-α method (Chung & Hulbert 1993) in the form of Arnold & Brüls (2007): beside the true
 * acceleration a, which obeys the equations of motion at the end of the step, an algorithmic one A moves
 * velocity and position as in Newmark's method,
 *
 *     (1−α_m)A⁺ + α_m A = (1−α_f)a⁺ + α_f a.
 *
 * A stands for the acceleration at t + Δh with Δ = α_m − α_f. Where a is stiff, a⁺ → −ρ∞ a and A stays of the size
 * of q/h²: so A may take nothing from a but by that formula, neither at the start nor where the step changes. What is
 * carried is A at t itself and its rate, the last A⁺ − A over h: A = algorithmic + Δh·rate for whatever h comes
 * next. At the start A follows from the first step, with the jerk filtered (start.ts): for the model q'' = −ω²q and
 * hω → ∞ the first step's q is −ρ∞ times the start's, as every other's. Newmark's method is Δ = 0 with α_m = α_f = 0,
 * that of Hilber, Hughes & Taylor (1977) α_m = 0.
 *
 * With constraints G⁺v⁺ differs from its exact value by a multiple of h² a''s part across them once the
 * method has settled. A start with the exact velocity settles by a swing of λ of the size of h; so the first
 * step begins with that offset (Arnold, Brüls & Cardona, Numer. Math. 129, 2015), and λ is of second order
 * from the first step on.
 */
import * as tf from '@tensorflow/tfjs';
import {between, refuseUnknownOptions} from '../checks.js';
import type {Blocks} from '../system/equations.js';
import type {TrialStep, Formulation, Scheme, StepPoint} from './scheme.js';

interface Weights {
  readonly alphaM: number;
  readonly alphaF: number;
  readonly beta: number;
  readonly gamma: number;
}

/**
 * γ and β that make the method of second order with the most damping at high frequencies for these α; Δ = 0 is the
 * average acceleration method, A = a.
 */
function weights(alphaM: number, alphaF: number): Weights {
  const lag = alphaM - alphaF;
  if (lag === 0) return {alphaM: 0, alphaF: 0, gamma: 0.5, beta: 0.25};
  return {alphaM, alphaF, gamma: 0.5 - lag, beta: 0.25 * (1 - lag) ** 2};
}

/** A, and the end of the step from the true acceleration there. */
function end(
  {alphaM, alphaF, beta, gamma}: Weights,
  {x, h, retract}: StepPoint,
  a: tf.Tensor,
): {A: tf.Tensor; next: tf.Tensor; q: tf.Tensor; v: tf.Tensor} {
  const A = alphaM === alphaF ? x.a : tf.add(x.algorithmic, tf.mul(tf.mul(h, alphaM - alphaF), x.rate));
  const next = tf.div(tf.addN([tf.mul(a, 1 - alphaF), tf.mul(x.a, alphaF), tf.mul(A, -alphaM)]), 1 - alphaM);
  // With constraints the first step begins off the velocity that was given.
  const start = x.offset === undefined ? x.v : tf.add(x.v, tf.mul(tf.square(h), x.offset));
  return {
    A,
    next,
    q: retract(x.q, tf.mul(h, start), tf.mul(tf.square(h), tf.add(tf.mul(A, 0.5 - beta), tf.mul(next, beta)))),
    v: tf.add(start, tf.mul(h, tf.add(tf.mul(A, 1 - gamma), tf.mul(next, gamma)))),
  };
}

function family(name: string, w: Weights): Scheme {
  const lag = w.alphaM - w.alphaF;
  /** A at the present time and its rate, from A⁺ and what it has changed by in the step. */
  const algorithmic = (next: tf.Tensor, change: tf.Tensor, h: tf.Tensor): Blocks =>
    lag === 0 ? {} : {algorithmic: tf.sub(next, tf.mul(change, lag)), rate: tf.div(change, h)};
  // The remainder of Taylor's series for q in units of h³a', where h a' is the change of A.
  const excess = lag / 2 + w.beta - 1 / 6;
  const start = ({x, t, h, acceleration}: StepPoint, {first, jerk}: TrialStep): Blocks => {
    if (lag === 0) return {a: acceleration(x.q, x.v, t)};
    const change = tf.mul(h, jerk);
    const a = tf.sub(first.a, change);
    return {a, ...algorithmic(tf.add(a, tf.mul(change, lag)), change, h)};
  };
  const mechanics: Formulation = {
    unknown: ['a'],
    multipliers: ['lambda'],
    supports: {kinematics: true},
    derivatives: {algorithmic: 2},
    carry: {
      reads: lag === 0 ? ['normalJerk'] : ['first', 'jerk', 'normalJerk'],
      from: (at, ahead) => ({
        ...start(at, ahead),
        ...(at.constraints === undefined ? {} : {offset: tf.mul(ahead.normalJerk(), -excess)}),
      }),
    },
    residual: ({a}, at) => {
      const {q, v} = end(w, at, a);
      return {a: tf.sub(at.mass(q, a), at.force(q, v, tf.add(at.t, at.h)))};
    },
    update: ({a}, at) => {
      const {q, v, A, next} = end(w, at, a);
      const settled: Blocks = at.x.offset === undefined ? {} : {offset: tf.zerosLike(a)};
      return {q, v, a, ...algorithmic(next, tf.sub(next, A), at.h), ...settled};
    },
    error: {
      order: 3,
      estimate: ({a}, at) => {
        const {A, next} = end(w, at, a);
        return {q: at.positionRate(at.x.q, tf.mul(tf.mul(tf.square(at.h), tf.sub(next, A)), excess), at.t)};
      },
    },
  };
  // ρ∞ = 1 damps nothing.
  return {name, order: 2, dissipative: w.alphaM !== w.alphaF, mechanics};
}

/**
 * The generalized-α method with spectral radius ρ∞ at infinite frequency: 1 damps nothing, 0 removes in one
 * step what the step does not resolve. Second order in q, v and λ for every ρ∞ (λ for ρ∞ < 1, or
 * stabilized: at 1 it is as weakly unstable as Newmark's, and the energy of a motion that conserves it drifts),
 * unconditionally stable. α_m = (2ρ∞−1)/(ρ∞+1),
 * α_f = ρ∞/(ρ∞+1).
 * @param options.rhoInf in [0, 1]; default 0.8, which takes unresolved vibrations to a thousandth in 31 steps
 * @throws OptionError where ρ∞ is out of range
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {generalizedAlpha, mechanics, simulate} from 'stiffgrad';
 *
 * const system = mechanics({mass: 1, forces: ({q}) => tf.neg(q)});
 * const path = simulate(system, {q: 1, v: 0}, {scheme: generalizedAlpha({rhoInf: 0.9}), dt: 0.01, steps: 100});
 * console.log(path.values('q')[100]); // → 0.540
 * ```
 */
export function generalizedAlpha(options: {readonly rhoInf?: number} = {}): Scheme {
  refuseUnknownOptions(options, {rhoInf: between(0, 1)}, 'generalizedAlpha', 'bad-scheme');
  const {rhoInf = 0.8} = options;
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
  refuseUnknownOptions(options, {alpha: between(-1 / 3, 0)}, 'hht', 'bad-scheme');
  const {alpha = -0.1} = options;
  return family(`hht(${Number(alpha.toPrecision(6))})`, weights(0, -alpha));
}
