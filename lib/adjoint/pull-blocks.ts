/**
 * Steps of a grid pulled back several at once (emit-pull.ts), with their rows in the memory of compiled programs
 * (step/block-layout.ts).
 */
import {routinesOf} from '../engine/routines.js';
import type {Routine} from '../routine/routine.js';
import type {Host, SharedRoutine} from '../routine/shared.js';
import {RoutineCache} from '../routine/shared.js';
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import type {AdjointProgram} from '../step/programs.js';
import {rowHeaderSize, stepsInBlock} from '../step/block-layout.js';
import type {PullOperations, Puller} from './emit-pull.js';
import {batchedPullRoutine} from './emit-pull.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';

/** Steps that tell what a pull consists of. */
type PulledSteps = Puller & {
  operations(host: Host<Puller>): PullOperations;
};

/** (count, whether cotangents stand at ends, whether the last one's is new, carried) */
const blockRoutines = new RoutineCache<PullBlocks>({
  emit: (blocks, host) => blocks.emit(host),
  interpretedCalls: 0,
});

export class PullBlocks {
  readonly capacity: number;
  private readonly rows: Float64Array;
  private readonly ends: Float64Array;
  private readonly routine: SharedRoutine<PullBlocks>;

  /** undefined where steps are not pulled back so. */
  static of(
    context: StepContext,
    executable: StepExecutable<AdjointProgram>,
    steps: PulledSteps,
  ): PullBlocks | undefined {
    const [room, cotangent] = [executable.optionalBuffer('block'), executable.optionalBuffer('nextCotangent')];
    const {size} = context.traced.state;
    const width = rowHeaderSize + context.compiled.storage.size;
    if (routinesOf(executable) === undefined || room === undefined || cotangent?.length !== size) return undefined;
    const capacity = Math.min(stepsInBlock(width, size), Math.floor(room.length / (width + size)));
    return capacity === 0 ? undefined : new PullBlocks(executable, steps, {room, cotangent, width, capacity});
  }

  private constructor(
    private readonly executable: StepExecutable<AdjointProgram>,
    readonly steps: PulledSteps,
    private readonly given: {
      readonly room: Float64Array;
      readonly cotangent: Float64Array;
      readonly width: number;
      readonly capacity: number;
    },
  ) {
    const {room, width, capacity} = given;
    this.capacity = capacity;
    this.rows = room.subarray(0, capacity * width);
    this.ends = room.subarray(capacity * width);
    this.routine = blockRoutines.of(executable, {});
  }

  emit(host: Host<PullBlocks>): Routine {
    const {executable, steps, rows, ends} = this;
    const {cotangent, width} = this.given;
    const {t, x: kept} = stepBuffers(executable);
    const puller: Host<Puller> = {
      get owner() {
        return host.owner.steps;
      },
    };
    return batchedPullRoutine(steps.operations(puller), {
      rows,
      width,
      t,
      kept,
      cotangent,
      result: executable.buffer('xCotangent'),
      ends,
      kernels: routinesOf(executable)?.vectors,
    });
  }

  /**
   * Pulls the cotangent in nextCotangent back through rows from..from+count−1 of a record, the last one first.
   * @param ends cotangents of the states at the ends of all rows but the last, to be added on the way
   * @param isNew nextCotangent is not what the step behind has left
   * @param carried length of the steps whose zCotangent lies there already
   */
  pull(
    record: StepRecord,
    from: number,
    count: number,
    ends: Float64Array | undefined,
    isNew: boolean,
    carried: number,
  ): void {
    const {rows, steps} = this;
    rows.set(record.rows(from, count));
    if (ends !== undefined) this.ends.set(ends);
    steps.at(record, from);
    this.routine.bind(this)(count, ends === undefined ? 0 : 1, isNew ? 1 : 0, carried);
  }
}
