/**
 * The gradient of a run: cotangents of the saved states are propagated backwards, transition by transition, each
 * pulled back by the transition's rule (equations.md §5 and §7).
 */
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters, startContext} from '../step/context.js';
import type {AdjointProgram} from '../step/programs.js';
import {addTo} from './add-to.js';
import type {Gradient, Looked, PullTogether, TransitionPull} from './gradient.js';
import {implicitPull, StepsBack} from './implicit.js';
import type {Watch} from './not-finite.js';
import {ParameterCotangents} from './parameter-cotangents.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';
import type {Backwards, Saved, Visit, VisitTogether} from './step-history.js';
import {SavedCursor} from './step-history.js';

/** What a gradient begins with. */
export interface RunCotangents {
  /** Of the saved states, [saved, state]. */
  readonly states: Float64Array;
  /** Of the saved states' times, [saved]: those that are an event's move with it. */
  readonly times?: Float64Array;
  /** Of the times of the events that happened, in their order. */
  readonly happened?: Float64Array;
}

const nothing: readonly Looked[] = [];

/**
 * Steps n, n − 1, … of a grid of which all are saved at their ends but the first, or none is: how many, and how many ends are saved.
 * @param last of the saved states, the last before the end of step n
 */
function alike({after}: Saved, last: number, n: number, most: number): {count: number; ends: number} {
  let ends = 0;
  while (ends < most - 1 && ends <= last && after[last - ends] === n - ends && ends < n) ends++;
  return {ends, count: ends > 0 ? ends + 1 : Math.min(most, n + 1 - (last >= 0 ? after[last] : 0))};
}

/**
 * @param start the step that began the run
 * @param watch looks at every transition
 */
export function sweepBack(
  context: StepContext,
  saved: Saved,
  start: StepRecord,
  backwards: Backwards,
  pull: TransitionPull,
  {states}: RunCotangents,
  watch?: Watch,
): Gradient {
  const {size} = context.traced.state;
  const {xCotangent, executable} = pull;
  const cursor = new SavedCursor(saved, true);
  let isNew = true;
  /** Adds the cotangent of the end of the transition at the cursor, where it is saved; those of states inside it are returned. */
  const look = (): readonly Looked[] => {
    let within: Looked[] | undefined;
    for (let i = cursor.from; i < cursor.to; i++) {
      const theta = cursor.theta(i);
      if (theta === 1) {
        addTo(xCotangent, states, 1, i * size);
        isNew = true;
      } else {
        (within ??= []).push({theta, cotangent: states.subarray(i * size, (i + 1) * size)});
      }
    }
    return within ?? nothing;
  };
  const visit: Visit = (n, record, from, to, end) => {
    const within = cursor.back(n) ? look() : nothing;
    pull.pull(n, record, from, to, end, isNew, within);
    isNew = false;
    watch?.(n, record.time(from), xCotangent, executable);
  };
  const {together} = pull;
  const visitTogether =
    (several: PullTogether): VisitTogether =>
    (n, record, limit, end) => {
      const most = Math.min(limit, several.most);
      let [count, cotangents]: [number, Float64Array | undefined] = [0, undefined];
      if (several.mostSaved === undefined) {
        if (cursor.back(n)) look();
        const known = alike(saved, cursor.from - 1, n, most);
        ({count} = known);
        if (known.ends > 0) cotangents = states.subarray((cursor.from - known.ends) * size, cursor.from * size);
      } else {
        count = n + 1 - cursor.backMany(n + 1, most, several.mostSaved);
        if (count > 0) cotangents = states.subarray(cursor.from * size, cursor.to * size);
      }
      if (count > 0) several.pull(record, n + 1 - count, count, cotangents, isNew, cursor, end());
      if (count > 0) isNew = false;
      return count;
    };
  const recomputedSteps = backwards(
    visit,
    together === undefined || watch !== undefined ? undefined : visitTogether(together),
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
  const direct = pulledDirectly(context, record, xCotangent);
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
      : new StepsBack(context, direct, ofParameters, undefined).pull;
  pull(record, 0, xCotangent, true);
  const own = ofParameters.finish();
  if (!isOwn) own.forEach((cotangent, i) => addTo(totals[i], cotangent));
  return xCotangent.slice(0, context.initialValues.length);
}

/**
 * The programs of a start whose unknown has cotangents of zero, as where a scheme takes the accelerations and multipliers there
 * for a guess alone; undefined where they are not zero, or there is no unknown.
 */
function pulledDirectly(
  context: StepContext,
  record: StepRecord,
  xCotangent: Float64Array,
): StepExecutable<AdjointProgram> | undefined {
  if (!context.compiled.implicit) return undefined;
  const executable = context.compiled.directAdjoint;
  loadParameters(executable, context);
  record.load(0, stepBuffers(executable));
  executable.find('nextCotangent')?.set(xCotangent);
  executable.run('pullUnknown');
  const isZero = executable.buffer('zCotangent').every(cotangent => cotangent === 0);
  return isZero ? executable : undefined;
}
