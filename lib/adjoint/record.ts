/** What a run leaves behind for its gradient. */

export interface IterationRecord {
  /** z before the correction. */
  readonly z: Float64Array;
  readonly delta: Float64Array;
  /** The share of the correction that was taken. */
  readonly length: number;
  /** The first iteration from a guess with a residual of its own. */
  readonly first: boolean;
}

export interface TakenStep {
  readonly t: number;
  readonly h: number;
  /** The state before the step. */
  readonly x: Float64Array;
  /** The converged unknown; absent for an explicit scheme. */
  readonly z?: Float64Array;
  readonly iterations?: readonly IterationRecord[];
}

export interface StepRecord {
  readonly start: Float64Array;
  readonly steps: TakenStep[];
  /** Number of steps taken → index of the saved state at that point. */
  readonly savedAfter: Map<number, number>;
  readonly unknowns: number;
}
