/**
 * Several steps of a grid as one call (emit-step.ts), which ends where one fails.
 * Rows of the record and states at ends of steps pass through buffers in the programs' memory (step/block-layout.ts).
 */
import type {Routines} from '../engine/routines.js';
import {routinesOf} from '../engine/routines.js';
import {compile} from '../routine/compile.js';
import type {ForwardExecutable} from '../step/compiled.js';
import {rowHeaderSize, stepsInBlock} from '../step/block-layout.js';
import type {StepOperations} from './emit-step.js';
import {stepsRoutine} from './emit-step.js';
import type {RunContext} from './run-context.js';

/** What is recorded of a step: nothing, what `keep` leaves of it, or its state and unknown. */
export type RecordedParts = 'nothing' | 'kept' | 'whole';

/** (count, 1 to keep the states at the ends) → 0, or the status of a step that failed */
export type Take = (count: number, ends: number) => number;

/** The arrays that a row of the record holds. */
export function recordedArrays(
  {compiled}: Pick<RunContext, 'compiled'>,
  forward: ForwardExecutable,
  recorded: RecordedParts,
): Float64Array[] {
  if (recorded === 'nothing') return [];
  const names =
    recorded === 'kept' ? (['kept'] as const) : (['x', ...(compiled.implicit ? ['z' as const] : [])] as const);
  return names.flatMap(name => forward.optionalBuffer(name) ?? []);
}

export class StepBlocks {
  /** Steps that a call takes at most. */
  readonly capacity: number;
  /** t, h and what is recorded, step by step. */
  readonly rows: Float64Array;
  readonly width: number;
  private readonly call: Take;
  private readonly ends: Float64Array;
  private readonly taken: Float64Array;

  /**
   * undefined where programs are not compiled, or steps take so long that calls do not count.
   * @param key tells what `parts` depend on beside the executable
   * @param parts makes the parts of a step once for all runs of an executable
   */
  static of(
    prepared: RunContext,
    forward: ForwardExecutable,
    recorded: RecordedParts,
    key: string,
    parts: () => StepOperations,
  ): StepBlocks | undefined {
    const routines = routinesOf(forward);
    const [room, taken] = [forward.optionalBuffer('block'), forward.optionalBuffer('taken')];
    if (routines === undefined || room === undefined || taken === undefined) return undefined;
    const {size} = prepared.traced.state;
    const arrays = recordedArrays(prepared, forward, recorded);
    const width = arrays.reduce((sum, {length}) => sum + length, rowHeaderSize);
    const capacity = Math.min(stepsInBlock(width, size), Math.floor(room.length / (width + size)));
    if (capacity === 0) return undefined;
    return new StepBlocks(forward, routines, {room, taken, arrays, width, size, capacity}, `${recorded}/${key}`, parts);
  }

  private constructor(
    forward: ForwardExecutable,
    routines: Routines,
    given: {
      readonly room: Float64Array;
      readonly taken: Float64Array;
      readonly arrays: readonly Float64Array[];
      readonly width: number;
      readonly size: number;
      readonly capacity: number;
    },
    key: string,
    parts: () => StepOperations,
  ) {
    const {room, taken, arrays, width, size, capacity} = given;
    [this.width, this.capacity, this.taken] = [width, capacity, taken];
    this.rows = room.subarray(0, capacity * width);
    this.ends = room.subarray(capacity * width, capacity * (width + size));
    this.call = routines.once(`steps/${key}`, () =>
      compile(
        stepsRoutine(parts(), {
          rows: this.rows,
          width,
          recorded: arrays,
          ends: this.ends,
          x: forward.buffer('x'),
          next: forward.buffer('next'),
          taken,
          kernels: routines.vectors,
        }),
        routines.memory,
      ),
    );
  }

  /**
   * Takes steps whose times and lengths stand in `rows`, from the state in x.
   * @param keepEnds the state at each end is stored
   * @returns 0, or the number of the status of a step that failed; `count` tells how many were taken before
   * @throws what a factorization throws
   */
  take(count: number, keepEnds: boolean): number {
    return this.call(count, keepEnds ? 1 : 0);
  }

  /** Steps that the last call took. */
  get count(): number {
    return this.taken[0];
  }

  /** The states at the ends of the first `count` of them, one after another. */
  endsOf(count: number, size: number): Float64Array {
    return this.ends.subarray(0, count * size);
  }
}
