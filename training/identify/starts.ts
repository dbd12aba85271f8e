/**
 * Many starts of one fit, for costs with several minima: a Latin hypercube of guesses (McKay, Beckman & Conover,
 * Technometrics 21, 1979), each fitted to its end, and the table of the minima they reach. A start is a task by itself,
 * a vector of coordinates and what comes of it, so that whoever runs the tasks may run them at once.
 */
import type {FitRecord} from './fit-record.js';
import {Random} from '../train/random.js';
import type {MovingNumber, ParameterSpace} from './parameters.js';
import {normalQuantile} from './quantiles.js';

/** A minimum that some of the starts reached. */
export interface Minimum<E> {
  readonly cost: number;
  readonly estimate: E;
  /** Starts that ended there. */
  readonly count: number;
}

/** Starts cover this factor to both sides of a positive guess: what an engineer's guess is wrong by. */
const FACTOR = 10;

/**
 * Coordinates of the starts, the guess first. Drawn from the priors; without one, of a bounded parameter over all
 * its interval, of a positive one over a factor of ten to both sides of the guess, of a free one normally about its
 * guess with a deviation of its size (1 at least). What begins with `initial.` stays at its guess unless it has a
 * prior.
 */
export function drawStarts(space: ParameterSpace, starts: number, seed: number): Float64Array[] {
  const random = new Random(seed);
  const drawn = Array.from({length: starts}, () => space.start.slice());
  space.labels.forEach((label, i) => {
    const cells = Uint32Array.from({length: starts - 1}, (_, k) => k);
    random.shuffle(cells);
    const places = Array.from(cells, cell => (cell + random.uniform()) / (starts - 1));
    const number = space.moving[i];
    if (/(^|: )initial\./.test(label) && number.prior === undefined) return;
    places.forEach((place, k) => (drawn[k + 1][i] = coordinateAt(number, place)));
  });
  return drawn;
}

/** The coordinate with this part of the starts below it. */
function coordinateAt({kind, low, high, guess, prior}: MovingNumber, place: number): number {
  const normal = normalQuantile(Math.min(Math.max(place, 1e-9), 1 - 1e-9));
  if (prior !== undefined) {
    const value = prior.mean + prior.sd * normal;
    if (kind !== 'bounded') return value;
    const inside = (value - low) / (high - low);
    return Math.log(clipped(inside) / (1 - clipped(inside)));
  }
  if (kind === 'bounded') return Math.log(clipped(place) / (1 - clipped(place)));
  if (kind === 'positive') return Math.log(guess) + (2 * place - 1) * Math.log(FACTOR);
  return guess + Math.max(Math.abs(guess), 1) * normal;
}

/** Share of a bounded interval: nearer to a bound the logit has no slope to start with. */
const EDGE = 1e-3;
const clipped = (place: number): number => Math.min(Math.max(place, EDGE), 1 - EDGE);

/** Two ends nearer than this many standard errors, or the same to so many parts, are one minimum. */
const ERRORS = 0.1;
const DIGITS = 1e-5;

/** The distinct minima, the lowest first, each with its best end; what did not converge is not among them. */
export function minimaOf(results: readonly FitRecord[]): {readonly best: FitRecord; readonly count: number}[] {
  const ends = results.filter(({converged}) => converged).sort((a, b) => a.cost - b.cost);
  const minima: {best: FitRecord; count: number}[] = [];
  for (const end of ends) {
    const same = minima.find(({best}) => isSame(best, end));
    if (same === undefined) minima.push({best: end, count: 1});
    else same.count++;
  }
  return minima;
}

function isSame(a: FitRecord, b: FitRecord): boolean {
  const difference = a.x.map((value, i) => b.x[i] - value);
  if (difference.every((d, i) => Math.abs(d) <= DIGITS * Math.max(Math.abs(a.x[i]), 1e-3))) return true;
  const {r} = a;
  const p = Math.sqrt(r.length);
  let squares = 0;
  for (let i = 0; i < p; i++) {
    let along = 0;
    for (let j = i; j < p; j++) along += r[i * p + j] * difference[j];
    squares += along ** 2;
  }
  const variance = (2 * a.cost) / Math.max(a.rows - p, 1);
  return squares <= ERRORS ** 2 * p * variance && b.cost - a.cost <= ERRORS * variance;
}
