/**
 * Lists of cases: grids, tables, and samples of a box (random, Latin hypercube, Sobol). Each is made anew, case by
 * case, every time it is gone through, so that a million of them need no memory.
 */
import {uniformFloat64} from 'pure-rand/distribution/uniformFloat64';
import {uniformInt} from 'pure-rand/distribution/uniformInt';
import {
  any,
  boolean,
  positiveInteger as wholeCount,
  finite,
  object,
  optional,
  readOptions,
  requireValue,
  shown,
  typed,
  type Check,
} from '../lib/checks.js';
import {OptionError} from '../lib/errors.js';
import {seeded} from '../lib/random.js';
import type {Table} from '../training/index.js';
import {sobolPoints} from './sobol.js';

/**
 * One case: numbers, texts and lists of these, by name. It is passed unchanged to the task, through queues and into
 * files.
 */
export interface Case {
  readonly [name: string]: unknown;
}

/** A list of cases that can be iterated more than once, with its length. */
export interface CaseList<C extends Case = Case> extends Iterable<C> {
  readonly length: number;
}

/** A range of samples from `low` to `high`, uniform along the axis or, with `log`, along its logarithm. */
export type Range =
  readonly [low: number, high: number] | {readonly low: number; readonly high: number; readonly log?: boolean};
/** Ranges by the names of the varied quantities. */
export type Ranges = Readonly<Record<string, Range>>;

const listed = <C extends Case>(length: number, each: () => Iterator<C>): CaseList<C> => ({
  length,
  [Symbol.iterator]: each,
});

/**
 * All combinations of the values, the last name fastest.
 * @param values of each name, at least one; `linspace` and `logspace` make them
 * @throws OptionError 'empty-grid'
 * @example
 * ```ts
 * import {cases} from 'stiffgrad/sweep';
 *
 * console.log([...cases.grid({k: [1, 2], c: [3]})].length); // → 2
 * ```
 */
export function grid<V extends Readonly<Record<string, readonly unknown[]>>>(
  values: V,
): CaseList<{readonly [N in keyof V]: V[N][number]}> {
  const names = Object.keys(values);
  for (const name of names)
    if (!Array.isArray(values[name]) || values[name].length === 0)
      throw new OptionError(
        'empty-grid',
        `grid: ${name} must be a list of at least one value, `
          + `not ${Array.isArray(values[name]) ? 'an empty list' : shown(values[name])}.`,
      );
  const length = names.reduce((product, name) => product * values[name].length, 1);
  return listed(length, function* () {
    for (let index = 0; index < length; index++) {
      const one = new Map<string, unknown>();
      let rest = index;
      for (const name of [...names].reverse()) {
        one.set(name, values[name][rest % values[name].length]);
        rest = Math.floor(rest / values[name].length);
      }
      yield Object.fromEntries(names.map(name => [name, one.get(name)])) as {readonly [N in keyof V]: V[N][number]};
    }
  });
}

/**
 * `count` numbers from `low` to `high` in equal steps, both included.
 * @throws OptionError if an end is not finite, or the count no whole number
 * @example
 * ```ts
 * import {cases} from 'stiffgrad/sweep';
 *
 * console.log(cases.linspace(0, 1, 5)); // → [0, 0.25, 0.5, 0.75, 1]
 * ```
 */
export function linspace(low: number, high: number, count: number): number[] {
  requireValue(low, finite, 'linspace: low');
  requireValue(high, finite, 'linspace: high');
  requireValue(count, wholeCount, 'linspace: count');
  return Array.from({length: count}, (_, i) =>
    i === count - 1 && count > 1 ? high : low + ((high - low) * i) / Math.max(count - 1, 1),
  );
}

/**
 * `count` numbers from `low` to `high` with equal ratios, both included.
 * @throws OptionError if one is not positive and finite
 */
export function logspace(low: number, high: number, count: number): number[] {
  if (!(low > 0 && high > 0 && low < Infinity && high < Infinity))
    throw new OptionError('bad-range', `logspace: low and high must be positive and finite, not ${low} and ${high}.`);
  requireValue(count, wholeCount, 'logspace: count');
  return linspace(Math.log(low), Math.log(high), count).map((value, i) =>
    i === 0 ? low : i === count - 1 ? high : Math.exp(value),
  );
}

/** One case per row of a table from `readTable` of stiffgrad/training, with the columns' names. */
export function table(
  table: Pick<Table, 'columns' | 'column' | 'rows'>,
  columns?: readonly string[],
): CaseList<Readonly<Record<string, number>>> {
  const names = columns ?? table.columns;
  return listed(table.rows, function* () {
    const values = names.map(name => table.column(name));
    for (let row = 0; row < table.rows; row++) yield Object.fromEntries(names.map((name, k) => [name, values[k][row]]));
  });
}

const rangeOptions = {low: typed<number>(any), high: typed<number>(any), log: optional(boolean, false)};

/** Numbers of the unit interval on a range's axis. @throws OptionError 'bad-range' */
function scales(ranges: Ranges, owner: string): [name: string, scale: (unit: number) => number][] {
  const entries = Object.entries(ranges);
  if (entries.length === 0)
    throw new OptionError('bad-range', `${owner} needs at least one range, such as {k: [10, 100]}.`);
  return entries.map(([name, range]) => {
    if (Array.isArray(range) ? range.length !== 2 : !object.test(range))
      throw new OptionError(
        'bad-range',
        `${owner}: ${name} must be a range, [low, high] or {low, high, log}, `
          + `not ${Array.isArray(range) ? `a list of ${range.length}` : shown(range)}.`,
      );
    const isPair = (one: Range): one is readonly [low: number, high: number] => Array.isArray(one);
    const given = isPair(range) ? {low: range[0], high: range[1]} : range;
    const {low, high, log} = readOptions(given, rangeOptions, `${owner}: ${name}`);
    if (!(Number.isFinite(low) && Number.isFinite(high) && low < high && (!log || low > 0)))
      throw new OptionError(
        'bad-range',
        `${owner}: ${name} must be a range from a lower to a higher number${log ? ' above 0' : ''}, `
          + `not from ${low} to ${high}.`,
      );
    if (!log) return [name, unit => low + (high - low) * unit];
    const [from, to] = [Math.log(low), Math.log(high)];
    return [name, unit => Math.exp(from + (to - from) * unit)];
  });
}

type Sampled<R extends Ranges> = {readonly [N in keyof R]: number};

function sampled<R extends Ranges>(
  count: number,
  ranges: R,
  owner: string,
  points: (dimensions: number) => Iterable<ArrayLike<number>>,
): CaseList<Sampled<R>> {
  requireValue(count, wholeCount, `${owner}: count`);
  const axes = scales(ranges, owner);
  return listed(count, function* () {
    for (const point of points(axes.length))
      yield Object.fromEntries(axes.map(([name, scale], d) => [name, scale(point[d])])) as Sampled<R>;
  });
}

/** A fraction would be the seed of the whole number below it, without a word. */
const wholeSeed: Check = {what: 'a whole number', test: Number.isSafeInteger};

/**
 * Independent points, uniform in the box, determined by the seed.
 * @param seed a whole number
 * @throws OptionError 'bad-range'; 'unknown-option' for a range with another name than low, high and log
 */
export function uniform<R extends Ranges>(count: number, ranges: R, seed = 0): CaseList<Sampled<R>> {
  requireValue(seed, wholeSeed, 'uniform: seed');
  return sampled(count, ranges, 'uniform', function* (dimensions) {
    const random = seeded(seed);
    for (let i = 0; i < count; i++) yield Array.from({length: dimensions}, () => uniformFloat64(random));
  });
}

/**
 * One point in each of `count` equal slices of every axis, at a random place within it (McKay, Beckman & Conover 1979).
 * @param seed a whole number
 * @throws OptionError as `uniform`
 */
export function latinHypercube<R extends Ranges>(count: number, ranges: R, seed = 0): CaseList<Sampled<R>> {
  requireValue(seed, wholeSeed, 'latinHypercube: seed');
  return sampled(count, ranges, 'latinHypercube', function* (dimensions) {
    const random = seeded(seed);
    const slices = Array.from({length: dimensions}, () => {
      const order = Uint32Array.from({length: count}, (_, i) => i);
      for (let i = count - 1; i > 0; i--) {
        const k = uniformInt(random, 0, i); // Fisher & Yates
        [order[i], order[k]] = [order[k], order[i]];
      }
      return order;
    });
    for (let i = 0; i < count; i++) yield slices.map(order => (order[i] + uniformFloat64(random)) / count);
  });
}

/**
 * Points of a Sobol sequence: most uniform for counts that are powers of two. Later points continue where earlier ones
 * ended, so that a longer sweep contains a shorter one.
 * @param options `skip`: how many points of the sequence to skip, default 0; the first point is the lower corner of the
 *   box
 * @throws OptionError if there are more than 64 ranges, or a range is wrong
 */
export function sobol<R extends Ranges>(
  count: number,
  ranges: R,
  {skip = 0}: {readonly skip?: number} = {},
): CaseList<Sampled<R>> {
  return sampled(count, ranges, 'sobol', dimensions => sobolPoints(dimensions, count, skip));
}
