/**
 * exp, expm1, log, log1p, tanh, sin and cos of four single-precision numbers at once, to two units in the last
 * place (expm1 and tanh three). Reductions and polynomials are those of S. L. Moshier's Cephes library (expf.c, logf.c,
 * sinf.c), without branches.
 */
import type {Formula, FormulaPart} from './formula.js';
import {single} from './format.js';
import {atEnds, scaledTwice, type FunctionPrecision} from './transcendental.js';

/** 1.5·2²³: a number below 2²² added to it is rounded to a whole one, which stands in the last bits. */
const shifter = 12582912;
const {exponentBias, mantissaBits} = single;
/** ln 2 in two parts; the first has nine bits, so that its products with exponents are exact. */
const ln2 = {high: 0.693359375, low: -2.1219444e-4};
/** (eʳ − 1 − r)/r² for |r| ≤ ½ ln 2. */
const expSeries = [5.0000001201e-1, 1.6666665459e-1, 4.1665795894e-2, 8.3334519073e-3, 1.3981999507e-3, 1.98756915e-4];
/** (log(1 + r) − r + r²/2)/r³ for √½ ≤ 1 + r < √2. */
const logSeries = [
  3.3333331174e-1, -2.4999993993e-1, 2.0000714765e-1, -1.6668057665e-1, 1.4249322787e-1, -1.2420140846e-1,
  1.167699874e-1, -1.151461031e-1, 7.0376836292e-2,
];
const sinSeries = [-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4];
const cosSeries = [4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5];
/** π/2 in three parts: products of the first two with whole numbers below 2¹³ are exact. */
const quarterTurn = [1.5703125, 4.83751296997070312e-4, 7.549789954891882e-8];
/** Angles beyond go to Math. */
const largestAngle = 8192;
/** Beyond these eˣ is ∞ and 0. */
const expLimits = {high: 89, low: -104};

/** k and eʳ − 1 for r = x − k ln 2. */
function reduced(f: Formula, x: FormulaPart): {k: FormulaPart; lessOne: FormulaPart} {
  const k = f.keep(f.nearest(f.mul(x, f.constant(Math.LOG2E))));
  const r = f.keep(f.sub(f.sub(x, f.mul(k, f.constant(ln2.high))), f.mul(k, f.constant(ln2.low))));
  return {k, lessOne: f.keep(f.add(r, f.mul(f.mul(r, r), f.polynomial(r, expSeries))))};
}

function exponential(f: Formula, given: FormulaPart): FormulaPart {
  const x = f.keep(f.max(f.min(given, f.constant(expLimits.high)), f.constant(expLimits.low)));
  const {k, lessOne} = reduced(f, x);
  return scaledTwice(f, f.add(f.constant(1), lessOne), k);
}

/** 2^k (eʳ − 1) + (2^k − 1), halved and doubled again, as 2^k may be ∞ where the result is not. */
function exponentialLessOne(f: Formula, given: FormulaPart): FormulaPart {
  // Below −25 it is −1.
  const x = f.keep(f.max(f.min(given, f.constant(expLimits.high)), f.constant(-25)));
  const {k, lessOne} = reduced(f, x);
  const power = f.keep(f.powerOfTwo(f.sub(k, f.constant(1))));
  const sum = f.keep(f.add(f.mul(power, lessOne), f.sub(power, f.constant(0.5))));
  return f.choose(f.less(f.abs(given), f.constant(2 ** -24)), given, f.add(sum, sum));
}

/** log of a positive finite number, with a small number added. */
function logarithmOf(f: Formula, given: FormulaPart, added: FormulaPart | undefined): FormulaPart {
  const rootHalf = 0x3f3504f3n;
  const one = 0x3f800000n;
  // Numbers too small to be normal are scaled by 2²⁴ first.
  const small = f.keep(f.less(given, f.constant(2 ** -126)));
  const x = f.keep(f.choose(small, f.mul(given, f.constant(2 ** 24)), given));
  const biased = f.keep(f.shiftRight(f.subBits(x, f.bits(rootHalf - one)), mantissaBits));
  const whole = f.sub(f.addBits(biased, f.constant(shifter)), f.constant(shifter + exponentBias));
  const k = f.keep(f.sub(whole, f.and(small, f.constant(24))));
  const r = f.keep(f.sub(f.addBits(f.subBits(x, f.shiftLeft(biased, mantissaBits)), f.bits(one)), f.constant(1)));
  const square = f.keep(f.mul(r, r));
  const tail = f.mul(f.mul(r, square), f.polynomial(r, logSeries));
  const low = f.add(tail, f.mul(k, f.constant(ln2.low)));
  const inner = f.sub(added === undefined ? low : f.add(low, added), f.mul(f.constant(0.5), square));
  return f.add(f.add(r, inner), f.mul(k, f.constant(ln2.high)));
}

function logarithm(f: Formula, x: FormulaPart): FormulaPart {
  return atEnds(f, x, f.keep(logarithmOf(f, x, undefined)));
}

/** log(1 + x) = 2 artanh(x/(2 + x)) for 0 ≤ x ≤ 1, where x/(2 + x) ≤ 1/3: the series' next term is below 2⁻²⁹. */
function logarithmOfOneMoreUnit(f: Formula, x: FormulaPart): FormulaPart {
  const s = f.keep(f.div(x, f.add(f.constant(2), x)));
  const z = f.keep(f.mul(s, s));
  const series = [2 / 3, 2 / 5, 2 / 7, 2 / 9, 2 / 11, 2 / 13, 2 / 15];
  return f.add(f.mul(f.constant(2), s), f.mul(f.mul(s, z), f.polynomial(z, series)));
}

function quarters(f: Formula, x: FormulaPart): {turns: FormulaPart; sine: FormulaPart; cosine: FormulaPart} {
  const turns = f.keep(f.add(f.mul(x, f.constant(2 / Math.PI)), f.constant(shifter)));
  const n = f.keep(f.sub(turns, f.constant(shifter)));
  const y = f.keep(quarterTurn.reduce((rest: FormulaPart, part) => f.sub(rest, f.mul(n, f.constant(part))), x));
  const z = f.keep(f.mul(y, y));
  const sine = f.keep(f.add(y, f.mul(f.mul(y, z), f.polynomial(z, sinSeries))));
  const cosine = f.keep(
    f.add(f.sub(f.constant(1), f.mul(f.constant(0.5), z)), f.mul(f.mul(z, z), f.polynomial(z, cosSeries))),
  );
  return {turns, sine, cosine};
}

export const inSingle: FunctionPrecision = {
  exp: exponential,
  expm1: exponentialLessOne,
  log: logarithm,
  log1pOfUnit: logarithmOfOneMoreUnit,
  reduced,
  logarithmOf,
  quarters,
  largestAngle,
  // From 9.01 on.
  tanhHigh: 10,
  tiny: 2 ** -24,
};
