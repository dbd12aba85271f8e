/**
 * Banded LU with scaled partial pivoting, as in lib/linear/band-lu.ts, whose storage and results it
 * has: row i holds columns i − lower … i + upper + lower at i·stride, reciprocal pivots on the diagonal;
 * ends[k] is the last column of row k of U.
 */
import type {Local} from '../../../wasm/assembler.js';
import type {Push, Writer} from '../../../wasm/writer.js';
import {ZERO_PIVOT} from '../../../linear/singularity.js';

/** Column j of row i is at starts(i) + 8j: i·(stride − 1) + lower doubles from the beginning. */
function rowStart(w: Writer, a: Local, stride: Local, lower: Local, i: Push): Push {
  return w.element(w.get(a), w.plus(w.op('i32.mul', i, w.op('i32.sub', w.get(stride), w.int(1))), w.get(lower)));
}

function smaller(w: Writer, a: Push, b: Push): Push {
  return w.choose(w.op('i32.lt_s', a, b), a, b);
}

function strideOf(w: Writer, lower: Local, upper: Local): Local {
  return w.keep('i32', w.plus(w.plus(w.op('i32.shl', w.get(lower), w.int(1)), w.get(upper)), w.int(1)));
}

const intAt = (w: Writer, array: Local, index: Push): Push => w.plus(w.get(array), w.op('i32.shl', index, w.int(2)));

/** bandFactor(a, n, lower, upper, pivots, ends, scale) → the smallest pivot relative to its row's largest entry. */
export function bandFactor(w: Writer): void {
  const [a, n, lower, upper, pivots, ends, scale] = [0, 1, 2, 3, 4, 5, 6].map(i => w.parameter(i));
  const stride = strideOf(w, lower, upper);
  // From one row to the next, the same column is so many bytes on.
  const down = w.keep('i32', w.op('i32.shl', w.op('i32.sub', w.get(stride), w.int(1)), w.int(3)));
  const [k, last, reach, chosen, i, at] = [0, 1, 2, 3, 4, 5].map(() => w.local('i32'));
  const [best, size, smallest, l] = [w.local('f64'), w.local('f64'), w.keep('f64', w.number(Infinity)), w.local('f64')];
  const [top, p, q, end] = [0, 1, 2, 3].map(() => w.local('i32'));
  const [pair, single] = [w.local('v128'), w.local('f64')];
  w.set(reach, w.int(0));
  w.for(k, w.int(0), w.get(n), () => {
    w.set(last, smaller(w, w.plus(w.get(k), w.get(lower)), w.op('i32.sub', w.get(n), w.int(1))));
    // The diagonal element; below it, those of the same column.
    w.set(top, w.element(rowStart(w, a, stride, lower, w.get(k)), w.get(k)));
    w.set(best, w.number(-1));
    w.set(chosen, w.get(k));
    w.set(at, w.get(top));
    w.for(i, w.get(k), w.plus(w.get(last), w.int(1)), () => {
      w.set(size, w.op('f64.mul', w.op('f64.abs', w.load(w.get(at))), w.load(w.element(w.get(scale), w.get(i)))));
      w.if(w.op('f64.gt', w.get(size), w.get(best)), () => {
        w.set(best, w.get(size));
        w.set(chosen, w.get(i));
      });
      w.set(at, w.plus(w.get(at), w.get(down)));
    });
    w.set(smallest, w.op('f64.min', w.get(smallest), w.get(best)));
    const furthest = w.plus(w.get(chosen), w.get(upper));
    w.set(reach, w.choose(w.op('i32.gt_s', w.get(reach), furthest), w.get(reach), furthest));
    w.set(reach, smaller(w, w.get(reach), w.op('i32.sub', w.get(n), w.int(1))));
    w.storeInt(intAt(w, pivots, w.get(k)), w.get(chosen));
    w.storeInt(intAt(w, ends, w.get(k)), w.get(reach));
    w.set(end, w.element(w.get(top), w.plus(w.op('i32.sub', w.get(reach), w.get(k)), w.int(1))));
    w.if(w.op('i32.ne', w.get(chosen), w.get(k)), () => {
      w.store(w.element(w.get(scale), w.get(chosen)), w.load(w.element(w.get(scale), w.get(k))));
      w.set(p, w.get(top));
      w.set(q, w.element(rowStart(w, a, stride, lower, w.get(chosen)), w.get(k)));
      w.pairs([p, q], w.get(end), () => {
        w.set(pair, w.loadPair(w.get(p)));
        w.storePair(w.get(p), w.loadPair(w.get(q)));
        w.storePair(w.get(q), w.get(pair));
      }, () => {
        w.set(single, w.load(w.get(p)));
        w.store(w.get(p), w.load(w.get(q)));
        w.store(w.get(q), w.get(single));
      });
    });
    w.if(w.op('f64.eq', w.get(best), w.number(0)), () => {
      const own = w.load(w.element(w.get(scale), w.get(k)));
      w.store(w.get(top), w.op('f64.mul', w.number(ZERO_PIVOT), w.choose(w.op('f64.gt', own, w.number(0)), w.op('f64.div', w.number(1), own), w.number(1))));
    });
    w.store(w.get(top), w.op('f64.div', w.number(1), w.load(w.get(top))));
    w.set(at, w.get(top));
    w.for(i, w.plus(w.get(k), w.int(1)), w.plus(w.get(last), w.int(1)), () => {
      w.set(at, w.plus(w.get(at), w.get(down)));
      w.set(l, w.op('f64.mul', w.load(w.get(at)), w.load(w.get(top))));
      w.store(w.get(at), w.get(l));
      w.if(w.op('f64.ne', w.get(l), w.number(0)), () => {
        w.set(p, w.plus(w.get(top), w.int(8)));
        w.set(q, w.plus(w.get(at), w.int(8)));
        subtractMultiple(w, p, q, w.get(end), l);
      });
    });
  });
  w.get(smallest)();
}

/** q −= value·p along pointers up to an end of the first. */
function subtractMultiple(w: Writer, p: Local, q: Local, end: Push, value: Local): void {
  const both = w.keep('v128', w.splat(w.get(value)));
  w.pairs([p, q], end, () => w.storePair(w.get(q), w.op('f64x2.sub', w.loadPair(w.get(q)), w.op('f64x2.mul', w.get(both), w.loadPair(w.get(p))))),
    () => w.store(w.get(q), w.op('f64.sub', w.load(w.get(q)), w.op('f64.mul', w.get(value), w.load(w.get(p))))));
  w.body.release(both);
}

interface Substitution {
  readonly n: Local;
  readonly lower: Local;
  readonly pivots: Local;
  readonly ends: Local;
  readonly y: Local;
  /** Bytes from one row to the next in the same column. */
  readonly down: Local;
  readonly k: Local;
  readonly last: Local;
  /** The diagonal element of row k. */
  readonly top: Local;
  readonly value: Local;
  readonly p: Local;
  readonly q: Local;
}

/** (a, n, lower, upper, pivots, ends, y) */
function substitution(w: Writer): Substitution {
  const [a, n, lower, upper, pivots, ends, y] = [0, 1, 2, 3, 4, 5, 6].map(i => w.parameter(i));
  const stride = strideOf(w, lower, upper);
  const down = w.keep('i32', w.op('i32.shl', w.op('i32.sub', w.get(stride), w.int(1)), w.int(3)));
  const top = w.keep('i32', w.element(w.get(a), w.get(lower)));
  return {n, lower, pivots, ends, y, down, top, k: w.keep('i32', w.int(0)), last: w.local('i32'), value: w.local('f64'), p: w.local('i32'), q: w.local('i32')};
}

const at = (w: Writer, {y, k}: Substitution): Push => w.element(w.get(y), w.get(k));

/** Moves to the row after, or before. */
function move(w: Writer, {k, top, down}: Substitution, forwards: boolean): void {
  w.set(k, w.op(forwards ? 'i32.add' : 'i32.sub', w.get(k), w.int(1)));
  // One row on and one column on.
  w.set(top, w.op(forwards ? 'i32.add' : 'i32.sub', w.get(top), w.plus(w.get(down), w.int(8))));
}

function forwards(w: Writer, s: Substitution, row: () => void): void {
  w.while(w.op('i32.lt_s', w.get(s.k), w.get(s.n)), () => {
    row();
    move(w, s, true);
  });
}

function backwards(w: Writer, s: Substitution, row: () => void): void {
  move(w, s, false);
  w.while(w.op('i32.ge_s', w.get(s.k), w.int(0)), () => {
    row();
    move(w, s, false);
  });
}

/** Behind the last column of row k of U. */
function endOfRow(w: Writer, {top, ends, k}: Substitution): Push {
  return w.element(w.get(top), w.plus(w.op('i32.sub', w.loadInt(intAt(w, ends, w.get(k))), w.get(k)), w.int(1)));
}

/** Runs over the rows below k that have a multiplier in its column, p at the multiplier and q at the row's element of y. */
function below(w: Writer, s: Substitution, code: () => void): void {
  const {k, n, lower, last, p, q, top, y, down} = s;
  w.set(last, smaller(w, w.plus(w.get(k), w.get(lower)), w.op('i32.sub', w.get(n), w.int(1))));
  w.set(p, w.plus(w.get(top), w.get(down)));
  w.set(q, w.plus(at(w, s), w.int(8)));
  w.while(w.op('i32.le_s', w.get(q), w.element(w.get(y), w.get(last))), () => {
    code();
    w.set(p, w.plus(w.get(p), w.get(down)));
    w.set(q, w.plus(w.get(q), w.int(8)));
  });
}

/** bandSolve(a, n, lower, upper, pivots, ends, y): y ← A⁻¹ y. */
export function bandSolve(w: Writer): void {
  const s = substitution(w);
  const {pivots, y, k, top, value, p, q} = s;
  const other = w.local('i32');
  forwards(w, s, () => {
    w.set(other, w.element(w.get(y), w.loadInt(intAt(w, pivots, w.get(k)))));
    w.set(value, w.load(w.get(other)));
    w.store(w.get(other), w.load(at(w, s)));
    w.store(at(w, s), w.get(value));
    below(w, s, () => w.store(w.get(q), w.op('f64.sub', w.load(w.get(q)), w.op('f64.mul', w.load(w.get(p)), w.get(value)))));
  });
  const pair = w.local('v128');
  backwards(w, s, () => {
    w.set(value, w.load(at(w, s)));
    w.set(pair, w.pair(0));
    w.set(p, w.plus(w.get(top), w.int(8)));
    w.set(q, w.plus(at(w, s), w.int(8)));
    w.pairs([p, q], endOfRow(w, s), () => w.set(pair, w.op('f64x2.add', w.get(pair), w.op('f64x2.mul', w.loadPair(w.get(p)), w.loadPair(w.get(q))))),
      () => w.set(value, w.op('f64.sub', w.get(value), w.op('f64.mul', w.load(w.get(p)), w.load(w.get(q))))));
    w.set(value, w.op('f64.sub', w.get(value), w.op('f64.add', w.lane(w.get(pair), 0), w.lane(w.get(pair), 1))));
    w.store(at(w, s), w.op('f64.mul', w.get(value), w.load(w.get(top))));
  });
}

/** bandSolveTransposed(a, n, lower, upper, pivots, ends, y): y ← A⁻ᵀ y. */
export function bandSolveTransposed(w: Writer): void {
  const s = substitution(w);
  const {pivots, y, k, top, value, p, q} = s;
  forwards(w, s, () => {
    w.set(value, w.op('f64.mul', w.load(at(w, s)), w.load(w.get(top))));
    w.store(at(w, s), w.get(value));
    w.set(p, w.plus(w.get(top), w.int(8)));
    w.set(q, w.plus(at(w, s), w.int(8)));
    subtractMultiple(w, p, q, endOfRow(w, s), value);
  });
  const other = w.local('i32');
  backwards(w, s, () => {
    w.set(value, w.load(at(w, s)));
    below(w, s, () => w.set(value, w.op('f64.sub', w.get(value), w.op('f64.mul', w.load(w.get(p)), w.load(w.get(q))))));
    w.set(other, w.element(w.get(y), w.loadInt(intAt(w, pivots, w.get(k)))));
    w.store(at(w, s), w.load(w.get(other)));
    w.store(w.get(other), w.get(value));
  });
}
