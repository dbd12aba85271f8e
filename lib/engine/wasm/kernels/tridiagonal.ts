/**
 * Tridiagonal systems from both ends to the middle, as in lib/linear/tridiagonal.ts, whose numbers and
 * tests of the pivots it has.
 */
import type {Local} from '../../../wasm/assembler.js';
import type {Push, Writer} from '../../../wasm/writer.js';
import {Ends, LastRows} from './tridiagonal-ends.js';

/** A row of each end. */
interface Row {
  /** The entry towards the end, the diagonal one, and the one towards the middle. */
  readonly before: Local;
  readonly diagonal: Local;
  readonly after: Local;
}

class Factorization extends Ends {
  /** Of the rows before: the entries towards the middle. */
  readonly after: Local;
  /** The entries towards the ends of the present rows. There is none in the first rows. */
  private readonly before: Local;

  constructor(w: Writer, values: Local, private readonly arrays: {readonly lower: Local; readonly reciprocals: Local; readonly upper: Local}, n: Local) {
    super(w, values, n);
    this.after = w.keep('v128', w.pair(0));
    this.before = w.keep('v128', w.pair(0));
  }

  private row(row: number): Row {
    const {w} = this;
    return {before: w.keep('v128', row === 0 ? w.get(this.before) : this.entries(row, -1)), diagonal: w.keep('v128', this.entries(row, 0)), after: w.keep('v128', this.entries(row, 1))};
  }

  /** Stores the row so many rows on, whose pivot and reciprocal these are, and makes it the row before. */
  private store(row: number, {before, diagonal, after}: Row, pivot: Local, reciprocal: Local): void {
    const {w, arrays} = this;
    const multiplier = this.keepPair('f64x2.mul', before, this.reciprocal);
    const onwards = this.keepPair('f64x2.mul', after, reciprocal);
    this.look(multiplier, pivot, before, diagonal, after);
    this.put(row, arrays.lower, arrays.upper, multiplier);
    this.put(row, arrays.reciprocals, arrays.reciprocals, reciprocal);
    this.put(row, arrays.upper, arrays.lower, onwards);
    w.set(this.pivot, w.get(pivot));
    w.set(this.reciprocal, w.get(reciprocal));
    w.set(this.after, w.get(after));
    for (const local of [multiplier, onwards]) w.body.release(local);
  }

  override move(rows: number): void {
    this.w.set(this.before, this.entries(rows, -1));
    super.move(rows);
  }

  private release(...rows: readonly Row[]): void {
    for (const {before, diagonal, after} of rows) for (const local of [before, diagonal, after]) this.w.body.release(local);
  }

  two(): void {
    const {w, pivot: known, reciprocal: inverse, after} = this;
    const [first, second] = [this.row(0), this.row(1)];
    const d = this.keepPair('f64x2.sub', this.pair('f64x2.mul', first.diagonal, known), this.pair('f64x2.mul', first.before, after));
    const product = this.pair('f64x2.mul', this.pair('f64x2.mul', second.before, first.after), known);
    const p2 = this.keepPair('f64x2.sub', second.diagonal, this.pair('f64x2.div', product, d));
    const p = this.keepPair('f64x2.mul', d, inverse);
    const r = this.keepPair('f64x2.div', known, d);
    this.store(0, first, p, r);
    w.set(r, this.pair('f64x2.div', w.pair(1), p2));
    this.store(1, second, p2, r);
    this.move(2);
    this.release(first, second);
    for (const local of [d, p2, p, r]) w.body.release(local);
  }

  one(): void {
    const {w} = this;
    const row = this.row(0);
    const p = this.keepPair('f64x2.sub', row.diagonal, this.pair('f64x2.mul', this.pair('f64x2.mul', row.before, this.after), this.reciprocal));
    const r = this.keepPair('f64x2.div', w.pair(1), p);
    this.store(0, row, p, r);
    this.move(1);
    this.release(row);
    for (const local of [p, r]) w.body.release(local);
  }
}

/**
 * tridiagonalFactor(values, lower, reciprocals, upper, n) → bits: every pivot is sound; no multiplier
 * exceeds 10; every pivot is positive.
 */
export function tridiagonalFactor(w: Writer): void {
  const [values, lower, reciprocals, upper, n] = Array.from({length: 5}, (_, i) => w.parameter(i));
  const f = new Factorization(w, values, {lower, reciprocals, upper}, n);
  const {middle} = f.run(n, () => f.two(), () => f.one());
  const lane = (local: Local, which: 0 | 1): Local => w.keep('f64', w.lane(w.get(local), which));
  const [c, r, e, s] = [lane(f.after, 0), lane(f.reciprocal, 0), lane(f.after, 1), lane(f.reciprocal, 1)];
  const rows = new LastRows(w, values, f);
  const product = (a: Push, b: Push): Push => w.op('f64.mul', a, b);
  const at = (array: Local, index: Local): Push => w.element(w.get(array), w.get(index));

  const extra = w.keep('i32', w.op('i32.sub', w.get(middle), w.int(1)));
  w.if(w.op('i32.eqz', w.op('i32.and', w.get(n), w.int(1))), () => {
    const [a1, b1, c1] = [rows.beside(extra, -8, w.op('i32.gt_s', w.get(extra), w.int(0))), rows.diagonal(extra), rows.beside(extra, 8, w.int(1))];
    const l = w.keep('f64', product(w.get(a1), w.get(r)));
    const p = w.keep('f64', w.op('f64.sub', w.get(b1), product(product(w.get(a1), w.get(c)), w.get(r))));
    w.set(r, w.op('f64.div', w.number(1), w.get(p)));
    w.set(c, w.get(c1));
    rows.multiplier(l);
    rows.pivot(p, a1, b1, c1);
    w.store(at(lower, extra), w.get(l));
    w.store(at(reciprocals, extra), w.get(r));
    w.store(at(upper, extra), product(w.get(c1), w.get(r)));
  });
  const a = rows.beside(middle, -8, w.op('i32.gt_s', w.get(middle), w.int(0)));
  const b = rows.diagonal(middle);
  const g = rows.beside(middle, 8, w.op('i32.lt_s', w.get(middle), w.op('i32.sub', w.get(n), w.int(1))));
  const pivot = w.keep('f64', w.op('f64.sub', w.op('f64.sub', w.get(b), product(product(w.get(a), w.get(c)), w.get(r))), product(product(w.get(g), w.get(e)), w.get(s))));
  const [la, lg] = [w.keep('f64', product(w.get(a), w.get(r))), w.keep('f64', product(w.get(g), w.get(s)))];
  rows.multiplier(la);
  rows.multiplier(lg);
  rows.pivot(pivot, a, b, g);
  w.store(at(lower, middle), w.get(la));
  w.store(at(upper, middle), w.get(lg));
  w.store(at(reciprocals, middle), w.op('f64.div', w.number(1), w.get(pivot)));
  rows.bits();
}

/** tridiagonalSolve(lower, reciprocals, upper, n, b, x): x ← A⁻¹ b, both ends to the middle and back; b may be x. */
export function tridiagonalSolve(w: Writer): void {
  const [lower, reciprocals, upper, n, b, x] = [0, 1, 2, 3, 4, 5].map(i => w.parameter(i));
  const at = (array: Local, index: Local): Push => w.load(w.element(w.get(array), w.get(index)));
  const minus = (a: Push, factor: Push, b: Push): Push => w.op('f64.sub', a, w.op('f64.mul', factor, b));
  const scaled = (index: Local): Push => w.op('f64.mul', at(x, index), at(reciprocals, index));
  sweep(w, n, x, {
    fromTop: (i, y) => minus(at(b, i), at(lower, i), w.get(y)),
    fromBottom: (j, z) => minus(at(b, j), at(upper, j), w.get(z)),
    middle: (m, y, z) => w.op('f64.mul', minus(minus(at(b, m), at(lower, m), w.get(y)), at(upper, m), w.get(z)), at(reciprocals, m)),
    upwards: (i, y) => minus(scaled(i), at(upper, i), w.get(y)),
    downwards: (j, z) => minus(scaled(j), at(lower, j), w.get(z)),
  });
}

/**
 * tridiagonalSolveTransposed: x ← A⁻ᵀ b. Transposing exchanges a_i and c_{i−1}; the pivots stay, and the
 * multiplier of one sweep is that of the other one row on.
 */
export function tridiagonalSolveTransposed(w: Writer): void {
  const [lower, reciprocals, upper, n, b, x] = [0, 1, 2, 3, 4, 5].map(i => w.parameter(i));
  const at = (array: Local, index: Local): Push => w.load(w.element(w.get(array), w.get(index)));
  const last = w.keep('i32', w.op('i32.sub', w.get(n), w.int(1)));
  /** The neighbour's element; where there is none, 0 (and the own element is read instead, to stay within the array). */
  const neighbour = (array: Local, index: Local, by: -1 | 1): Push => {
    const exists = by < 0 ? w.op('i32.gt_s', w.get(index), w.int(0)) : w.op('i32.lt_s', w.get(index), w.get(last));
    return w.choose(exists, w.load(w.element(w.get(array), w.plus(w.get(index), w.choose(exists, w.int(by), w.int(0))))), w.number(0));
  };
  const minus = (a: Push, factor: Push, b: Push): Push => w.op('f64.sub', a, w.op('f64.mul', factor, b));
  const scaled = (index: Local): Push => w.op('f64.mul', at(x, index), at(reciprocals, index));
  sweep(w, n, x, {
    fromTop: (i, y) => minus(at(b, i), neighbour(upper, i, -1), w.get(y)),
    fromBottom: (j, z) => minus(at(b, j), neighbour(lower, j, 1), w.get(z)),
    middle: (m, y, z) => w.op('f64.mul', minus(minus(at(b, m), neighbour(upper, m, -1), w.get(y)), neighbour(lower, m, 1), w.get(z)), at(reciprocals, m)),
    upwards: (i, y) => minus(scaled(i), w.load(w.element(w.get(lower), w.get(i)), 8), w.get(y)),
    downwards: (j, z) => minus(scaled(j), w.load(w.op('i32.sub', w.element(w.get(upper), w.get(j)), w.int(8))), w.get(z)),
  });
}

/** The values of one sweep from both ends, and of the one back; each is stored in x and carried on. */
interface Sweep {
  fromTop(i: Local, y: Local): Push;
  fromBottom(j: Local, z: Local): Push;
  middle(m: Local, y: Local, z: Local): Push;
  upwards(i: Local, y: Local): Push;
  downwards(j: Local, z: Local): Push;
}

function sweep(w: Writer, n: Local, x: Local, rows: Sweep): void {
  const middle = w.keep('i32', w.op('i32.shr_u', w.get(n), w.int(1)));
  const [i, j] = [w.keep('i32', w.int(0)), w.keep('i32', w.op('i32.sub', w.get(n), w.int(1)))];
  const [y, z] = [w.keep('f64', w.number(0)), w.keep('f64', w.number(0))];
  const put = (index: Local, carried: Local, value: Push): void => {
    w.set(carried, value);
    w.store(w.element(w.get(x), w.get(index)), w.get(carried));
  };
  const move = (index: Local, by: number): void => w.set(index, w.plus(w.get(index), w.int(by)));
  w.while(w.op('i32.gt_s', w.get(j), w.get(middle)), () => {
    put(i, y, rows.fromTop(i, y));
    put(j, z, rows.fromBottom(j, z));
    move(i, 1);
    move(j, -1);
  });
  w.if(w.op('i32.lt_s', w.get(i), w.get(middle)), () => put(i, y, rows.fromTop(i, y)));
  put(middle, y, rows.middle(middle, y, z));
  w.set(z, w.get(y));
  w.set(i, w.op('i32.sub', w.get(middle), w.int(1)));
  w.set(j, w.plus(w.get(middle), w.int(1)));
  w.while(w.op('i32.lt_s', w.get(j), w.get(n)), () => {
    put(i, y, rows.upwards(i, y));
    put(j, z, rows.downwards(j, z));
    move(i, -1);
    move(j, 1);
  });
  w.if(w.op('i32.ge_s', w.get(i), w.int(0)), () => put(i, y, rows.upwards(i, y)));
}
