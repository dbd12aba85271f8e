/**
 * Tridiagonal systems from both ends to the middle, as in lib/linear/tridiagonal.ts, whose numbers and
 * tests of the pivots it has.
 */
import {SUSPICIOUS_PIVOT} from '../../../linear/singularity.js';
import type {Local} from '../../../wasm/assembler.js';
import type {Operand, Push, Writer} from '../../../wasm/writer.js';
import type {TridiagonalChains} from './tridiagonal-chains.js';
import {elements, oneRow, outwards, products, topRow, twoRows} from './tridiagonal-chains.js';
import {Ends, LastRows, type Eliminated} from './tridiagonal-ends.js';
import type {Arrays} from './tridiagonal-rows.js';
import {TridiagonalRows, shared} from './tridiagonal-rows.js';

class Factorization extends Ends {
  constructor(
    w: Writer,
    values: Local,
    private readonly arrays: {readonly before: Arrays; readonly reciprocals: Arrays; readonly onwards: Arrays},
    n: Local,
  ) {
    super(w, values, n, SUSPICIOUS_PIVOT);
  }

  /** Makes an eliminated row the row before, and gives its multipliers: of the row before, and on the way back. */
  private leave({row: {diagonal, onwards, back}, pivot, reciprocal}: Eliminated): readonly [Local, Local] {
    const {w, before} = this;
    const multiplier = this.keepPair('f64x2.mul', before, this.reciprocal);
    this.look(multiplier, pivot, before, diagonal, onwards);
    w.set(this.pivot, pivot);
    w.set(this.reciprocal, reciprocal);
    w.set(this.after, onwards);
    w.set(before, back);
    return [multiplier, this.keepPair('f64x2.mul', onwards, reciprocal)];
  }

  two(): void {
    const {rows, arrays} = this;
    const [first, second] = this.eliminateTwo();
    const [multiplier, onwards] = this.leave(first);
    const [multiplier2, onwards2] = this.leave(second);
    rows.writeTwo(arrays.before, [multiplier, multiplier2]);
    rows.writeTwo(arrays.reciprocals, [first.reciprocal, second.reciprocal]);
    rows.writeTwo(arrays.onwards, [onwards, onwards2]);
    this.move();
  }

  one(): void {
    const {rows, arrays} = this;
    const found = this.eliminate();
    const [multiplier, onwards] = this.leave(found);
    rows.write(arrays.before, multiplier);
    rows.write(arrays.reciprocals, found.reciprocal);
    rows.write(arrays.onwards, onwards);
  }
}

/**
 * tridiagonalFactor(values, lower, reciprocals, upper, n) → bits: every pivot is sound; no multiplier
 * exceeds 10; every pivot is positive.
 */
export function tridiagonalFactor(w: Writer): void {
  const [values, lower, reciprocals, upper, n] = w.parameters();
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
  const lane = (local: Local, which: 0 | 1): Local => w.keep('f64', w.lane(local, which));
  const [c, r, e, s] = [lane(f.after, 0), lane(f.reciprocal, 0), lane(f.after, 1), lane(f.reciprocal, 1)];
  const rows = new LastRows(w, values, f);
  const product = (a: Operand, b: Operand): Push => w.op('f64.mul', a, b);
  const at = (array: Local, index: Local): Push => w.element(array, index);

  const extra = w.keep('i32', w.op('i32.sub', middle, 1));
  w.if(w.op('i32.eqz', w.op('i32.and', n, 1)), () => {
    const [a1, b1, c1] = [
      rows.beside(extra, -8, w.op('i32.gt_s', extra, 0)),
      rows.diagonal(extra),
      rows.beside(extra, 8, w.int(1)),
    ];
    const l = w.keep('f64', product(a1, r));
    const p = w.keep('f64', w.op('f64.sub', b1, product(product(a1, c), r)));
    w.set(r, w.op('f64.div', 1, p));
    w.set(c, c1);
    rows.multiplier(l);
    rows.pivot(p, a1, b1, c1);
    w.store(at(lower, extra), l);
    w.store(at(reciprocals, extra), r);
    w.store(at(upper, extra), product(c1, r));
  });
  const a = rows.beside(middle, -8, w.op('i32.gt_s', middle, 0));
  const b = rows.diagonal(middle);
  const g = rows.beside(middle, 8, w.op('i32.lt_s', middle, w.op('i32.sub', n, 1)));
  const pivot = w.keep(
    'f64',
    w.op('f64.sub', w.op('f64.sub', b, product(product(a, c), r)), product(product(g, e), s)),
  );
  const [la, lg] = [w.keep('f64', product(a, r)), w.keep('f64', product(g, s))];
  rows.multiplier(la);
  rows.multiplier(lg);
  rows.pivot(pivot, a, b, g);
  w.store(at(lower, middle), la);
  w.store(at(upper, middle), lg);
  w.store(at(reciprocals, middle), w.op('f64.div', 1, pivot));
  rows.bits();
}

/** tridiagonalSolve(lower, reciprocals, upper, n, b, x): x ← A⁻¹ b; b may be x. */
export function tridiagonalSolve(w: Writer): void {
  const [lower, reciprocals, upper, n, b, x] = w.parameters();
  substitute(w, {first: lower, second: upper, shift: 0, reciprocals, n, b, x});
}

/** tridiagonalSolveTransposed: x ← A⁻ᵀ b, under the same rules. */
export function tridiagonalSolveTransposed(w: Writer): void {
  const [lower, reciprocals, upper, n, b, x] = w.parameters();
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
  const shifted = (array: Local, by: number): Local => w.keep('i32', w.plus(array, 8 * by));
  const factors: Arrays = {top: shifted(first, -shift), bottom: shifted(second, shift)};
  const middle = w.keep('i32', w.op('i32.shr_u', n, 1));
  const common = w.keep('i32', w.op('i32.sub', w.op('i32.sub', n, 1), middle));
  const rows = new TridiagonalRows(
    w,
    w.keep('i32', 0),
    w.keep('i32', w.op('i32.shl', w.op('i32.sub', n, 2), 3)),
    'middle',
  );
  const chains: TridiagonalChains = {
    rows,
    carried: w.keep('v128', 0),
    x: shared(x),
    value: elements(rows, shared(b)),
    factor: elements(rows, factors),
  };
  // Nothing lies before the first rows, and where a multiplier lies one row before its own, the next rows' lies where
  // the first would have one.
  const none = (): Push => w.pair(0);
  const next = shift === 0 ? rows.readNext({top: first, bottom: second}) : rows.read({top: first, bottom: second});
  const begin: TridiagonalChains = {
    ...chains,
    factor: {one: none, top: none, two: () => [w.keep('v128', none()), w.keep('v128', next)]},
  };
  const end = w.keep('i32', w.op('i32.shl', w.op('i32.sub', common, 1), 3));
  const areTwo = w.op('i32.lt_s', rows.top, end);
  const isOne = w.op('i32.eq', rows.top, end);
  w.if(
    areTwo,
    () => {
      twoRows(w, begin);
      w.while(areTwo, () => twoRows(w, chains));
      w.if(isOne, () => oneRow(w, chains));
    },
    () => w.if(isOne, () => oneRow(w, begin)),
  );
  const lane = (which: 0 | 1): Local => w.keep('f64', w.lane(chains.carried, which));
  const z = lane(1);
  w.if(w.op('i32.lt_s', common, middle), () =>
    w.if(
      w.op('i32.eqz', common),
      () => topRow(w, begin),
      () => topRow(w, chains),
    ),
  );
  const y = lane(0);
  const at = (array: Local): Push => w.element(array, middle);
  const beside = (exists: Push, array: Local, by: number, carried: Local): Push =>
    w.choose(
      exists,
      w.op('f64.mul', w.load(w.plus(at(array), w.choose(exists, w.int(8 * by), w.int(0)))), carried),
      w.number(0),
    );
  const minus = (a: Operand, c: Operand): Push => w.op('f64.sub', a, c);
  const eliminated = minus(
    minus(w.load(at(b)), beside(w.op('i32.gt_s', middle, 0), first, -shift, y)),
    beside(w.op('i32.gt_s', common, 0), second, shift, z),
  );
  w.set(y, w.op('f64.mul', eliminated, w.load(at(reciprocals))));
  w.store(at(x), y);
  const back = new TridiagonalRows(w, rows.top, rows.bottom, 'ends');
  w.set(chains.carried, w.splat(y));
  outwards(w, n, middle, {
    ...chains,
    rows: back,
    value: products(w, elements(back, shared(x)), elements(back, shared(reciprocals))),
    factor: elements(back, {top: factors.bottom, bottom: factors.top}),
  });
}
