/**
 * The gradient of a run: cotangents of the saved states go back transition by transition, each transition's cotangent
 * pulled through by its own rule (equations.md §5 and §7).
 */
import type {StepContext} from '../step/context.js';
import {loadParameters, startOf} from '../step/context.js';
import {addTo} from './add-to.js';
import type {Gradient, Looked, TransitionPull} from './gradient.js';
import {implicitPull} from './implicit.js';
import type {Watch} from './not-finite.js';
import {ParameterCotangents} from './parameter-cotangents.js';
import type {StepRecord} from './record.js';
import type {Backwards, Saved} from './step-history.js';
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
  /** The transition whose end has been looked at already. */
  let looked: number | undefined;
  const recomputedSteps = backwards(
    (n, record, from, to, end) => {
      const within = looked !== n && cursor.back(n) ? look() : nothing;
      pull.pull(n, record, from, to, end, isNew, within);
      isNew = false;
      watch?.(n, record.time(from), xCotangent, executable);
    },
    pull.pullTogether === undefined || watch !== undefined
      ? undefined
      : (n, record, limit) => {
          const most = Math.min(limit, pull.mostTogether ?? 0);
          if (most < 1) return 0;
          if (looked !== n && cursor.back(n)) look();
          looked = n;
          // Of those before, all are saved at their ends, or none is.
          const next = cursor.from - 1;
          const {after} = saved;
          let run = 0;
          while (run < most - 1 && next >= run && after[next - run] === n - run && n - run > 0) run++;
          const count = run > 0 ? run + 1 : Math.min(most, n + 1 - (next >= 0 ? after[next] : 0));
          const ends = run > 0 ? states.subarray((next - run + 1) * size, (next + 1) * size) : undefined;
          const pulled = pull.pullTogether?.(record, n + 1 - count, count, ends, isNew) ?? 0;
          if (pulled === count) looked = undefined;
          else if (pulled > 0 && ends !== undefined) looked = n - pulled;
          if (pulled > 0) isNew = pulled < count && ends !== undefined;
          return pulled;
        },
  );
  if (cursor.back(-1)) look();
  const parameters = pull.finish();
  return {initial: pullStart(startOf(context), start, xCotangent, parameters), parameters, recomputedSteps};
}

/** Through the start of the run: what the scheme carries depends on the initial state and parameters too. */
export function pullStart(
  context: StepContext,
  record: StepRecord,
  xCotangent: Float64Array,
  totals: readonly Float64Array[],
): Float64Array {
  if (context.resumed === true) return xCotangent.slice();
  const adjoint = context.compiled.wholeAdjoint(context.linear);
  loadParameters(adjoint, context);
  const {addsUp, derived} = context.compiled;
  const direct = derived.parameters.length === 0;
  const ofParameters = new ParameterCotangents(context, adjoint, addsUp, false, direct ? totals : undefined);
  implicitPull(context, adjoint, ofParameters)(record, 0, xCotangent, true);
  const own = ofParameters.finish();
  if (!direct) own.forEach((cotangent, i) => addTo(totals[i], cotangent));
  return xCotangent.slice(0, context.given.length);
}
