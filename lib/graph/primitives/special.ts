/** Scalar functions that JavaScript's Math lacks, to full double precision. */
import {exp, log1pOfUnit} from './transcendental.js';

const twoOverSqrtPi = 2 / Math.sqrt(Math.PI);

/**
 * The error function. |x| < 3: the series erf x = (2/√π) e^(−x²) Σ 2ⁿ x^(2n+1)/(2n+1)!!, all of one
 * sign, so nothing cancels (Abramowitz & Stegun 7.1.6). Beyond: 1 − erfc by its continued fraction
 * (7.1.14), where erfc < 2.3e-5 and its relative error does not matter; past 6 it is below an ulp of 1.
 */
export function erf(x: number): number {
  const z = Math.abs(x);
  if (!(z < 6)) return Number.isNaN(x) ? x : Math.sign(x);
  if (z < 3) {
    let term = x;
    let sum = x;
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return twoOverSqrtPi * Math.exp(-x * x) * sum;
  }
  // 40 levels bring the fraction below an ulp of erfc for z ≥ 3.
  let fraction = 0;
  for (let n = 40; n >= 1; n--) fraction = n / 2 / (z + fraction);
  const erfc = Math.exp(-z * z) / (z + fraction) / Math.sqrt(Math.PI);
  return Math.sign(x) * (1 - erfc);
}

/** log(1 + eˣ) without overflow or cancellation. */
export function softplus(x: number): number {
  return Math.max(x, 0) + log1pOfUnit(exp(-Math.abs(x)));
}

/** 1/(1 + e⁻ˣ), with full relative precision on both tails. */
export function sigmoid(x: number): number {
  if (x >= 0) return 1 / (1 + exp(-x));
  const e = exp(x);
  return e / (1 + e);
}

/** −1, 0 or 1; 0 for what is not a number, as tfjs has it. */
export function sign(x: number): number {
  return x > 0 ? 1 : x < 0 ? -1 : 0;
}

/** To the nearest whole number, halves to the even one (as tfjs rounds). */
export function roundHalfEven(x: number): number {
  const below = Math.floor(x);
  const rest = x - below;
  if (rest < 0.5) return below;
  if (rest > 0.5) return below + 1;
  return below % 2 === 0 ? below : below + 1;
}

/** Remainder with the divisor's sign. */
export function floorMod(a: number, b: number): number {
  const rest = a % b;
  return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
}
