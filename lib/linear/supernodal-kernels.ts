/**
 * The inner loops of L D Lᵀ over supernodes as a WebAssembly module, two doubles at a time: updates by
 * tiles of four rows and four columns held in registers (Goto & van de Geijn 2008, without packing the
 * rows, which lie contiguous in their block), division of rows by a finished triangle, and the solves.
 * supernodal.ts drives them. Addresses are bytes in the one memory the module imports, lengths
 * count doubles, and a block is row-major as in supernodal.ts.
 */
import type {ModuleBytes} from '../wasm/bytes.js';
import {ModuleBuilder, type Local, type ValueType} from '../wasm/assembler.js';
import {Writer, type Push} from '../wasm/writer.js';
import {solveBackward, solveForward} from './supernodal-solves.js';

export interface SupernodalKernels {
  /**
   * Columns `columns` of rows at `source` (`stride` bytes apart) times their pivots, in strips of four (`tileColumns`).
   */
  pack(to: number, source: number, stride: number, pivots: number, columns: number, depth: number): void;
  /**
   * C(list_r, columnList_c) −= Σ_t a_rt b_tc for c ≤ r, and maybe above: `a` has rows of `depth` numbers `stride` bytes
   * apart, `b` is packed, position[list_r] is where row r of C would have its column 0. `contiguous`: 1 where
   * the numbers of the columns are consecutive.
   */
  update: Update;
  /** `update` for all c, whatever r. */
  updateBelow: Update;
  /** By columns, 1 to 4, of a triangle: the rows below it, l ← a L⁻ᵀ D⁻¹. `triangle` holds L by rows, then 1/D. */
  readonly divide: readonly ((at: number, stride: number, rows: number, triangle: number) => void)[];
  /**
   * 1 where the division would leave only numbers of at most this size, no NaN among them; else 0. Nothing is stored.
   */
  readonly bounded: readonly ((at: number, stride: number, rows: number, triangle: number, bound: number) => number)[];
  /** x ← L⁻¹ x. `starts` are addresses of blocks. */
  forward: Sweep;
  /** x ← L⁻ᵀ D⁻¹ x. */
  backward: Sweep;
}

type Update = (
  a: number,
  stride: number,
  list: number,
  rows: number,
  depth: number,
  b: number,
  columnList: number,
  columns: number,
  contiguous: number,
  position: number,
) => void;

type Sweep = (count: number, first: number, pointers: number, rows: number, starts: number, x: number) => void;

/** Columns of a tile: two vectors; with four rows that are eight sums, and x64 has sixteen registers. */
export const tileColumns = 4;

/**
 * Rows that an update takes through all its strips before it goes on: of 128 numbers each they are 64 KiB, half of a
 * small second-level cache.
 */
const rowsAtOnce = 64;

const integers = (count: number): ValueType[] => new Array<ValueType>(count).fill('i32');

let module: WebAssembly.Module | undefined;

/** The kernels on a memory; their code is compiled once. @throws where WebAssembly or its vectors are not allowed. */
export function supernodalKernels(memory: WebAssembly.Memory): SupernodalKernels {
  module ??= new WebAssembly.Module(supernodalBytes());
  // The definitions below give every export its name and signature.
  const exports = new WebAssembly.Instance(module, {env: {memory}}).exports as unknown as SupernodalKernels;
  const byColumns = (name: string): unknown[] =>
    [1, 2, 3, 4].map((columns): unknown => Reflect.get(exports, `${name}${columns}`));
  return {...exports, divide: byColumns('divide'), bounded: byColumns('bounded')} as SupernodalKernels;
}

/** The module's bytes; it imports `env.memory`. */
export function supernodalBytes(): ModuleBytes {
  const builder = new ModuleBuilder();
  const define = (
    name: string,
    count: number,
    write: (w: Writer) => void,
    others: {parameters: ValueType[]; results: ValueType[]} = {parameters: [], results: []},
  ): number => {
    const {index, body} = builder.define({
      parameters: [...integers(count), ...others.parameters],
      results: others.results,
    });
    write(new Writer(body));
    builder.export(name, index);
    return index;
  };
  define('pack', 6, pack);
  const strips = [define('narrow', 10, w => strip(w, 1)), define('wide', 10, w => strip(w, 2))];
  define('update', 10, w => update(w, strips[0], strips[1], true));
  define('updateBelow', 10, w => update(w, strips[0], strips[1], false));
  for (const columns of [1, 2, 3, 4]) {
    define(`divide${columns}`, 4, w => divide(w, columns));
    define(`bounded${columns}`, 4, w => bounded(w, columns), {parameters: ['f64'], results: ['i32']});
  }
  define('forward', 6, solveForward);
  define('backward', 6, solveBackward);
  return builder.finish();
}

function pack(w: Writer): void {
  const [to, source, stride, pivots, columns, depth] = w.parameters();
  const [lane, lanes, out, from, pivot, end, column] = w.locals('i32', 7);
  w.for(
    column,
    0,
    columns,
    () => {
      // A last strip of one or two columns is half as wide.
      w.set(lanes, w.choose(w.op('i32.gt_s', w.op('i32.sub', columns, column), 2), w.int(4), w.int(2)));
      w.for(lane, 0, lanes, () => {
        w.set(out, w.element(to, lane));
        w.set(from, source);
        w.set(pivot, pivots);
        w.set(end, w.element(pivots, depth));
        const next = (): void => {
          w.move(out, w.op('i32.shl', lanes, 3));
          w.move(pivot, 8);
        };
        const more = w.op('i32.lt_s', pivot, end);
        w.if(
          w.op('i32.lt_s', w.plus(column, lane), columns),
          () => {
            w.while(more, () => {
              w.store(out, w.op('f64.mul', w.load(from), w.load(pivot)));
              w.move(from, 8);
              next();
            });
            w.move(source, stride);
          },
          () =>
            w.while(more, () => {
              w.store(out, 0);
              next();
            }),
        );
      });
      w.move(to, w.op('i32.shl', depth, 5));
    },
    tileColumns,
  );
}

function update(w: Writer, narrow: number, wide: number, triangular: boolean): void {
  const [a, stride, list, rows, depth, b, columnList, columns, contiguous, position] = w.parameters();
  const [top, bottom, column, left, start, packed] = w.locals('i32', 6);
  w.for(
    top,
    0,
    rows,
    () => {
      w.set(bottom, w.plus(top, rowsAtOnce));
      w.set(bottom, w.choose(w.op('i32.lt_s', bottom, rows), bottom, rows));
      w.set(packed, b);
      w.for(
        column,
        0,
        columns,
        () => {
          w.set(left, w.op('i32.sub', columns, column));
          w.set(start, triangular ? w.choose(w.op('i32.gt_s', top, column), top, column) : top);
          w.if(w.op('i32.lt_s', start, bottom), () => {
            const given = [
              w.plus(a, w.op('i32.mul', start, stride)),
              stride,
              w.plus(list, w.op('i32.shl', start, 2)),
              w.op('i32.sub', bottom, start),
              depth,
              packed,
              w.plus(columnList, w.op('i32.shl', column, 2)),
              left,
              contiguous,
              position,
            ];
            w.if(
              w.op('i32.gt_s', left, 2),
              () => w.invoke(wide, ...given),
              () => w.invoke(narrow, ...given),
            );
          });
          w.move(packed, w.op('i32.shl', depth, 5));
        },
        tileColumns,
      );
    },
    rowsAtOnce,
  );
}

/** All rows with one strip of `vectors` pairs of columns, of which `left` are there. */
function strip(w: Writer, vectors: number): void {
  const [a, stride, list, rows, depth, b, columnList, left, contiguous, position] = w.parameters();
  const bytes = (index: number): Push => {
    // A column that is not there has zeros: they may be subtracted from the last one.
    const last = w.op('i32.sub', left, 1);
    const within = w.choose(w.op('i32.lt_s', index, left), w.int(index), last);
    return w.op('i32.shl', w.loadInt(w.plus(columnList, w.op('i32.shl', within, 2))), 3);
  };
  const offsets = Array.from({length: 2 * vectors}, (_, i) => w.keep('i32', bytes(i)));
  const pointers = w.locals('i32', 4);
  const sums = w.locals('v128', 4 * vectors);
  const factors = w.locals('v128', vectors);
  const [splat, q, end, row] = [w.local('v128'), w.local('i32'), w.local('i32'), w.local('i32')];
  const whole = w.keep('i32', w.op('i32.shl', w.op('i32.and', depth, ~3), 3));
  const length = w.keep('i32', w.op('i32.shl', depth, 3));

  const tile = (height: number): void => {
    pointers.slice(0, height).forEach((pointer, i) => w.set(pointer, i === 0 ? a : w.plus(pointers[i - 1], stride)));
    sums.slice(0, height * vectors).forEach(sum => w.set(sum, 0));
    w.set(q, b);
    const terms = (count: number): void => {
      for (let t = 0; t < count; t++) {
        factors.forEach((factor, v) => w.set(factor, w.loadPair(q, 16 * (t * vectors + v))));
        for (let i = 0; i < height; i++) {
          w.set(splat, w.loadTwice(pointers[i], 8 * t));
          factors.forEach((factor, v) => {
            const sum = sums[i * vectors + v];
            w.set(sum, w.op('f64x2.add', sum, w.op('f64x2.mul', splat, factor)));
          });
        }
      }
      w.move(q, 16 * vectors * count);
      for (const pointer of pointers.slice(0, height)) w.move(pointer, 8 * count);
    };
    const until = (bound: Local, count: number): void => {
      w.set(end, w.plus(a, bound));
      w.while(w.op('i32.lt_s', pointers[0], end), () => terms(count));
    };
    until(whole, 4);
    until(length, 1);
    for (let i = 0; i < height; i++) {
      w.set(row, w.loadInt(w.plus(position, w.op('i32.shl', w.loadInt(list, 4 * i), 2))));
      w.if(
        contiguous,
        () => {
          w.set(q, w.plus(row, offsets[0]));
          factors.forEach((_, v) =>
            w.storePair(q, w.op('f64x2.sub', w.loadPair(q, 16 * v), sums[i * vectors + v]), 16 * v),
          );
        },
        () =>
          offsets.forEach((offset, c) => {
            w.set(q, w.plus(row, offset));
            w.store(q, w.op('f64.sub', w.load(q), w.lane(sums[i * vectors + (c >> 1)], (c & 1) as 0 | 1)));
          }),
      );
    }
    w.move(a, w.op('i32.mul', stride, height));
    w.move(list, 4 * height);
    w.move(rows, -height);
  };
  w.while(w.op('i32.ge_s', rows, 4), () => tile(4));
  w.if(w.op('i32.ge_s', rows, 2), () => tile(2));
  w.if(rows, () => tile(1));
}

/** Rows below a triangle, two at a time; a last one alone is its own neighbour. */
interface RowPair {
  readonly at: Local;
  readonly other: Local;
  /** Column t of l, of both rows. */
  readonly l: readonly Local[];
}

function divide(w: Writer, columns: number): void {
  rowPairs(w, columns, ({at, other, l}) => {
    for (let t = 0; t < columns; t++) {
      w.storeLane(at, l[t], 0, 8 * t);
      w.storeLane(other, l[t], 1, 8 * t);
    }
  });
}

function bounded(w: Writer, columns: number): void {
  const bound = w.keep('v128', w.splat(w.parameter(4)));
  // A NaN is not within.
  const outside = w.keep('v128', 0);
  rowPairs(w, columns, ({l}) => {
    for (const column of l)
      w.set(outside, w.op('v128.or', outside, w.op('v128.not', w.op('f64x2.le', w.op('f64x2.abs', column), bound))));
  });
  w.op('i32.eqz', w.op('v128.any_true', outside))();
}

function rowPairs(w: Writer, columns: number, use: (pair: RowPair) => void): void {
  const [at, stride, rows, triangle] = w.parameters();
  const other = w.local('i32');
  const y = w.locals('v128', columns);
  const splat = (index: number): Push => w.loadTwice(triangle, 8 * index);
  w.while(w.op('i32.gt_s', rows, 0), () => {
    w.set(other, w.choose(w.op('i32.gt_s', rows, 1), w.plus(at, stride), at));
    for (let t = 0; t < columns; t++) {
      w.push(other);
      w.push(at);
      w.body.memory('v128.load64_zero', 8 * t);
      w.body.laneMemory('v128.load64_lane', 8 * t, 1).set(y[t]);
      for (let s = 0; s < t; s++)
        w.set(y[t], w.op('f64x2.sub', y[t], w.op('f64x2.mul', y[s], splat((t * (t - 1)) / 2 + s))));
    }
    for (let t = 0; t < columns; t++) w.set(y[t], w.op('f64x2.mul', y[t], splat((columns * (columns - 1)) / 2 + t)));
    use({at, other, l: y});
    w.move(at, w.op('i32.shl', stride, 1));
    w.move(rows, -2);
  });
}
