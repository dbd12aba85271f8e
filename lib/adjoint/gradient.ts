/** The result of a backward pass, and the interface of its transitions. */
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {addTo} from './add-to.js';
import type {ParameterCotangents} from './parameter-cotangents.js';
import type {StepRecord} from './record.js';
import type {SavedCursor} from './step-history.js';

export interface Gradient {
  /** Cotangents of the user's initial blocks, flat: q and v, or y. */
  readonly initial: Float64Array;
  /** One for each parameter of the traced step. */
  readonly parameters: readonly Float64Array[];
  /** The derivative by the time of the start, the user's; where it was asked for. */
  readonly t0?: number;
  /** Steps that were taken again, as the budget of memory did not hold them. */
  readonly recomputedSteps: number;
}

/**
 * Replaces the cotangent of the end of a recorded step by that of its beginning, and adds to the parameters'.
 * @param isNew the cotangent is not what the call before has left
 */
export type StepPull = (record: StepRecord, k: number, xCotangent: Float64Array, isNew: boolean) => void;

/** A state within a step, and its cotangent. */
export interface InteriorCotangent {
  readonly theta: number;
  readonly cotangent: Float64Array;
}

/** One transition, or several steps, of a recorded run. */
export interface Segment {
  /** The number of its last transition. */
  readonly n: number;
  /** Rows from..to−1 of this record. */
  readonly record: StepRecord;
  readonly from: number;
  readonly to: number;
  /** The state at its end, where it is known. */
  readonly end: Float64Array;
  /** The cotangent of its end is not what the segment behind it has left. */
  readonly isNew: boolean;
  /** Stands at the states saved in it. */
  readonly saved: SavedCursor;
  /** Cotangents of all saved states of the run, [saved, state]. */
  readonly states: Float64Array;
}

/** Several steps at once. */
export interface BatchedPull {
  /** Steps and saved states of a segment at most. */
  readonly maxCount: number;
  readonly maxSaved: number;
  /**
   * 'ends': states of a segment are saved at the ends of all its steps or of none; the cotangent of the last one has
   * been added already. 'anywhere': at ends and within; none has been added.
   */
  readonly savedAt: 'ends' | 'anywhere';
  /** Pulls the steps of a segment back in one call. Each is a row, and the last one goes first. */
  pull(segment: Segment): void;
}

/** Cotangents go back through one transition after another. */
export interface TransitionPull {
  readonly executable: StepExecutable;
  /** The cotangent of the state: before a pull that of the transition's end, after it that of its beginning. */
  readonly xCotangent: Float64Array;
  /** Pulls one transition back. Cotangents of states saved at its end have been added, those within it have not. */
  pull(segment: Segment): void;
  /** Absent where each step is pulled back by itself. */
  readonly batched?: BatchedPull;
  /** The cotangents of the parameters, after the last transition. */
  finish(): Float64Array[];
}

/** Adds the cotangents of the states saved at the end of the transition at the cursor. Whether there are any. */
export function addEnds(saved: SavedCursor, states: Float64Array, xCotangent: Float64Array): boolean {
  let added = false;
  for (let i = saved.from; i < saved.to; i++) {
    if (saved.theta(i) !== 1) continue;
    addTo(xCotangent, states, 1, i * xCotangent.length);
    added = true;
  }
  return added;
}

const nothing: readonly InteriorCotangent[] = [];

/** The states saved within the transition at the cursor. @param size of a state */
export function interiorStates(saved: SavedCursor, states: Float64Array, size: number): readonly InteriorCotangent[] {
  let within: InteriorCotangent[] | undefined;
  for (let i = saved.from; i < saved.to; i++) {
    const theta = saved.theta(i);
    if (theta !== 1) (within ??= []).push({theta, cotangent: states.subarray(i * size, (i + 1) * size)});
  }
  return within ?? nothing;
}

/** Transitions whose times are constants and that have no saved states inside them: row by row. */
export function pullRows(
  {traced}: StepContext,
  executable: StepExecutable,
  cotangents: ParameterCotangents,
  pull: StepPull,
  batched?: BatchedPull,
): TransitionPull {
  // In the programs' own memory, where they read it.
  const xCotangent = executable.optionalBuffer('nextCotangent')?.fill(0) ?? new Float64Array(traced.state.size);
  return {
    executable,
    xCotangent,
    batched,
    pull({record, from, to, isNew}) {
      pull(record, to - 1, xCotangent, isNew);
      for (let k = to - 2; k >= from; k--) pull(record, k, xCotangent, false);
    },
    finish: () => cotangents.finish(),
  };
}
