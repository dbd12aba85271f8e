/** The interface of a time loop, and what drives it: one step after another, watched from outside. */
import {throwIfAborted} from '../checks.js';
import {toUserTime} from '../step/time-direction.js';
import type {Run} from './path.js';
import type {RunContext} from './run-context.js';

/** The result of a loop of one run, in internal time. */
export type LoopResult = Omit<Run, 'milliseconds' | 'redundancy' | 'pivotStates' | 'workerFacts'>;

/** A run, or several that go on together. */
export interface TimeLoop<Result = LoopResult> {
  /** The present time, by the clock. */
  readonly t: number;
  /** Ends of steps that `saveAt` counts. */
  readonly acceptedSteps: number;
  /** The end has been reached. */
  readonly done: boolean;
  /** One more step; false where the run is over. */
  advance(): boolean;
  /** What there is of the run, once it is over. */
  result(): Result;
}

/** Progress is told at most this often, in milliseconds: faster is not seen, and costs. */
const progressInterval = 100;

/**
 * Goes through a loop to its end.
 * @param begin when the run began, by `performance.now`
 * @throws AbortError
 */
export function drive<Result>(
  loop: TimeLoop<Result>,
  {poll, onProgress, signal, grid}: Pick<RunContext['options'], 'poll' | 'onProgress' | 'signal' | 'grid'>,
  begin = performance.now(),
): Result {
  let told = begin;
  for (;;) {
    poll?.();
    if (!loop.advance()) break;
    if (onProgress === undefined) continue;
    const now = performance.now();
    if (now - told <= progressInterval && !loop.done) continue;
    told = now;
    onProgress({
      t: toUserTime(grid, loop.t),
      step: loop.acceptedSteps,
      steps: Number.isFinite(grid.steps) ? grid.steps : undefined,
    });
    throwIfAborted(signal);
  }
  return loop.result();
}
