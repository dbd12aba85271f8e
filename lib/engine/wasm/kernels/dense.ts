/**
 * Dense LU with scaled partial pivoting, as in lib/linear/dense-lu.ts, whose storage and results it
 * has: rows one after another, multipliers below the diagonal, reciprocal pivots on it. Four pivots are
 * eliminated at a time, two rows and two columns at once.
 */
import type {Local} from '../../../wasm/assembler.js';
import type {Push, Writer} from '../../../wasm/writer.js';
import {ZERO_PIVOT} from '../../../linear/singularity.js';

/** Pivots eliminated together: so often is the rest of the matrix read and written a quarter as much. */
const panel = 4;

/** Locals that several parts of the factorization share. */
interface Dense {
  readonly a: Local;
  readonly n: Local;
  readonly pivots: Local;
  readonly scale: Local;
  /** Bytes of a row. */
  readonly row: Local;
  readonly smallest: Local;
}

/** denseScales(a, n, scale): scale_i = 1/max_j |a_ij|, 0 for a row of zeros. */
export function denseScales(w: Writer): void {
  const [a, n, scale] = [0, 1, 2].map(i => w.parameter(i));
  const [end, rowEnd, largest] = [w.keep('i32', w.element(w.get(scale), w.get(n))), w.local('i32'), w.local('f64')];
  w.while(w.op('i32.lt_s', w.get(scale), w.get(end)), () => {
    w.set(rowEnd, w.element(w.get(a), w.get(n)));
    w.set(largest, w.number(0));
    w.while(w.op('i32.lt_s', w.get(a), w.get(rowEnd)), () => {
      w.set(largest, w.op('f64.max', w.get(largest), w.op('f64.abs', w.load(w.get(a)))));
      w.set(a, w.plus(w.get(a), w.int(8)));
    });
    w.store(
      w.get(scale),
      w.choose(w.op('f64.gt', w.get(largest), w.number(0)), w.op('f64.div', w.number(1), w.get(largest)), w.number(0)),
    );
    w.set(scale, w.plus(w.get(scale), w.int(8)));
  });
}

/** denseFactor(a, n, pivots, scale) → the smallest pivot relative to its row's largest entry. */
export function denseFactor(w: Writer): void {
  const [a, n, pivots, scale] = [0, 1, 2, 3].map(i => w.parameter(i));
  const dense: Dense = {
    a,
    n,
    pivots,
    scale,
    row: w.keep('i32', w.op('i32.shl', w.get(n), w.int(3))),
    smallest: w.keep('f64', w.number(Infinity)),
  };
  const [start, k, right] = [w.local('i32'), w.local('i32'), w.local('i32')];
  w.set(start, w.int(0));
  w.while(w.op('i32.lt_s', w.get(start), w.get(n)), () => {
    // The last panel may be narrower; then there is nothing right of it.
    const whole = w.plus(w.get(start), w.int(panel));
    w.set(right, w.choose(w.op('i32.lt_s', whole, w.get(n)), whole, w.get(n)));
    w.for(k, w.get(start), w.get(right), () => {
      choosePivot(w, dense, k);
      eliminateBelow(w, dense, k, right);
    });
    w.if(w.op('i32.lt_s', w.get(right), w.get(n)), () => updateRight(w, dense, start));
    w.set(start, whole);
  });
  w.get(dense.smallest)();
}

/** Address of row i. */
function rowOf(w: Writer, {a, row}: Dense, i: Push): Push {
  return w.plus(w.get(a), w.op('i32.mul', i, w.get(row)));
}

/** Finds and swaps in the pivot of column k, and leaves its reciprocal on the diagonal. */
function choosePivot(w: Writer, dense: Dense, k: Local): void {
  const {n, pivots, scale, row, smallest} = dense;
  const top = w.keep('i32', rowOf(w, dense, w.get(k)));
  const diagonal = w.keep('i32', w.element(w.get(top), w.get(k)));
  const scaled = (column: Local, scales: Local): Push =>
    w.op('f64.mul', w.op('f64.abs', w.load(w.get(column))), w.load(w.get(scales)));
  const [column, scales, i] = [
    w.keep('i32', w.get(diagonal)),
    w.keep('i32', w.element(w.get(scale), w.get(k))),
    w.local('i32'),
  ];
  const [best, size, chosen] = [w.keep('f64', scaled(column, scales)), w.local('f64'), w.keep('i32', w.get(k))];
  const own = w.keep('i32', w.get(scales));
  w.for(i, w.plus(w.get(k), w.int(1)), w.get(n), () => {
    w.set(column, w.plus(w.get(column), w.get(row)));
    w.set(scales, w.plus(w.get(scales), w.int(8)));
    w.set(size, scaled(column, scales));
    w.if(w.op('f64.gt', w.get(size), w.get(best)), () => {
      w.set(best, w.get(size));
      w.set(chosen, w.get(i));
    });
  });
  w.storeInt(w.plus(w.get(pivots), w.op('i32.shl', w.get(k), w.int(2))), w.get(chosen));
  w.if(w.op('i32.ne', w.get(chosen), w.get(k)), () => {
    w.store(w.element(w.get(scale), w.get(chosen)), w.load(w.get(own)));
    const other = w.keep('i32', rowOf(w, dense, w.get(chosen)));
    swap(w, top, other, row);
    w.body.release(other);
  });
  w.if(w.op('f64.eq', w.get(best), w.number(0)), () => {
    const rowScale = w.load(w.get(own));
    w.store(
      w.get(diagonal),
      w.op(
        'f64.mul',
        w.number(ZERO_PIVOT),
        w.choose(w.op('f64.gt', rowScale, w.number(0)), w.op('f64.div', w.number(1), rowScale), w.number(1)),
      ),
    );
  });
  w.store(w.get(diagonal), w.op('f64.div', w.number(1), w.load(w.get(diagonal))));
  w.set(smallest, w.op('f64.min', w.get(smallest), w.get(best)));
  for (const local of [top, diagonal, column, scales, i, best, size, chosen, own]) w.body.release(local);
}

/** Exchanges two rows of so many bytes. */
function swap(w: Writer, one: Local, other: Local, bytes: Local): void {
  const [p, q, end] = [
    w.keep('i32', w.get(one)),
    w.keep('i32', w.get(other)),
    w.keep('i32', w.plus(w.get(one), w.get(bytes))),
  ];
  const [pair, single] = [w.local('v128'), w.local('f64')];
  w.pairs(
    [p, q],
    w.get(end),
    () => {
      w.set(pair, w.loadPair(w.get(p)));
      w.storePair(w.get(p), w.loadPair(w.get(q)));
      w.storePair(w.get(q), w.get(pair));
    },
    () => {
      w.set(single, w.load(w.get(p)));
      w.store(w.get(p), w.load(w.get(q)));
      w.store(w.get(q), w.get(single));
    },
  );
  for (const local of [p, q, end, pair, single]) w.body.release(local);
}

/** Rows below k get their multipliers and lose their multiple of row k, within the panel that ends at `right`. */
function eliminateBelow(w: Writer, dense: Dense, k: Local, right: Local): void {
  const {n, row} = dense;
  const top = w.keep('i32', w.element(rowOf(w, dense, w.get(k)), w.get(k)));
  const reciprocal = w.keep('f64', w.load(w.get(top)));
  const [at, i, l, p, q, end] = [
    w.keep('i32', w.get(top)),
    w.local('i32'),
    w.local('f64'),
    w.local('i32'),
    w.local('i32'),
    w.local('i32'),
  ];
  w.for(i, w.plus(w.get(k), w.int(1)), w.get(n), () => {
    w.set(at, w.plus(w.get(at), w.get(row)));
    w.set(l, w.op('f64.mul', w.load(w.get(at)), w.get(reciprocal)));
    w.store(w.get(at), w.get(l));
    w.set(p, w.get(at));
    w.set(q, w.get(top));
    w.set(end, w.element(w.get(at), w.op('i32.sub', w.op('i32.sub', w.get(right), w.get(k)), w.int(1))));
    w.while(w.op('i32.lt_s', w.get(p), w.get(end)), () => {
      w.set(p, w.plus(w.get(p), w.int(8)));
      w.set(q, w.plus(w.get(q), w.int(8)));
      w.store(w.get(p), w.op('f64.sub', w.load(w.get(p)), w.op('f64.mul', w.get(l), w.load(w.get(q)))));
    });
  });
  for (const local of [top, reciprocal, at, i, l, p, q, end]) w.body.release(local);
}

/** Rows start … start + 3 become rows of U right of the panel; then all rows below lose their four multiples of them. */
function updateRight(w: Writer, dense: Dense, start: Local): void {
  const {n, row} = dense;
  // Row addresses at the panel's first column.
  const rows = [w.keep('i32', w.element(rowOf(w, dense, w.get(start)), w.get(start)))];
  for (let r = 1; r < panel; r++) rows.push(w.keep('i32', w.plus(w.get(rows[r - 1]), w.get(row))));
  const rightEnd = w.keep('i32', w.element(w.get(rows[0]), w.op('i32.sub', w.get(n), w.get(start))));
  finishRows(w, rows, rightEnd);

  const [i, at] = [w.local('i32'), w.keep('i32', w.plus(w.get(rows[panel - 1]), w.get(row)))];
  w.set(i, w.plus(w.get(start), w.int(panel)));
  w.while(w.op('i32.lt_s', w.plus(w.get(i), w.int(1)), w.get(n)), () => {
    subtractRows(w, rows, [at, w.keep('i32', w.plus(w.get(at), w.get(row)))], rightEnd);
    w.set(at, w.plus(w.plus(w.get(at), w.get(row)), w.get(row)));
    w.set(i, w.plus(w.get(i), w.int(2)));
  });
  w.if(w.op('i32.lt_s', w.get(i), w.get(n)), () => subtractRows(w, rows, [at], rightEnd));
  for (const local of [...rows, rightEnd, i, at]) w.body.release(local);
}

/** u₁ −= l₁₀u₀, u₂ −= l₂₀u₀ + l₂₁u₁, … along the rows, right of the panel. */
function finishRows(w: Writer, rows: readonly Local[], rightEnd: Local): void {
  const l = rows.map((row, r) => Array.from({length: r}, (_, c) => w.keep('f64', w.load(w.get(row), 8 * c))));
  const pointers = rows.map(row => w.keep('i32', w.plus(w.get(row), w.int(8 * panel))));
  const walk = (paired: boolean): void => {
    const type = paired ? 'v128' : 'f64';
    const u: Local[] = [];
    pointers.forEach((pointer, r) => {
      let value: Push = paired ? w.loadPair(w.get(pointer)) : w.load(w.get(pointer));
      for (let c = 0; c < r; c++) {
        const factor = paired ? w.splat(w.get(l[r][c])) : w.get(l[r][c]);
        value = w.op(
          paired ? 'f64x2.sub' : 'f64.sub',
          value,
          w.op(paired ? 'f64x2.mul' : 'f64.mul', factor, w.get(u[c])),
        );
      }
      u.push(w.keep(type, value));
      if (r === 0) return;
      if (paired) w.storePair(w.get(pointer), w.get(u[r]));
      else w.store(w.get(pointer), w.get(u[r]));
    });
    u.forEach(local => w.body.release(local));
  };
  w.pairs(
    pointers,
    w.get(rightEnd),
    () => walk(true),
    () => walk(false),
  );
  for (const local of [...l.flat(), ...pointers]) w.body.release(local);
}

/** Each target row loses Σ_r l_r u_r, right of the panel; its multipliers stand in the panel's columns. */
function subtractRows(w: Writer, rows: readonly Local[], targets: readonly Local[], rightEnd: Local): void {
  const factors = targets.map(target => rows.map((_, r) => w.keep('f64', w.load(w.get(target), 8 * r))));
  const paired = factors.map(list => list.map(factor => w.keep('v128', w.splat(w.get(factor)))));
  const sources = rows.map(row => w.keep('i32', w.plus(w.get(row), w.int(8 * panel))));
  const pointers = targets.map(target => w.keep('i32', w.plus(w.get(target), w.int(8 * panel))));
  w.pairs(
    [...sources, ...pointers],
    w.get(rightEnd),
    () => {
      const u = sources.map(source => w.keep('v128', w.loadPair(w.get(source))));
      pointers.forEach((pointer, t) => {
        const product = u
          .map((value, r) => w.op('f64x2.mul', w.get(paired[t][r]), w.get(value)))
          .reduce((a, b) => w.op('f64x2.add', a, b));
        w.storePair(w.get(pointer), w.op('f64x2.sub', w.loadPair(w.get(pointer)), product));
      });
      u.forEach(local => w.body.release(local));
    },
    () => {
      pointers.forEach((pointer, t) => {
        const product = sources
          .map((source, r) => w.op('f64.mul', w.get(factors[t][r]), w.load(w.get(source))))
          .reduce((a, b) => w.op('f64.add', a, b));
        w.store(w.get(pointer), w.op('f64.sub', w.load(w.get(pointer)), product));
      });
    },
  );
  for (const local of [...factors.flat(), ...paired.flat(), ...sources, ...pointers]) w.body.release(local);
}

/** Applies the exchanges to x, in order or backwards. */
function permute(w: Writer, n: Local, pivots: Local, x: Local, backwards: boolean): void {
  const [k, chosen, kept] = [w.local('i32'), w.local('i32'), w.local('f64')];
  const exchange = (): void => {
    w.set(chosen, w.loadInt(w.plus(w.get(pivots), w.op('i32.shl', w.get(k), w.int(2)))));
    w.set(kept, w.load(w.element(w.get(x), w.get(k))));
    w.store(w.element(w.get(x), w.get(k)), w.load(w.element(w.get(x), w.get(chosen))));
    w.store(w.element(w.get(x), w.get(chosen)), w.get(kept));
  };
  if (!backwards) w.for(k, w.int(0), w.get(n), exchange);
  else {
    w.set(k, w.op('i32.sub', w.get(n), w.int(1)));
    w.while(w.op('i32.ge_s', w.get(k), w.int(0)), () => {
      exchange();
      w.set(k, w.op('i32.sub', w.get(k), w.int(1)));
    });
  }
  for (const local of [k, chosen, kept]) w.body.release(local);
}

/** Pushes Σ p_j q_j from two pointers up to an end. */
function dot(w: Writer, p: Local, q: Local, end: Push): Push {
  return () => {
    const [pair, single] = [w.keep('v128', w.pair(0)), w.keep('f64', w.number(0))];
    w.pairs(
      [p, q],
      end,
      () => w.set(pair, w.op('f64x2.add', w.get(pair), w.op('f64x2.mul', w.loadPair(w.get(p)), w.loadPair(w.get(q))))),
      () => w.set(single, w.op('f64.add', w.get(single), w.op('f64.mul', w.load(w.get(p)), w.load(w.get(q))))),
    );
    w.op('f64.add', w.get(single), w.op('f64.add', w.lane(w.get(pair), 0), w.lane(w.get(pair), 1)))();
    w.body.release(pair);
    w.body.release(single);
  };
}

/** q −= value·p along pointers up to an end of the first. */
function subtractMultiple(w: Writer, p: Local, q: Local, end: Push, value: Local): void {
  const both = w.keep('v128', w.splat(w.get(value)));
  w.pairs(
    [p, q],
    end,
    () =>
      w.storePair(
        w.get(q),
        w.op('f64x2.sub', w.loadPair(w.get(q)), w.op('f64x2.mul', w.get(both), w.loadPair(w.get(p)))),
      ),
    () => w.store(w.get(q), w.op('f64.sub', w.load(w.get(q)), w.op('f64.mul', w.get(value), w.load(w.get(p))))),
  );
  w.body.release(both);
}

/** denseSolve(a, n, pivots, x): x ← A⁻¹ x. */
export function denseSolve(w: Writer): void {
  const [a, n, pivots, x] = [0, 1, 2, 3].map(i => w.parameter(i));
  permute(w, n, pivots, x, false);
  const [i, row, p, q, sum] = [w.local('i32'), w.local('i32'), w.local('i32'), w.local('i32'), w.local('f64')];
  const bytes = w.keep('i32', w.op('i32.shl', w.get(n), w.int(3)));
  w.set(row, w.get(a));
  w.for(i, w.int(0), w.get(n), () => {
    w.set(p, w.get(row));
    w.set(q, w.get(x));
    w.set(sum, dot(w, p, q, w.element(w.get(row), w.get(i))));
    w.store(w.element(w.get(x), w.get(i)), w.op('f64.sub', w.load(w.element(w.get(x), w.get(i))), w.get(sum)));
    w.set(row, w.plus(w.get(row), w.get(bytes)));
  });
  w.set(i, w.op('i32.sub', w.get(n), w.int(1)));
  w.while(w.op('i32.ge_s', w.get(i), w.int(0)), () => {
    w.set(row, w.op('i32.sub', w.get(row), w.get(bytes)));
    w.set(p, w.plus(w.element(w.get(row), w.get(i)), w.int(8)));
    w.set(q, w.plus(w.element(w.get(x), w.get(i)), w.int(8)));
    w.set(sum, dot(w, p, q, w.plus(w.get(row), w.get(bytes))));
    const value = w.op('f64.sub', w.load(w.element(w.get(x), w.get(i))), w.get(sum));
    w.store(w.element(w.get(x), w.get(i)), w.op('f64.mul', value, w.load(w.element(w.get(row), w.get(i)))));
    w.set(i, w.op('i32.sub', w.get(i), w.int(1)));
  });
}

/** denseSolveTransposed(a, n, pivots, x): x ← A⁻ᵀ x. Rows of the factor are used as columns, so memory is read in order. */
export function denseSolveTransposed(w: Writer): void {
  const [a, n, pivots, x] = [0, 1, 2, 3].map(i => w.parameter(i));
  const [i, row, p, q, value] = [
    w.local('i32'),
    w.keep('i32', w.get(a)),
    w.local('i32'),
    w.local('i32'),
    w.local('f64'),
  ];
  const bytes = w.keep('i32', w.op('i32.shl', w.get(n), w.int(3)));
  w.for(i, w.int(0), w.get(n), () => {
    w.set(value, w.op('f64.mul', w.load(w.element(w.get(x), w.get(i))), w.load(w.element(w.get(row), w.get(i)))));
    w.store(w.element(w.get(x), w.get(i)), w.get(value));
    w.set(p, w.plus(w.element(w.get(row), w.get(i)), w.int(8)));
    w.set(q, w.plus(w.element(w.get(x), w.get(i)), w.int(8)));
    w.set(row, w.plus(w.get(row), w.get(bytes)));
    subtractMultiple(w, p, q, w.get(row), value);
  });
  w.set(i, w.op('i32.sub', w.get(n), w.int(1)));
  w.while(w.op('i32.gt_s', w.get(i), w.int(0)), () => {
    w.set(row, w.op('i32.sub', w.get(row), w.get(bytes)));
    w.set(value, w.load(w.element(w.get(x), w.get(i))));
    w.set(p, w.get(row));
    w.set(q, w.get(x));
    subtractMultiple(w, p, q, w.element(w.get(row), w.get(i)), value);
    w.set(i, w.op('i32.sub', w.get(i), w.int(1)));
  });
  permute(w, n, pivots, x, true);
}
