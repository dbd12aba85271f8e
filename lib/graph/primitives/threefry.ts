/**
 * Random numbers without a state: Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror & Shaw, Parallel random numbers:
 * as easy as 1, 2, 3, SC 2011) makes two words of a key and a counter, and the normal distribution's quantile (Wichura,
 * AS 241, Applied Statistics 1988: PPND16, to 1e-16) makes a normal number of a word. Whole-number arithmetic, square
 * roots and this project's own logarithm: the same to the bit on every machine.
 */
import {log} from './transcendental.js';

/** Two words of 32 bits, as signed numbers. */
export type Words = Int32Array;

/** Skein's constant, which makes the third word of the key. */
const parity = 0x1bd11bda;

/** The two words of a counter under a key, written to `out`; the rounds are written out, as in Random123. */
export function threefry(key0: number, key1: number, counter0: number, counter1: number, out: Words): void {
  const key2 = parity ^ key0 ^ key1;
  let a = (counter0 + key0) | 0;
  let b = (counter1 + key1) | 0;
  a = (a + b) | 0;
  b = ((b << 13) | (b >>> 19)) ^ a;
  a = (a + b) | 0;
  b = ((b << 15) | (b >>> 17)) ^ a;
  a = (a + b) | 0;
  b = ((b << 26) | (b >>> 6)) ^ a;
  a = (a + b) | 0;
  b = ((b << 6) | (b >>> 26)) ^ a;
  a = (a + key1) | 0;
  b = (b + key2 + 1) | 0;
  a = (a + b) | 0;
  b = ((b << 17) | (b >>> 15)) ^ a;
  a = (a + b) | 0;
  b = ((b << 29) | (b >>> 3)) ^ a;
  a = (a + b) | 0;
  b = ((b << 16) | (b >>> 16)) ^ a;
  a = (a + b) | 0;
  b = ((b << 24) | (b >>> 8)) ^ a;
  a = (a + key2) | 0;
  b = (b + key0 + 2) | 0;
  a = (a + b) | 0;
  b = ((b << 13) | (b >>> 19)) ^ a;
  a = (a + b) | 0;
  b = ((b << 15) | (b >>> 17)) ^ a;
  a = (a + b) | 0;
  b = ((b << 26) | (b >>> 6)) ^ a;
  a = (a + b) | 0;
  b = ((b << 6) | (b >>> 26)) ^ a;
  a = (a + key0) | 0;
  b = (b + key1 + 3) | 0;
  a = (a + b) | 0;
  b = ((b << 17) | (b >>> 15)) ^ a;
  a = (a + b) | 0;
  b = ((b << 29) | (b >>> 3)) ^ a;
  a = (a + b) | 0;
  b = ((b << 16) | (b >>> 16)) ^ a;
  a = (a + b) | 0;
  b = ((b << 24) | (b >>> 8)) ^ a;
  a = (a + key1) | 0;
  b = (b + key2 + 4) | 0;
  a = (a + b) | 0;
  b = ((b << 13) | (b >>> 19)) ^ a;
  a = (a + b) | 0;
  b = ((b << 15) | (b >>> 17)) ^ a;
  a = (a + b) | 0;
  b = ((b << 26) | (b >>> 6)) ^ a;
  a = (a + b) | 0;
  b = ((b << 6) | (b >>> 26)) ^ a;
  a = (a + key2) | 0;
  b = (b + key0 + 5) | 0;
  out[0] = a;
  out[1] = b;
}

/** A standard normal number of 32 random bits: the quantile at the middle of one of 2³² equal intervals. */
export function normalOfWord(word: number): number {
  return normalQuantile(((word >>> 0) + 0.5) * 2 ** -32);
}

/** Φ⁻¹(p) for 0 < p < 1. */
export function normalQuantile(p: number): number {
  const q = p - 0.5;
  if (Math.abs(q) <= 0.425) return q * ratio(central, 0.180625 - q * q);
  const r = Math.sqrt(-log(q < 0 ? p : 1 - p));
  const value = r <= 5 ? ratio(middle, r - 1.6) : ratio(far, r - 5);
  return q < 0 ? -value : value;
}

type Coefficients = readonly [number, number, number, number, number, number, number, number];
interface Ratio {
  readonly above: Coefficients;
  readonly below: Coefficients;
}

/** Two polynomials of degree seven, lowest power first. */
const ratio = ({above, below}: Ratio, x: number): number => polynomial(above, x) / polynomial(below, x);

const polynomial = (c: Coefficients, x: number): number =>
  ((((((c[7] * x + c[6]) * x + c[5]) * x + c[4]) * x + c[3]) * x + c[2]) * x + c[1]) * x + c[0];

const central: Ratio = {
  above: [
    3.387132872796366608, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125, 45921.953931549871457,
    67265.770927008700853, 33430.575583588128105, 2509.0809287301226727,
  ],
  below: [
    1, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077, 21213.794301586595867, 39307.89580009271061,
    28729.085735721942674, 5226.495278852854561,
  ],
};
const middle: Ratio = {
  above: [
    1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055, 3.64784832476320460504,
    1.27045825245236838258, 2.4178072517745061177e-1, 2.27238449892691845833e-2, 7.7454501427834140764e-4,
  ],
  below: [
    1, 2.05319162663775882187, 1.6763848301838038494, 6.8976733498510000455e-1, 1.4810397642748007459e-1,
    1.51986665636164571966e-2, 5.475938084995344946e-4, 1.05075007164441684324e-9,
  ],
};
const far: Ratio = {
  above: [
    6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358, 2.9656057182850489123e-1,
    2.6532189526576123093e-2, 1.2426609473880784386e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7,
  ],
  below: [
    1, 5.9983220655588793769e-1, 1.3692988092273580531e-1, 1.48753612908506148525e-2, 7.868691311456132591e-4,
    1.8463183175100546818e-5, 1.4215117583164458887e-7, 2.04426310338993978564e-15,
  ],
};
