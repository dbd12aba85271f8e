/**
 * Tridiagonal systems from both ends to the middle, as in lib/linear/tridiagonal.ts, whose numbers and
 * tests of the pivots it has.
 */
import {SUSPICIOUS_PIVOT} from '../../../linear/singularity.js';
import type {Local} from '../../../wasm/assembler.js';
import type {Push, Writer} from '../../../wasm/writer.js';
import type {Chains} from './tridiagonal-chains.js';
import {elements, oneRow, outwards, products, topRow, twoRows} from './tridiagonal-chains.js';
import type {Entries} from './tridiagonal-ends.js';
import {Ends, LastRows} from './tridiagonal-ends.js';
import type {Arrays} from './tridiagonal-rows.js';
import {Rows, shared} from './tridiagonal-rows.js';

class Factorization extends Ends {
  /** Of the rows before: the entries towards the middle. */
  readonly after: Local;
  /** The entries towards the ends of the present rows. There is none in the first rows. */
  private readonly before: Local;

  constructor(
    w: Writer,
    values: Local,
    private readonly arrays: {readonly before: Arrays; readonly reciprocals: Arrays; readonly onwards: Arrays},
    n: Local,
  ) {
    super(w, values, n, SUSPICIOUS_PIVOT);
    this.after = w.keep('v128', w.pair(0));
    this.before = w.keep('v128', w.pair(0));
  }

  /** Makes the row of pivot p and reciprocal r the row before, and gives its multipliers: of the row before, and on the way back. */
  private leave({diagonal, onwards, back}: Entries, p: Local, r: Local): readonly [Local, Local] {
    const {w, before} = this;
    const multiplier = this.keepPair('f64x2.mul', before, this.reciprocal);
    this.look(multiplier, p, before, diagonal, onwards);
    w.set(this.pivot, w.get(p));
    w.set(this.reciprocal, w.get(r));
    w.set(this.after, w.get(onwards));
    w.set(before, w.get(back));
    return [multiplier, this.keepPair('f64x2.mul', onwards, r)];
  }

  two(): void {
    const {w, rows, arrays, pivot: known, reciprocal: inverse, before, after} = this;
    const [first, second] = [this.entries(), this.entries(1)];
    const d = this.keepPair(
      'f64x2.sub',
      this.pair('f64x2.mul', first.diagonal, known),
      this.pair('f64x2.mul', before, after),
    );
    const product = this.pair('f64x2.mul', this.pair('f64x2.mul', first.back, first.onwards), known);
    const p2 = this.keepPair('f64x2.sub', second.diagonal, this.pair('f64x2.div', product, d));
    const p = this.keepPair('f64x2.mul', d, inverse);
    const r = this.keepPair('f64x2.div', known, d);
    const r2 = this.keepPair('f64x2.div', w.pair(1), p2);
    const [multiplier, onwards] = this.leave(first, p, r);
    const [multiplier2, onwards2] = this.leave(second, p2, r2);
    rows.writeTwo(arrays.before, [multiplier, multiplier2]);
    rows.writeTwo(arrays.reciprocals, [r, r2]);
    rows.writeTwo(arrays.onwards, [onwards, onwards2]);
    this.move();
  }

  one(): void {
    const {w, rows, arrays, reciprocal: inverse, before, after} = this;
    const row = this.entries();
    const p = this.keepPair(
      'f64x2.sub',
      row.diagonal,
      this.pair('f64x2.mul', this.pair('f64x2.mul', before, after), inverse),
    );
    const r = this.keepPair('f64x2.div', w.pair(1), p);
    const [multiplier, onwards] = this.leave(row, p, r);
    rows.write(arrays.before, multiplier);
    rows.write(arrays.reciprocals, r);
    rows.write(arrays.onwards, onwards);
  }
}

/**
 * tridiagonalFactor(values, lower, reciprocals, upper, n) → bits: every pivot is sound; no multiplier
 * exceeds 10; every pivot is positive.
 */
export function tridiagonalFactor(w: Writer): void {
  const [values, lower, reciprocals, upper, n] = Array.from({length: 5}, (_, i) => w.parameter(i));
  const f = new Factorization(
    w,
    values,
    {before: {top: lower, bottom: upper}, reciprocals: shared(reciprocals), onwards: {top: upper, bottom: lower}},
    n,
  );
  const {middle} = f.run(
    n,
    () => f.two(),
    () => f.one(),
  );
  const lane = (local: Local, which: 0 | 1): Local => w.keep('f64', w.lane(w.get(local), which));
  const [c, r, e, s] = [lane(f.after, 0), lane(f.reciprocal, 0), lane(f.after, 1), lane(f.reciprocal, 1)];
  const rows = new LastRows(w, values, f);
  const product = (a: Push, b: Push): Push => w.op('f64.mul', a, b);
  const at = (array: Local, index: Local): Push => w.element(w.get(array), w.get(index));

  const extra = w.keep('i32', w.op('i32.sub', w.get(middle), w.int(1)));
  w.if(w.op('i32.eqz', w.op('i32.and', w.get(n), w.int(1))), () => {
    const [a1, b1, c1] = [
      rows.beside(extra, -8, w.op('i32.gt_s', w.get(extra), w.int(0))),
      rows.diagonal(extra),
      rows.beside(extra, 8, w.int(1)),
    ];
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
  const pivot = w.keep(
    'f64',
    w.op(
      'f64.sub',
      w.op('f64.sub', w.get(b), product(product(w.get(a), w.get(c)), w.get(r))),
      product(product(w.get(g), w.get(e)), w.get(s)),
    ),
  );
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
  const shifted = (array: Local, by: number): Local => w.keep('i32', w.plus(w.get(array), w.int(8 * by)));
  const factors: Arrays = {top: shifted(first, -shift), bottom: shifted(second, shift)};
  const middle = w.keep('i32', w.op('i32.shr_u', w.get(n), w.int(1)));
  const common = w.keep('i32', w.op('i32.sub', w.op('i32.sub', w.get(n), w.int(1)), w.get(middle)));
  const rows = new Rows(
    w,
    w.keep('i32', w.int(0)),
    w.keep('i32', w.op('i32.shl', w.op('i32.sub', w.get(n), w.int(2)), w.int(3))),
    'middle',
  );
  const chains: Chains = {
    rows,
    carried: w.keep('v128', w.pair(0)),
    x: shared(x),
    value: elements(rows, shared(b)),
    factor: elements(rows, factors),
  };
  // Nothing lies before the first rows, and where a multiplier lies one row before its own, the next rows' lies where the first would have one.
  const none = (): Push => w.pair(0);
  const next = shift === 0 ? rows.readNext({top: first, bottom: second}) : rows.read({top: first, bottom: second});
  const begin: Chains = {
    ...chains,
    factor: {one: none, top: none, two: () => [w.keep('v128', none()), w.keep('v128', next)]},
  };
  const end = w.keep('i32', w.op('i32.shl', w.op('i32.sub', w.get(common), w.int(1)), w.int(3)));
  const areTwo = w.op('i32.lt_s', w.get(rows.top), w.get(end));
  const isOne = w.op('i32.eq', w.get(rows.top), w.get(end));
  w.if(
    areTwo,
    () => {
      twoRows(w, begin);
      w.while(areTwo, () => twoRows(w, chains));
      w.if(isOne, () => oneRow(w, chains));
    },
    () => w.if(isOne, () => oneRow(w, begin)),
  );
  const lane = (which: 0 | 1): Local => w.keep('f64', w.lane(w.get(chains.carried), which));
  const z = lane(1);
  w.if(w.op('i32.lt_s', w.get(common), w.get(middle)), () =>
    w.if(
      w.op('i32.eqz', w.get(common)),
      () => topRow(w, begin),
      () => topRow(w, chains),
    ),
  );
  const y = lane(0);
  const at = (array: Local): Push => w.element(w.get(array), w.get(middle));
  const beside = (exists: Push, array: Local, by: number, carried: Local): Push =>
    w.choose(
      exists,
      w.op('f64.mul', w.load(w.plus(at(array), w.choose(exists, w.int(8 * by), w.int(0)))), w.get(carried)),
      w.number(0),
    );
  const minus = (a: Push, c: Push): Push => w.op('f64.sub', a, c);
  const eliminated = minus(
    minus(w.load(at(b)), beside(w.op('i32.gt_s', w.get(middle), w.int(0)), first, -shift, y)),
    beside(w.op('i32.gt_s', w.get(common), w.int(0)), second, shift, z),
  );
  w.set(y, w.op('f64.mul', eliminated, w.load(at(reciprocals))));
  w.store(at(x), w.get(y));
  const back = new Rows(w, rows.top, rows.bottom, 'ends');
  w.set(chains.carried, w.splat(w.get(y)));
  outwards(w, n, middle, {
    ...chains,
    rows: back,
    value: products(w, elements(back, shared(x)), elements(back, shared(reciprocals))),
    factor: elements(back, {top: factors.bottom, bottom: factors.top}),
  });
}
