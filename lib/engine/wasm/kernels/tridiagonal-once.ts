/**
 * Aᵀx = b for a tridiagonal matrix that is solved with once, as the way back through a step does: elimination and
 * substitution towards the middle in one sweep. The substitution hides behind the divisions that the elimination
 * waits for, and what only another right-hand side would need is not stored. Every number is the one that a
 * factorization of A and a transposed solve give (tridiagonal.ts), to the last bit: Aᵀ has the pivots of A, and its
 * multipliers are those that A has on the way back. Measured at n = 1024, the sweep takes a tenth more time than the
 * chain of dependent operations in it would alone (a product, a difference, a division and a difference for two rows).
 */
import {SAFE_PIVOT_RATIO} from '../../../linear/error-amplification.js';
import type {Local} from '../../../wasm/assembler.js';
import type {Operand, Push, Writer} from '../../../wasm/writer.js';
import {elements, outwards} from './tridiagonal-chains.js';
import {Ends, LastRows, type Eliminated} from './tridiagonal-ends.js';
import type {Arrays} from './tridiagonal-rows.js';
import {TridiagonalRows, shared} from './tridiagonal-rows.js';

/**
 * The entries before and after are those of Aᵀ: A's own towards the middle of the rows before, and towards the ends of
 * the next ones.
 */
class TransposedSolve extends Ends {
  /** The right-hand side of the rows before, eliminated so far. */
  readonly y: Local;

  constructor(
    w: Writer,
    values: Local,
    private readonly arrays: {readonly b: Arrays; readonly x: Arrays; readonly onwards: Arrays},
    n: Local,
  ) {
    super(w, values, n, SAFE_PIVOT_RATIO);
    this.y = w.keep('v128', 0);
  }

  /** Makes an eliminated row the row before, and gives its multiplier on the way back. */
  private leave({row: {diagonal, onwards, back}, pivot, reciprocal}: Eliminated): Local {
    const {w} = this;
    const multiplier = this.keepPair('f64x2.mul', back, reciprocal);
    // The row of A, and the multiplier of its next one.
    this.look(multiplier, pivot, this.after, diagonal, onwards);
    w.set(this.pivot, pivot);
    w.set(this.reciprocal, reciprocal);
    w.set(this.after, back);
    w.set(this.before, onwards);
    return multiplier;
  }

  two(): void {
    const {w, rows, arrays, before} = this;
    const [first, second] = this.eliminateTwo();
    // The right-hand side by two rows, as the substitution has it.
    const [b1, b2] = rows.readTwo(arrays.b);
    const l = this.keepPair('f64x2.mul', before, this.reciprocal);
    const l2 = this.keepPair('f64x2.mul', first.row.onwards, first.reciprocal);
    const y = this.keepPair('f64x2.sub', b1, w.product('f64x2', l, this.y));
    const rest = w.op('f64x2.sub', b2, w.product('f64x2', l2, b1));
    w.set(this.y, w.op('f64x2.add', rest, w.product('f64x2', l2, l, this.y)));
    const multiplier = this.leave(first);
    rows.writeTwo(arrays.onwards, [multiplier, this.leave(second)]);
    rows.writeTwo(arrays.x, [
      this.keepPair('f64x2.mul', y, first.reciprocal),
      this.keepPair('f64x2.mul', this.y, second.reciprocal),
    ]);
    this.move();
  }

  one(): void {
    const {w, rows, arrays, before} = this;
    const found = this.eliminate();
    w.set(this.y, w.op('f64x2.sub', rows.read(arrays.b), w.product('f64x2', before, this.reciprocal, this.y)));
    rows.write(arrays.onwards, this.leave(found));
    rows.write(arrays.x, this.keepPair('f64x2.mul', this.y, found.reciprocal));
  }
}

/**
 * tridiagonalSolveTransposedOnce(values, b, x, onwards, n) → bits as tridiagonalFactor's, without which x is of no use,
 * but that a sound pivot is one that loses no digits; b is not x, `onwards` is room for n numbers.
 */
export function tridiagonalSolveTransposedOnce(w: Writer): void {
  const [values, b, x, onwards, n] = w.parameters();
  const ends = new TransposedSolve(w, values, {b: shared(b), x: shared(x), onwards: shared(onwards)}, n);
  const {middle} = ends.run(
    n,
    () => ends.two(),
    () => ends.one(),
  );
  const lane = (local: Local, which: 0 | 1): Local => w.keep('f64', w.lane(local, which));
  const [c, r, y] = [lane(ends.after, 0), lane(ends.reciprocal, 0), lane(ends.y, 0)];
  const [e, s, z] = [lane(ends.after, 1), lane(ends.reciprocal, 1), lane(ends.y, 1)];
  const rows = new LastRows(w, values, ends);
  const product = (first: Local, ...others: readonly Local[]): Push => w.product('f64', first, ...others);
  const minus = (a: Operand, f: Operand): Push => w.op('f64.sub', a, f);
  const at = (array: Local, index: Local): Push => w.element(array, index);

  const extra = w.keep('i32', w.op('i32.sub', middle, 1));
  w.if(w.op('i32.eqz', w.op('i32.and', n, 1)), () => {
    const [before, diagonal, after, own] = [
      rows.beside(extra, -16, w.op('i32.gt_s', extra, 0)),
      rows.diagonal(extra),
      rows.beside(extra, 16, w.int(1)),
      rows.beside(extra, 8, w.int(1)),
    ];
    const p = w.keep('f64', minus(diagonal, product(before, c, r)));
    rows.pivot(p, c, diagonal, own);
    const l = w.keep('f64', product(before, r));
    w.set(y, minus(w.load(at(b, extra)), product(l, y)));
    w.set(r, w.op('f64.div', 1, p));
    w.set(c, after);
    const multiplier = w.keep('f64', product(after, r));
    rows.multiplier(multiplier);
    w.store(at(onwards, extra), multiplier);
    w.store(at(x, extra), product(y, r));
  });
  const before = rows.beside(middle, -16, w.op('i32.gt_s', middle, 0));
  const below = rows.beside(middle, 16, w.op('i32.lt_s', middle, w.op('i32.sub', n, 1)));
  const diagonal = rows.diagonal(middle);
  const pivot = w.keep('f64', minus(minus(diagonal, product(before, c, r)), product(below, e, s)));
  rows.pivot(pivot, c, diagonal, e);
  const [fromTop, fromBottom] = [w.keep('f64', product(before, r)), w.keep('f64', product(below, s))];
  w.set(
    y,
    w.op(
      'f64.mul',
      minus(minus(w.load(at(b, middle)), product(fromTop, y)), product(fromBottom, z)),
      w.op('f64.div', 1, pivot),
    ),
  );
  w.store(at(x, middle), y);
  const back = new TridiagonalRows(w, w.local('i32'), w.local('i32'), 'ends');
  outwards(w, n, middle, {
    rows: back,
    carried: w.keep('v128', w.splat(y)),
    x: shared(x),
    value: elements(back, shared(x)),
    factor: elements(back, shared(onwards)),
  });
  rows.bits();
}
