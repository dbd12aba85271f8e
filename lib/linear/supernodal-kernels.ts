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
import {solveBackward, solveBackwardFour, solveForward, solveForwardFour} from './supernodal-solves.js';

export interface SupernodalKernels {
  /** Columns `columns` of rows at `source` (`stride` bytes apart) times their pivots, in strips of four (`tileColumns`). */
  pack(to: number, source: number, stride: number, pivots: number, columns: number, depth: number): void;
  /**
   * C(list_r, columnList_c) −= Σ_t a_rt b_tc for c ≤ r, and maybe above: `a` has rows of `depth` numbers `stride` bytes
   * apart, `b` is packed, position[list_r] is where row r of C would have its column 0. `contiguous`: 1 where
   * the numbers of the columns are consecutive.
   */
  update(
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
  ): void;
  /** The same for all c, whatever r. */
  updateBelow(
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
  ): void;
  /** Rows below a triangle of 1 to 4 columns: l ← a L⁻ᵀ D⁻¹. `triangle` holds L by rows, then 1/D. */
  divide1(at: number, stride: number, rows: number, triangle: number): void;
  divide2(at: number, stride: number, rows: number, triangle: number): void;
  divide3(at: number, stride: number, rows: number, triangle: number): void;
  divide4(at: number, stride: number, rows: number, triangle: number): void;
  /** 1 where the division would leave only numbers of at most this size, no NaN among them; else 0. Nothing is stored. */
  bounded1(at: number, stride: number, rows: number, triangle: number, bound: number): number;
  bounded2(at: number, stride: number, rows: number, triangle: number, bound: number): number;
  bounded3(at: number, stride: number, rows: number, triangle: number, bound: number): number;
  bounded4(at: number, stride: number, rows: number, triangle: number, bound: number): number;
  /** x ← L⁻¹ x. `starts` are addresses of blocks. */
  forward(count: number, first: number, pointers: number, rows: number, starts: number, x: number): void;
  /** x ← L⁻ᵀ D⁻¹ x. */
  backward(count: number, first: number, pointers: number, rows: number, starts: number, x: number): void;
  /** The same for four right-hand sides, the four numbers of an unknown one after the other. */
  forwardFour(count: number, first: number, pointers: number, rows: number, starts: number, x: number): void;
  backwardFour(count: number, first: number, pointers: number, rows: number, starts: number, x: number): void;
}

/** Columns of a tile: two vectors; with four rows that are eight sums, and x64 has sixteen registers. */
export const tileColumns = 4;

/** Rows that an update takes through all its strips before it goes on: of 128 numbers each they are 64 KiB, half of a small second-level cache. */
const rowsAtOnce = 64;

const integers = (count: number): ValueType[] => new Array<ValueType>(count).fill('i32');

let module: WebAssembly.Module | undefined;

/** The kernels on a memory; their code is compiled once. @throws where WebAssembly or its vectors are not allowed. */
export function supernodalKernels(memory: WebAssembly.Memory): SupernodalKernels {
  module ??= new WebAssembly.Module(supernodalBytes());
  // The definitions below give every export its name and signature.
  return new WebAssembly.Instance(module, {env: {memory}}).exports as unknown as SupernodalKernels;
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
  define('forwardFour', 6, solveForwardFour);
  define('backwardFour', 6, solveBackwardFour);
  return builder.finish();
}

const move = (w: Writer, pointer: Local, bytes: Push): void => w.set(pointer, w.plus(w.get(pointer), bytes));

function pack(w: Writer): void {
  const [to, source, stride, pivots, columns, depth] = [0, 1, 2, 3, 4, 5].map(i => w.parameter(i));
  const [lane, lanes, out, from, pivot, end, column] = [0, 1, 2, 3, 4, 5, 6].map(() => w.local('i32'));
  w.for(
    column,
    w.int(0),
    w.get(columns),
    () => {
      // A last strip of one or two columns is half as wide.
      w.set(
        lanes,
        w.choose(w.op('i32.gt_s', w.op('i32.sub', w.get(columns), w.get(column)), w.int(2)), w.int(4), w.int(2)),
      );
      w.for(lane, w.int(0), w.get(lanes), () => {
        w.set(out, w.element(w.get(to), w.get(lane)));
        w.set(from, w.get(source));
        w.set(pivot, w.get(pivots));
        w.set(end, w.element(w.get(pivots), w.get(depth)));
        const next = (): void => {
          move(w, out, w.op('i32.shl', w.get(lanes), w.int(3)));
          move(w, pivot, w.int(8));
        };
        const more = w.op('i32.lt_s', w.get(pivot), w.get(end));
        w.if(
          w.op('i32.lt_s', w.plus(w.get(column), w.get(lane)), w.get(columns)),
          () => {
            w.while(more, () => {
              w.store(w.get(out), w.op('f64.mul', w.load(w.get(from)), w.load(w.get(pivot))));
              move(w, from, w.int(8));
              next();
            });
            move(w, source, w.get(stride));
          },
          () =>
            w.while(more, () => {
              w.store(w.get(out), w.number(0));
              next();
            }),
        );
      });
      move(w, to, w.op('i32.shl', w.get(depth), w.int(5)));
    },
    tileColumns,
  );
}

function update(w: Writer, narrow: number, wide: number, triangular: boolean): void {
  const [a, stride, list, rows, depth, b, columnList, columns, contiguous, position] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
  ].map(i => w.parameter(i));
  const [top, bottom, column, left, start, packed] = [0, 1, 2, 3, 4, 5].map(() => w.local('i32'));
  const least = (one: Push, other: Push): Push => w.choose(w.op('i32.lt_s', one, other), one, other);
  w.for(
    top,
    w.int(0),
    w.get(rows),
    () => {
      w.set(bottom, least(w.plus(w.get(top), w.int(rowsAtOnce)), w.get(rows)));
      w.set(packed, w.get(b));
      w.for(
        column,
        w.int(0),
        w.get(columns),
        () => {
          w.set(left, w.op('i32.sub', w.get(columns), w.get(column)));
          w.set(
            start,
            triangular ? w.choose(w.op('i32.gt_s', w.get(top), w.get(column)), w.get(top), w.get(column)) : w.get(top),
          );
          w.if(w.op('i32.lt_s', w.get(start), w.get(bottom)), () => {
            const call = (index: number) => (): void => {
              w.plus(w.get(a), w.op('i32.mul', w.get(start), w.get(stride)))();
              w.get(stride)();
              w.plus(w.get(list), w.op('i32.shl', w.get(start), w.int(2)))();
              w.op('i32.sub', w.get(bottom), w.get(start))();
              w.get(depth)();
              w.get(packed)();
              w.plus(w.get(columnList), w.op('i32.shl', w.get(column), w.int(2)))();
              w.get(left)();
              w.get(contiguous)();
              w.get(position)();
              w.body.call(index);
            };
            w.if(w.op('i32.gt_s', w.get(left), w.int(2)), call(wide), call(narrow));
          });
          move(w, packed, w.op('i32.shl', w.get(depth), w.int(5)));
        },
        tileColumns,
      );
    },
    rowsAtOnce,
  );
}

/** All rows with one strip of `vectors` pairs of columns, of which `left` are there. */
function strip(w: Writer, vectors: number): void {
  const [a, stride, list, rows, depth, b, columnList, left, contiguous, position] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(
    i => w.parameter(i),
  );
  const bytes = (index: number): Push => {
    // A column that is not there has zeros: they may be subtracted from the last one.
    const last = w.op('i32.sub', w.get(left), w.int(1));
    const within = w.choose(w.op('i32.lt_s', w.int(index), w.get(left)), w.int(index), last);
    return w.op('i32.shl', w.loadInt(w.plus(w.get(columnList), w.op('i32.shl', within, w.int(2)))), w.int(3));
  };
  const offsets = Array.from({length: 2 * vectors}, (_, i) => w.keep('i32', bytes(i)));
  const pointers = [0, 1, 2, 3].map(() => w.local('i32'));
  const sums = Array.from({length: 4 * vectors}, () => w.local('v128'));
  const factors = Array.from({length: vectors}, () => w.local('v128'));
  const [splat, q, end, row] = [w.local('v128'), w.local('i32'), w.local('i32'), w.local('i32')];
  const whole = w.keep('i32', w.op('i32.shl', w.op('i32.and', w.get(depth), w.int(~3)), w.int(3)));
  const length = w.keep('i32', w.op('i32.shl', w.get(depth), w.int(3)));

  const tile = (height: number): void => {
    pointers
      .slice(0, height)
      .forEach((pointer, i) => w.set(pointer, i === 0 ? w.get(a) : w.plus(w.get(pointers[i - 1]), w.get(stride))));
    sums.slice(0, height * vectors).forEach(sum => w.set(sum, w.pair(0)));
    w.set(q, w.get(b));
    const terms = (count: number): void => {
      for (let t = 0; t < count; t++) {
        factors.forEach((factor, v) => w.set(factor, w.loadPair(w.get(q), 16 * (t * vectors + v))));
        for (let i = 0; i < height; i++) {
          w.set(splat, () => {
            w.get(pointers[i])();
            w.body.memory('v128.load64_splat', 8 * t);
          });
          factors.forEach((factor, v) => {
            const sum = sums[i * vectors + v];
            w.set(sum, w.op('f64x2.add', w.get(sum), w.op('f64x2.mul', w.get(splat), w.get(factor))));
          });
        }
      }
      move(w, q, w.int(16 * vectors * count));
      pointers.slice(0, height).forEach(pointer => move(w, pointer, w.int(8 * count)));
    };
    const until = (bound: Local, count: number): void => {
      w.set(end, w.plus(w.get(a), w.get(bound)));
      w.while(w.op('i32.lt_s', w.get(pointers[0]), w.get(end)), () => terms(count));
    };
    until(whole, 4);
    until(length, 1);
    for (let i = 0; i < height; i++) {
      w.set(row, w.loadInt(w.plus(w.get(position), w.op('i32.shl', w.loadInt(w.get(list), 4 * i), w.int(2)))));
      w.if(
        w.get(contiguous),
        () => {
          w.set(q, w.plus(w.get(row), w.get(offsets[0])));
          factors.forEach((_, v) =>
            w.storePair(
              w.get(q),
              w.op('f64x2.sub', w.loadPair(w.get(q), 16 * v), w.get(sums[i * vectors + v])),
              16 * v,
            ),
          );
        },
        () =>
          offsets.forEach((offset, c) => {
            w.set(q, w.plus(w.get(row), w.get(offset)));
            w.store(
              w.get(q),
              w.op('f64.sub', w.load(w.get(q)), w.lane(w.get(sums[i * vectors + (c >> 1)]), (c & 1) as 0 | 1)),
            );
          }),
      );
    }
    move(w, a, w.op('i32.mul', w.get(stride), w.int(height)));
    move(w, list, w.int(4 * height));
    move(w, rows, w.int(-height));
  };
  w.while(w.op('i32.ge_s', w.get(rows), w.int(4)), () => tile(4));
  w.if(w.op('i32.ge_s', w.get(rows), w.int(2)), () => tile(2));
  w.if(w.get(rows), () => tile(1));
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
      w.get(at)();
      w.get(l[t])();
      w.body.laneMemory('v128.store64_lane', 8 * t, 0);
      w.get(other)();
      w.get(l[t])();
      w.body.laneMemory('v128.store64_lane', 8 * t, 1);
    }
  });
}

function bounded(w: Writer, columns: number): void {
  const bound = w.keep('v128', w.splat(w.get(w.parameter(4))));
  // A NaN is not within.
  const outside = w.keep('v128', w.pair(0));
  rowPairs(w, columns, ({l}) => {
    for (const column of l)
      w.set(
        outside,
        w.op(
          'v128.or',
          w.get(outside),
          w.op('v128.not', w.op('f64x2.le', w.op('f64x2.abs', w.get(column)), w.get(bound))),
        ),
      );
  });
  w.op('i32.eqz', w.op('v128.any_true', w.get(outside)))();
}

function rowPairs(w: Writer, columns: number, use: (pair: RowPair) => void): void {
  const [at, stride, rows, triangle] = [0, 1, 2, 3].map(i => w.parameter(i));
  const other = w.local('i32');
  const y = Array.from({length: columns}, () => w.local('v128'));
  const splat =
    (index: number): Push =>
    () => {
      w.get(triangle)();
      w.body.memory('v128.load64_splat', 8 * index);
    };
  w.while(w.op('i32.gt_s', w.get(rows), w.int(0)), () => {
    w.set(other, w.choose(w.op('i32.gt_s', w.get(rows), w.int(1)), w.plus(w.get(at), w.get(stride)), w.get(at)));
    for (let t = 0; t < columns; t++) {
      w.get(other)();
      w.get(at)();
      w.body.memory('v128.load64_zero', 8 * t);
      w.body.laneMemory('v128.load64_lane', 8 * t, 1).set(y[t]);
      for (let s = 0; s < t; s++)
        w.set(y[t], w.op('f64x2.sub', w.get(y[t]), w.op('f64x2.mul', w.get(y[s]), splat((t * (t - 1)) / 2 + s))));
    }
    for (let t = 0; t < columns; t++)
      w.set(y[t], w.op('f64x2.mul', w.get(y[t]), splat((columns * (columns - 1)) / 2 + t)));
    use({at, other, l: y});
    move(w, at, w.op('i32.shl', w.get(stride), w.int(1)));
    move(w, rows, w.int(-2));
  });
}
