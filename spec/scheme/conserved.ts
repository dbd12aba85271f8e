/** Mechanical systems with constraints that conserve energy, and how the energy of a run departs from its start. */
import * as tf from '@tensorflow/tfjs';
import type {Initial, MechanicalSystem, Scheme, SimulateOptions} from '../../lib/index.js';
import {bilateral, mechanics, simulate} from '../../lib/index.js';

type Numbers = Float64Array;

export interface Conserved {
  readonly title: string;
  readonly system: MechanicalSystem;
  readonly initial: Initial;
  /** A step that resolves the motion coarsely. */
  readonly dt: number;
  energy(q: Numbers, v: Numbers): number;
}

const vector = (...numbers: readonly number[]): tf.Tensor => tf.tensor1d([...numbers]);
const squares = (x: Numbers): number => x.reduce((sum, value) => sum + value * value, 0);
const zeros = (rows: number): number[][] => Array.from({length: rows}, () => [0, 0]);

/** Without constraints, by its angle: of length and mass 1, g = 1, from 2 rad. */
export const freePendulum: Conserved = {
  title: 'a pendulum by its angle',
  system: mechanics({mass: 1, forces: ({q}) => tf.neg(tf.sin(q))}),
  initial: {q: 2, v: 0},
  dt: 0.1,
  energy: ([angle], [v]) => (v * v) / 2 - Math.cos(angle),
};

/** Of length and mass 1, g = 1, from 2 rad. */
export const pendulum: Conserved = {
  title: 'a pendulum',
  system: mechanics({
    mass: 1,
    forces: ({q}) => tf.add(tf.zerosLike(q), vector(0, -1)),
    constraints: [bilateral(({q}) => tf.mul(0.5, tf.sub(tf.sum(tf.square(q)), 1)))],
  }),
  initial: {q: [Math.sin(2), -Math.cos(2)], v: [0, 0]},
  dt: 0.1,
  energy: ([, y], v) => squares(v) / 2 + y,
};

/** On the wire y = x⁴/4 − x²/2, with g = 1 and a spring of stiffness 2 to (0.3, 1). */
export const bead: Conserved = {
  title: 'a bead on a wire',
  system: mechanics({
    mass: 1,
    forces: ({q}) => tf.sub(tf.mul(-2, tf.sub(q, vector(0.3, 1))), vector(0, 1)),
    constraints: [
      bilateral(({q}) => {
        const [x, y] = tf.unstack(q);
        const x2 = tf.square(x);
        return tf.sub(y, tf.sub(tf.mul(0.25, tf.square(x2)), tf.mul(0.5, x2)));
      }),
    ],
  }),
  initial: {q: [1.6, 1.6 ** 4 / 4 - 1.6 ** 2 / 2], v: [0, 0]},
  dt: 0.05,
  energy: ([x, y], v) => squares(v) / 2 + y + (x - 0.3) ** 2 + (y - 1) ** 2,
};

/** Two masses of 1 and 2 on rods of length 1, g = 1, from 1.2 and 0.4 rad. */
export const doublePendulum: Conserved = {
  title: 'a double pendulum',
  system: mechanics({
    mass: [
      [1, 1],
      [2, 2],
    ],
    forces: ({q}) => tf.add(tf.zerosLike(q), tf.tensor2d([0, -1, 0, -2], [2, 2])),
    constraints: [
      bilateral(({q}) => {
        const rods = tf.sub(q, tf.concat([tf.zeros([1, 2]), tf.slice(q, [0, 0], [1, 2])]));
        return tf.mul(0.5, tf.sub(tf.sum(tf.square(rods), 1), 1));
      }),
    ],
  }),
  initial: {
    q: [
      [Math.sin(1.2), -Math.cos(1.2)],
      [Math.sin(1.2) + Math.sin(0.4), -Math.cos(1.2) - Math.cos(0.4)],
    ],
    v: zeros(2),
  },
  dt: 0.05,
  energy: ([, y1, , y2], v) => (v[0] ** 2 + v[1] ** 2) / 2 + v[2] ** 2 + v[3] ** 2 + y1 + 2 * y2,
};

/** Ten masses of 1 on a closed ring of rods of length 1, each on a spring of stiffness 1 to the centre. */
export const ring: Conserved = {
  title: 'a ring of ten rods',
  system: mechanics({
    mass: 1,
    forces: ({q}) => tf.neg(q),
    constraints: [
      bilateral(({q}) => {
        const last = tf.concat([tf.slice(q, [9, 0], [1, 2]), tf.slice(q, [0, 0], [9, 2])]);
        return tf.mul(0.5, tf.sub(tf.sum(tf.square(tf.sub(q, last)), 1), 1));
      }),
    ],
  }),
  // It turns, and every other mass moves to the centre, the others from it.
  initial: ((): Initial => {
    const radius = 1 / (2 * Math.sin(Math.PI / 10));
    const q = Array.from({length: 10}, (_, i) => [Math.cos, Math.sin].map(f => radius * f((Math.PI * i) / 5)));
    const v = q.map(([x, y], i) => {
      const sign = i % 2 === 0 ? 0.3 : -0.3;
      return [sign * x - 0.2 * y, sign * y + 0.2 * x];
    });
    return {q, v};
  })(),
  dt: 0.05,
  energy: (q, v) => (squares(v) + squares(q)) / 2,
};

export const conserved: readonly Conserved[] = [pendulum, bead, doublePendulum, ring];

/** How far the energy departs from its start, by the saved states of a run. */
export interface Departure {
  /** The largest departure. */
  readonly largest: number;
  /** The slope of a line through the departures by least squares, times the time of the run. */
  readonly drift: number;
  /**
   * The standard error of such a slope, by the means of twenty windows: they are nearly independent where a window is
   * long against the motion, which single departures are not (batch means; Law & Kelton, Simulation Modeling and
   * Analysis, §9.5).
   */
  readonly error: number;
}

/** The slope of a line through even values by least squares over their whole length, and its standard error. */
function lineThrough(values: Numbers): {slope: number; error: number} {
  const n = values.length;
  const mean = values.reduce((sum, value) => sum + value / n, 0);
  const time = (i: number): number => i / (n - 1) - 0.5;
  const square = values.reduce((sum, _, i) => sum + time(i) ** 2, 0);
  const slope = values.reduce((sum, value, i) => sum + time(i) * (value - mean), 0) / square;
  const rest = values.reduce((sum, value, i) => sum + (value - mean - slope * time(i)) ** 2, 0);
  return {slope, error: Math.sqrt(rest / (n - 2) / square)};
}

const WINDOWS = 20;

/**
 * @param every steps between saved states
 * @param skipped the part of the run that the line leaves out: motion that is regular at first and chaotic later has
 *   smaller departures at first
 */
export function departure(
  {system, initial, energy}: Conserved,
  scheme: Scheme,
  dt: number,
  steps: number,
  every: number,
  options: Pick<SimulateOptions, 'stabilization' | 'newton'> = {},
  skipped = 0,
): Departure {
  const run = simulate(system, initial, {scheme, dt, steps, saveAt: {every}, consistent: 'project', ...options});
  run.dispose();
  const [q, v] = [run.values('q'), run.values('v')];
  const saved = Math.floor(steps / every) + 1;
  const n = q.length / saved;
  const energies = Float64Array.from({length: saved}, (_, i) =>
    energy(q.subarray(i * n, (i + 1) * n), v.subarray(i * n, (i + 1) * n)),
  );
  const away = energies.map(value => value - energies[0]);
  const rest = away.subarray(Math.floor(skipped * saved));
  const each = Math.floor(rest.length / WINDOWS);
  const means = Float64Array.from({length: WINDOWS}, (_, k) =>
    rest.subarray(k * each, (k + 1) * each).reduce((sum, value) => sum + value / each, 0),
  );
  return {largest: Math.max(...away.map(Math.abs)), drift: lineThrough(rest).slope, error: lineThrough(means).error};
}
