/**
 * The solves of supernodal-kernels.ts: supernode by supernode, forwards with its rows as dot products,
 * backwards with them as multiples added to its unknowns. Each number of the factor is read once in
 * either sweep.
 */
import type {Local} from '../wasm/assembler.js';
import type {Operand, Push, Writer} from '../wasm/writer.js';

/** The supernode that a sweep is at. */
interface Node {
  /** Address of the first unknown of its own. */
  readonly own: Local;
  readonly width: Local;
  /** Bytes of a row of the block. */
  readonly stride: Local;
  readonly block: Local;
  /** Address of the numbers of the rows below, and how many. */
  readonly list: Local;
  readonly below: Local;
  readonly x: Local;
}

const subtract = (w: Writer, from: Operand, a: Operand, b: Operand): Push =>
  w.op('f64x2.sub', from, w.op('f64x2.mul', a, b));

/** Runs over all supernodes. */
function sweep(w: Writer, backwards: boolean, visit: (node: Node) => void): void {
  const [count, first, pointers, rows, starts, x] = w.parameters();
  const [own, width, stride, block, list, below, s] = w.locals('i32', 7);
  const node = {own, width, stride, block, list, below, x};
  const four = (k: Operand): Push => w.op('i32.shl', k, 2);
  const at = (table: Local, next: 0 | 1): Push => w.loadInt(w.plus(table, four(s)), 4 * next);
  const step = (): void => {
    w.set(width, w.op('i32.sub', at(first, 1), at(first, 0)));
    w.set(own, w.element(x, at(first, 0)));
    w.set(stride, w.op('i32.shl', width, 3));
    w.set(block, at(starts, 0));
    w.set(list, w.plus(rows, four(w.plus(at(pointers, 0), width))));
    w.set(below, w.op('i32.sub', w.op('i32.sub', at(pointers, 1), at(pointers, 0)), width));
    visit(node);
  };
  if (backwards) w.down(s, count, step);
  else w.for(s, 0, count, step);
}

/** Address of the unknown with the number at `list` + 4 i. */
function unknown(w: Writer, {list, x}: Node, i: number): Push {
  return w.element(x, w.loadInt(list, 4 * i));
}

/** code(4) while four rows are left, then code(1). Moves the list on. */
function byRows(w: Writer, {list, below}: Node, code: (rows: number) => void): void {
  for (const rows of [4, 1]) {
    w.while(w.op('i32.ge_s', below, rows), () => {
      code(rows);
      w.move(list, 4 * rows);
      w.move(below, -rows);
    });
  }
}

export function solveForward(w: Writer): void {
  const pointers = w.locals('i32', 4);
  const sums = w.locals('v128', 4);
  const [factor, q, end, r, to] = [w.local('v128'), w.local('i32'), w.local('i32'), w.local('i32'), w.local('i32')];
  sweep(w, false, node => {
    const {own, width, stride, block} = node;
    /** sums_i ← Σ_{t<length} pointer_i[t] own[t] */
    const dots = (count: number, length: Local): void => {
      for (const sum of sums.slice(0, count)) w.set(sum, 0);
      w.set(q, own);
      w.set(end, w.element(own, w.op('i32.and', length, ~1)));
      const term = (load: (address: Local) => Push): void => {
        w.set(factor, load(q));
        sums
          .slice(0, count)
          .forEach((sum, i) => w.set(sum, w.op('f64x2.add', sum, w.op('f64x2.mul', load(pointers[i]), factor))));
      };
      w.while(w.op('i32.lt_s', q, end), () => {
        term(address => w.loadPair(address));
        for (const pointer of [q, ...pointers.slice(0, count)]) w.move(pointer, 16);
      });
      w.if(w.op('i32.and', length, 1), () => term(address => w.loadOne(address)));
    };
    const take = (address: Push, sum: Local): void => {
      w.set(to, address);
      w.store(to, w.op('f64.sub', w.load(to), w.op('f64.add', w.lane(sum, 0), w.lane(sum, 1))));
    };
    w.for(r, 1, width, () => {
      w.move(block, stride);
      w.set(pointers[0], block);
      dots(1, r);
      take(w.element(own, r), sums[0]);
    });
    w.move(block, stride);
    byRows(w, node, rows => {
      pointers
        .slice(0, rows)
        .forEach((pointer, i) => w.set(pointer, i === 0 ? block : w.plus(pointers[i - 1], stride)));
      dots(rows, width);
      sums.slice(0, rows).forEach((sum, i) => take(unknown(w, node, i), sum));
      w.move(block, w.op('i32.mul', stride, rows));
    });
  });
}

export function solveBackward(w: Writer): void {
  const pointers = w.locals('i32', 4);
  const values = w.locals('v128', 4);
  const [q, end, r, last] = w.locals('i32', 4);
  sweep(w, true, node => {
    const {own, width, stride, block} = node;
    /** own[t] −= Σ_i pointer_i[t] value_i for t < length */
    const add = (count: number, length: Local): void => {
      w.set(q, own);
      w.set(end, w.element(own, w.op('i32.and', length, ~1)));
      const left = (load: (address: Local) => Push): Push =>
        values.slice(0, count).reduce((rest, value, i) => subtract(w, rest, load(pointers[i]), value), load(q));
      w.while(w.op('i32.lt_s', q, end), () => {
        w.storePair(
          q,
          left(address => w.loadPair(address)),
        );
        for (const pointer of [q, ...pointers.slice(0, count)]) w.move(pointer, 16);
      });
      w.if(w.op('i32.and', length, 1), () =>
        w.store(
          q,
          w.lane(
            left(address => w.loadOne(address)),
            0,
          ),
        ),
      );
    };
    // The reciprocal pivots lie a row and a number apart.
    w.set(q, own);
    w.set(r, block);
    w.set(end, w.element(own, width));
    w.while(w.op('i32.lt_s', q, end), () => {
      w.store(q, w.op('f64.mul', w.load(q), w.load(r)));
      w.move(q, 8);
      w.move(r, w.plus(stride, 8));
    });
    w.move(block, w.op('i32.mul', stride, width));
    w.set(last, w.op('i32.sub', block, stride));
    byRows(w, node, rows => {
      for (let i = 0; i < rows; i++) {
        w.set(pointers[i], i === 0 ? block : w.plus(pointers[i - 1], stride));
        w.set(values[i], w.splat(w.load(unknown(w, node, i))));
      }
      add(rows, width);
      w.move(block, w.op('i32.mul', stride, rows));
    });
    const addOwn = (): void => {
      w.set(pointers[0], last);
      w.set(values[0], w.splat(w.load(w.element(own, r))));
      add(1, r);
      w.set(last, w.op('i32.sub', last, stride));
    };
    w.down(r, width, addOwn, 1);
  });
}
