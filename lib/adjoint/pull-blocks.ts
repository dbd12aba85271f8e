/**
 * The cotangent pulled back through several steps of a grid as one call: the loop of sweep-back.ts with implicit.ts and
 * jacobian-factor.ts as a routine of compiled functions, on the same numbers, to the same bits. The call ends before a step that
 * needs special treatment (a factor that loses digits, one to be measured); that one is pulled back by these files.
 */
import type {Routines} from '../engine/routines.js';
import {routinesOf} from '../engine/routines.js';
import type {RoutineFactor, RoutineWriter} from '../engine/wasm/routine.js';
import {routine} from '../engine/wasm/routine.js';
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import type {AdjointProgram} from '../step/programs.js';
import {rowStart, stepsInBlock} from '../step/rows.js';
import type {Push} from '../wasm/writer.js';
import type {JacobianFactor} from './jacobian-factor.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';

/**
 * Rows count−1 … least, cotangents stand at ends, the last one's is new, length of the steps whose zCotangent lies there, longest
 * step → steps pulled back.
 */
export type Pull = (
  count: number,
  least: number,
  ends: number,
  isNew: number,
  carried: number,
  longest: number,
) => number;

const bytes = Float64Array.BYTES_PER_ELEMENT;

/** Where rows that are compared with (lost-digits.ts) lie in the memory. */
interface Growth {
  readonly largest: number;
  readonly least: number;
}

export function growthOf(executable: StepExecutable<AdjointProgram>): Growth | undefined {
  const growth = executable.find('growth');
  if (growth === undefined) return undefined;
  const {byteOffset, length} = growth;
  return {largest: byteOffset, least: byteOffset + (length / 2) * bytes};
}

/** Several steps at once, for those that are pulled back by themselves between them (implicit.ts). */
export interface PulledTogether {
  readonly most: number;
  pull(
    record: StepRecord,
    from: number,
    count: number,
    ends: Float64Array | undefined,
    isNew: boolean,
    carried: number | undefined,
  ): number;
  lengthOf(k: number): number;
}

export class PullBlocks implements PulledTogether {
  readonly capacity: number;
  private readonly rows: Float64Array;
  private readonly ends: Float64Array;
  private readonly width: number;

  /** undefined where steps are not pulled back so. */
  static of(
    context: StepContext,
    executable: StepExecutable<AdjointProgram>,
    jacobian: JacobianFactor | undefined,
  ): PullBlocks | undefined {
    const {compiled} = context;
    const routines = routinesOf(executable);
    const [room, nextCotangent] = [executable.find('block'), executable.find('nextCotangent')];
    const growth = growthOf(executable);
    if (routines === undefined || room === undefined || nextCotangent === undefined) return undefined;
    if (nextCotangent.length !== context.traced.state.size) return undefined;
    if (!compiled.implicit) return new PullBlocks(context, executable, routines, room, undefined, undefined, jacobian);
    const factor = jacobian?.routineFactor;
    if (factor === undefined || growth === undefined) return undefined;
    return new PullBlocks(context, executable, routines, room, factor, growth, jacobian);
  }

  private readonly call: Pull;

  private constructor(
    {compiled, traced}: StepContext,
    executable: StepExecutable<AdjointProgram>,
    routines: Routines,
    room: Float64Array,
    private readonly factor: RoutineFactor | undefined,
    growth: Growth | undefined,
    private readonly jacobian: JacobianFactor | undefined,
  ) {
    const {size} = traced.state;
    this.width = rowStart + compiled.kept.size;
    const capacity = (this.capacity = Math.min(
      stepsInBlock(this.width, size),
      Math.floor(room.length / (this.width + size)),
    ));
    this.rows = room.subarray(0, capacity * this.width);
    this.ends = room.subarray(capacity * this.width);
    const matrix = factor === undefined ? 'explicit' : `${factor.n}/${factor.band}`;
    this.call = routines.once(`pull/${matrix}`, () =>
      pullRoutine(executable, routines, compiled.implicit && compiled.carriesOn, {
        factor,
        growth,
        rows: this.rows.byteOffset,
        ends: this.ends.byteOffset,
        width: this.width,
        size,
      }),
    );
  }

  /** How many steps may be pulled back now. */
  get most(): number {
    const {jacobian, capacity} = this;
    return jacobian === undefined ? capacity : Math.min(capacity, jacobian.untilMeasured);
  }

  /**
   * Pulls the cotangent in nextCotangent back through rows from..from+count−1 of a record, the last one first.
   * @param ends cotangents of the states at the ends of all rows but the last, to be added on the way
   * @param isNew nextCotangent is not what the step behind has left
   * @param carried length of the steps whose zCotangent lies there already
   * @returns how many rows were pulled back; what stands at the end of the next one has been added
   */
  pull(
    record: StepRecord,
    from: number,
    count: number,
    ends: Float64Array | undefined,
    isNew: boolean,
    carried: number | undefined,
  ): number {
    const {rows, factor, jacobian} = this;
    rows.set(record.rows(from, count));
    if (ends !== undefined) this.ends.set(ends);
    factor?.forget();
    const pulled = this.call(
      count,
      0,
      ends === undefined ? 0 : 1,
      isNew ? 1 : 0,
      carried ?? NaN,
      jacobian?.longest ?? Infinity,
    );
    jacobian?.pass(pulled);
    return pulled;
  }

  /** The length of row k of those last pulled back. */
  lengthOf(k: number): number {
    return this.rows[k * this.width + 1];
  }
}

/** What a routine of pulled steps is made of. */
export interface PullParts {
  readonly factor: RoutineFactor | undefined;
  readonly growth: Growth | undefined;
  /** Addresses. */
  readonly rows: number;
  readonly ends: number;
  readonly width: number;
  readonly size: number;
}

export function pullRoutine(
  executable: StepExecutable<AdjointProgram>,
  routines: Routines,
  carriesOn: boolean,
  {factor, growth, rows, ends, width, size}: PullParts,
): Pull {
  const {memory, vectors} = routines;
  const {t, h, x: kept} = stepBuffers(executable);
  const at = (name: 'nextCotangent' | 'zCotangent' | 'w' | 'J'): number => executable.buffer(name).byteOffset;
  const cotangent = at('nextCotangent');
  const result = executable.find('xCotangent');
  const solve = (w: RoutineWriter, stop: () => void): void => {
    const [b, x] = [executable.find('zCotangent'), executable.find('w')];
    w.run(executable.program('jacobian'));
    if (factor === undefined || growth === undefined || b === undefined || x === undefined) return;
    const J = at('J');
    const {n, band} = factor;
    const changed = w.call(routines.kernels.rowsChanged, [J, growth.largest, growth.least, n, band], 'i32');
    const anew = (): void => {
      w.if(w.op('i32.eqz', factor.writeElimination(w, J)), stop);
      w.if(changed, stop);
      factor.writeSubstitution(w, b.byteOffset, x.byteOffset, true);
    };
    const once = factor.writeTransposedOnce?.(w, J, b.byteOffset, x.byteOffset);
    if (once === undefined) anew();
    else w.if(w.op('i32.eqz', once), anew);
  };
  return routine<Pull>(memory, {parameters: ['i32', 'i32', 'i32', 'i32', 'f64', 'f64'], results: ['i32']}, w => {
    const [count, least, atEnds, fresh, carried, longest] = [0, 1, 2, 3, 4, 5].map(i => w.parameter(i));
    const most = w.keep('i32', w.op('i32.sub', w.get(count), w.get(least)));
    const [k, place] = [w.keep('i32', w.int(0)), w.local('i32')];
    const last = w.keep('i32', w.op('i32.sub', w.get(count), w.int(1)));
    const row = w.keep('i32', w.plus(w.int(rows), w.op('i32.mul', w.get(last), w.int(width * bytes))));
    const end = w.keep('i32', w.plus(w.int(ends), w.op('i32.mul', w.get(last), w.int(size * bytes))));
    const length = w.local('f64');
    const stop = (): void => w.return(w.get(k));
    w.while(w.op('i32.lt_s', w.get(k), w.get(most)), () => {
      w.set(length, w.load(w.get(row), bytes));
      w.if(w.op('i32.and', w.get(atEnds), w.op('i32.gt_s', w.get(k), w.int(0))), () => {
        w.run(vectors.advance, cotangent, cotangent, end, size, {number: -1});
        w.set(fresh, w.int(1));
      });
      if (t !== undefined) w.store(w.int(t.byteOffset), w.load(w.get(row)));
      if (h !== undefined) w.store(w.int(h.byteOffset), w.get(length));
      if (kept !== undefined) {
        w.set(place, w.plus(w.get(row), w.int(rowStart * bytes)));
        w.run(vectors.copy, kept.byteOffset, place, width - rowStart);
      }
      if (factor !== undefined) {
        const again: Push = carriesOn
          ? w.op('i32.or', w.get(fresh), w.op('f64.ne', w.get(carried), w.get(length)))
          : w.int(1);
        w.if(w.op('i32.eqz', w.op('f64.le', w.op('f64.abs', w.get(length)), w.get(longest))), stop);
        w.if(again, () => w.run(executable.program('pullUnknown')));
        solve(w, stop);
        w.set(carried, w.get(length));
      }
      w.run(executable.program('pullStep'));
      if (result !== undefined) w.run(vectors.copy, cotangent, result.byteOffset, size);
      w.set(fresh, w.int(0));
      w.set(row, w.op('i32.sub', w.get(row), w.int(width * bytes)));
      w.set(end, w.op('i32.sub', w.get(end), w.int(size * bytes)));
      w.set(k, w.plus(w.get(k), w.int(1)));
    });
    w.get(most)();
  });
}
