/**
 * Aᵀx = b for a tridiagonal matrix that is solved with once, as the way back through a step does: elimination and
 * substitution towards the middle in one sweep. The substitution hides behind the divisions that the elimination
 * waits for, and what only another right-hand side would need is not stored. Every number is the one that a
 * factorization of A and a transposed solve give (tridiagonal.ts), to the last bit: Aᵀ has the pivots of A, and its
 * multipliers are those that A has on the way back.
 */
import type {Local} from '../../../wasm/assembler.js';
import type {Push, Writer} from '../../../wasm/writer.js';
import type {Chain} from './tridiagonal-ends.js';
import {Ends, LastRows, outwards} from './tridiagonal-ends.js';

/** A row of Aᵀ at each end. */
interface Row {
  /** The entry towards the end, the diagonal one, and the one towards the middle. */
  readonly before: Local;
  readonly diagonal: Local;
  readonly after: Local;
  /** A's own entry towards the middle, which is that of the next row of Aᵀ towards the end. */
  readonly own: Local;
}

class TransposedSolve extends Ends {
  /** Of the rows before: the entries of Aᵀ towards the middle, and the right-hand side eliminated so far. */
  readonly after: Local;
  readonly y: Local;
  private readonly before: Local;

  constructor(w: Writer, values: Local, private readonly arrays: {readonly b: Local; readonly x: Local; readonly onwards: Local}, n: Local) {
    super(w, values, n);
    this.after = w.keep('v128', w.pair(0));
    this.before = w.keep('v128', w.pair(0));
    this.y = w.keep('v128', w.pair(0));
  }

  private row(row: number, before: Local): Row {
    const {w} = this;
    return {before, diagonal: w.keep('v128', this.entries(row, 0)), after: w.keep('v128', this.entries(row, 2)), own: w.keep('v128', this.entries(row, 1))};
  }

  /** Makes the row so many rows on, of eliminated right-hand side y, the row before. */
  private store(row: number, {diagonal, after, own}: Row, y: Local, pivot: Local, reciprocal: Local): void {
    const {w, arrays} = this;
    const onwards = this.keepPair('f64x2.mul', after, reciprocal);
    // The row of A, and the multiplier of its next one.
    this.look(onwards, pivot, this.after, diagonal, own);
    const scaled = this.keepPair('f64x2.mul', y, reciprocal);
    this.put(row, arrays.onwards, arrays.onwards, onwards);
    this.put(row, arrays.x, arrays.x, scaled);
    w.set(this.pivot, w.get(pivot));
    w.set(this.reciprocal, w.get(reciprocal));
    w.set(this.after, w.get(after));
    for (const local of [onwards, scaled]) w.body.release(local);
  }

  private leave(rows: number, last: Row): void {
    this.w.set(this.before, this.w.get(last.own));
    this.move(rows);
  }

  private release(...rows: readonly Row[]): void {
    for (const {diagonal, after, own} of rows) for (const local of [diagonal, after, own]) this.w.body.release(local);
  }

  two(): void {
    const {w, pivot: known, reciprocal: inverse, after} = this;
    const first = this.row(0, this.before);
    const second = this.row(1, first.own);
    const d = this.keepPair('f64x2.sub', this.pair('f64x2.mul', first.diagonal, known), this.pair('f64x2.mul', first.before, after));
    const product = this.pair('f64x2.mul', this.pair('f64x2.mul', second.before, first.after), known);
    const p2 = this.keepPair('f64x2.sub', second.diagonal, this.pair('f64x2.div', product, d));
    const p = this.keepPair('f64x2.mul', d, inverse);
    const r = this.keepPair('f64x2.div', known, d);
    // The right-hand side by two rows, as the substitution has it.
    const [b, b2] = [w.keep('v128', this.elements(0, this.arrays.b)), w.keep('v128', this.elements(1, this.arrays.b))];
    const [l, l2] = [this.keepPair('f64x2.mul', first.before, inverse), this.keepPair('f64x2.mul', second.before, r)];
    const y = this.keepPair('f64x2.sub', b, this.pair('f64x2.mul', l, this.y));
    w.set(this.y, this.pair('f64x2.add', this.pair('f64x2.sub', b2, this.pair('f64x2.mul', l2, b)), this.pair('f64x2.mul', this.pair('f64x2.mul', l2, l), this.y)));
    this.store(0, first, y, p, r);
    w.set(r, this.pair('f64x2.div', w.pair(1), p2));
    this.store(1, second, this.y, p2, r);
    this.leave(2, second);
    this.release(first, second);
    for (const local of [d, p2, p, r, b, b2, l, l2, y]) w.body.release(local);
  }

  one(): void {
    const {w} = this;
    const row = this.row(0, this.before);
    const p = this.keepPair('f64x2.sub', row.diagonal, this.pair('f64x2.mul', this.pair('f64x2.mul', row.before, this.after), this.reciprocal));
    const r = this.keepPair('f64x2.div', w.pair(1), p);
    w.set(this.y, this.pair('f64x2.sub', this.elements(0, this.arrays.b), this.pair('f64x2.mul', this.pair('f64x2.mul', row.before, this.reciprocal), this.y)));
    this.store(0, row, this.y, p, r);
    this.leave(1, row);
    this.release(row);
    for (const local of [p, r]) w.body.release(local);
  }
}

/** tridiagonalSolveTransposedOnce(values, b, x, onwards, n) → bits as tridiagonalFactor's, without which x is of no use; b is not x, `onwards` is room for n numbers. */
export function tridiagonalSolveTransposedOnce(w: Writer): void {
  const [values, b, x, onwards, n] = Array.from({length: 5}, (_, i) => w.parameter(i));
  const ends = new TransposedSolve(w, values, {b, x, onwards}, n);
  const {middle} = ends.run(n, () => ends.two(), () => ends.one());
  const lane = (local: Local, which: 0 | 1): Local => w.keep('f64', w.lane(w.get(local), which));
  const [c, r, y] = [lane(ends.after, 0), lane(ends.reciprocal, 0), lane(ends.y, 0)];
  const [e, s, z] = [lane(ends.after, 1), lane(ends.reciprocal, 1), lane(ends.y, 1)];
  const rows = new LastRows(w, values, ends);
  const product = (...factors: readonly Local[]): Push => factors.map(factor => w.get(factor)).reduce((a, f) => w.op('f64.mul', a, f));
  const minus = (a: Push, f: Push): Push => w.op('f64.sub', a, f);
  const at = (array: Local, index: Local): Push => w.element(w.get(array), w.get(index));

  const extra = w.keep('i32', w.op('i32.sub', w.get(middle), w.int(1)));
  w.if(w.op('i32.eqz', w.op('i32.and', w.get(n), w.int(1))), () => {
    const [before, diagonal, after, own] = [rows.beside(extra, -16, w.op('i32.gt_s', w.get(extra), w.int(0))), rows.diagonal(extra), rows.beside(extra, 16, w.int(1)), rows.beside(extra, 8, w.int(1))];
    const p = w.keep('f64', minus(w.get(diagonal), product(before, c, r)));
    rows.pivot(p, c, diagonal, own);
    const l = w.keep('f64', product(before, r));
    w.set(y, minus(w.load(at(b, extra)), product(l, y)));
    w.set(r, w.op('f64.div', w.number(1), w.get(p)));
    w.set(c, w.get(after));
    const multiplier = w.keep('f64', product(after, r));
    rows.multiplier(multiplier);
    w.store(at(onwards, extra), w.get(multiplier));
    w.store(at(x, extra), product(y, r));
  });
  const before = rows.beside(middle, -16, w.op('i32.gt_s', w.get(middle), w.int(0)));
  const below = rows.beside(middle, 16, w.op('i32.lt_s', w.get(middle), w.op('i32.sub', w.get(n), w.int(1))));
  const diagonal = rows.diagonal(middle);
  const pivot = w.keep('f64', minus(minus(w.get(diagonal), product(before, c, r)), product(below, e, s)));
  rows.pivot(pivot, c, diagonal, e);
  const [fromTop, fromBottom] = [w.keep('f64', product(before, r)), w.keep('f64', product(below, s))];
  w.set(y, w.op('f64.mul', minus(minus(w.load(at(b, middle)), product(fromTop, y)), product(fromBottom, z)), w.op('f64.div', w.number(1), w.get(pivot))));
  w.store(at(x, middle), w.get(y));
  const back = (index: Local, step: 1 | -1, carried: Local): Chain => {
    const read = (array: Local) => (by: number): Push => w.load(w.plus(at(array, index), w.int(8 * by)));
    return {carried, x, index, step, value: read(x), factor: read(onwards)};
  };
  outwards(w, n, middle, back(w.local('i32'), -1, y), back(w.local('i32'), 1, z));
  rows.bits();
}
