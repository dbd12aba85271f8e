/** The interface of a time loop for its driver (run.ts): one step after another. */
import type {Run} from './path.js';

/** The result of a loop, in internal time. */
export type LoopResult = Omit<Run, 'milliseconds' | 'redundancy' | 'pivotStates' | 'workerFacts'>;

export interface TimeLoop {
  /** The present time, by the clock. */
  readonly t: number;
  /** Ends of steps that `saveAt` counts. */
  readonly acceptedSteps: number;
  /** The end has been reached. */
  readonly done: boolean;
  /** One more step; false where the run is over. */
  advance(): boolean;
  /** What there is of the run, once it is over. */
  result(): LoopResult;
}
