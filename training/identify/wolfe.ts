/**
 * A step length that satisfies the strong Wolfe conditions: the cost falls by at least c₁ of what the slope
 * promises, and the slope's size by c₂ (Nocedal & Wright, Numerical Optimization, 2nd ed., algorithms 3.5 and
 * 3.6, with the cubic of eq. 3.59). A length at which the simulation fails, or gives no finite numbers, counts as too
 * long.
 */
import type {CostPoint} from './iteration.js';
import {evaluate as here, known, type Evaluation} from './evaluation.js';
import {along, dot} from './descent.js';

export interface LinePoint extends CostPoint {
  readonly length: number;
  readonly slope: number;
}

/** Their values of c₁ and c₂ for quasi-Newton directions (§3.1). */
const DECREASE = 1e-4;
const CURVATURE = 0.9;

/** Doublings and sections: 2³⁰ and 2⁻³⁰ are beyond what a scaled direction needs. */
const TRIALS = 30;

/** @returns undefined where no length is better than none: the slope is roundoff, or the direction is bad */
export const wolfeStep = (
  evaluate: (x: Float64Array) => CostPoint | undefined,
  from: CostPoint,
  direction: Float64Array,
  first: number,
): LinePoint | undefined => here(wolfeSearch(x => known(evaluate(x)), from, direction, first));

/** `wolfeStep` for evaluations that hand out their simulations. */
export function* wolfeSearch(
  evaluate: (x: Float64Array) => Evaluation<CostPoint | undefined>,
  from: CostPoint,
  direction: Float64Array,
  first: number,
): Evaluation<LinePoint | undefined> {
  const at = function* (length: number): Evaluation<LinePoint | undefined> {
    const point = yield* evaluate(along(from.x, length, direction));
    if (point === undefined) return undefined;
    const slope = dot(point.gradient, direction);
    return Number.isFinite(point.cost) && Number.isFinite(slope) ? {...point, length, slope} : undefined;
  };
  const start: LinePoint = {...from, length: 0, slope: dot(from.gradient, direction)};
  let last = start;
  let length = first;
  for (let trial = 0; trial < TRIALS; trial++) {
    const point = yield* at(length);
    if (point === undefined || tooHigh(point, start) || (trial > 0 && point.cost >= last.cost))
      return yield* zoom(at, start, last, point, length);
    if (Math.abs(point.slope) <= -CURVATURE * start.slope) return point;
    if (point.slope >= 0) return yield* zoom(at, start, point, last, last.length);
    last = point;
    length *= 2;
  }
  return last;
}

const tooHigh = (point: LinePoint, start: LinePoint): boolean =>
  point.cost > start.cost + DECREASE * point.length * start.slope;

/** Between a length that is good enough in cost and another one, the interval shrinks until the slope is small too. */
function* zoom(
  at: (length: number) => Evaluation<LinePoint | undefined>,
  start: LinePoint,
  low: LinePoint,
  high: LinePoint | undefined,
  highLength: number,
): Evaluation<LinePoint | undefined> {
  for (let trial = 0; trial < TRIALS; trial++) {
    const length = between(low, high, highLength);
    const point = yield* at(length);
    if (point === undefined || tooHigh(point, start) || point.cost >= low.cost) [high, highLength] = [point, length];
    else {
      if (Math.abs(point.slope) <= -CURVATURE * start.slope) return point;
      if (point.slope * (highLength - low.length) >= 0) [high, highLength] = [low, low.length];
      low = point;
    }
    if (Math.abs(highLength - low.length) <= Number.EPSILON * Math.abs(highLength)) break;
  }
  return low.length > 0 ? low : undefined;
}

/** The cubic's minimum, a tenth of the interval away from its ends; the middle where there is none. */
function between(low: LinePoint, high: LinePoint | undefined, highLength: number): number {
  const width = highLength - low.length;
  const middle = low.length + width / 2;
  if (high === undefined) return middle;
  const d1 = low.slope + high.slope - (3 * (low.cost - high.cost)) / (low.length - highLength);
  const root = d1 * d1 - low.slope * high.slope;
  if (!(root >= 0)) return middle;
  const d2 = Math.sign(width) * Math.sqrt(root);
  const share = 1 - (high.slope + d2 - d1) / (high.slope - low.slope + 2 * d2);
  return share > 0.1 && share < 0.9 ? low.length + share * width : middle;
}
