/** The interface of a time loop for its driver (run.ts): one step after another. */
import type {Run} from './path.js';

/** Its times are the clock's. */
export type LoopResult = Omit<Run, 'milliseconds' | 'redundancy' | 'history' | 'elsewhere'>;

export interface Loop {
  /** The present time, by the clock. */
  readonly t: number;
  /** Ends of steps that `saveAt` counts. */
  readonly boundaries: number;
  /** The end has been reached. */
  readonly done: boolean;
  /** One more step; false where the run is over. */
  advance(): boolean;
  /** What there is of the run, once it is over. */
  result(): LoopResult;
}
