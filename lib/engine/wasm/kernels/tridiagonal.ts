/**
 * Tridiagonal systems from both ends to the middle, as in lib/linear/tridiagonal.ts, whose numbers and
 * tests of the pivots it has: two chains of dependent divisions go side by side.
 */
import type {Local} from '../../../wasm/assembler.js';
import type {Push, Writer} from '../../../wasm/writer.js';
import {SUSPICIOUS_PIVOT} from '../../../linear/singularity.js';

/** Bits of what the factorization returns. */
export const tridiagonalSound = 1;
export const tridiagonalSmallMultipliers = 2;
export const tridiagonalPositive = 4;

/** The largest multiplier accepted without a proof of definiteness: growth at most 11. */
const largestMultiplier = 10;

/**
 * tridiagonalFactor(values, lower, reciprocals, upper, n) → bits: every pivot is sound; no multiplier
 * exceeds 10; every pivot is positive. The 3n − 2 values lie row by row: b₀ c₀, a₁ b₁ c₁, …, a b.
 */
export function tridiagonalFactor(w: Writer): void {
  const [values, lower, reciprocals, upper, n] = Array.from({length: 5}, (_, i) => w.parameter(i));
  const diagonalAt = (index: Local): Push => w.plus(w.get(values), w.op('i32.mul', w.get(index), w.int(24)));
  const entry = (index: Local, by: -1 | 0 | 1): Push => (by < 0 ? w.load(w.op('i32.sub', diagonalAt(index), w.int(8))) : w.load(diagonalAt(index), 8 * by));
  const middle = w.keep('i32', w.op('i32.shr_u', w.get(n), w.int(1)));
  const [i, j] = [w.keep('i32', w.int(0)), w.keep('i32', w.op('i32.sub', w.get(n), w.int(1)))];
  const [r, c, s, e] = [0, 1, 2, 3].map(() => w.keep('f64', w.number(0)));
  const [largest, lowest, sound] = [w.keep('f64', w.number(0)), w.keep('f64', w.number(Infinity)), w.keep('i32', w.int(1))];
  const product = (a: Push, b: Push): Push => w.op('f64.mul', a, b);
  const size = (a: Push): Push => w.op('f64.abs', a);

  const check = (pivot: Local, row: Push): void => {
    w.set(lowest, w.op('f64.min', w.get(lowest), w.get(pivot)));
    w.set(sound, w.op('i32.and', w.get(sound), w.op('f64.gt', size(w.get(pivot)), product(w.number(SUSPICIOUS_PIVOT), row))));
  };
  const watch = (multiplier: Local): void => w.set(largest, w.op('f64.max', w.get(largest), size(w.get(multiplier))));
  /** One row, from the side of the row before: its multiplier, reciprocal pivot and the entry onwards times that. */
  const eliminate = (
    index: Local, before: Push, diagonal: Push, after: Push, reciprocal: Local, carried: Local, multipliers: Local, onwards: Local,
  ): void => {
    const [a1, b1, c1] = [w.keep('f64', before), w.keep('f64', diagonal), w.keep('f64', after)];
    const l = w.keep('f64', product(w.get(a1), w.get(reciprocal)));
    // (a c) / d rather than a (c / d): the product does not wait for the division.
    const pivot = w.keep('f64', w.op('f64.sub', w.get(b1), product(product(w.get(a1), w.get(carried)), w.get(reciprocal))));
    w.set(reciprocal, w.op('f64.div', w.number(1), w.get(pivot)));
    w.set(carried, w.get(c1));
    watch(l);
    check(pivot, w.op('f64.max', w.op('f64.max', size(w.get(a1)), size(w.get(b1))), size(w.get(c1))));
    w.store(w.element(w.get(multipliers), w.get(index)), w.get(l));
    w.store(w.element(w.get(reciprocals), w.get(index)), w.get(reciprocal));
    w.store(w.element(w.get(onwards), w.get(index)), product(w.get(c1), w.get(reciprocal)));
    for (const local of [a1, b1, c1, l, pivot]) w.body.release(local);
  };
  // What stands for the entry before the first row and behind the last is not used.
  const beforeFirst = (index: Local, by: -8 | 8): Push => {
    const there = w.op('i32.gt_s', w.get(i), w.int(0));
    return w.choose(there, w.load(w.plus(diagonalAt(index), w.choose(there, w.int(by), w.int(0)))), w.number(0));
  };
  const fromTop = (): void => eliminate(i, beforeFirst(i, -8), entry(i, 0), entry(i, 1), r, c, lower, upper);
  const fromBottom = (): void => eliminate(j, beforeFirst(j, 8), entry(j, 0), entry(j, -1), s, e, upper, lower);
  w.while(w.op('i32.gt_s', w.get(j), w.get(middle)), () => {
    fromTop();
    fromBottom();
    w.set(i, w.plus(w.get(i), w.int(1)));
    w.set(j, w.op('i32.sub', w.get(j), w.int(1)));
  });
  // An even n leaves one row between the top and the middle.
  w.if(w.op('i32.lt_s', w.get(i), w.get(middle)), fromTop);

  const beside = (by: -8 | 8, there: Push): Push => w.choose(there, w.load(w.plus(diagonalAt(middle), w.choose(there, w.int(by), w.int(0)))), w.number(0));
  const a = w.keep('f64', beside(-8, w.op('i32.gt_s', w.get(middle), w.int(0))));
  const b = w.keep('f64', entry(middle, 0));
  const f = w.keep('f64', beside(8, w.op('i32.lt_s', w.get(middle), w.op('i32.sub', w.get(n), w.int(1)))));
  const pivot = w.keep('f64', w.op('f64.sub', w.op('f64.sub', w.get(b), product(product(w.get(a), w.get(c)), w.get(r))), product(product(w.get(f), w.get(e)), w.get(s))));
  const [la, lf] = [w.keep('f64', product(w.get(a), w.get(r))), w.keep('f64', product(w.get(f), w.get(s)))];
  watch(la);
  watch(lf);
  check(pivot, w.op('f64.max', w.op('f64.max', size(w.get(a)), size(w.get(b))), size(w.get(f))));
  w.store(w.element(w.get(lower), w.get(middle)), w.get(la));
  w.store(w.element(w.get(upper), w.get(middle)), w.get(lf));
  w.store(w.element(w.get(reciprocals), w.get(middle)), w.op('f64.div', w.number(1), w.get(pivot)));

  const bit = (condition: Push, value: number): Push => w.choose(condition, w.int(value), w.int(0));
  w.op('i32.or', w.op('i32.or', bit(w.get(sound), tridiagonalSound), bit(w.op('f64.le', w.get(largest), w.number(largestMultiplier)), tridiagonalSmallMultipliers)),
    bit(w.op('f64.gt', w.get(lowest), w.number(0)), tridiagonalPositive))();
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
