/**
 * Explicit Runge–Kutta pairs of order 5(4) with seven stages, of which the last is the first of the next
 * step: a step ends with the derivative at its end, which the state carries on (`slope` of an ode; the
 * acceleration `a` of a mechanical system), so that six evaluations a step are made, and the derivatives
 * of a run go through it as through the rest of the state.
 *
 *     kᵢ = f(y + hΣ aᵢⱼkⱼ, t + cᵢh),   y⁺ = y + hΣ bᵢkᵢ,   error hΣ eᵢkᵢ with e = b − b̂
 *
 * Between its ends a step of an ode is the quartic that has the values and the slopes of both, which
 * leaves one coefficient: Hermite's cubic and θ²(1−θ)² hΣ dᵢkᵢ. Shampine's interpolant of Dormand and
 * Prince's method (Hairer, Nørsett & Wanner, Solving ODEs I, §II.6, CONTD5) and Tsitouras's own are both
 * of this form; d are the coefficients of θ⁴ in their weights. For mechanics, where two derivatives of q
 * are known at both ends, it is Hermite's quintic, with v its derivative.
 */
import * as tf from '@tensorflow/tfjs';
import type {Blocks} from '../system/equations.js';
import {hermiteCubic, hermiteQuintic} from './hermite.js';
import {endPlace, stagePlace} from './implicit-runge-kutta.js';
import type {Formulation, Scheme, StepPoint} from './scheme.js';
import type {Tableau} from './tableau.js';
import {sum, twice} from './tableau.js';

/** The last row of A is b, and the stage it makes is the end of the step. */
export interface ExplicitPair extends Tableau {
  /** b − b̂, with the weights b̂ of the embedded method of fourth order. */
  readonly error: readonly number[];
  /** Of the stages in the coefficient of θ²(1−θ)². */
  readonly between: readonly number[];
}

/** The estimate is that of the embedded method, whose local error is of order 5. */
const errorOrder = 5;

/** From the rows of A below the diagonal. */
function pair(
  name: string,
  c: readonly number[],
  below: readonly (readonly number[])[],
  error: readonly number[],
  between: readonly number[],
): ExplicitPair {
  const a = below.map(row => c.map((_, j) => row[j] ?? 0));
  return {name, order: 5, a, b: a[c.length - 1], c, error, between};
}

/** Dormand & Prince, A family of embedded Runge–Kutta formulae (J. Comput. Appl. Math. 6, 1980): RK5(4)7M. */
export const dormandPrince = pair(
  'dopri5',
  [0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1, 1],
  [
    [],
    [1 / 5],
    [3 / 40, 9 / 40],
    [44 / 45, -56 / 15, 32 / 9],
    [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
    [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
    [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
  ],
  [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40],
  [
    -12715105075 / 11282082432,
    0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
  ],
);

/**
 * Tsitouras, Runge–Kutta pairs of order 5(4) satisfying only the first column simplifying assumption (Comput. Math.
 * Appl. 62, 2011).
 */
export const tsitouras = pair(
  'tsit5',
  [0, 0.161, 0.327, 0.9, 0.98002554090450971, 1, 1],
  [
    [],
    [0.161],
    [-0.0084806554923569885, 0.33548065549235699],
    [2.8971530571054934, -6.3594484899750748, 4.3622954328695814],
    [5.3258648284392564, -11.748883564062828, 7.4955393428898362, -0.092495066361755249],
    [5.86145544294642, -12.920969317847109, 8.1593678985761586, -0.071584973281400997, -0.028269050394068383],
    [0.09646076681806523, 0.01, 0.4798896504144996, 1.3790085741037419, -3.2900695154360807, 2.324710524099774],
  ],
  [
    0.0017800110522257714,
    0.00081643445965674692,
    -0.007880878010261996,
    0.1447110071732629,
    -0.58235716545255522,
    0.45808210592918697,
    -1 / 66,
  ],
  [-1.0530884977290216, 0.1017, 2.4906272856512528, -16.548102889244903, 47.379521962819281, -34.87065786149661, 2.5],
);

/** The coefficients of the stability function R(z) = 1 + Σ bAᵏ⁻¹1 zᵏ. */
function stabilityFunction({a, b}: ExplicitPair): number[] {
  const coefficients = [1];
  let powers = a.map(() => 1);
  for (let k = 1; k < a.length; k++) {
    coefficients.push(b.reduce((sum, weight, i) => sum + weight * powers[i], 0));
    powers = a.map(row => row.reduce((sum, weight, j) => sum + weight * powers[j], 0));
  }
  return coefficients;
}

/** How far −z may go: |R(z)| ≤ 1 on [−border, 0]. Found on a grid of hundredths and by bisection. */
export function stabilityBorder(method: ExplicitPair): number {
  const coefficients = stabilityFunction(method);
  const stable = (x: number): boolean => Math.abs(coefficients.reduceRight((sum, c) => sum * -x + c, 0)) <= 1;
  let low = 0.01;
  while (stable(low + 0.01)) low += 0.01;
  let high = low + 0.01;
  for (let k = 0; k < 40; k++) {
    const middle = (low + high) / 2;
    if (stable(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Weights of rates without the last stage's, and that one's: it is the rate that the state carries on. */
const stagesOf = (method: ExplicitPair): number => method.c.length - 1;

/** The stages' rates of an ode, of the last one too; each is made once. */
function slopes({a, c}: ExplicitPair, {x, t, h, rate}: StepPoint): tf.Tensor[] {
  const k = [x.slope];
  for (let i = 1; i < c.length; i++) k.push(rate({y: sum(x.y, h, a[i], j => k[j])}, tf.add(t, tf.mul(h, c[i]))).y);
  return k;
}

const squares = (x: tf.Tensor): tf.Tensor => tf.sum(tf.square(x));

/**
 * h|λ| over what is stable. The last two stages are at the same time, and apart by what errors of the order
 * of the step's own make of them: the slopes' difference over the places' is |λ|, the Jacobian's dominant
 * eigenvalue where that is real and large (Hairer & Wanner, Solving ODEs II, §IV.2).
 */
const share = (slope: tf.Tensor, place: tf.Tensor, border: number): tf.Tensor =>
  tf.div(tf.sqrt(tf.div(slope, place)), border);

function firstOrder(method: ExplicitPair): Formulation {
  const {a, error, between} = method;
  const end = stagesOf(method);
  const border = stabilityBorder(method);
  const zero = (y: tf.Tensor): tf.Tensor => tf.zerosLike(y);
  return {
    unknown: [],
    carry: ({x, t, rate}) => ({slope: rate({y: x.y}, t).y}),
    update: (_, at) => {
      const k = slopes(method, at);
      return {y: sum(at.x.y, at.h, a[end], i => k[i]), slope: k[end]};
    },
    error: {
      order: errorOrder,
      estimate: (_, at) => {
        const k = slopes(method, at);
        return {y: sum(zero(at.x.y), at.h, error, i => k[i])};
      },
      stiffness: (_, at) => {
        const k = slopes(method, at);
        const apart = sum(
          zero(at.x.y),
          at.h,
          a[end].map((weight, i) => weight - a[end - 1][i]),
          i => k[i],
        );
        return share(squares(tf.mul(at.h, tf.sub(k[end], k[end - 1]))), squares(apart), border);
      },
    },
    dense: (theta, _, at, next) => {
      const {x, h} = at;
      const k = slopes(method, at);
      const bulge = sum(zero(x.y), h, between, i => k[i]);
      const rising = tf.square(tf.mul(theta, tf.sub(1, theta)));
      return {
        y: tf.add(hermiteCubic(theta, x.y, next.y, tf.mul(h, x.slope), tf.mul(h, next.slope)), tf.mul(rising, bulge)),
      };
    },
  };
}

/** The stages' accelerations. Those of the stages' positions are the squares of A: hcᵢv is exact in them. */
function accelerations(method: ExplicitPair, at: StepPoint): tf.Tensor[] {
  const a = [at.x.a];
  for (let i = 1; i < method.c.length; i++) {
    const {q, v, t} = i < stagesOf(method) ? stagePlace(method, at, i, j => a[j]) : endPlace(method, at, j => a[j]);
    a.push(at.acceleration(q, v, t));
  }
  return a;
}

function mechanical(method: ExplicitPair): Formulation {
  const {a: weights, error} = method;
  const end = stagesOf(method);
  const border = stabilityBorder(method);
  const last = weights[end].map((weight, i) => weight - weights[end - 1][i]);
  return {
    unknown: [],
    carry: ({x, t, acceleration}) => ({a: acceleration(x.q, x.v, t)}),
    update: (_, at) => {
      const a = accelerations(method, at);
      const {q, v} = endPlace(method, at, i => a[i]);
      return {q, v, a: a[stagesOf(method)]};
    },
    error: {
      order: errorOrder,
      // Σ eᵢ = 0: the velocity at the start has no share in the error of q.
      estimate: (_, at) => {
        const a = accelerations(method, at);
        const none: Blocks = {q: tf.zerosLike(at.x.q), v: tf.zerosLike(at.x.v)};
        return {
          q: sum(none.q, tf.square(at.h), twice(error, weights), i => a[i]),
          v: sum(none.v, at.h, error, i => a[i]),
        };
      },
      // Velocities count in steps, as positions: (q, hv) and h(v, ha).
      stiffness: (_, at) => {
        const {x, h} = at;
        const a = accelerations(method, at);
        const h2 = tf.square(h);
        const none = tf.zerosLike(x.q);
        const places = squares(sum(none, h2, twice(last, weights), i => a[i]));
        const velocities = squares(sum(none, h2, last, i => a[i]));
        return share(
          tf.add(velocities, squares(tf.mul(h2, tf.sub(a[end], a[end - 1])))),
          tf.add(places, velocities),
          border,
        );
      },
    },
    dense: (theta, _, {x, h}, next) => hermiteQuintic(theta, h, x, next),
  };
}

const scheme = (method: ExplicitPair): Scheme => ({
  name: method.name,
  order: method.order,
  mechanics: mechanical(method),
  ode: firstOrder(method),
});

/**
 * Dormand and Prince's pair. Order 5 with an estimate of order 4 for adaptive steps; for smooth problems
 * that are not stiff.
 */
export function dopri5(): Scheme {
  return scheme(dormandPrince);
}

/** Tsitouras's pair, for the same problems as dopri5, with the same work per step and usually a smaller error. */
export function tsit5(): Scheme {
  return scheme(tsitouras);
}
