/**
 * Brownian paths as functions of a seed, a component and a time: W(t), and its integral A(t) = ∫₀ᵗ W ds. They are made
 * from coarse to fine between dyadic times, as Lévy made them, each midpoint by numbers that are drawn for this
 * midpoint alone; so steps of any length, forwards or back, meet one path, and nothing of it is kept (the virtual
 * Brownian tree of Li, Wong, Chen & Duvenaud, Scalable gradients for stochastic differential equations, AISTATS 2020).
 * W and its space-time Lévy area H = A/h − W/2 over an interval are halved together (Foster, Lyons & Oberhauser, SIAM
 * J. Numer. Anal. 58, 2020, theorem 6.1; Jelinčič et al. 2024). The law is exact at all times that have 40 significant
 * bits; others are rounded to these first.
 */
import {normalOfWord, threefry} from './threefry.js';

/**
 * A time moves by 2⁻⁴¹ of itself at most: where a run has taken a million steps that is 5e-7 of a step. Times computed
 * as t + h and as t₀ + (n + 1)h, which differ by rounding, become one.
 */
const significantBits = 40;

const number = new Float64Array(1);
const words = new Int32Array(number.buffer);
/** Where in `words` a number's sign and exponent are: in the second word, but on machines that put high bytes first. */
const high = ((): 0 | 1 => {
  number[0] = 1;
  return words[0] === 0 ? 1 : 0;
})();

const key = new Int32Array(2);
const drawn = new Int32Array(2);
const normals = new Float64Array(2);

const largestSeed = 2 ** 53;

/** Whether a path belongs to this number. */
export const isSeed = (value: unknown): boolean =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= largestSeed;

/** A time as the tree knows it. */
export function treeTime(t: number): number {
  if (t === 0 || !Number.isFinite(t)) return t;
  number[0] = t;
  const exponent = ((words[high] >>> 20) & 0x7ff) - 1023;
  // Two factors, since 2^1074 is no number.
  const down = 2 ** Math.max(-1000, Math.min(1000, significantBits - 1 - exponent));
  return Math.round(t * down) / down;
}

/**
 * The integrals of W, where `brownianPath` left them, from the tree's time to the time itself: those of W as it is
 * there. Without this, what a step adds to them, A(t + h) − A(t) − hW(t), would be off by W(t) times what h is off by,
 * which grows with t.
 */
export function toTime(time: number, count: number, out: Float64Array, at: number): void {
  const rest = time - treeTime(time);
  if (rest !== 0) for (let i = 0; i < count; i++) out[at + count + i] += rest * out[at + i];
}

/** Two independent standard normal numbers that belong to a place of the tree, which is told by one number. */
function draw(place: number): void {
  number[0] = place;
  threefry(key[0], key[1], words[high], words[1 - high], drawn);
  normals[0] = normalOfWord(drawn[0]);
  normals[1] = normalOfWord(drawn[1]);
}

/**
 * W(t) and A(t) of `count` independent components, to `out` [2, count] from position `at` on.
 * @param seed a whole number from 0 to 2⁵³; of any other, NaN
 * @param t as `treeTime` gives it
 */
export function brownianPath(seed: number, t: number, count: number, out: Float64Array, at: number): void {
  if (!Number.isInteger(seed) || seed < 0 || !Number.isFinite(t)) {
    for (let i = 0; i < 2 * count; i++) out[at + i] = NaN;
    return;
  }
  const negative = t < 0;
  for (let component = 0; component < count; component++) {
    threefry(seed | 0, Math.floor(seed / 2 ** 32) | 0, component, negative ? 1 : 0, key);
    walk(Math.abs(t));
    out[at + component] = path[0];
    // ∫₀ᵗ W ds goes backwards for t < 0.
    out[at + count + component] = negative ? -path[1] : path[1];
  }
}

const path = new Float64Array(2);

/**
 * W and A at a time t ≥ 0 of the component with the key. The intervals [0, 1], [1, 2], [2, 4], [4, 8], … are
 * independent.
 */
function walk(t: number): void {
  path[0] = 0;
  path[1] = 0;
  if (t === 0) return;
  let left = 0;
  let width = 1;
  // An interval is told by its end with a minus sign, a midpoint by itself.
  draw(-1);
  let w = normals[0];
  let area = normals[1] / Math.sqrt(12);
  while (left + width < t) {
    append(w, area, width);
    left += width;
    width = left;
    draw(-2 * left);
    const spread = Math.sqrt(width);
    w = spread * normals[0];
    area = (spread * normals[1]) / Math.sqrt(12);
  }
  while (left + width !== t) {
    const half = width / 2;
    const middle = left + half;
    draw(middle);
    const spread = Math.sqrt(width);
    const z = (spread / 4) * normals[0];
    const n = (spread / Math.sqrt(12)) * normals[1];
    const bend = 1.5 * area + z;
    const mean = 0.25 * area - 0.5 * z;
    if (t < middle) {
      w = 0.5 * w + bend;
      area = mean + 0.5 * n;
    } else {
      append(0.5 * w + bend, mean + 0.5 * n, half);
      left = middle;
      if (left === t) return;
      w = 0.5 * w - bend;
      area = mean - 0.5 * n;
    }
    width = half;
  }
  append(w, area, width);
}

/** W and A go on over an interval with increment w and space-time Lévy area H. */
function append(w: number, area: number, width: number): void {
  path[1] += width * (path[0] + 0.5 * w + area);
  path[0] += w;
}
