/**
 * exp, expm1, log, log1p, tanh, sin and cos, the same to the bit wherever a program runs: the compiled
 * engine takes two numbers at once through these very formulas, operation by operation. Math's own differ
 * from one JavaScript engine to the next. The methods and coefficients are fdlibm's (Sun Microsystems, 1993:
 * s_expm1, e_log, s_log1p, k_sin, k_cos); but for exp, tanh and softplus's logarithm polynomials of least
 * largest error (Remez's algorithm, `bench/oracles/functions.py`), added up in pairs of terms, then in pairs of those
 * (Estrin 1960): networks ask for these by the million, and a compiled pair then waits for half as many operations one
 * after another, and for no division in exp. Largest errors measured against mpmath with 160 bits, 40,000 points a
 * range, in units in the last place: exp 0.96, expm1 0.96, log 0.79, log1p 0.76, log1pOfUnit 1.10 (softplus 1.77), tanh
 * 2.35, sin 0.75, cos 0.73.
 */

/** Series coefficients, lowest power first. */
export const series = {
  /** (eʳ − 1 − r)/r² for |r| ≤ ½ ln 2. */
  exp: [
    0.5000000000000006, 0.16666666666666685, 0.0416666666665737, 0.008333333333314616, 0.001388888893235341,
    0.00019841269902972597, 2.480150447833303e-5, 2.75572280104385e-6, 2.7626313000974065e-7, 2.5114453943804047e-8,
  ],
  expm1: [
    1, -3.33333333333331316428e-2, 1.58730158725481460165e-3, -7.93650757867487942473e-5, 4.00821782732936239552e-6,
    -2.01099218183624371326e-7,
  ],
  log: [
    6.66666666666673513e-1, 3.999999999940941908e-1, 2.857142874366239149e-1, 2.222219843214978396e-1,
    1.818357216161805012e-1, 1.531383769920937332e-1, 1.479819860511658591e-1,
  ],
  /** (2 artanh s/s − 2)/s² in powers of s², for s ≤ 1/3. */
  logOfOneMore: [
    0.6666666666666666, 0.4000000000001525, 0.285714285669479, 0.22222222732317104, 0.18181788745961952,
    0.1538558803188206, 0.13313869509157683, 0.12003520247549293, 0.08788981071406714, 0.16187577645507129,
  ],
  /** sin y = y + y³(first + y²(c₀ + y²(c₁ + …))). */
  sinFirst: -1.66666666666666324348e-1,
  sin: [
    8.33333333332248946124e-3, -1.98412698298579493134e-4, 2.75573137070700676789e-6, -2.50507602534068634195e-8,
    1.58969099521155010221e-10,
  ],
  cos: [
    4.16666666666666019037e-2, -1.38888888888741095749e-3, 2.48015872894767294178e-5, -2.75573143513906633035e-7,
    2.0875723212981748279e-9, -1.13596475577881948265e-11,
  ],
} as const;

/** ln 2 in two parts: k·high is exact for |k| < 2¹¹. */
export const ln2High = 6.9314718036912381649e-1;
export const ln2Low = 1.90821492927058770002e-10;
export const log2e = 1.442695040888963387;
/** 1.5·2⁵²: a whole number added to it stands in the lowest bits of the sum; added and taken away again, it rounds. */
export const shifter = 6755399441055744;

/** Arguments of exp are brought into these limits: beyond them the result is ∞ or 0 anyway. */
export const expLimits = {low: -746, high: 710} as const;
/** Below this, e^x − 1 is −1 to the last bit. */
export const expm1Low = -60;
/** From here on 1 − 2/(e^2x + 1) is 1 to the last bit. */
export const tanhHigh = 22;
/** Numbers below are their own e^x − 1 and log(1 + x). */
export const tiny = 2 ** -54;

/** π/2 in three parts of 33 bits and what is left (fdlibm's e_rem_pio2). */
export const quarterTurn = {
  first: 1.57079632673412561417,
  second: 6.0771005063039659766e-11,
  rest: 2.02226624879595063154e-21,
} as const;
/** Multiples of the first part are exact up to here; Math takes the few larger arguments. */
export const largestAngle = 2 ** 19;

const least = -1074;
/** 2^k for k = −1074 … 1023. */
const powers = Float64Array.from({length: 1024 - least}, (_, i) => 2 ** (i + least));

function nearest(x: number): number {
  return x + shifter - shifter;
}

/** y·2^k in two steps, so that results near the ends of the range are rounded once and overflow is ∞. */
function scaled(y: number, k: number): number {
  const half = Math.floor(k * 0.5);
  return y * powers[half - least] * powers[k - half - least];
}

const [e0, e1, e2, e3, e4, e5, e6, e7, e8, e9] = series.exp;

export function exp(given: number): number {
  if (Number.isNaN(given)) return given;
  const x = given > expLimits.high ? expLimits.high : given < expLimits.low ? expLimits.low : given;
  const k = nearest(x * log2e);
  return scaled(1 + reducedLessOne(x, k), k);
}

/** e^r − 1 for r = x − k ln 2, |r| ≤ ½ ln 2. */
function reducedLessOne(x: number, k: number): number {
  const r = x - k * ln2High - k * ln2Low;
  const t = r * r;
  const t2 = t * t;
  const first = e0 + r * e1 + t * (e2 + r * e3);
  const second = e4 + r * e5 + t * (e6 + r * e7);
  return r + t * (first + t2 * (second + t2 * (e8 + r * e9)));
}

const [m0, m1, m2, m3, m4, m5] = series.expm1;

/** (e^x − 1)/2^k for k the whole number nearest to x/ln 2. */
function lessOne(x: number, k: number): number {
  const high = x - k * ln2High;
  const low = k * ln2Low;
  const r = high - low;
  const c = high - r - low;
  const half = r * 0.5;
  const z = r * half;
  const r1 = m0 + z * (m1 + z * (m2 + z * (m3 + z * (m4 + z * m5))));
  const t = 3 - r1 * half;
  const e = z * ((r1 - t) / (6 - r * t));
  const correction = r * (e - c) - c - z;
  // e^x − 1 = 2^k ((1 − 2^−k) + r − correction); at k = 1024 the factor 2^−k is far below 1's last bit.
  const lessPower = 1 - powers[-Math.min(k, 1000) - least];
  const sum = lessPower + r;
  // The rounding error of the sum goes with the correction.
  return sum + (r - (sum - lessPower) - correction);
}

export function expm1(given: number): number {
  if (Number.isNaN(given) || Math.abs(given) < tiny) return given;
  const x = given > expLimits.high ? expLimits.high : given < expm1Low ? expm1Low : given;
  const k = nearest(x * log2e);
  return scaled(lessOne(x, k), k);
}

/** t/(t + 2) for t = e^2|x| − 1 = (2^k − 1) + 2^k (e^r − 1), a sum of positive terms, or the first is zero. */
export function tanh(x: number): number {
  if (Number.isNaN(x)) return x;
  const argument = 2 * Math.min(Math.abs(x), tanhHigh);
  const k = nearest(argument * log2e);
  const power = powers[k - least];
  const t = power - 1 + power * reducedLessOne(argument, k);
  const result = t / (t + 2);
  return x > 0 ? result : x < 0 ? -result : x;
}

const bits = new DataView(new ArrayBuffer(8));
/** Added to the bits of a positive number, makes its exponent that of the nearest power of two, from √½. */
const toRootHalf = {high: 0x00095f61, low: 0x9980c433} as const;
const exponentBias = 1023;

const [l0, l1, l2, l3, l4, l5, l6] = series.log;

/** log of a positive finite normal number 2^k (1 + r), √½ ≤ 1 + r < √2, to whose k and logarithm something is added. */
function logarithm(x: number, kAdded: number, added: number): number {
  bits.setFloat64(0, x, true);
  const highBits = bits.getInt32(4, true);
  const carry = bits.getUint32(0, true) + toRootHalf.low > 0xffffffff ? 1 : 0;
  const biased = (highBits + toRootHalf.high + carry) >>> 20;
  bits.setInt32(4, highBits - ((biased - exponentBias) << 20), true);
  const r = bits.getFloat64(0, true) - 1;
  const k = biased - exponentBias + kAdded;
  const s = r / (2 + r);
  const z = s * s;
  const tail = z * (l0 + z * (l1 + z * (l2 + z * (l3 + z * (l4 + z * (l5 + z * l6))))));
  const half = 0.5 * (r * r);
  const inner = s * (half + tail) + (k * ln2Low + added);
  return k * ln2High - (half - inner - r);
}

/** Whether a logarithm is that of a positive finite number; at the other ends it is `atEnds`. */
function inside(x: number): boolean {
  return x > 0 && x < Infinity;
}

function atEnds(x: number): number {
  return x === 0 ? -Infinity : x === Infinity ? Infinity : NaN;
}

export function log(x: number): number {
  if (!inside(x)) return atEnds(x);
  // Numbers too small to be normal are scaled by 2⁵⁴ first.
  return x < 2.2250738585072014e-308 ? logarithm(x * 2 ** 54, -54, 0) : logarithm(x, 0, 0);
}

export function log1p(x: number): number {
  if (Math.abs(x) < tiny) return x;
  const u = x + 1;
  if (!inside(u)) return atEnds(u);
  // The rounding error of 1 + x, relative to it; for large x, the 1 that was lost.
  const lost = u < 2 ? x - (u - 1) : 1 - (u - x);
  return logarithm(u, 0, lost / u);
}

const [u0, u1, u2, u3, u4, u5, u6, u7, u8, u9] = series.logOfOneMore;

/** log(1 + x) for 0 ≤ x ≤ 1, for softplus: one series for the whole range. */
export function log1pOfUnit(x: number): number {
  const s = x / (2 + x);
  const z = s * s;
  const z2 = z * z;
  const z4 = z2 * z2;
  const first = u0 + z * u1 + z2 * (u2 + z * u3);
  const second = u4 + z * u5 + z2 * (u6 + z * u7);
  const tail = z * (first + z4 * (second + z4 * (u8 + z * u9)));
  const half = 0.5 * (x * x);
  return x - (half - s * (half + tail));
}

const [s0, s1, s2, s3, s4] = series.sin;
const [c0, c1, c2, c3, c4, c5] = series.cos;

/** The sine of x and so many quarter turns, for |x| below the largest angle. */
function turned(x: number, quarters: number): number {
  const n = nearest(x * (2 / Math.PI));
  const first = x - n * quarterTurn.first;
  const second = n * quarterTurn.second;
  const high = first - second;
  const correction = n * quarterTurn.rest - (first - high - second);
  const y = high - correction;
  const tail = high - y - correction;
  const z = y * y;
  const quarter = n + quarters;
  let value: number;
  if ((quarter & 1) === 0) {
    const v = z * y;
    value = y - (z * (0.5 * tail - v * (s0 + z * (s1 + z * (s2 + z * (s3 + z * s4))))) - tail - v * series.sinFirst);
  } else {
    const half = z * 0.5;
    const w = 1 - half;
    const higher = z * (c0 + z * (c1 + z * (c2 + z * (c3 + z * (c4 + z * c5)))));
    value = w + (1 - w - half + (z * higher - y * tail));
  }
  return (quarter & 2) === 0 ? value : -value;
}

export function sin(x: number): number {
  return Math.abs(x) < largestAngle ? turned(x, 0) : Math.sin(x);
}

export function cos(x: number): number {
  return Math.abs(x) < largestAngle ? turned(x, 1) : Math.cos(x);
}
