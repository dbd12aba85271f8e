/** What comes out of a way back, and what each step of it does. */
import type {StepRecord} from './record.js';

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
