/**
 * The gradient of a run: cotangents of the saved states are propagated backwards, transition by transition, each
 * pulled back by the transition's rule (equations.md §5 and §7).
 */
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters, startContext} from '../step/context.js';
import type {AdjointProgram} from '../step/programs.js';
import {addTo} from './add-to.js';
import type {Gradient, InteriorCotangent, BatchedPull, TransitionPull} from './gradient.js';
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
}

const nothing: readonly InteriorCotangent[] = [];

/**
 * Steps n, n − 1, … of a grid of which all are saved at their ends but the first, or none is: how many, and how many
 * ends are saved.
 * @param last of the saved states, the last before the end of step n
 */
function batchAt({after}: SavedStates, last: number, n: number, most: number): {count: number; ends: number} {
  let ends = 0;
  while (ends < most - 1 && ends <= last && after[last - ends] === n - ends && ends < n) ends++;
  return {ends, count: ends > 0 ? ends + 1 : Math.min(most, n + 1 - (last >= 0 ? after[last] : 0))};
}

/**
 * Adds the cotangents of the states that are saved at the end of the transition at the cursor.
 * @param states cotangents of the saved states, [saved, state]
 * @param within is called with the states saved inside it
 * @returns whether something was added
 */
export function addSaved(
  cursor: SavedCursor,
  states: Float64Array,
  xCotangent: Float64Array,
  within: (state: InteriorCotangent) => void,
): boolean {
  const {length} = xCotangent;
  let added = false;
  for (let i = cursor.from; i < cursor.to; i++) {
    const theta = cursor.theta(i);
    if (theta === 1) {
      addTo(xCotangent, states, 1, i * length);
      added = true;
    } else {
      within({theta, cotangent: states.subarray(i * length, (i + 1) * length)});
    }
  }
  return added;
}

/**
 * @param start the step that began the run
 * @param watch looks at every transition
 */
export function sweepBack(
  context: StepContext,
  saved: SavedStates,
  start: StepRecord,
  backwards: BackwardTraversal,
  pull: TransitionPull,
  {states}: RunCotangents,
  watch?: TransitionWatch,
): Gradient {
  const {size} = context.traced.state;
  const {xCotangent, executable} = pull;
  const cursor = new SavedCursor(saved, true);
  let isNew = true;
  /** @returns the states saved inside the transition at the cursor */
  const look = (): readonly InteriorCotangent[] => {
    let within: InteriorCotangent[] | undefined;
    const ends = addSaved(cursor, states, xCotangent, state => (within ??= []).push(state));
    if (ends) isNew = true;
    return within ?? nothing;
  };
  const visit: VisitTransition = (n, record, from, to, end) => {
    const within = cursor.back(n) ? look() : nothing;
    pull.pull(n, record, from, to, end, isNew, within);
    isNew = false;
    watch?.(n, record.time(from), xCotangent, executable);
  };
  const {batched} = pull;
  const visitTogether =
    (several: BatchedPull): VisitBatch =>
    (n, record, limit, end) => {
      const most = Math.min(limit, several.maxCount);
      let [count, cotangents]: [number, Float64Array | undefined] = [0, undefined];
      if (several.maxSaved === undefined) {
        if (cursor.back(n)) look();
        const known = batchAt(saved, cursor.from - 1, n, most);
        ({count} = known);
        if (known.ends > 0) cotangents = states.subarray((cursor.from - known.ends) * size, cursor.from * size);
      } else {
        count = n + 1 - cursor.backBatch(n + 1, most, several.maxSaved);
        if (count > 0) cotangents = states.subarray(cursor.from * size, cursor.to * size);
      }
      if (count > 0) several.pull(record, n + 1 - count, count, cotangents, isNew, cursor, end());
      if (count > 0) isNew = false;
      return count;
    };
  const recomputedSteps = backwards(
    visit,
    batched === undefined || watch !== undefined ? undefined : visitTogether(batched),
  );
  if (cursor.back(-1)) look();
  const parameters = pull.finish();
  return {initial: pullStart(startContext(context), start, xCotangent, parameters), parameters, recomputedSteps};
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
