/**
 * Several steps of a grid as one call (emit-step.ts), which ends where one fails or an event may happen in it. Rows of
 * the record and states at ends of steps pass through buffers in the programs' memory (step/block-layout.ts).
 */
import {routinesOf} from '../engine/routines.js';
import type {Routine} from '../routine/routine.js';
import type {Host, SharedRoutine} from '../routine/shared.js';
import {RoutineCache} from '../routine/shared.js';
import type {ForwardExecutable} from '../step/compiled.js';
import {rowHeaderSize, stepsInBlock} from '../step/block-layout.js';
import {stepsRoutine} from './emit-step.js';
import type {Grid} from './grid.js';
import type {RunContext} from './run-context.js';
import {recordedArrays, type RecordedParts} from './step-recorder.js';
import type {Stepper} from './stepper.js';

/** Steps in one call: (count, 1 to keep the states at the ends) → 0, or the status of a step that failed. */
const batchRoutines = new RoutineCache<StepSeries>({
  emit: (batch, host) => batch.emit(host),
  interpretedCalls: 0,
});

/** Buffers of several steps. */
interface BatchArrays {
  readonly block: Float64Array;
  /** How many steps the last call took. */
  readonly taken: Float64Array;
  /** What a row of the record holds. */
  readonly recorded: readonly Float64Array[];
}

export class StepSeries {
  /** Steps that a call takes at most. */
  readonly maxSteps: number;
  /** t, h and what is recorded, step by step, so that a row has `width` numbers. */
  readonly rows: Float64Array;
  /** The states at the ends of the last steps, one after another. */
  private readonly ends: Float64Array;
  private readonly grid: Grid;
  private readonly routine: SharedRoutine<StepSeries>;

  /**
   * undefined where steps are not all alike, programs are not compiled, or steps take so long that calls do not count.
   * @param parts what is recorded of each step
   */
  static of(prepared: RunContext, stepper: Stepper, parts = stepper.recorder.parts): StepSeries | undefined {
    const {batchable} = stepper;
    if (batchable === undefined || routinesOf(batchable) === undefined) return undefined;
    const [block, taken] = [batchable.optionalBuffer('block'), batchable.optionalBuffer('taken')];
    if (block === undefined || taken === undefined) return undefined;
    const recorded = recordedArrays(prepared, batchable, parts);
    const width = recorded.reduce((sum, {length}) => sum + length, rowHeaderSize);
    const {size} = prepared.traced.state;
    const maxSteps = Math.min(stepsInBlock(width, size), Math.floor(block.length / (width + size)));
    if (maxSteps === 0) return undefined;
    return new StepSeries(prepared, stepper, batchable, {block, taken, recorded}, parts, width, maxSteps);
  }

  private constructor(
    prepared: RunContext,
    private readonly stepper: Stepper,
    private readonly executable: ForwardExecutable,
    private readonly arrays: BatchArrays,
    private readonly parts: RecordedParts,
    readonly width: number,
    maxSteps: number,
  ) {
    const {block} = arrays;
    const {size} = prepared.traced.state;
    [this.grid, this.maxSteps] = [prepared.options.grid, maxSteps];
    this.rows = block.subarray(0, maxSteps * width);
    this.ends = block.subarray(maxSteps * width, maxSteps * (width + size));
    this.routine = batchRoutines.of(executable, [...stepper.settings, {recorded: parts}]);
  }

  emit(host: Host<StepSeries>): Routine {
    const {stepper, executable, arrays, parts, rows, width, ends} = this;
    const stepperHost: Host<Stepper> = {
      get owner() {
        return host.owner.stepper;
      },
    };
    return stepsRoutine(stepper.operations(parts === 'kept', stepperHost), {
      rows,
      width,
      recorded: arrays.recorded,
      ends,
      x: executable.buffer('x'),
      next: executable.buffer('next'),
      taken: arrays.taken,
      kernels: routinesOf(executable)?.vectors,
    });
  }

  /**
   * Steps from the n-th on, up to `count`, from the stepper's state, until one fails or an event may happen in it: that
   * is the stepper's next attempt.
   * @param keepEnds the state at each end will be read in `endStates`
   * @returns how many were taken
   */
  take(n: number, count: number, keepEnds: boolean): number {
    const {stepper, rows, width, grid, arrays} = this;
    if (stepper.hasAttempt) return 0;
    for (let k = 0; k < count; k++) {
      rows[k * width] = grid.time(n + k);
      rows[k * width + 1] = grid.length(n + k);
    }
    stepper.attemptSeveral(this.routine.bind(this), count, keepEnds, arrays.taken);
    const taken = arrays.taken[0];
    if (taken > 0) stepper.recorder.record?.appendRows(rows.subarray(0, taken * width), taken);
    return taken;
  }

  /** The states at the ends of the first `count` steps of the last call, one after another. */
  endStates(count: number): Float64Array {
    return this.ends.subarray(0, count * this.stepper.state.length);
  }

  /** Lets go of the run, of which no more steps are taken. */
  release(): void {
    this.routine.release(this);
  }
}
