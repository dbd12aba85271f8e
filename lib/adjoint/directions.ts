/** Directions in the space of initial state and parameters, for tangents. */

/** Each array holds `count` of them, one after another. */
export interface Directions {
  readonly count: number;
  readonly initial: Float64Array;
  readonly parameters: readonly Float64Array[];
  /** Directions of the time of the start by the clock of the loops, [count]; absent where it is a constant. */
  readonly t0?: Float64Array;
}

/** A cotangent of the state, and how it changes along every direction [count, state]. */
export interface SecondOrderCotangent {
  readonly cotangent: Float64Array;
  readonly change: Float64Array;
}
