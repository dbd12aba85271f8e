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
  /** Weights of the stages in the coefficient of θ²(1−θ)². */
  readonly between: readonly number[];
}

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

const squares = (x: tf.Tensor): tf.Tensor => tf.sum(tf.square(x));

/** One kind of system as a pair integrates it. Its stages have the rates k: y', or accelerations. */
interface Kind {
  /** The block that carries the rate of the last stage on. */
  readonly carried: 'slope' | 'a';
  /** The rate of a state. */
  rate(at: StepPoint, x: Blocks, t: tf.Tensor): tf.Tensor;
  /** The state and time of stage i, from the rates before it; the last one is the end of the step. */
  place(method: ExplicitPair, at: StepPoint, i: number, k: readonly tf.Tensor[]): {x: Blocks; t: tf.Tensor};
  /** hΣ wᵢkᵢ in every block of the state, with weights whose sum is 0. */
  gain(method: ExplicitPair, at: StepPoint, weights: readonly number[], k: readonly tf.Tensor[]): Blocks;
  /** Squares of a gain, and of how the rate of the state changes with it, times h; `jump` is h times that of k. */
  sizes(at: StepPoint, gain: Blocks, jump: tf.Tensor): {places: tf.Tensor; rates: tf.Tensor};
  /** See `Formulation.dense`. */
  dense(theta: tf.Tensor, at: StepPoint, next: Blocks, bulge: () => tf.Tensor): Blocks;
}

const firstOrder: Kind = {
  carried: 'slope',
  rate: (at, {y}, t) => at.rate({y}, t).y,
  place: ({a, c}, {x, t, h}, i, k) => ({x: {y: sum(x.y, h, a[i], j => k[j])}, t: tf.add(t, tf.mul(h, c[i]))}),
  gain: (_, {x, h}, weights, k) => ({y: sum(tf.zerosLike(x.y), h, weights, i => k[i])}),
  sizes: (_, {y}, jump) => ({places: squares(y), rates: squares(jump)}),
  dense: (theta, {x, h}, next, bulge) => {
    const rising = tf.square(tf.mul(theta, tf.sub(1, theta)));
    const cubic = hermiteCubic(theta, x.y, next.y, tf.mul(h, x.slope), tf.mul(h, next.slope));
    return {y: tf.add(cubic, tf.mul(rising, bulge()))};
  },
};

/** Positions are sums of accelerations by the squares of A: hcᵢv is exact in them. */
const mechanical: Kind = {
  carried: 'a',
  rate: (at, {q, v}, t) => at.acceleration(q, v, t),
  place: (method, at, i, k) => {
    const {q, v, t} = i < method.c.length - 1 ? stagePlace(method, at, i, j => k[j]) : endPlace(method, at, j => k[j]);
    return {x: {q, v}, t};
  },
  // The velocity at the start has no share in that of q.
  gain: ({a}, {x, h}, weights, k) => ({
    q: sum(tf.zerosLike(x.q), tf.square(h), twice(weights, a), i => k[i]),
    v: sum(tf.zerosLike(x.v), h, weights, i => k[i]),
  }),
  // Velocities count in steps, as positions: (q, hv) and h(v, ha).
  sizes: ({h}, {q, v}, jump) => {
    const velocities = squares(tf.mul(h, v));
    return {places: tf.add(squares(q), velocities), rates: tf.add(velocities, squares(tf.mul(h, jump)))};
  },
  dense: (theta, {x, h}, next) => hermiteQuintic(theta, h, x, next),
};

function formulation(method: ExplicitPair, kind: Kind): Formulation {
  const {a, c, error, between} = method;
  const {carried} = kind;
  const last = c.length - 1;
  const border = stabilityBorder(method);
  /** The weights of the last stage minus those of the one before it. */
  const apart = a[last].map((weight, i) => weight - a[last - 1][i]);
  /** The stages' rates, of the last one too; each is made once. */
  const rates = (at: StepPoint): tf.Tensor[] => {
    const k = [at.x[carried]];
    for (let i = 1; i <= last; i++) {
      const {x, t} = kind.place(method, at, i, k);
      k.push(kind.rate(at, x, t));
    }
    return k;
  };
  return {
    unknown: [],
    carry: at => ({[carried]: kind.rate(at, at.x, at.t)}),
    update: (_, at) => {
      const k = rates(at);
      return {...kind.place(method, at, last, k).x, [carried]: k[last]};
    },
    error: {
      // The estimate is that of the embedded method.
      order: 5,
      estimate: (_, at) => kind.gain(method, at, error, rates(at)),
      // The last two stages are at the same time, and apart by what errors of the order of the step's own make of them:
      // the slopes' difference over the places' is |λ|, the Jacobian's dominant eigenvalue where that is real and large
      // (Hairer & Wanner, Solving ODEs II, §IV.2).
      stiffness: (_, at) => {
        const k = rates(at);
        const sizes = kind.sizes(at, kind.gain(method, at, apart, k), tf.mul(at.h, tf.sub(k[last], k[last - 1])));
        return tf.div(tf.sqrt(tf.div(sizes.rates, sizes.places)), border);
      },
    },
    dense: (theta, _, at, next) => kind.dense(theta, at, next, () => kind.gain(method, at, between, rates(at)).y),
  };
}

const scheme = (method: ExplicitPair): Scheme => ({
  name: method.name,
  order: method.order,
  mechanics: formulation(method, mechanical),
  ode: formulation(method, firstOrder),
});

/**
 * Dormand and Prince's pair. Order 5 with an estimate of order 4 for adaptive steps; for smooth problems
 * that are not stiff.
 */
export function dopri5(): Scheme {
  return scheme(dormandPrince);
}

/**
 * Tsitouras's pair, for the same problems as dopri5, with the same work per step and usually a smaller error.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {adaptive, ode, simulate, tsit5} from 'stiffgrad';
 *
 * const decay = ode(({y}) => tf.neg(y));
 * const path = simulate(decay, {y: 1}, {scheme: tsit5(), control: adaptive(), dt: 0.1, t1: 1, saveAt: 'end'});
 * console.log(path.values('y')[1]); // → 0.368
 * ```
 */
export function tsit5(): Scheme {
  return scheme(tsitouras);
}
