/**
 * Steps of a grid pulled back several at once (emit-pull.ts), with their rows in the memory of compiled programs
 * (step/block-layout.ts).
 */
import {routinesOf} from '../engine/routines.js';
import {compile} from '../routine/compile.js';
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import type {AdjointProgram} from '../step/programs.js';
import {rowHeaderSize, stepsInBlock} from '../step/block-layout.js';
import type {PullHost, PullOperations, Puller} from './emit-pull.js';
import {batchedPullRoutine} from './emit-pull.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';

/** Steps that tell what a pull consists of. */
type PulledSteps = Puller & {
  /** One for all steps of an executable. */
  readonly host: PullHost;
  operations(host: PullHost): PullOperations;
};

export class PullBlocks {
  readonly capacity: number;
  private readonly rows: Float64Array;
  private readonly ends: Float64Array;
  private readonly call: (count: number, ends: number, isNew: number, carried: number) => number;

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
    executable: StepExecutable<AdjointProgram>,
    private readonly steps: PulledSteps,
    given: {
      readonly room: Float64Array;
      readonly cotangent: Float64Array;
      readonly width: number;
      readonly capacity: number;
    },
  ) {
    const {room, cotangent, width, capacity} = given;
    const routines = routinesOf(executable);
    if (routines === undefined) throw new Error('programs in blocks are compiled');
    this.capacity = capacity;
    this.rows = room.subarray(0, capacity * width);
    this.ends = room.subarray(capacity * width);
    const {t, x: kept} = stepBuffers(executable);
    this.call = routines.once('pull', () =>
      compile(
        batchedPullRoutine(steps.operations(steps.host), {
          rows: this.rows,
          width,
          t,
          kept,
          cotangent,
          result: executable.buffer('xCotangent'),
          ends: this.ends,
          kernels: routines.vectors,
        }),
        routines.memory,
      ),
    );
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
    steps.host.owner = steps;
    steps.at(record, from);
    this.call(count, ends === undefined ? 0 : 1, isNew ? 1 : 0, carried);
  }
}
