/** Numbers and comparisons shared by the numerical tests. */
import {expect} from 'chai';

export const dot = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  expect(a.length).to.equal(b.length);
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};

export const norm = (a: ArrayLike<number>): number => Math.sqrt(dot(a, a));

export const difference = (a: ArrayLike<number>, b: ArrayLike<number>): Float64Array => {
  expect(a.length).to.equal(b.length);
  return Float64Array.from(a, (x, i) => x - b[i]);
};

export const largest = (a: ArrayLike<number>): number => {
  let worst = 0;
  for (let i = 0; i < a.length; i++) if (!(Math.abs(a[i]) <= worst)) worst = Math.abs(a[i]);
  return worst;
};

/** ‖a − b‖ / ‖b‖. */
export const relative = (a: ArrayLike<number>, b: ArrayLike<number>): number => norm(difference(a, b)) / norm(b);

/** x + s·d. */
export const moved = (x: ArrayLike<number>, s: number, d: ArrayLike<number>): Float64Array =>
  Float64Array.from(x, (value, i) => value + s * d[i]);

/** The fourth-order central difference of f at 0: its error is h⁴ f⁗′/30. */
export function slope(f: (s: number) => number, h: number): number {
  return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
}

/**
 * Richardson's extrapolation: values at steps h, h/2, h/4, … whose errors are sums of h to the given
 * ascending powers; each column removes one of them.
 */
export function richardson(values: readonly number[], powers: readonly number[]): number {
  let column = [...values];
  for (let k = 0; column.length > 1; k++) {
    const factor = 2 ** powers[k];
    column = column.slice(1).map((fine, i) => (factor * fine - column[i]) / (factor - 1));
  }
  return column[0];
}

/** The observed order between steps h and h/2. */
export const order = (coarse: number, fine: number): number => Math.log2(coarse / fine);

/**
 * A reproducible stream of numbers in (−1, 1): Lehmer's generator with Park and Miller's multiplier,
 * its first few dropped because those of neighbouring seeds lie close together.
 */
export function stream(seed: number): () => number {
  let state = (Math.abs(Math.trunc(seed)) % 2147483646) + 1;
  const next = (): number => 2 * ((state = (state * 48271) % 2147483647) / 2147483647) - 1;
  for (let i = 0; i < 4; i++) next();
  return next;
}

export const draw = (next: () => number, n: number): Float64Array => Float64Array.from({length: n}, next);
