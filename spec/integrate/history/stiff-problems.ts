/**
 * Three stiff problems of the IVP Test Set (Mazzia & Magherini, Test Set for Initial Value Problem Solvers,
 * Bari/CWI; Hairer & Wanner, Solving ODEs II, §IV.10), with its reference solutions.
 */
import * as tf from '@tensorflow/tfjs';
import type {OdeSystem} from '../../../lib/index.js';
import {ode} from '../../../lib/index.js';

export interface StiffProblem {
  readonly name: string;
  readonly system: OdeSystem;
  readonly y: readonly number[];
  readonly t1: number;
  /** At t1. */
  readonly reference: readonly number[];
  /** Absolute tolerances for a relative one: as small beside it as the components become. */
  readonly atol: (rtol: number) => number[];
  /** The first step. */
  readonly first: number;
}

const components = (y: tf.Tensor): tf.Tensor[] => tf.unstack(y);

/** Σ c y of some components. */
const sum = (y: readonly tf.Tensor[], ...terms: readonly (readonly [number, number])[]): tf.Tensor =>
  tf.addN(terms.map(([c, i]) => tf.mul(y[i - 1], c)));

/** High irradiance response of morphogenesis: eight species. */
export const hires: StiffProblem = {
  name: 'HIRES',
  system: ode(({y: state}) => {
    const y = components(state);
    const bound = tf.mul(tf.mul(y[5], y[7]), 280);
    return tf.stack([
      tf.add(sum(y, [-1.71, 1], [0.43, 2], [8.32, 3]), 0.0007),
      sum(y, [1.71, 1], [-8.75, 2]),
      sum(y, [-10.03, 3], [0.43, 4], [0.035, 5]),
      sum(y, [8.32, 2], [1.71, 3], [-1.12, 4]),
      sum(y, [-1.745, 5], [0.43, 6], [0.43, 7]),
      tf.sub(sum(y, [0.69, 4], [1.71, 5], [-0.43, 6], [0.69, 7]), bound),
      tf.sub(bound, tf.mul(y[6], 1.81)),
      tf.sub(tf.mul(y[6], 1.81), bound),
    ]);
  }),
  y: [1, 0, 0, 0, 0, 0, 0, 0.0057],
  t1: 321.8122,
  reference: [
    0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2, 0.2386356198831331e-2,
    0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2,
  ],
  atol: rtol => new Array<number>(8).fill(1e-4 * rtol),
  first: 1e-4,
};

/** Robertson's reaction, y₂ ten million times as small as the others. @param k its rates, shape [3] */
export const robertson = (y: tf.Tensor, k: tf.Tensor): tf.Tensor => {
  const [y1, y2, y3] = components(y);
  const [k1, k2, k3] = components(k);
  const first = tf.sub(tf.mul(k3, tf.mul(y2, y3)), tf.mul(k1, y1));
  const third = tf.mul(k2, tf.square(y2));
  return tf.stack([first, tf.neg(tf.add(first, third)), third]);
};
export const robertsonRates: readonly number[] = [0.04, 3e7, 1e4];

export const rober: StiffProblem = {
  name: 'ROBER',
  system: ode(({y}) => robertson(y, tf.tensor1d([...robertsonRates]))),
  y: [1, 0, 0],
  t1: 1e11,
  reference: [0.2083340149701255e-7, 0.8333360770334713e-13, 0.999999979166505],
  atol: rtol => [1e-7 * rtol, 1e-13 * rtol, 1e-3 * rtol],
  first: 1e-5,
};

/** Van der Pol's oscillator with μ = 1000, in its own time. */
export const vanDerPol: StiffProblem = {
  name: 'van der Pol',
  system: ode(({y}) => {
    const [x, v] = components(y);
    return tf.stack([v, tf.sub(tf.mul(1000, tf.mul(tf.sub(1, tf.square(x)), v)), x)]);
  }),
  y: [2, 0],
  t1: 2000,
  reference: [0.1706167732170469e1, -0.8928097010248125e-3],
  atol: rtol => [1e-3 * rtol, 1e-3 * rtol],
  first: 1e-4,
};

export const stiffProblems: readonly StiffProblem[] = [hires, rober, vanDerPol];
