/** An adaptive run again, with tighter tolerances, and tangents along it. */
import type {Directions} from '../adjoint/directions.js';
import {tangentsAlong} from '../integrate/adjoints/forward.js';
import type {Plan} from '../integrate/history/plan.js';
import type {Run} from '../integrate/path.js';
import type {RunContext} from '../integrate/run-context.js';
import {run} from '../integrate/run.js';
import {toUserTimes} from '../step/time-direction.js';
import {pushSeries} from './series.js';

/** A run that is not a grid of steps. */
export type Planned = RunContext & {readonly options: {readonly plan: Plan}};

/** The tangent of a run's series along one direction. */
export interface RunTangent {
  readonly run: Run;
  readonly matrix: Float64Array;
  readonly happened: Float64Array;
}

/**
 * The tangents along directions with the tolerances of a run over a factor, of the same saved states.
 * @returns undefined where that run shows something else
 */
export function tighterTangents(
  planned: Planned,
  done: Run,
  directions: Directions,
  factor: number,
): readonly RunTangent[] | undefined {
  const tight = run(comparable(planned, done, factor), tangentsAlong(directions));
  if (tight.status !== done.status || tight.times.length !== done.times.length) return undefined;
  if (tight.events?.length !== done.events?.length) return undefined;
  return tangentsOf(planned, tight, directions);
}

/** Those of a run that was made with `tangentsAlong` the directions. */
export function tangentsOf(planned: Planned, done: Run, directions: Directions): readonly RunTangent[] {
  const {matrices, happened} = pushSeries(planned, done, directions);
  return matrices.map((matrix, k) => ({run: done, matrix, happened: happened[k]}));
}

/** With tolerances over a factor. A longest step that is shorter than these allow is shortened, too. */
export function withTolerancesOver<C extends Planned>(planned: C, factor: number): C {
  const {options} = planned;
  const {control, absolute, most} = options.plan;
  const plan = {
    ...options.plan,
    control: {...control, rtol: control.rtol / factor, max: control.max / Math.cbrt(factor)},
    absolute: absolute?.map(value => value / factor),
    most: most * factor,
  };
  return {...planned, options: {...options, plan}};
}

/** As `withTolerancesOver`, saved at the times of a run: where those are of its steps, they end steps here, too. */
export function comparable<C extends Planned>(planned: C, {times, resumeState}: Run, factor: number): C {
  const {options} = withTolerancesOver(planned, factor);
  const {plan, grid} = options;
  const ends = {...plan, end: plan.end ?? resumeState?.t, most: Infinity};
  if (plan.saving.kind !== 'steps') return {...planned, options: {...options, onProgress: undefined, plan: ends}};
  const own = toUserTimes(grid, times);
  const {stops = [], ...breaks} = plan.breaks ?? noBreaks;
  return {
    ...planned,
    options: {
      ...options,
      onProgress: undefined,
      plan: {
        ...ends,
        saving: {kind: 'times', times: own},
        breaks: {...breaks, stops: Float64Array.from(new Set([...stops, ...own])).sort()},
      },
    },
  };
}

const noBreaks = {stops: [], restarts: new Float64Array(0), jump: 0, jumps: new Float64Array(0)};
