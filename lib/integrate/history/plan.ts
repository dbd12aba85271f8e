/** The plan of a run with adaptive steps, events, or states saved between its steps. */
import {OptionError} from '../../errors.js';
import {shown} from '../../checks.js';
import type {TimeDirection} from '../../step/time-direction.js';
import {toUserTime} from '../../step/time-direction.js';
import type {Event} from '../../system/events.js';
import type {StepControl} from '../control.js';
import type {Grid, GridOptions, SaveAt} from '../grid.js';
import type {ResumeOptions, RunState} from '../run-state.js';
import {resumeOptionsOf} from '../run-state.js';
import {gridStep, nearestEnd, readEvery, readEnd, readGrid, requireOrder, takenFor} from '../grid.js';

/** Which steps are saved; or at which times. */
export type Saving =
  | {readonly kind: 'steps'; readonly every: number}
  | {readonly kind: 'end'}
  | {readonly kind: 'times'; readonly times: Float64Array};

/** An event without its functions, which are part of the traced step. */
export interface PlannedEvent {
  readonly direction: Event['direction'];
  readonly tolerance?: number;
  /** 'switch': the border of a comparison of the system's own functions, whose mode changes. */
  readonly then: 'stop' | 'record' | 'jump' | 'switch';
  readonly name?: string;
  /** The border of a switch whose crossings move with the state or with parameters. */
  readonly moves?: boolean;
  /** The border of a switch that is a line in t: its crossings are known beforehand, and not searched for. */
  readonly isLine?: boolean;
}

/** Plain values: what the time loop reads; times are the clock's. */
export interface Plan {
  readonly control: StepControl;
  /** The absolute tolerance of every component of the user's blocks, for adaptive steps. */
  readonly absolute?: Float64Array;
  readonly events: readonly PlannedEvent[];
  readonly saving: Saving;
  /** End of the run; undefined where a number of steps ends it. */
  readonly end?: number;
  /** Accepted steps at most. */
  readonly most: number;
  /**
   * Set for adaptive steps along a path of noise: a rejected step is tried with half its length, and its end is met by
   * a later one. What was seen of the path is not left out of it for being inconvenient (Gaines & Lyons 1997; Foster &
   * Jelinčič 2023). Steps end at the times that are saved, since states between lie on lines.
   */
  readonly revisits?: true;
  /** Present in a run that resumes from a saved state. */
  readonly resume?: ResumeOptions;
  /** What the functions of time that the steps read are not smooth at. */
  readonly breaks?: PlannedBreaks;
}

/** Times within the run, ascending. */
export interface PlannedBreaks {
  /** Adaptive steps end there; steps of a grid do at those of its jumps that are not its own times. */
  readonly stops: Float64Array;
  /** Where what the scheme carries is made anew, by the jump of this number; none where it carries nothing. */
  readonly restarts: Float64Array;
  readonly jump: number;
  /** Where functions of time jump: events whose function jumps with them have these times. */
  readonly jumps: Float64Array;
}

/** Times that adaptive steps end at, beside the end of the run. */
export function stopsOf({breaks, revisits, saving}: Plan): Float64Array {
  const stops = breaks?.stops ?? new Float64Array(0);
  if (revisits !== true || saving.kind !== 'times') return stops;
  return Float64Array.from(new Set([...stops, ...saving.times])).sort();
}

export function readEvents(given: unknown): readonly Event[] {
  if (given === undefined) return [];
  if (!Array.isArray(given))
    throw new OptionError('bad-event', `events must be a list: events: [event({...})], not ${shown(given)}.`);
  given.forEach((one: Partial<Event> | null, i) => {
    if (typeof one?.when !== 'function' || one.direction === undefined)
      throw new OptionError('bad-event', `events[${i}] must be made by event({when, then}).`, {index: i});
  });
  return given as readonly Event[];
}

/**
 * Times by the clock between t0 and `end`, ascending.
 * @param nearest the time that one stands for but for rounding: of the grid, or an end of the run
 */
export function readTimes(
  times: readonly number[],
  t0: number,
  end: number,
  nearest: (time: number) => number | undefined,
  direction: TimeDirection,
): Float64Array {
  times.forEach((time, i) => {
    if (typeof time !== 'number' || !Number.isFinite(time))
      throw new OptionError('bad-save', `saveAt: entry ${i} is ${shown(time)}, not a time.`, {index: i});
  });
  const taken = takenFor(times, nearest);
  // Every member of a batch has its own list: a loop takes a third of the time of `Float64Array.from` with a function.
  const read = new Float64Array(times.length);
  for (let i = 0; i < times.length; i++) {
    const time = (read[i] = taken[i] ?? times[i]);
    if (time < t0 || time > end)
      throw new OptionError(
        'bad-save',
        `saveAt: ${toUserTime(direction, times[i])} does not lie in the run, from t = `
          + `${toUserTime(direction, t0)} to ${toUserTime(direction, Number(end.toPrecision(12)))}.`,
        {index: i, time: toUserTime(direction, times[i])},
      );
  }
  requireOrder(read, times, direction);
  return read;
}

/** Adaptive steps: only the first length and the ends of the span are known. */
export function readSpan({dt, steps, t1, backwards}: GridOptions, control: StepControl, t0: number): Grid {
  if (steps === undefined && t1 === undefined)
    throw new OptionError(
      'bad-time',
      'The run has no end: give t1, or steps, the number of accepted steps, or a list of times as saveAt, at '
        + 'whose last it ends.',
    );
  if (steps !== undefined && (!Number.isInteger(steps) || steps < 0))
    throw new OptionError('bad-time', `steps must be a whole number of at least 0, not ${shown(steps)}.`, {steps});
  const first = Math.min(typeof control.first === 'number' ? control.first : dt, control.max);
  // Of steps of the first length there may be more than can be counted: those taken are longer.
  const {dt: length} = readGrid({dt: first, steps: 1, backwards}, t0);
  if (t1 !== undefined) readEnd(t1, t0, {backwards});
  return {
    backwards,
    asked: {dt, steps, t1, backwards},
    t0,
    dt: length,
    steps: steps ?? Infinity,
    time: () => t0,
    length: () => length,
  };
}

/** undefined for steps on the grid that are saved at their ends. */
export function readPlan(
  {saveAt = 'all', t1}: {readonly saveAt?: SaveAt; readonly t1?: number},
  control: StepControl,
  events: readonly Event[],
  grid: Grid,
  from: RunState | undefined,
  always: boolean,
): Plan | undefined {
  const isAdaptive = control.kind === 'adaptive';
  if (
    !always
    && !isAdaptive
    && events.length === 0
    && !(Array.isArray(saveAt) && !areOfGrid(saveAt as readonly number[], grid))
  )
    return undefined;
  const end = isAdaptive ? t1 : grid.time(grid.steps);
  const planned = events.map(({direction, tolerance, then, name}): PlannedEvent => ({
    direction,
    tolerance,
    name,
    then: typeof then === 'function' ? 'jump' : then,
  }));
  return {
    control,
    events: planned,
    saving: readSaving(saveAt, grid, end, isAdaptive),
    end,
    most: grid.steps,
    resume: from === undefined ? undefined : resumeOptionsOf(from),
  };
}

/** Whether each of the times is that of a step of its own. */
const areOfGrid = (times: readonly number[], grid: Grid): boolean =>
  times.every(time => typeof time === 'number') && !takenFor(times, time => gridStep(time, grid)).includes(undefined);

function readSaving(saveAt: SaveAt, grid: Grid, end: number | undefined, isAdaptive: boolean): Saving {
  if (Array.isArray(saveAt)) {
    if (end === undefined) throw new OptionError('bad-save', 'saveAt: times need the end of the run: give t1.');
    const onGrid = (time: number): number | undefined => {
      const n = gridStep(time, grid);
      return n === undefined ? undefined : grid.time(n);
    };
    const nearest = isAdaptive ? nearestEnd(grid, end) : onGrid;
    return {kind: 'times', times: readTimes(saveAt as readonly number[], grid.t0, end, nearest, grid)};
  }
  if (saveAt === 'end') return {kind: 'end'};
  return {kind: 'steps', every: saveAt === 'all' ? 1 : readEvery(saveAt)};
}

/** Where a run goes and what it saves. */
interface Asked {
  readonly plan?: Plan;
  readonly grid: Grid;
  readonly saved: Float64Array;
}

/**
 * Steps that a run will take, as far as that is known before it: not where only its end is given, or where an event may
 * end it.
 */
export function knownSteps({plan, grid}: Asked): number {
  if (plan === undefined) return grid.steps;
  if (plan.events.some(({then}) => then === 'stop')) return 0;
  return plan.control.kind === 'constant' || plan.end === undefined ? grid.steps : 0;
}

/** States that it will save, as far as that is known. */
export function savedCount({plan, saved, grid}: Asked): number {
  if (plan === undefined) return saved.length;
  const {saving, control} = plan;
  if (saving.kind === 'times') return saving.times.length;
  const steps = control.kind === 'constant' ? grid.steps : knownSteps({plan, saved, grid});
  return saving.kind === 'end' ? 2 : Math.max(2, Math.floor(steps / saving.every) + 1);
}
