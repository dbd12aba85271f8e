/** Systems that switch, and what is known of them: closed forms of their ends (docs/time-and-events.md). */
import * as tf from '@tensorflow/tfjs';
import {adaptive, bdf2, kvaerno5, ode, rk4, signal, trapezoid, tsit5} from '../../lib/index.js';
import type {OdeSystem, Scheme, SimulateOptions} from '../../lib/index.js';

export type Numbers = {readonly [name: string]: number};
export type Values = {readonly [name: string]: tf.Tensor};

export interface Case {
  readonly name: string;
  readonly system: OdeSystem<Values>;
  readonly y: readonly number[];
  readonly params: Numbers;
  /** y(T), its last component. */
  readonly end: (y: readonly number[], p: Numbers, T: number) => number;
  /** When it switches. */
  readonly at: number;
  readonly T: number;
  /** Neither the state nor parameters move the time at which it switches. */
  readonly fixed?: boolean;
}

export const rate = (f: (at: {y: tf.Tensor; t: tf.Tensor; params: Values}) => tf.Tensor): OdeSystem<Values> =>
  ode<Values>(at => f(at as {y: tf.Tensor; t: tf.Tensor; params: Values}));
export const one = (truth: tf.Tensor): tf.Tensor => tf.cast(truth, 'float32');

/** Of the arc cosine of a cosine: the integral of sign(sin). */
const triangle = (x: number): number => Math.acos(Math.cos(x));

export const cases: readonly Case[] = [
  {
    name: 'a relay of the state',
    system: rate(({y, params: {a, b, c}}) => tf.where(tf.less(y, c), a, b)),
    y: [0.3],
    params: {a: 2, b: 0.5, c: 1},
    end: ([y], {a, b, c}, T) => c + b * (T - (c - y) / a),
    at: 0.35,
    T: 2,
  },
  {
    name: 'a rate that changes its slope',
    system: rate(({y, params: {a, b, c}}) => tf.where(tf.less(y, c), tf.mul(a, y), b)),
    y: [0.5],
    params: {a: 0.7, b: 0.4, c: 0.9},
    end: ([y], {a, b, c}, T) => c + b * (T - Math.log(c / y) / a),
    at: Math.log(0.9 / 0.5) / 0.7,
    T: 2,
  },
  {
    name: 'a border that moves',
    system: rate(({y, t, params: {a, b, c, w}}) => tf.where(tf.less(y, tf.add(c, tf.mul(w, t))), a, b)),
    y: [0.3],
    params: {a: 2, b: 0.5, c: 1, w: 0.3},
    end: ([y], {a, b, c, w}, T) => {
      const s = (c - y) / (a - w);
      return y + a * s + b * (T - s);
    },
    at: 0.7 / 1.7,
    T: 2,
  },
  {
    name: 'a dead time',
    system: rate(({y, t, params: {tau, theta}}) =>
      tf.div(tf.sub(signal([0, 1], [0, 1], 'hold').at(tf.sub(t, tau)), y), theta),
    ),
    y: [0],
    params: {tau: 0.7, theta: 1.3},
    end: (_, {tau, theta}, T) => 1 - Math.exp(-(T - 1 - tau) / theta),
    at: 1.7,
    T: 3,
  },
  {
    name: 'a pulse',
    system: rate(({y, t, params: {a, b}}) =>
      tf.mul(one(tf.logicalAnd(tf.greaterEqual(t, a), tf.less(t, b))), tf.onesLike(y)),
    ),
    y: [0],
    params: {a: 1.1, b: 1.4},
    end: ([y], {a, b}) => y + b - a,
    at: 1.1,
    T: 3,
  },
  {
    name: 'pulse width modulation',
    system: rate(({t, params: {d, P}}) => one(tf.less(tf.mod(t, P), tf.mul(d, P)))),
    y: [0],
    params: {d: 0.3, P: 0.4},
    // In the seventh period, after the pulse.
    end: ([y], {d, P}) => y + 7 * d * P,
    at: 0.4,
    T: 2.6,
  },
  {
    name: 'the whole part of a time',
    system: rate(({t, params: {w}}) => tf.floor(tf.mul(w, t))),
    y: [0],
    params: {w: 1.7},
    end: ([y], {w}, T) => y + [1, 2, 3, 4, 5].reduce((sum, k) => sum + T - k / w, 0),
    at: 1 / 1.7,
    T: 3.1,
  },
  {
    name: 'the whole part of the state',
    system: rate(({y}) => tf.floor(y)),
    y: [1.2],
    params: {},
    end: ([y], _, T) => 2 + 2 * (T - (2 - y)),
    at: 0.8,
    T: 1.2,
  },
  {
    name: 'the sign of a sine',
    system: rate(({t, params: {w, phi}}) => tf.sign(tf.sin(tf.add(tf.mul(w, t), phi)))),
    y: [0.2],
    params: {w: 3.3, phi: 0.4},
    end: ([y], {w, phi}, T) => y + (triangle(w * T + phi) - triangle(phi)) / w,
    at: (Math.PI - 0.4) / 3.3,
    T: 3,
  },
  {
    name: 'an absorption that begins late',
    system: rate(({y, t, params: {tau, ka, ke, D}}) => {
      const since = tf.sub(t, tau);
      const dose = tf.mul(tf.mul(D, ka), tf.exp(tf.neg(tf.mul(ka, since))));
      return tf.sub(tf.where(tf.greaterEqual(since, 0), dose, tf.zerosLike(dose)), tf.mul(ke, y));
    }),
    y: [0],
    params: {tau: 0.9, ka: 1.5, ke: 0.4, D: 2},
    end: (_, {tau, ka, ke, D}, T) => ((D * ka) / (ka - ke)) * (Math.exp(-ke * (T - tau)) - Math.exp(-ka * (T - tau))),
    at: 0.9,
    T: 3,
  },
  {
    name: 'a comparison of what another one gives',
    system: rate(({y}) => {
      const a = tf.where(tf.less(y, 1), 2, 0.5);
      return tf.add(a, one(tf.lessEqual(tf.add(a, y), 2)));
    }),
    y: [0.3],
    params: {},
    end: ([y], _, T) => 1.5 + 0.5 * (T - (1 - y) / 2 - 1 / 3),
    at: 0.35,
    T: 2,
  },
  {
    name: 'a motion that slides along the border',
    system: rate(({y, params: {a, c}}) => {
      const [first] = tf.unstack(y);
      return tf.stack([tf.sub(a, tf.mul(c, tf.sign(first))), tf.add(first, tf.sign(first))]);
    }),
    y: [0.5, 0.1],
    params: {a: 0.3, c: 1},
    end: ([u, y], {a, c}, T) => y + u ** 2 / 2 / (c - a) + (u + a * T) / c,
    at: 0.5 / 0.7,
    T: 2,
  },
  {
    name: 'a force beyond a place',
    system: rate(({y, params: {k}}) => {
      const [q, v] = tf.unstack(y);
      return tf.stack([tf.where(tf.less(q, 0), tf.mul(tf.neg(k), v), tf.zerosLike(v)), v]).reverse();
    }),
    y: [0.4, -1],
    params: {k: 0.8},
    end: ([q, v], {k}, T) => v * Math.exp(-k * (T - -q / v)),
    at: 0.4,
    T: 2,
  },
  {
    name: 'a time near another one',
    system: rate(({y, t, params: {eps}}) => tf.mul(one(tf.less(tf.square(tf.sub(t, 1)), eps)), tf.onesLike(y))),
    y: [0],
    params: {eps: 0.2},
    end: ([y], {eps}) => y + 2 * Math.sqrt(eps),
    at: 1 - Math.sqrt(0.2),
    T: 2,
  },
];

export const tight = {control: adaptive({rtol: 1e-10, atol: 1e-12})};
type Steps = Pick<SimulateOptions, 'dt' | 'control'>;
export const schemes: readonly (readonly [name: string, scheme: Scheme, options: Steps, digits: number])[] = [
  ['rk4', rk4(), {dt: 0.01}, 1e-8],
  ['tsit5, adaptive', tsit5(), {dt: 0.1, ...tight}, 1e-8],
  ['kvaerno5, adaptive', kvaerno5(), {dt: 0.1, ...tight}, 1e-8],
  ['trapezoid', trapezoid(), {dt: 0.005}, 1e-4],
  ['bdf2', bdf2(), {dt: 0.005}, 1e-3],
];

/** Differences of a closed form, of fourth order. */
export function slope(f: (h: number) => number, h = 1e-3): number {
  return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
}

/** How near the tight runs come to closed forms. */
export const small = 1e-8;

type Made = Pick<SimulateOptions, 'dt' | 'control'> & {readonly scheme: Scheme};
/** Runs whose steps end on the switch, or are adaptive. */
export const made = (at: number): Made[] => [
  // A hundred steps to the switch, which ends one of them.
  {scheme: rk4(), dt: at / 100},
  {scheme: tsit5(), dt: 0.1, ...tight},
  {scheme: kvaerno5(), dt: 0.1, ...tight},
];
