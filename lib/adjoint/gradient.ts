/** The result of a backward pass, and the interface of its transitions. */
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import type {ParameterCotangents} from './parameter-cotangents.js';
import type {StepRecord} from './record.js';
import type {SavedCursor} from './step-history.js';

export interface Gradient {
  /** Cotangents of the user's initial blocks, flat: q and v, or y. */
  readonly initial: Float64Array;
  /** One for each parameter of the traced step. */
  readonly parameters: readonly Float64Array[];
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

/** Several steps at once. */
export interface BatchedPull {
  readonly maxCount: number;
  /**
   * So many saved states may stand anywhere in them, ends of steps and within. Absent where states are saved at ends
   * alone, of all steps but the last or of none.
   */
  readonly maxSaved?: number;
  /**
   * Rows from..from+count−1 of a record, each a step, the last one first, in one call.
   * @param saved cotangents of the saved states in them, which are added on the way; without `maxSaved` not those at
   *   the end of the last
   * @param cursor stands at these
   * @param end the state at the end of the last
   */
  pull(
    record: StepRecord,
    from: number,
    count: number,
    saved: Float64Array | undefined,
    isNew: boolean,
    cursor: SavedCursor,
    end: Float64Array,
  ): void;
}

/** Cotangents go back through one transition after another. */
export interface TransitionPull {
  readonly executable: StepExecutable;
  /** The cotangent of the state: before a pull that of the transition's end, after it that of its beginning. */
  readonly xCotangent: Float64Array;
  /**
   * Transition n, taken by rows from..to−1 of a record.
   * @param end the state it ended at, where it is known
   * @param isNew xCotangent is not what the call before has left
   * @param within the saved states inside it
   */
  pull(
    n: number,
    record: StepRecord,
    from: number,
    to: number,
    end: Float64Array,
    isNew: boolean,
    within: readonly InteriorCotangent[],
  ): void;
  /** Absent where each step is pulled back by itself. */
  readonly batched?: BatchedPull;
  /** The cotangents of the parameters, after the last transition. */
  finish(): Float64Array[];
}

/** Transitions whose times are constants and that have no saved states inside them: row by row. */
export function pullRows(
  {traced}: StepContext,
  executable: StepExecutable,
  cotangents: ParameterCotangents,
  pull: StepPull,
  together?: BatchedPull,
): TransitionPull {
  // In the programs' own memory, where they read it.
  const xCotangent = executable.optionalBuffer('nextCotangent')?.fill(0) ?? new Float64Array(traced.state.size);
  return {
    executable,
    xCotangent,
    batched: together,
    pull(_n, record, from, to, _end, isNew) {
      pull(record, to - 1, xCotangent, isNew);
      for (let k = to - 2; k >= from; k--) pull(record, k, xCotangent, false);
    },
    finish: () => cotangents.finish(),
  };
}
