/**
 * Steps of a grid in one call (step-batch.ts) in a run with events, or that saves states within steps: as many as end
 * before a state is saved within one, before what the steps read jumps, or before an event may happen. The time loop
 * (history-loop.ts) continues from there with single steps.
 */
import {CallBatcher} from '../call-batcher.js';
import type {Grid} from '../grid.js';
import type {RunContext} from '../run-context.js';
import {StepSeries} from '../step-batch.js';
import type {Stepper} from '../stepper.js';
import type {Saver} from './saver.js';

/** Calls for fewer steps than this, each of which ends where a state is saved, take longer than to keep all ends. */
const fewSteps = 8;

export class GridBlocks {
  private readonly grid: Grid;
  /** Between calls a run is aborted and tells its progress. */
  private readonly pace: CallBatcher;
  private keepsEnds = false;

  /**
   * undefined where steps are taken one by one.
   * @param records states and unknowns are recorded for a derivative
   */
  static of(prepared: RunContext, stepper: Stepper, records: boolean): GridBlocks | undefined {
    if (prepared.storage !== undefined || prepared.redundancy.regularization > 0) return undefined;
    const series = StepSeries.of(prepared, stepper, records ? 'whole' : 'nothing');
    return series === undefined ? undefined : new GridBlocks(prepared, series);
  }

  private constructor(
    {options: {grid, onProgress, poll}}: RunContext,
    private readonly series: StepSeries,
  ) {
    this.grid = grid;
    this.pace = new CallBatcher(onProgress !== undefined || poll !== undefined);
  }

  /** Times and lengths of the steps last taken, and what is recorded of each, in rows of `width` numbers. */
  get rows(): Float64Array {
    return this.series.rows;
  }

  get width(): number {
    return this.series.width;
  }

  /**
   * Steps from the n-th on.
   * @param most as many as are wanted
   * @param accepted steps before that `saveAt` counts
   * @param ends times of the grid that a block ends at, such as those that what the scheme carries is made anew at
   * @returns how many were taken; 0 where the next one is to be taken by itself
   */
  take(n: number, most: number, accepted: number, saver: Saver, ends: ReadonlySet<number>): number {
    const {grid, series, pace} = this;
    let wanted = Math.min(most, grid.steps - n, series.maxSteps, pace.maxSteps);
    if (ends.size > 0) for (let k = 1; k < wanted; k++) if (ends.has(grid.time(n + k))) wanted = k;
    const endOf = (k: number): number => grid.time(n + k + 1);
    let count = saver.stepsToNext(accepted, endOf, wanted, false);
    this.keepsEnds = count < Math.min(fewSteps, wanted);
    if (this.keepsEnds) count = saver.stepsToNext(accepted, endOf, wanted, true);
    if (count < 1 || (count === 1 && wanted > 1)) return 0;
    return pace.time(() => series.take(n, count, this.keepsEnds));
  }

  /** The states at the ends of the steps last taken, where more of them than the last may be saved. */
  endStates(count: number): Float64Array | undefined {
    return this.keepsEnds ? this.series.endStates(count) : undefined;
  }

  /** Lets go of the run, of which no more steps are taken. */
  release(): void {
    this.series.release();
  }
}
