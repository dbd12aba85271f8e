/**
 * The neural ODE that is measured, after diffrax's example: 256 spirals at 100 times from 0 to 10, a network 2–64–64–2 with
 * softplus, batches of 32 as one state [32, 2], mean square error, Adam with rate 3e-3. Everything is written without a
 * random generator, so that every contestant has the same numbers (bench/peers/spiral.py has them again).
 */
import {layer} from './weights.js';

export const spirals = 256;
export const times = 100;
export const batchSize = 32;
export const dt = 10 / (times - 1);
export const rate = 3e-3;
export const sizes: readonly number[] = [2, 64, 64, 2];
/** Of the adaptive runs, as in the example. */
export const tolerances = {rtol: 1e-3, atol: 1e-6} as const;
/** Their controller is diffrax's: integral alone, and a step may grow so much at once. */
export const growth = 10;
/** Parameters and optimizer begin anew after so many steps: what is timed must not depend on how often it was. */
export const restart = 20;

/** Steps of rk4 between two times. */
const substeps = 4;

/** y′ = (x₂, −x₁) with x = y/(1 + |y|). */
function field(y: readonly [number, number]): [number, number] {
  const [a, b] = y.map(value => value / (1 + Math.abs(value)));
  return [b, -a];
}

/** The plastic number's multiples fill the square of the starts evenly. */
function start(i: number): [number, number] {
  const part = (multiple: number): number => 1.6 * (((i + 1) * multiple) % 1) - 0.6;
  return [part(0.7548776662466927), part(0.5698402909980532)];
}

function next(y: readonly [number, number], h: number): [number, number] {
  const along = (k: readonly [number, number], by: number): [number, number] => [y[0] + by * k[0], y[1] + by * k[1]];
  const k1 = field(y);
  const k2 = field(along(k1, h / 2));
  const k3 = field(along(k2, h / 2));
  const k4 = field(along(k3, h));
  const slope = (i: 0 | 1): number => (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) / 6;
  return [y[0] + h * slope(0), y[1] + h * slope(1)];
}

/** Batch number `index` as [times, batch, 2], row-major; its first row is the starts. */
export function targets(index: number): Float64Array {
  const values = new Float64Array(times * batchSize * 2);
  for (let row = 0; row < batchSize; row++) {
    let y = start((index * batchSize + row) % spirals);
    for (let k = 0; k < times; k++) {
      values.set(y, 2 * (k * batchSize + row));
      for (let s = 0; s < substeps; s++) y = next(y, dt / substeps);
    }
  }
  return values;
}

/** The starts of a batch, [batch, 2]. */
export const startsOf = (target: Float64Array): [number, number][] =>
  Array.from({length: batchSize}, (_, row) => [target[2 * row], target[2 * row + 1]]);

/** {w0, b0, w1, …}: weights as in the neural force, biases zero. */
export const weights = (): {[name: string]: number[] | number[][]} =>
  Object.fromEntries<number[] | number[][]>(
    sizes.slice(1).flatMap((to, i) => [
      [`w${i}`, layer(i, sizes[i], to)],
      [`b${i}`, Array.from({length: to}, () => 0)],
    ]),
  );
