/**
 * Explicit steps pulled back, many in one call: what adjoint/timed-pull.ts does with a step whose times are constants, as one
 * routine about its programs, operation by operation, to the same bits.
 */
import type {Routines} from '../engine/routines.js';
import {routine} from '../engine/wasm/routine.js';
import type {BufferName, StepExecutable} from '../step/buffers.js';
import type {HistoryAdjointProgram} from '../step/history-programs.js';
import type {Local} from '../wasm/assembler.js';
import type {Push} from '../wasm/writer.js';

const bytes = Float64Array.BYTES_PER_ELEMENT;

/** By program the buffers that it leaves cotangents in, and where in `blockTotals` they are added. */
export type PullSums = {
  readonly [program in 'pullStep' | 'pullDense']: readonly {readonly buffer: BufferName; readonly offset: number}[];
};

/** undefined of programs that do not pull an explicit step with its time back. */
export function timedRoutine(
  executable: StepExecutable<HistoryAdjointProgram>,
  {memory, vectors: kernels}: Routines,
  sums: PullSums,
): ((rows: number, saved: number) => void) | undefined {
  const at = (name: BufferName): number => executable.buffer(name).byteOffset;
  const lengthOf = (name: BufferName): number => executable.find(name)?.length ?? 0;
  const has = (name: BufferName): boolean => executable.find(name) !== undefined;
  const [pullStep, pullDense, inside] = (['pullStep', 'pullDense', 'inside'] as const).map(name =>
    executable.has(name) ? executable.program(name) : undefined,
  );
  const size = lengthOf('xCotangent');
  const needed = ['nextCotangent', 'xCotangent', 'blockRows', 'blockCotangent', 'blockTotals'] as const;
  if (pullStep === undefined || needed.some(name => !has(name)) || lengthOf('nextCotangent') !== size) return undefined;
  const width = 2 + size;
  return routine<(rows: number, saved: number) => undefined>(memory, {parameters: ['i32', 'i32'], results: []}, w => {
    const [rows, saved] = [w.parameter(0), w.parameter(1)];
    const [row, i, from, to, isWithin, state] = Array.from({length: 6}, () => w.local('i32'));
    const element = (array: BufferName, index: Local, each = 1): Push =>
      w.plus(w.int(at(array)), w.op('i32.mul', w.get(index), w.int(bytes * each)));
    const add = (target: BufferName, source: BufferName, offset = 0): void => {
      if (!has(source)) return;
      const place = at(target) + bytes * offset;
      w.run(kernels.advance, place, place, at(source), lengthOf(source), {number: -1});
    };
    const copyFrom = (to: BufferName, address: Push): void => {
      if (!has(to)) return;
      w.set(state, address);
      w.run(kernels.copy, at(to), state, lengthOf(to));
    };
    const zero = (name: BufferName): void => {
      if (!has(name)) return;
      w.for(i, w.int(at(name)), w.int(at(name) + bytes * lengthOf(name)), () => w.store(w.get(i), w.number(0)), bytes);
    };
    const addUp = (program: keyof PullSums): void => {
      for (const {buffer, offset} of sums[program]) add('blockTotals', buffer, offset);
    };
    const eachSaved = (code: () => void): void => w.for(i, w.get(from), w.get(to), code);
    const isAtEnd = w.op('f64.eq', w.load(element('blockTheta', i)), w.number(1));

    /** Cotangents of saved states: at the end they are added, those within are left for `pullWithin`. */
    const look = (): void => {
      w.set(to, w.get(saved));
      // Of the one before `saved`; before all of them stands a number of no row.
      const before = w.load(element('blockAfter', saved));
      const isOfRow = w.op('f64.eq', before, w.op('f64.convert_i32_s', w.plus(w.get(row), w.int(1))));
      w.while(isOfRow, () => w.set(saved, w.plus(w.get(saved), w.int(-1))));
      w.set(from, w.get(saved));
      w.set(isWithin, w.int(0));
      eachSaved(() =>
        w.if(
          isAtEnd,
          () => {
            w.set(state, element('blockStates', i, size));
            w.run(kernels.advance, at('nextCotangent'), at('nextCotangent'), state, size, {number: -1});
          },
          () => w.set(isWithin, w.int(1)),
        ),
      );
    };

    const pullWithin = (dense: () => void): void => {
      zero('blockCotangent');
      if (inside !== undefined) w.run(inside);
      copyFrom('next', w.plus(element('blockRows', row, width), w.int(bytes * (width + 2))));
      eachSaved(() =>
        w.if(w.op('i32.eqz', isAtEnd), () => {
          if (has('theta')) w.store(w.int(at('theta')), w.load(element('blockTheta', i)));
          copyFrom('denseCotangent', element('blockStates', i, size));
          w.run(dense);
          addUp('pullDense');
          add('nextCotangent', 'denseNextCotangent');
          add('blockCotangent', 'denseXCotangent');
          if (has('insideCotangent')) add('insideCotangent', 'denseInsideCotangent');
        }),
      );
    };

    w.set(row, w.get(rows));
    w.while(w.op('i32.gt_s', w.get(row), w.int(0)), () => {
      w.set(row, w.plus(w.get(row), w.int(-1)));
      look();
      if (has('t')) w.store(w.int(at('t')), w.load(element('blockRows', row, width)));
      if (has('h')) w.store(w.int(at('h')), w.load(element('blockRows', row, width), bytes));
      copyFrom('x', w.plus(element('blockRows', row, width), w.int(2 * bytes)));
      zero('insideCotangent');
      if (pullDense !== undefined) w.if(w.get(isWithin), () => pullWithin(pullDense));
      w.run(pullStep);
      addUp('pullStep');
      w.run(kernels.copy, at('nextCotangent'), at('xCotangent'), size);
      if (pullDense !== undefined) w.if(w.get(isWithin), () => add('nextCotangent', 'blockCotangent'));
    });
  });
}
