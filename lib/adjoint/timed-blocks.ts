/**
 * Many explicit steps with their times pulled back in one call: what timed-pull.ts does with steps whose times are
 * constants, as one routine of compiled functions, operation by operation, to the same bits. Steps of a grid have a
 * separate one (pull-blocks.ts): it reads what is stored of a step instead of its state, and handles Newton's matrix,
 * but not states within steps.
 */
import type {Routines} from '../engine/routines.js';
import {routinesOf} from '../engine/routines.js';
import {routine} from '../engine/wasm/routine.js';
import {adaptiveRoom} from '../step/adaptive-block.js';
import type {BufferName, StepExecutable} from '../step/buffers.js';
import type {HistoryAdjointProgram} from '../step/history-programs.js';
import {rowStart} from '../step/rows.js';
import type {Local} from '../wasm/assembler.js';
import type {Push} from '../wasm/writer.js';
import type {PullTogether} from './gradient.js';
import type {StepRecord} from './record.js';
import type {SavedCursor} from './step-history.js';

const bytes = Float64Array.BYTES_PER_ELEMENT;

/** So many rows, last to first, and cotangents of saved states in them. */
type Pull = (rows: number, saved: number) => undefined;

export class TimedBlocks implements PullTogether {
  readonly mostSaved: number;
  private readonly states: Float64Array;
  private readonly thetas: Float64Array;
  private readonly afters: Float64Array;

  /**
   * @param xCotangent that of the state, which they replace
   * @returns undefined where steps are pulled back one by one
   */
  static of(executable: StepExecutable<HistoryAdjointProgram>, xCotangent: Float64Array): TimedBlocks | undefined {
    const routines = routinesOf(executable);
    const [rows, nextCotangent] = [executable.find('block'), executable.find('nextCotangent')];
    const {length: size} = xCotangent;
    if (routines === undefined || rows === undefined || nextCotangent?.length !== size) return undefined;
    const call = routines.once('timed', () => {
      const [block, theta, after, cotangent] = (['block', 'blockTheta', 'blockAfter', 'blockCotangent'] as const).map(
        name => executable.buffer(name).byteOffset,
      );
      const states = block + bytes * (adaptiveRoom(size) + 1) * (rowStart + size);
      return timedRoutine(executable, routines, size, {
        rows: block,
        states,
        theta,
        after,
        cotangent,
      });
    });
    return new TimedBlocks(executable, xCotangent, rows, nextCotangent, call);
  }

  private constructor(
    executable: StepExecutable<HistoryAdjointProgram>,
    private readonly xCotangent: Float64Array,
    private readonly rows: Float64Array,
    private readonly nextCotangent: Float64Array,
    private readonly call: Pull,
  ) {
    const {length: size} = xCotangent;
    this.mostSaved = adaptiveRoom(size);
    this.states = rows.subarray((this.mostSaved + 1) * (rowStart + size));
    [this.thetas, this.afters] = (['blockTheta', 'blockAfter'] as const).map(name => executable.buffer(name));
  }

  get most(): number {
    return this.mostSaved;
  }

  pull(
    record: StepRecord,
    from: number,
    count: number,
    saved: Float64Array | undefined,
    _isNew: boolean,
    cursor: SavedCursor,
    end: Float64Array,
  ): void {
    const {rows, states, thetas, afters, xCotangent, nextCotangent} = this;
    rows.set(record.rows(from, count));
    rows.set(end, count * record.width + rowStart);
    if (saved !== undefined) states.set(saved);
    afters[0] = -1;
    for (let i = cursor.from, k = 0; i < cursor.to; i++, k++) {
      thetas[k] = cursor.theta(i);
      afters[k + 1] = cursor.after(i) - from;
    }
    nextCotangent.set(xCotangent);
    this.call(count, cursor.to - cursor.from);
    xCotangent.set(nextCotangent);
  }
}

/** Addresses. */
export interface TimedRoom {
  /** Of a record, and one more, whose state is that at the end. */
  readonly rows: number;
  /** Cotangents of the saved states; where they lie in their steps; and, after the number of no row, behind which rows. */
  readonly states: number;
  readonly theta: number;
  readonly after: number;
  /** Room for a cotangent of the state. */
  readonly cotangent: number;
}

export function timedRoutine(
  executable: StepExecutable<HistoryAdjointProgram>,
  {memory, vectors}: Routines,
  size: number,
  room: TimedRoom,
): Pull {
  const at = (name: BufferName): number => executable.buffer(name).byteOffset;
  const lengthOf = (name: BufferName): number => executable.find(name)?.length ?? 0;
  const has = (name: BufferName): boolean => executable.find(name) !== undefined;
  const [pullDense, inside] = (['pullDense', 'inside'] as const).map(name =>
    executable.has(name) ? executable.program(name) : undefined,
  );
  const pullStep = executable.program('pullStep');
  const layers = executable.find('layers');
  const width = rowStart + size + (layers?.length ?? 0);
  return routine<Pull>(memory, {parameters: ['i32', 'i32'], results: []}, w => {
    const [rows, saved] = [w.parameter(0), w.parameter(1)];
    const [row, i, from, to, isWithin, state] = Array.from({length: 6}, () => w.local('i32'));
    const element = (array: number, index: Local, each: number): Push =>
      w.plus(w.int(array), w.op('i32.mul', w.get(index), w.int(bytes * each)));
    const addAt = (place: number, source: number, count: number): void =>
      w.run(vectors.advance, place, place, source, count, {number: -1});
    const add = (target: BufferName, source: BufferName): void => {
      if (has(source)) addAt(at(target), at(source), lengthOf(source));
    };
    const copyFrom = (to: BufferName, address: Push): void => {
      if (!has(to)) return;
      w.set(state, address);
      w.run(vectors.copy, at(to), state, lengthOf(to));
    };
    const zero = (place: number, count: number): void => {
      w.for(i, w.int(place), w.int(place + bytes * count), () => w.store(w.get(i), w.number(0)), bytes);
    };
    const eachSaved = (code: () => void): void => w.for(i, w.get(from), w.get(to), code);
    const isAtEnd = w.op('f64.eq', w.load(element(room.theta, i, 1)), w.number(1));

    /** Cotangents of saved states: at the end they are added, those within are left for `pullWithin`. */
    const look = (): void => {
      w.set(to, w.get(saved));
      // Of the one before `saved`; before all of them stands a number of no row.
      const before = w.load(element(room.after, saved, 1));
      const isOfRow = w.op('f64.eq', before, w.op('f64.convert_i32_s', w.plus(w.get(row), w.int(1))));
      w.while(isOfRow, () => w.set(saved, w.plus(w.get(saved), w.int(-1))));
      w.set(from, w.get(saved));
      w.set(isWithin, w.int(0));
      eachSaved(() =>
        w.if(
          isAtEnd,
          () => {
            w.set(state, element(room.states, i, size));
            w.run(vectors.advance, at('nextCotangent'), at('nextCotangent'), state, size, {number: -1});
          },
          () => w.set(isWithin, w.int(1)),
        ),
      );
    };

    const pullWithin = (dense: () => void): void => {
      zero(room.cotangent, size);
      if (inside !== undefined) w.run(inside);
      copyFrom('next', w.plus(element(room.rows, row, width), w.int(bytes * (width + rowStart))));
      eachSaved(() =>
        w.if(w.op('i32.eqz', isAtEnd), () => {
          if (has('theta')) w.store(w.int(at('theta')), w.load(element(room.theta, i, 1)));
          copyFrom('denseCotangent', element(room.states, i, size));
          w.run(dense);
          add('nextCotangent', 'denseNextCotangent');
          addAt(room.cotangent, at('denseXCotangent'), size);
          if (has('insideCotangent')) add('insideCotangent', 'denseInsideCotangent');
        }),
      );
    };

    w.set(row, w.get(rows));
    w.while(w.op('i32.gt_s', w.get(row), w.int(0)), () => {
      w.set(row, w.plus(w.get(row), w.int(-1)));
      look();
      if (has('t')) w.store(w.int(at('t')), w.load(element(room.rows, row, width)));
      if (has('h')) w.store(w.int(at('h')), w.load(element(room.rows, row, width), bytes));
      copyFrom('x', w.plus(element(room.rows, row, width), w.int(rowStart * bytes)));
      if (layers !== undefined)
        copyFrom('layers', w.plus(element(room.rows, row, width), w.int(bytes * (rowStart + size))));
      zero(has('insideCotangent') ? at('insideCotangent') : 0, lengthOf('insideCotangent'));
      if (pullDense !== undefined) w.if(w.get(isWithin), () => pullWithin(pullDense));
      w.run(pullStep);
      w.run(vectors.copy, at('nextCotangent'), at('xCotangent'), size);
      if (pullDense !== undefined) w.if(w.get(isWithin), () => addAt(at('nextCotangent'), room.cotangent, size));
    });
  });
}
