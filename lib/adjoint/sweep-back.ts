/**
 * The gradient of a run: cotangents of the saved states are propagated backwards, transition by transition, each
 * pulled back by the transition's rule (equations.md §5 and §7).
 */
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters, startContext} from '../step/context.js';
import type {AdjointProgram} from '../step/programs.js';
import {toUserTime} from '../step/time-direction.js';
import {addTo} from './add-to.js';
import type {BatchedPull, Gradient, TransitionPull} from './gradient.js';
import {addEnds} from './gradient.js';
import {implicitPull, GridPull} from './implicit-pull.js';
import type {TransitionWatch} from './not-finite.js';
import {ParameterCotangents} from './parameter-cotangents.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';
import type {BackwardTraversal, SavedStates, VisitTransition, VisitBatch} from './step-history.js';
import {SavedCursor} from './step-history.js';

/** What a gradient begins with. */
export interface RunCotangents {
  /** Cotangents of the saved states, [saved, state]. */
  readonly states: Float64Array;
  /** Cotangents of the saved states' times, [saved]; only event times have derivatives. */
  readonly times?: Float64Array;
  /** Cotangents of the times of the events that occurred, in their order. */
  readonly eventTimes?: Float64Array;
  /** The derivative by the time of the start is asked for, too. */
  readonly t0?: boolean;
}

/** Cotangents of the time of the start, by the clock of the loops: see start-time.ts. */
export interface StartTimePull {
  /** @param xCotangent that of the state after the first transition */
  first(xCotangent: Float64Array): number;
  /** @param xCotangent that of the state that the run begins with */
  start(xCotangent: Float64Array): number;
}

/**
 * Steps n, n − 1, … of a grid of which all are saved at their ends but the first, or none is: how many.
 * @param last of the saved states, the last before the end of step n
 */
function gridSegment({after}: SavedStates, last: number, n: number, most: number): number {
  let ends = 0;
  while (ends < most - 1 && ends <= last && after[last - ends] === n - ends && ends < n) ends++;
  return ends > 0 ? ends + 1 : Math.min(most, n + 1 - (last >= 0 ? after[last] : 0));
}

/**
 * @param start the step that began the run
 * @param watch looks at every transition
 * @param startTime where the derivative by the time of the start is asked for
 */
export function sweepBack(
  context: StepContext,
  saved: SavedStates,
  start: StepRecord,
  backwards: BackwardTraversal,
  pull: TransitionPull,
  {states, times}: RunCotangents,
  watch?: TransitionWatch,
  startTime?: StartTimePull,
): Gradient {
  const {xCotangent, executable, batched} = pull;
  const cursor = new SavedCursor(saved, true);
  let isNew = true;
  let afterFirst: Float64Array | undefined;
  const addEndOf = (n: number): void => {
    if (cursor.back(n) && addEnds(cursor, states, xCotangent)) isNew = true;
  };
  const visit: VisitTransition = (n, record, from, to, end) => {
    addEndOf(n);
    if (n === 0 && startTime !== undefined) afterFirst = xCotangent.slice();
    pull.pull({n, record, from, to, end, isNew, saved: cursor, states});
    isNew = false;
    watch?.(n, record.time(from), xCotangent, executable);
  };
  const visitTogether =
    (several: BatchedPull): VisitBatch =>
    (n, record, limit, end) => {
      const {maxSaved} = several;
      // The first transition is visited by itself where its beginning moves.
      const most = Math.min(limit, several.maxCount, startTime === undefined ? Infinity : n);
      if (most === 0) return 0;
      let from: number;
      if (several.savedAt === 'ends') {
        addEndOf(n);
        from = cursor.backBatch(n, gridSegment(saved, cursor.from - 1, n, most) - 1, maxSaved);
      } else {
        from = cursor.backBatch(n + 1, most, maxSaved);
      }
      if (from > n) return 0;
      several.pull({n, record, from, to: n + 1, end: end(), isNew, saved: cursor, states});
      isNew = false;
      return n + 1 - from;
    };
  const recomputedSteps = backwards(
    visit,
    batched === undefined || watch !== undefined ? undefined : visitTogether(batched),
  );
  addEndOf(-1);
  const parameters = pull.finish();
  const t0 =
    startTime === undefined
      ? undefined
      : toUserTime(
          context.traced,
          startTime.start(xCotangent.slice()) + (afterFirst === undefined ? 0 : startTime.first(afterFirst)),
        ) + ofStart(saved, times);
  return {initial: pullStart(startContext(context), start, xCotangent, parameters), parameters, t0, recomputedSteps};
}

/** Cotangents of the times of saved states that are the start. */
function ofStart({after}: SavedStates, times: Float64Array | undefined): number {
  let sum = 0;
  for (let i = 0; i < after.length && after[i] === 0; i++) sum += times?.[i] ?? 0;
  return sum;
}

/** Through the start of the run: what the scheme carries depends on the initial state and parameters too. */
export function pullStart(
  context: StepContext,
  record: StepRecord,
  xCotangent: Float64Array,
  totals: readonly Float64Array[],
): Float64Array {
  if (context.resumed === true) return xCotangent.slice();
  const direct = directAdjointIfValid(context, record, xCotangent);
  const adjoint = direct ?? context.compiled.fullAdjoint(context.linear);
  loadParameters(adjoint, context);
  const {canAccumulate, derived} = context.compiled;
  const isOwn = derived.parameters.length === 0;
  const ofParameters = new ParameterCotangents(
    context,
    adjoint,
    canAccumulate && direct === undefined,
    false,
    isOwn ? totals : undefined,
  );
  const pull =
    direct === undefined
      ? implicitPull(context, adjoint, ofParameters)
      : new GridPull(context, direct, ofParameters, undefined).pull;
  pull(record, 0, xCotangent, true);
  const own = ofParameters.finish();
  if (!isOwn) own.forEach((cotangent, i) => addTo(totals[i], cotangent));
  return xCotangent.slice(0, context.initialValues.length);
}

/**
 * The programs of a start whose unknown has cotangents of zero, as where a scheme takes the accelerations and
 * multipliers there for a guess alone; undefined where they are not zero, or there is no unknown.
 */
function directAdjointIfValid(
  context: StepContext,
  record: StepRecord,
  xCotangent: Float64Array,
): StepExecutable<AdjointProgram> | undefined {
  if (!context.compiled.implicit) return undefined;
  const executable = context.compiled.directAdjoint;
  loadParameters(executable, context);
  record.load(0, stepBuffers(executable));
  executable.optionalBuffer('nextCotangent')?.set(xCotangent);
  executable.run('pullUnknown');
  const isZero = executable.buffer('zCotangent').every(cotangent => cotangent === 0);
  return isZero ? executable : undefined;
}
