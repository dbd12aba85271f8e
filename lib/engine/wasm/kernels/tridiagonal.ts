/**
 * Tridiagonal systems from both ends to the middle, as in lib/linear/tridiagonal.ts, whose numbers and
 * tests of the pivots it has.
 */
import type {Local} from '../../../wasm/assembler.js';
import type {Push, Writer} from '../../../wasm/writer.js';
import type {Chain} from './tridiagonal-ends.js';
import {Ends, LastRows, oneRow, outwards, twoRows} from './tridiagonal-ends.js';

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

/** tridiagonalSolve(lower, reciprocals, upper, n, b, x): x ← A⁻¹ b; b may be x. */
export function tridiagonalSolve(w: Writer): void {
  const [lower, reciprocals, upper, n, b, x] = Array.from({length: 6}, (_, i) => w.parameter(i));
  substitute(w, {first: lower, second: upper, shift: 0, reciprocals, n, b, x});
}

/** tridiagonalSolveTransposed: x ← A⁻ᵀ b, under the same rules. */
export function tridiagonalSolveTransposed(w: Writer): void {
  const [lower, reciprocals, upper, n, b, x] = Array.from({length: 6}, (_, i) => w.parameter(i));
  substitute(w, {first: upper, second: lower, shift: 1, reciprocals, n, b, x});
}

interface Substitution {
  readonly first: Local;
  readonly second: Local;
  readonly shift: 0 | 1;
  readonly reciprocals: Local;
  readonly n: Local;
  readonly b: Local;
  readonly x: Local;
}

/** As `substitute` of lib/linear/tridiagonal.ts. */
function substitute(w: Writer, {first, second, shift, reciprocals, n, b, x}: Substitution): void {
  const at = (array: Local, index: Local, by = 0): Push => (by === 0 ? w.load(w.element(w.get(array), w.get(index))) : w.load(w.plus(w.element(w.get(array), w.get(index)), w.int(8 * by))));
  const middle = w.keep('i32', w.op('i32.shr_u', w.get(n), w.int(1)));
  const common = w.keep('i32', w.op('i32.sub', w.op('i32.sub', w.get(n), w.int(1)), w.get(middle)));
  const [i, j] = [w.keep('i32', w.int(0)), w.keep('i32', w.op('i32.sub', w.get(n), w.int(1)))];
  const [y, z] = [w.keep('f64', w.number(0)), w.keep('f64', w.number(0))];
  const given = (index: Local) => (by: number): Push => at(b, index, by);
  const top: Chain = {carried: y, x, index: i, step: 1, value: given(i), factor: by => at(first, i, by - shift)};
  const bottom: Chain = {carried: z, x, index: j, step: -1, value: given(j), factor: by => at(second, j, by + shift)};
  // Nothing lies before the first rows.
  const begin = (chain: Chain): Chain => ({...chain, factor: by => (by === 0 ? w.number(0) : chain.factor(by))});
  const isMore = (rows: number): Push => w.op('i32.lt_s', w.plus(w.get(i), w.int(rows - 1)), w.get(common));
  w.if(isMore(2), () => {
    for (const chain of [top, bottom]) twoRows(w, begin(chain));
    w.while(isMore(2), () => [top, bottom].forEach(chain => twoRows(w, chain)));
    w.if(isMore(1), () => [top, bottom].forEach(chain => oneRow(w, chain)));
  }, () => w.if(isMore(1), () => [top, bottom].forEach(chain => oneRow(w, begin(chain)))));
  w.if(w.op('i32.lt_s', w.get(common), w.get(middle)), () => {
    w.if(w.op('i32.eqz', w.get(common)), () => oneRow(w, begin(top)), () => oneRow(w, top));
  });
  const beside = (exists: Push, array: Local, by: number, carried: Local): Push => w.choose(exists, w.op('f64.mul', w.load(w.plus(w.element(w.get(array), w.get(middle)), w.choose(exists, w.int(8 * by), w.int(0)))), w.get(carried)), w.number(0));
  const minus = (a: Push, c: Push): Push => w.op('f64.sub', a, c);
  const eliminated = minus(minus(at(b, middle), beside(w.op('i32.gt_s', w.get(middle), w.int(0)), first, -shift, y)), beside(w.op('i32.gt_s', w.get(common), w.int(0)), second, shift, z));
  w.set(y, w.op('f64.mul', eliminated, at(reciprocals, middle)));
  w.store(w.element(w.get(x), w.get(middle)), w.get(y));
  const scaled = (index: Local) => (by: number): Push => w.op('f64.mul', at(x, index, by), at(reciprocals, index, by));
  outwards(w, n, middle, {carried: y, x, index: i, step: -1, value: scaled(i), factor: by => at(second, i, by + shift)}, {carried: z, x, index: j, step: 1, value: scaled(j), factor: by => at(first, j, by - shift)});
}
