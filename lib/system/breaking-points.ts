/**
 * Breaking points of delay equations (Bellen & Zennaro, Numerical Methods for Delay Differential Equations, 2003,
 * §1.2): the times at which derivatives of y jump. Without tensors, as worker threads use it too.
 */
/** Relative rounding error of a sum of times. */
export const timeRounding = 8 * Number.EPSILON;

/** All k of `count` numbers whose sum is from 1 to `maxSum`, as rows. */
export function multiples(count: number, maxSum: number): number[][] {
  const all = (left: number, rest: number): number[][] =>
    left === 0
      ? [[]]
      : Array.from({length: rest + 1}, (_, k) => all(left - 1, rest - k).map(others => [k, ...others])).flat();
  return all(count, maxSum).filter(k => k.some(n => n > 0));
}

/**
 * Sums of delays after which a jump of y' still costs a step its order: after k of them the derivative k + 1 of y
 * jumps, and the one step that meets it errs by the power k + 1 of its length.
 */
export const afterJump = (count: number, order: number): number[][] => multiples(count, Math.max(0, order - 2));

/** Points at which derivatives of y jump, and how many of them within a step divide it (scheme/delayed.ts). */
export interface Division {
  readonly cuts: number;
  /** Order of the scheme. */
  readonly order: number;
  /** y may jump at the start, not its derivative alone. */
  readonly jumpsAtStart: boolean;
  /** Times at which what the derivative reads jumps, ascending. */
  readonly jumps: Float64Array;
  /** By delay: it is a function of parameters, and breaking points move with these. */
  readonly moving: readonly boolean[];
}

export interface BreakingPoint {
  readonly at: number;
  /** It costs a scheme its order where a step is not divided there. */
  readonly counts: boolean;
  /** One delay after the start, where y may jump, so that y' does here; a cut of its own where delays move. */
  readonly own: boolean;
  /** Its distance from what begins it, in delays that are functions of parameters; '' where it does not move. */
  readonly motion: string;
}

/**
 * Those that steps are divided at, ascending.
 * @param delays their lengths
 * @param began the time at which the history ends
 */
export function breakingPoints(
  {order, jumpsAtStart, jumps, moving}: Division,
  delays: Float64Array,
  began: number,
): BreakingPoint[] {
  const maxOrder = order - (jumpsAtStart ? 1 : 2);
  const ownCuts = jumpsAtStart && moving.includes(true);
  const sum = (k: readonly number[]): number => k.reduce((a, b) => a + b);
  const later = (k: readonly number[], from: number, counts: boolean, own = false): BreakingPoint => ({
    at: from + k.reduce((total, n, i) => total + n * delays[i], 0),
    counts,
    own,
    motion: k.some((n, i) => n > 0 && moving[i]) ? k.map((n, i) => (moving[i] ? n : 0)).join() : '',
  });
  return [
    ...multiples(delays.length, order + 1).map(k => later(k, began, sum(k) <= maxOrder, ownCuts && sum(k) === 1)),
    ...afterJump(delays.length, order).flatMap(k => Array.from(jumps, at => later(k, at, true))),
  ].sort((a, b) => a.at - b.at);
}

const slack = (t: number): number => Math.abs(t) * timeRounding;

/** Times of the grid that steps go along. */
interface Times {
  readonly steps: number;
  time(n: number): number;
}

/** How many times, and the first. */
interface Counted {
  readonly count: number;
  readonly first: number;
}

/**
 * The times at which breaking points that move with parameters lie at the end of a step, or on others that move
 * otherwise. Where they move to, to either side, other steps are divided, or in another order: the run has another
 * derivative to either side.
 * @returns undefined where there is none; whether y' jumps at one of them
 */
export function meetings(
  all: readonly BreakingPoint[],
  {time, steps}: Times,
): (Counted & {readonly own: boolean}) | undefined {
  const end = time(steps) + slack(time(steps));
  const points = all.filter(({at}) => at > time(0) + slack(at) && at <= end);
  let [count, first, own] = [0, NaN, false];
  for (let i = 0, n = 1, next = 0; i < points.length; i = next) {
    const {at} = points[i];
    while (next < points.length && points[next].at <= at + slack(at)) next++;
    while (n < steps && time(n) < at - slack(at)) n++;
    const motions = new Set(points.slice(i, next).map(({motion}) => motion));
    const isMet = motions.size > 1 || Math.abs(time(n) - at) <= slack(at);
    if (!isMet || [...motions].every(motion => motion === '')) continue;
    if (count++ === 0) first = at;
    own ||= points.slice(i, next).some(point => point.own);
  }
  return count === 0 ? undefined : {count, first, own};
}

/**
 * The steps in which a derivative of y jumps that costs the scheme its order: they hold more breaking points than they
 * have cuts, as where delays differ by less than a step.
 * @returns how many steps, and when the first begins; undefined where there is none
 */
export function crowdedSteps(
  points: readonly BreakingPoint[],
  cuts: number,
  {time, steps}: Times,
): Counted | undefined {
  let [count, first] = [0, NaN];
  for (let n = 0, k = 0; n < steps && k < points.length; n++) {
    const [from, to] = [time(n), time(n + 1)];
    let [found, last, crowded] = [0, from, false];
    // Others at `last` are one cut with the first of its own.
    let isShared = false;
    for (; k < points.length && points[k].at - slack(points[k].at) <= to; k++) {
      const {at, counts, own} = points[k];
      const isMet = at - slack(at) <= last;
      // One that is met already, or that the step ends at, divides nothing; but derivatives by delays need one that y'
      // jumps at.
      if (at - slack(at) <= from || (!own && (isMet || at + slack(at) >= to))) continue;
      const joins = isMet && isShared;
      isShared = !own;
      if (joins) continue;
      last = at;
      if (++found > cuts && counts) crowded = true;
    }
    // A point at the end of a step is not within the next one either.
    if (crowded && count++ === 0) first = from;
  }
  return count === 0 ? undefined : {count, first};
}
