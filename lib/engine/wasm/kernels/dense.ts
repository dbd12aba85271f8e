/**
 * Dense LU with scaled partial pivoting, as in lib/linear/dense-lu.ts, whose storage and results it
 * has: rows one after another, multipliers below the diagonal, reciprocal pivots on it. Four pivots are
 * eliminated at a time, two rows and two columns at once.
 */
import type {Local} from '../../../wasm/assembler.js';
import type {Operand, Push, Writer} from '../../../wasm/writer.js';
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
  const [a, n, scale] = w.parameters();
  const [end, rowEnd, largest] = [w.keep('i32', w.element(scale, n)), w.local('i32'), w.local('f64')];
  w.while(w.op('i32.lt_s', scale, end), () => {
    w.set(rowEnd, w.element(a, n));
    w.set(largest, 0);
    w.while(w.op('i32.lt_s', a, rowEnd), () => {
      w.set(largest, w.op('f64.max', largest, w.op('f64.abs', w.load(a))));
      w.move(a, 8);
    });
    w.store(scale, w.choose(w.op('f64.gt', largest, 0), w.op('f64.div', 1, largest), w.number(0)));
    w.move(scale, 8);
  });
}

/** denseFactor(a, n, pivots, scale) → the smallest pivot relative to its row's largest entry. */
export function denseFactor(w: Writer): void {
  const [a, n, pivots, scale] = w.parameters();
  const dense: Dense = {
    a,
    n,
    pivots,
    scale,
    row: w.keep('i32', w.op('i32.shl', n, 3)),
    smallest: w.keep('f64', Infinity),
  };
  const [start, k, right] = w.locals('i32', 3);
  w.set(start, 0);
  w.while(w.op('i32.lt_s', start, n), () => {
    // The last panel may be narrower; then there is nothing right of it.
    const whole = w.plus(start, panel);
    w.set(right, w.choose(w.op('i32.lt_s', whole, n), whole, n));
    w.for(k, start, right, () => {
      choosePivot(w, dense, k);
      eliminateBelow(w, dense, k, right);
    });
    w.if(w.op('i32.lt_s', right, n), () => updateRight(w, dense, start));
    w.set(start, whole);
  });
  w.push(dense.smallest);
}

/** Address of row i. */
function rowOf(w: Writer, {a, row}: Dense, i: Local): Push {
  return w.plus(a, w.op('i32.mul', i, row));
}

/** Finds and swaps in the pivot of column k, and leaves its reciprocal on the diagonal. */
function choosePivot(w: Writer, dense: Dense, k: Local): void {
  const {n, pivots, scale, row, smallest} = dense;
  const top = w.keep('i32', rowOf(w, dense, k));
  const diagonal = w.keep('i32', w.element(top, k));
  const scaled = (column: Local, scales: Local): Push =>
    w.op('f64.mul', w.op('f64.abs', w.load(column)), w.load(scales));
  const [column, scales, i] = [w.keep('i32', diagonal), w.keep('i32', w.element(scale, k)), w.local('i32')];
  const [best, size, chosen] = [w.keep('f64', scaled(column, scales)), w.local('f64'), w.keep('i32', k)];
  const own = w.keep('i32', scales);
  w.for(i, w.plus(k, 1), n, () => {
    w.move(column, row);
    w.move(scales, 8);
    w.set(size, scaled(column, scales));
    w.if(w.op('f64.gt', size, best), () => {
      w.set(best, size);
      w.set(chosen, i);
    });
  });
  w.storeInt(w.plus(pivots, w.op('i32.shl', k, 2)), chosen);
  w.if(w.op('i32.ne', chosen, k), () => {
    w.store(w.element(scale, chosen), w.load(own));
    const other = w.keep('i32', rowOf(w, dense, chosen));
    swap(w, top, other, row);
    w.body.release(other);
  });
  w.if(w.op('f64.eq', best, 0), () => {
    const rowScale = w.load(own);
    w.store(
      diagonal,
      w.op('f64.mul', ZERO_PIVOT, w.choose(w.op('f64.gt', rowScale, 0), w.op('f64.div', 1, rowScale), w.number(1))),
    );
  });
  w.store(diagonal, w.op('f64.div', 1, w.load(diagonal)));
  w.set(smallest, w.op('f64.min', smallest, best));
  w.release(top, diagonal, column, scales, i, best, size, chosen, own);
}

/** Exchanges two rows of so many bytes. */
function swap(w: Writer, one: Local, other: Local, bytes: Local): void {
  const [p, q, end] = [w.keep('i32', one), w.keep('i32', other), w.keep('i32', w.plus(one, bytes))];
  w.each([p, q], end, v => {
    const kept = v.keep(v.load(p));
    v.store(p, v.load(q));
    v.store(q, kept);
    w.release(kept);
  });
  w.release(p, q, end);
}

/** Rows below k get their multipliers and lose their multiple of row k, within the panel that ends at `right`. */
function eliminateBelow(w: Writer, dense: Dense, k: Local, right: Local): void {
  const {n, row} = dense;
  const top = w.keep('i32', w.element(rowOf(w, dense, k), k));
  const reciprocal = w.keep('f64', w.load(top));
  const [at, i, l, p, q, end] = [
    w.keep('i32', top),
    w.local('i32'),
    w.local('f64'),
    w.local('i32'),
    w.local('i32'),
    w.local('i32'),
  ];
  w.for(i, w.plus(k, 1), n, () => {
    w.move(at, row);
    w.set(l, w.op('f64.mul', w.load(at), reciprocal));
    w.store(at, l);
    w.set(p, at);
    w.set(q, top);
    w.set(end, w.element(at, w.op('i32.sub', w.op('i32.sub', right, k), 1)));
    w.while(w.op('i32.lt_s', p, end), () => {
      w.move(p, 8);
      w.move(q, 8);
      w.store(p, w.op('f64.sub', w.load(p), w.op('f64.mul', l, w.load(q))));
    });
  });
  w.release(top, reciprocal, at, i, l, p, q, end);
}

/**
 * Rows start … start + 3 become rows of U right of the panel; then all rows below lose their four multiples of them.
 */
function updateRight(w: Writer, dense: Dense, start: Local): void {
  const {n, row} = dense;
  // Row addresses at the panel's first column.
  const rows = [w.keep('i32', w.element(rowOf(w, dense, start), start))];
  for (let r = 1; r < panel; r++) rows.push(w.keep('i32', w.plus(rows[r - 1], row)));
  const rightEnd = w.keep('i32', w.element(rows[0], w.op('i32.sub', n, start)));
  finishRows(w, rows, rightEnd);

  const [i, at] = [w.local('i32'), w.keep('i32', w.plus(rows[panel - 1], row))];
  w.set(i, w.plus(start, panel));
  w.while(w.op('i32.lt_s', w.plus(i, 1), n), () => {
    subtractRows(w, rows, [at, w.keep('i32', w.plus(at, row))], rightEnd);
    w.set(at, w.plus(w.plus(at, row), row));
    w.move(i, 2);
  });
  w.if(w.op('i32.lt_s', i, n), () => subtractRows(w, rows, [at], rightEnd));
  w.release(...rows, rightEnd, i, at);
}

/** u₁ −= l₁₀u₀, u₂ −= l₂₀u₀ + l₂₁u₁, … along the rows, right of the panel. */
function finishRows(w: Writer, rows: readonly Local[], rightEnd: Local): void {
  const l = rows.map((row, r) => Array.from({length: r}, (_, c) => w.keep('f64', w.load(row, 8 * c))));
  const pointers = rows.map(row => w.keep('i32', w.plus(row, 8 * panel)));
  w.each(pointers, rightEnd, v => {
    const u: Local[] = [];
    pointers.forEach((pointer, r) => {
      const factors = l[r].map(factor => (v.paired ? w.splat(factor) : factor));
      const rest = factors.reduce((value, factor, c) => v.op('sub', value, v.op('mul', factor, u[c])), v.load(pointer));
      u.push(v.keep(rest));
      if (r > 0) v.store(pointer, u[r]);
    });
    w.release(...u);
  });
  w.release(...l.flat(), ...pointers);
}

/** Each target row loses Σ_r l_r u_r, right of the panel; its multipliers stand in the panel's columns. */
function subtractRows(w: Writer, rows: readonly Local[], targets: readonly Local[], rightEnd: Local): void {
  const factors = targets.map(target => rows.map((_, r) => w.spread(w.keep('f64', w.load(target, 8 * r)))));
  const sources = rows.map(row => w.keep('i32', w.plus(row, 8 * panel)));
  const pointers = targets.map(target => w.keep('i32', w.plus(target, 8 * panel)));
  w.each([...sources, ...pointers], rightEnd, v => {
    const u = sources.map(source => v.keep(v.load(source)));
    pointers.forEach((pointer, t) => {
      const products = u.map((value, r) => v.op('mul', v.all(factors[t][r]), value));
      const sum = products.reduce((one, other) => v.op('add', one, other));
      v.store(pointer, v.op('sub', v.load(pointer), sum));
    });
    w.release(...u);
  });
  w.release(...factors.flat().flatMap(({one, both}) => [one, both]), ...sources, ...pointers);
}

/** Applies the exchanges to x, in order or backwards. */
function permute(w: Writer, n: Local, pivots: Local, x: Local, backwards: boolean): void {
  const [k, chosen, kept] = [w.local('i32'), w.local('i32'), w.local('f64')];
  const exchange = (): void => {
    w.set(chosen, w.loadInt(w.plus(pivots, w.op('i32.shl', k, 2))));
    w.set(kept, w.load(w.element(x, k)));
    w.store(w.element(x, k), w.load(w.element(x, chosen)));
    w.store(w.element(x, chosen), kept);
  };
  if (backwards) w.down(k, n, exchange);
  else w.for(k, 0, n, exchange);
  w.release(k, chosen, kept);
}

/** Pushes Σ p_j q_j from two pointers up to an end. */
function dot(w: Writer, p: Local, q: Local, end: Push): Push {
  return () => {
    const [pair, single] = [w.keep('v128', 0), w.keep('f64', 0)];
    w.each([p, q], end, v => {
      const sum = v.paired ? pair : single;
      w.set(sum, v.op('add', sum, v.op('mul', v.load(p), v.load(q))));
    });
    w.op('f64.add', single, w.op('f64.add', w.lane(pair, 0), w.lane(pair, 1)))();
    w.body.release(pair);
    w.body.release(single);
  };
}

/** q −= value·p along pointers up to an end of the first. */
function subtractMultiple(w: Writer, p: Local, q: Local, end: Operand, value: Local): void {
  const factor = w.spread(value);
  w.each([p, q], end, v => v.store(q, v.op('sub', v.load(q), v.op('mul', v.all(factor), v.load(p)))));
  w.release(factor.both);
}

/** denseSolve(a, n, pivots, x): x ← A⁻¹ x. */
export function denseSolve(w: Writer): void {
  const [a, n, pivots, x] = w.parameters();
  permute(w, n, pivots, x, false);
  const [i, row, p, q, sum] = [w.local('i32'), w.local('i32'), w.local('i32'), w.local('i32'), w.local('f64')];
  const bytes = w.keep('i32', w.op('i32.shl', n, 3));
  w.set(row, a);
  w.for(i, 0, n, () => {
    w.set(p, row);
    w.set(q, x);
    w.set(sum, dot(w, p, q, w.element(row, i)));
    w.store(w.element(x, i), w.op('f64.sub', w.load(w.element(x, i)), sum));
    w.move(row, bytes);
  });
  w.down(i, n, () => {
    w.set(row, w.op('i32.sub', row, bytes));
    w.set(p, w.plus(w.element(row, i), 8));
    w.set(q, w.plus(w.element(x, i), 8));
    w.set(sum, dot(w, p, q, w.plus(row, bytes)));
    const value = w.op('f64.sub', w.load(w.element(x, i)), sum);
    w.store(w.element(x, i), w.op('f64.mul', value, w.load(w.element(row, i))));
  });
}

/**
 * denseSolveTransposed(a, n, pivots, x): x ← A⁻ᵀ x. Rows of the factor are used as columns, so memory is read in order.
 */
export function denseSolveTransposed(w: Writer): void {
  const [a, n, pivots, x] = w.parameters();
  const [i, row, p, q, value] = [w.local('i32'), w.keep('i32', a), w.local('i32'), w.local('i32'), w.local('f64')];
  const bytes = w.keep('i32', w.op('i32.shl', n, 3));
  w.for(i, 0, n, () => {
    w.set(value, w.op('f64.mul', w.load(w.element(x, i)), w.load(w.element(row, i))));
    w.store(w.element(x, i), value);
    w.set(p, w.plus(w.element(row, i), 8));
    w.set(q, w.plus(w.element(x, i), 8));
    w.move(row, bytes);
    subtractMultiple(w, p, q, row, value);
  });
  const eliminate = (): void => {
    w.set(row, w.op('i32.sub', row, bytes));
    w.set(value, w.load(w.element(x, i)));
    w.set(p, row);
    w.set(q, x);
    subtractMultiple(w, p, q, w.element(row, i), value);
  };
  w.down(i, n, eliminate, 1);
  permute(w, n, pivots, x, true);
}
