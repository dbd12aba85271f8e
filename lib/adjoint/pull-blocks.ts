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
import type {Segment} from './gradient.js';
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
  /** Numbers in a state. */
  private readonly size: number;
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
    const {room, cotangent, width, capacity} = given;
    this.capacity = capacity;
    this.size = cotangent.length;
    this.rows = room.subarray(0, capacity * width);
    this.ends = room.subarray(capacity * width);
    this.routine = blockRoutines.of(executable, []);
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
   * Pulls the cotangent in nextCotangent back through the rows of a segment, the last one first.
   * @param carried length of the steps whose zCotangent lies there already
   */
  pull({record, from, to, isNew, saved, states}: Segment, carried: number): void {
    const {rows, steps, size} = this;
    const hasEnds = saved.from < saved.to;
    rows.set(record.rows(from, to - from));
    if (hasEnds) this.ends.set(states.subarray(saved.from * size, saved.to * size));
    steps.at(record, from);
    this.routine.bind(this)(to - from, hasEnds ? 1 : 0, isNew ? 1 : 0, carried);
  }
}
