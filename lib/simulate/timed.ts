/**
 * One run of a simulation that was prepared for any times: its grid and its plan, as if it had been asked for with
 * these times.
 */
import {OptionError} from '../errors.js';
import {shown} from '../checks.js';
import type {SaveAt} from '../integrate/grid.js';
import {readGrid, savedSteps} from '../integrate/grid.js';
import {plannedBreaks} from '../integrate/history/breaks.js';
import {readPlan, readSpan} from '../integrate/history/plan.js';
import type {SimulateOptions} from './options.js';
import {byClock, endOf} from './options.js';
import type {PreparedRun} from './prepare.js';

/** The times of a batch's member; absent ones are those that the batch was prepared with. */
export interface MemberTimes {
  /** Default: the time of its initial state. */
  readonly t0?: number;
  /** Default: the last of its `saveAt`; without both, where the batch was prepared to end. */
  readonly t1?: number;
  /**
   * Times in the order of the run. NaN marks a missing sample, so that members with fewer samples have lists of the
   * same length. In its place stand time, state and observations of the previous sample (of the first one, if there is
   * no previous one), numbers like any other: its datum must be NaN, or have a weight of zero, or it is compared with
   * them.
   */
  readonly saveAt?: readonly number[];
}

/**
 * A run at its times, and which of what it saves stands in each place asked for; undefined where nothing is missing.
 */
export interface TimedRun {
  readonly prepared: PreparedRun;
  readonly places?: Int32Array;
}

type Times = Pick<SimulateOptions, 'dt' | 'steps' | 't1' | 'saveAt'>;

/**
 * @param asked what the batch was prepared with
 * @param planned with a plan, though it be a plain grid
 * @throws OptionError 'bad-time', 'bad-save'
 */
export function atTimes(
  prepared: PreparedRun,
  asked: Times,
  times: MemberTimes,
  t0: number,
  planned: boolean,
): TimedRun {
  const {timed, options} = prepared;
  const control = options.plan?.control;
  if (timed === undefined || control === undefined) throw new Error('it was prepared for its own times');
  const {saveAt, places} = presentTimes(times.saveAt ?? asked.saveAt);
  const ownEnd = endOf({t1: times.t1, saveAt: times.saveAt === undefined ? undefined : saveAt});
  const t1 = ownEnd ?? asked.t1;
  const isAdaptive = control.kind === 'adaptive';
  const {begin, ...span} = byClock(
    {
      dt: asked.dt,
      t1,
      steps: t1 === undefined || (isAdaptive && asked.t1 !== undefined) ? asked.steps : undefined,
      saveAt,
    },
    t0,
  );
  const grid = isAdaptive ? readSpan(span, control, begin) : readGrid(span, begin);
  const base = readPlan(
    span,
    control,
    options.events,
    grid,
    undefined,
    planned || timed.breaks.size > 0 || timed.switches !== undefined,
  );
  const plan =
    base === undefined ? undefined : {...base, absolute: options.plan?.absolute, revisits: options.plan?.revisits};
  const breaks = plan === undefined ? undefined : plannedBreaks({grid, plan}, timed, false);
  return {
    prepared: {
      ...prepared,
      t0: begin,
      h0: grid.length(0),
      options: {
        ...options,
        grid,
        plan: plan === undefined ? undefined : {...plan, breaks},
        saved: plan === undefined ? savedSteps(span.saveAt ?? 'all', grid) : none,
      },
    },
    places,
  };
}

const none = new Float64Array(0);

function presentTimes(saveAt: SaveAt | undefined): {readonly saveAt: SaveAt | undefined; readonly places?: Int32Array} {
  if (!Array.isArray(saveAt) || !saveAt.some(Number.isNaN)) return {saveAt};
  const times = saveAt as readonly number[];
  const present = times.filter(time => !Number.isNaN(time));
  if (present.length === 0)
    throw new OptionError('bad-save', `saveAt: ${shown(times)} has no time: give one, or remove the member.`);
  let count = 0;
  return {
    saveAt: present,
    places: Int32Array.from(times, time => (Number.isNaN(time) ? Math.max(count - 1, 0) : count++)),
  };
}

/** Rows of a matrix [saved, width] in the places asked for. */
export function placed(rows: Float64Array, places: Int32Array | undefined, width: number): Float64Array {
  if (places === undefined) return rows;
  const all = new Float64Array(places.length * width);
  places.forEach((row, i) => all.set(rows.subarray(row * width, (row + 1) * width), i * width));
  return all;
}

/** The transpose of `placed`: cotangents of all places go to the rows that stand there. */
export function gatheredRows(
  all: Float64Array,
  places: Int32Array | undefined,
  width: number,
  saved: number,
): Float64Array {
  if (places === undefined) return all;
  const rows = new Float64Array(saved * width);
  places.forEach((row, i) => {
    for (let k = 0; k < width; k++) rows[row * width + k] += all[i * width + k];
  });
  return rows;
}
