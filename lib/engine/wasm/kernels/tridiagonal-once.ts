/**
 * Aᵀx = b for a tridiagonal matrix that is solved with once, as the way back through a step does: elimination and
 * substitution towards the middle in one sweep. The substitution hides behind the divisions that the elimination
 * waits for, and what only another right-hand side would need is not stored. Every number is the one that a
 * factorization of A and a transposed solve give (tridiagonal.ts), to the last bit: Aᵀ has the pivots of A, and its
 * multipliers are those that A has on the way back. Measured at n = 1024, the sweep takes a tenth more time than the
 * chain of dependent operations in it would alone (a product, a difference, a division and a difference for two rows).
 */
import {KEEPING} from '../../../linear/lost-digits.js';
import type {Local} from '../../../wasm/assembler.js';
import type {Push, Writer} from '../../../wasm/writer.js';
import {elements, outwards} from './tridiagonal-chains.js';
import type {Entries} from './tridiagonal-ends.js';
import {Ends, LastRows} from './tridiagonal-ends.js';
import type {Arrays} from './tridiagonal-rows.js';
import {Rows, shared} from './tridiagonal-rows.js';

class TransposedSolve extends Ends {
  /** Of the rows before: the entries of Aᵀ towards the middle, and the right-hand side eliminated so far. */
  readonly after: Local;
  readonly y: Local;
  /** The entries of Aᵀ towards the ends of the present rows, which are A's own towards the middle of the rows before. There is none in the first rows. */
  private readonly before: Local;

  constructor(
    w: Writer,
    values: Local,
    private readonly arrays: {readonly b: Arrays; readonly x: Arrays; readonly onwards: Arrays},
    n: Local,
  ) {
    super(w, values, n, KEEPING);
    this.after = w.keep('v128', w.pair(0));
    this.before = w.keep('v128', w.pair(0));
    this.y = w.keep('v128', w.pair(0));
  }

  /** Makes the row of pivot p and reciprocal r the row before, and gives its multiplier on the way back. */
  private leave({diagonal, onwards, back}: Entries, p: Local, r: Local): Local {
    const {w} = this;
    const multiplier = this.keepPair('f64x2.mul', back, r);
    // The row of A, and the multiplier of its next one.
    this.look(multiplier, p, this.after, diagonal, onwards);
    w.set(this.pivot, w.get(p));
    w.set(this.reciprocal, w.get(r));
    w.set(this.after, w.get(back));
    w.set(this.before, w.get(onwards));
    return multiplier;
  }

  two(): void {
    const {
      w,
      rows,
      arrays: {b, x, onwards},
      pivot: known,
      reciprocal: inverse,
      before,
      after,
    } = this;
    const [first, second] = [this.entries(), this.entries(1)];
    const d = this.keepPair(
      'f64x2.sub',
      this.pair('f64x2.mul', first.diagonal, known),
      this.pair('f64x2.mul', before, after),
    );
    const product = this.pair('f64x2.mul', this.pair('f64x2.mul', first.onwards, first.back), known);
    const p2 = this.keepPair('f64x2.sub', second.diagonal, this.pair('f64x2.div', product, d));
    const p = this.keepPair('f64x2.mul', d, inverse);
    const r = this.keepPair('f64x2.div', known, d);
    const r2 = this.keepPair('f64x2.div', w.pair(1), p2);
    // The right-hand side by two rows, as the substitution has it.
    const [b1, b2] = rows.readTwo(b);
    const [l, l2] = [this.keepPair('f64x2.mul', before, inverse), this.keepPair('f64x2.mul', first.onwards, r)];
    const y = this.keepPair('f64x2.sub', b1, this.pair('f64x2.mul', l, this.y));
    w.set(
      this.y,
      this.pair(
        'f64x2.add',
        this.pair('f64x2.sub', b2, this.pair('f64x2.mul', l2, b1)),
        this.pair('f64x2.mul', this.pair('f64x2.mul', l2, l), this.y),
      ),
    );
    const multiplier = this.leave(first, p, r);
    rows.writeTwo(onwards, [multiplier, this.leave(second, p2, r2)]);
    rows.writeTwo(x, [this.keepPair('f64x2.mul', y, r), this.keepPair('f64x2.mul', this.y, r2)]);
    this.move();
  }

  one(): void {
    const {
      w,
      rows,
      arrays: {b, x, onwards},
      reciprocal: inverse,
      before,
      after,
    } = this;
    const row = this.entries();
    const p = this.keepPair(
      'f64x2.sub',
      row.diagonal,
      this.pair('f64x2.mul', this.pair('f64x2.mul', before, after), inverse),
    );
    const r = this.keepPair('f64x2.div', w.pair(1), p);
    w.set(
      this.y,
      this.pair('f64x2.sub', rows.read(b), this.pair('f64x2.mul', this.pair('f64x2.mul', before, inverse), this.y)),
    );
    rows.write(onwards, this.leave(row, p, r));
    rows.write(x, this.keepPair('f64x2.mul', this.y, r));
  }
}

/** tridiagonalSolveTransposedOnce(values, b, x, onwards, n) → bits as tridiagonalFactor's, without which x is of no use, but that a sound pivot is one that loses no digits; b is not x, `onwards` is room for n numbers. */
export function tridiagonalSolveTransposedOnce(w: Writer): void {
  const [values, b, x, onwards, n] = Array.from({length: 5}, (_, i) => w.parameter(i));
  const ends = new TransposedSolve(w, values, {b: shared(b), x: shared(x), onwards: shared(onwards)}, n);
  const {middle} = ends.run(
    n,
    () => ends.two(),
    () => ends.one(),
  );
  const lane = (local: Local, which: 0 | 1): Local => w.keep('f64', w.lane(w.get(local), which));
  const [c, r, y] = [lane(ends.after, 0), lane(ends.reciprocal, 0), lane(ends.y, 0)];
  const [e, s, z] = [lane(ends.after, 1), lane(ends.reciprocal, 1), lane(ends.y, 1)];
  const rows = new LastRows(w, values, ends);
  const product = (...factors: readonly Local[]): Push =>
    factors.map(factor => w.get(factor)).reduce((a, f) => w.op('f64.mul', a, f));
  const minus = (a: Push, f: Push): Push => w.op('f64.sub', a, f);
  const at = (array: Local, index: Local): Push => w.element(w.get(array), w.get(index));

  const extra = w.keep('i32', w.op('i32.sub', w.get(middle), w.int(1)));
  w.if(w.op('i32.eqz', w.op('i32.and', w.get(n), w.int(1))), () => {
    const [before, diagonal, after, own] = [
      rows.beside(extra, -16, w.op('i32.gt_s', w.get(extra), w.int(0))),
      rows.diagonal(extra),
      rows.beside(extra, 16, w.int(1)),
      rows.beside(extra, 8, w.int(1)),
    ];
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
  w.set(
    y,
    w.op(
      'f64.mul',
      minus(minus(w.load(at(b, middle)), product(fromTop, y)), product(fromBottom, z)),
      w.op('f64.div', w.number(1), w.get(pivot)),
    ),
  );
  w.store(at(x, middle), w.get(y));
  const back = new Rows(w, w.local('i32'), w.local('i32'), 'ends');
  outwards(w, n, middle, {
    rows: back,
    carried: w.keep('v128', w.splat(w.get(y))),
    x: shared(x),
    value: elements(back, shared(x)),
    factor: elements(back, shared(onwards)),
  });
  rows.bits();
}
