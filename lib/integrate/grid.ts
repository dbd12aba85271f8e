/** The grid of times of a run, and which of its steps are saved. */
import {OptionError} from '../errors.js';
import {shown} from '../checks.js';
import {newNumbers} from '../memory.js';
import type {TimeDirection} from '../step/time-direction.js';
import {toUserTime} from '../step/time-direction.js';
import {bytesPerNumber, fewerSaved, requireMemory} from './memory.js';
import type {GridPlace} from './run-state.js';

/** Which states a run saves: all, the last, every n-th step, or those at given times. */
export type SaveAt = 'all' | 'end' | {readonly every: number} | readonly number[];

/** Progress of a run. */
export interface Progress {
  readonly t: number;
  readonly step: number;
  /** Absent with adaptive steps, whose number is not known in advance. */
  readonly steps?: number;
}

/**
 * The times of a run, by its clock (step/time-direction.ts): t0 + n·dt, the last one exactly t1 where that was given.
 */
export interface Grid extends TimeDirection {
  /** What it was made of, with t0: plain values. */
  readonly asked: GridOptions;
  readonly t0: number;
  readonly dt: number;
  readonly steps: number;
  /** time(0) … time(steps) */
  time(n: number): number;
  /** The length of the step from time(n): dt itself, not a difference of times, which rounds it where t ≫ dt. */
  length(n: number): number;
}

/** How a grid is asked for, by the clock: `steps` or `t1`. */
export interface GridOptions extends TimeDirection {
  readonly dt: number;
  readonly steps?: number;
  readonly t1?: number;
  /** The grid that another run has left, to go on along it. */
  readonly origin?: GridPlace;
}

/** A grid time is met within this share of a step: rounding of t0 + n·dt over 10⁶ steps stays below it. */
const gridSlack = 1e-6;

/** The rounding of a difference of two times, as a share of the larger: a half for each time, product and sum. */
const timeRounding = 4 * Number.EPSILON;

/** @throws OptionError 'bad-time' */
export function readGrid({dt, steps, t1, origin, backwards}: GridOptions, t0: number): Grid {
  if (!(dt > 0) || !Number.isFinite(dt)) {
    const given = typeof dt === 'number' ? toUserTime({backwards}, dt) : dt;
    throw new OptionError(
      'bad-time',
      `dt must be a positive number, or a negative one to run backwards in time, not ${shown(given)}.`,
      {dt: given},
    );
  }
  if (!Number.isFinite(t0)) {
    const t = toUserTime({backwards}, t0);
    throw new OptionError('bad-time', `The initial time must be finite, not ${t}.`, {t});
  }
  if ((steps === undefined) === (t1 === undefined))
    throw new OptionError(
      'bad-time',
      steps === undefined
        ? 'The run has no end: give steps or t1, or a list of times as saveAt, at whose last it ends.'
        : 'Give either steps or t1, not both: steps of constant length need one of them.',
      {steps, t1},
    );
  const time = origin === undefined ? (n: number) => t0 + n * dt : (n: number) => origin.t0 + (origin.step + n) * dt;
  if (steps !== undefined) {
    if (!Number.isInteger(steps) || steps < 0)
      throw new OptionError('bad-time', `steps must be a whole number of at least 0, not ${shown(steps)}.`, {steps});
    if (!Number.isSafeInteger(steps))
      throw new OptionError('bad-time', `steps: ${steps} is more than can be counted, 2^53 − 1.`, {steps});
    return {backwards, asked: {dt, steps, origin, backwards}, t0, dt, steps, time, length: () => dt};
  }
  const end = readEnd(t1 as number, t0, {backwards});
  const rounding = timeRounding * Math.max(Math.abs(t0), Math.abs(end));
  // However short, a span that is more than rounding takes a step.
  const count = Math.max(Math.ceil((end - t0) / dt - gridSlack), end - t0 > rounding ? 1 : 0);
  if (!Number.isSafeInteger(count))
    throw new OptionError(
      'bad-time',
      `From t = ${toUserTime({backwards}, t0)} to t1 = ${toUserTime({backwards}, end)} there are ${count} `
        + `steps of dt = ${toUserTime({backwards}, dt)}, more than can be counted: use a longer dt.`,
      {t1: toUserTime({backwards}, end), t: toUserTime({backwards}, t0), dt: toUserTime({backwards}, dt)},
    );
  const left = end - time(count - 1);
  const whole = Math.abs(left - dt) <= rounding;
  return {
    backwards,
    asked: {dt, t1, origin, backwards},
    t0,
    dt,
    steps: count,
    time: n => (n === count ? end : time(n)),
    length: n => (n === count - 1 && !whole ? left : dt),
  };
}

/** @throws OptionError 'bad-time' */
export function readEnd(t1: number, t0: number, direction: TimeDirection): number {
  if (t1 >= t0 && Number.isFinite(t1)) return t1;
  const [end, t] = [typeof t1 === 'number' ? toUserTime(direction, t1) : t1, toUserTime(direction, t0)];
  const wrong =
    direction.backwards === true
      ? `lies after the start t = ${t}, from where a negative dt runs backwards in time, or is not finite.`
      : `lies before the start t = ${t}, or is not finite. A negative dt runs backwards in time.`;
  throw new OptionError('bad-time', `t1 = ${shown(end)} ${wrong}`, {t1: end, t});
}

/** Step n, for a run that goes on from there; a last step that was cut to meet the end leaves the grid. */
export function placeOf(grid: Grid, n: number): GridPlace | undefined {
  const {
    dt,
    t0,
    asked: {origin},
  } = grid;
  const place = {t0: origin?.t0 ?? t0, dt, step: (origin?.step ?? 0) + n};
  return grid.time(n) === place.t0 + place.step * dt ? place : undefined;
}

/**
 * Numbers of steps: doubles, as there may be more steps than 2³².
 * @throws OptionError 'bad-save'; MemoryError
 */
export function savedSteps(saveAt: SaveAt, grid: Grid): Float64Array {
  const {steps} = grid;
  if (saveAt === 'end') return steps === 0 ? Float64Array.of(0) : Float64Array.of(0, steps);
  if (Array.isArray(saveAt)) return savedTimes(saveAt, grid);
  const every = saveAt === 'all' ? 1 : readEvery(saveAt);
  const count = Math.floor(steps / every) + 1;
  requireMemory(count * bytesPerNumber, `the numbers of ${count} saved steps`, fewerSaved);
  const saved = newNumbers(count, 'the numbers of the saved steps', fewerSaved);
  for (let k = 0; k < count; k++) saved[k] = k * every;
  return saved;
}

/** @throws OptionError 'bad-save' */
export function readEvery(saveAt: SaveAt): number {
  if (ArrayBuffer.isView(saveAt))
    throw new OptionError(
      'bad-save',
      'saveAt must be a plain list of times, not a typed array: pass Array.from(times).',
    );
  if (typeof saveAt !== 'object' || !('every' in saveAt))
    throw new OptionError(
      'bad-save',
      `saveAt must be 'all', 'end', {every: n} or a list of times, not ${shown(saveAt)}.`,
    );
  const {every} = saveAt as {readonly every: number};
  if (!Number.isInteger(every) || every < 1)
    throw new OptionError('bad-save', `saveAt: {every} must be a whole number of at least 1, not ${shown(every)}.`, {
      every,
    });
  return every;
}

/** The grid's step at this time, if there is one. */
export function gridStep(time: number, grid: Grid): number | undefined {
  const distance = (step: number): number => Math.abs(grid.time(step) - time);
  const whole = Math.min(Math.round((time - grid.t0) / grid.dt), grid.steps);
  const nearest = distance(grid.steps) < distance(whole) ? grid.steps : whole;
  const length = grid.length(Math.min(nearest, grid.steps - 1));
  return nearest >= 0 && distance(nearest) <= gridSlack * length ? nearest : undefined;
}

/**
 * What each time is taken for: what it is nearest to, unless a time beside it is nearest to the same; then it is
 * itself, undefined.
 */
export function takenFor(
  times: readonly number[],
  nearest: (time: number) => number | undefined,
): readonly (number | undefined)[] {
  const all = times.map(nearest);
  return all.map((one, i) => (one === all[i - 1] || one === all[i + 1] ? undefined : one));
}

/** The ends of a run, for times outside it by no more than times of a grid are met within. */
export function nearestEnd({t0, dt}: Grid, end: number): (time: number) => number | undefined {
  const slack = gridSlack * Math.min(dt, end - t0);
  return time => (time <= t0 && time >= t0 - slack ? t0 : time >= end && time <= end + slack ? end : undefined);
}

/** Times that are all of the grid. */
function savedTimes(times: readonly number[], grid: Grid): Float64Array {
  const saved = Float64Array.from(times, time => gridStep(time, grid) ?? -1);
  requireOrder(saved, times, grid);
  return saved;
}

/**
 * @param read the times by the clock, or the steps that they belong to
 * @throws OptionError 'bad-save' where they do not ascend; descend, of a run backwards in time
 */
export function requireOrder(read: Float64Array, times: readonly number[], direction: TimeDirection): void {
  const index = read.findIndex((one, i) => i > 0 && !(one > read[i - 1]));
  if (index < 0) return;
  const [before, time] = [times[index - 1], times[index]].map(one => toUserTime(direction, one));
  const order = direction.backwards === true ? 'descend where time runs backwards' : 'ascend';
  throw new OptionError('bad-save', `saveAt must ${order}: entry ${index} is ${time} after ${before}.`, {index});
}
