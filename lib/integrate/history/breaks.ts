/**
 * Jumps and onsets of inputs in the plan of a run: adaptive steps end there, steps of a grid at jumps alone, and what a
 * scheme carries from step to step is computed again at jumps, as after an event.
 */
import {timesBetween, type Breaks} from '../../system/breaks.js';
import {toUserTimes} from '../../step/time-direction.js';
import type {TracedRun} from '../../step/traced-step.js';
import type {Grid} from '../grid.js';
import {gridStep} from '../grid.js';
import type {Plan, PlannedBreaks} from './plan.js';

/** Whether the jumps of the traced step end with one that makes what is carried anew, and leaves the user's blocks. */
export const restarts = (plan: Plan): boolean => (plan.breaks?.restarts.length ?? 0) > 0;

interface Read {
  readonly grid: Grid;
  readonly plan?: Plan;
}

/**
 * What is asked for and traced, with the breaks of what the steps turn out to read.
 * @param readAs the options, with a plan or without where none is needed
 * @param resumed it goes on from a saved state
 * @param anyTimes runs from and to other times will be asked for, whatever breaks are within this one
 */
export function breakingRun<R extends Read>(
  asked: R,
  readAs: (planned: boolean) => R,
  traced: (read: R) => TracedRun,
  resumed: boolean,
  anyTimes: boolean,
): {readonly read: R; readonly run: TracedRun} {
  const first = traced(asked);
  // Borders of switches are looked for within steps.
  const given = first.switches === undefined || asked.plan !== undefined ? asked : readAs(true);
  const run = given === asked ? first : traced(given);
  if (anyTimes) return {read: given, run: run.breaks.size > 0 && run.carries ? traced(restarting(given)) : run};
  const breaks = plannedBreaks(given, run, resumed);
  if (breaks === undefined) return {read: given, run};
  const base = given.plan === undefined ? readAs(true) : given;
  const read = {...base, plan: {...(base.plan as Plan), breaks}};
  return {read, run: breaks.restarts.length > 0 ? traced(read) : run};
}

/** Adds a jump that makes the scheme's history anew, at any time. */
function restarting<R extends Read>(read: R): R {
  const plan = read.plan as Plan;
  const breaks = {stops: none, restarts: Float64Array.of(read.grid.t0), jump: plan.events.length, jumps: none};
  return {...read, plan: {...plan, breaks}};
}

/** undefined where the run need not know of any. */
export function plannedBreaks(
  {grid, plan}: Read,
  {breaks, carries, switches, locatesJumps}: Pick<TracedRun, 'breaks' | 'carries' | 'switches' | 'locatesJumps'>,
  resumed: boolean,
): PlannedBreaks | undefined {
  if (breaks.size === 0) return undefined;
  const isAdaptive = plan?.control.kind === 'adaptive';
  const end = isAdaptive ? (plan?.end ?? Infinity) : grid.time(grid.steps);
  const between = (times: (breaks: Breaks) => Float64Array): Float64Array =>
    timesBetween([...breaks].map(times), grid.t0, end);
  /** A time of the grid for one that steps take for it. */
  const taken = (time: number, slack: number): number => {
    const n = isAdaptive ? undefined : gridStep(time, grid);
    return n !== undefined && Math.abs(grid.time(n) - time) <= slack ? grid.time(n) : time;
  };
  const found = between(({jumps, slack}) => toUserTimes(grid, jumps).map(time => taken(time, slack)));
  // The start of a run is made where it is; one that goes on carries what was before it.
  const jumps = found.filter(time => resumed || time > grid.t0);
  if (!isAdaptive) {
    const isOnGrid = (time: number): boolean => grid.time(gridStep(time, grid) ?? NaN) === time;
    const stops = locatesJumps ? jumps.filter(time => !isOnGrid(time)) : none;
    const restarts = carries ? jumps.filter(time => locatesJumps || isOnGrid(time)) : none;
    const jump = plan?.events.length ?? 0;
    const areWatched = jump > 0 || switches !== undefined;
    if (stops.length === 0 && restarts.length === 0 && (!areWatched || jumps.length === 0)) return undefined;
    return {stops, restarts, jump, jumps};
  }
  const onsets = between(one => toUserTimes(grid, grid.backwards === true ? one.ends : one.onsets));
  const stops = timesBetween([jumps, onsets], grid.t0, end);
  if (stops.length === 0) return undefined;
  return {stops, restarts: carries ? jumps : none, jump: plan.events.length, jumps};
}

const none = new Float64Array(0);
