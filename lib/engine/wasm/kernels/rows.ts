/**
 * What is asked of a matrix row by row, its values as they lie: Newton's scales of the rows, and whether rows have
 * changed since their digits were looked at. Row i has the columns from i − band to i + band, as far as there are such:
 * a tridiagonal matrix with a band of 1, a full one with a band of n. Sums go from left to right, as those of plain
 * loops over a pattern do.
 */
import type {Local} from '../../../wasm/assembler.js';
import type {Operand, Writer} from '../../../wasm/writer.js';

/** Runs code for every row, and for every entry of it, with the row and the column in locals, and the entry's value. */
function eachRow(
  w: Writer,
  {values, n, band}: {readonly values: Local; readonly n: Local; readonly band: Local},
  code: {
    readonly before: () => void;
    readonly entry: (value: Local, column: Local) => void;
    readonly after: (row: Local) => void;
  },
): void {
  const [row, column, end] = w.locals('i32', 3);
  const value = w.local('f64');
  const at = w.keep('i32', values);
  w.for(row, 0, n, () => {
    code.before();
    const first = w.op('i32.sub', row, band);
    const last = w.plus(w.plus(row, band), 1);
    w.set(end, w.choose(w.op('i32.lt_s', last, n), last, n));
    w.for(column, w.choose(w.op('i32.gt_s', first, 0), first, w.int(0)), end, () => {
      w.set(value, w.load(at));
      w.move(at, 8);
      code.entry(value, column);
    });
    code.after(row);
  });
}

const add = (w: Writer, sum: Local, term: Operand): void => w.set(sum, w.op('f64.add', sum, term));

/** rowScales(values, weights, scale, n, band): scaleᵢ = Σ |aᵢⱼ| weightsⱼ. */
export function rowScales(w: Writer): void {
  const [values, weights, scale, n, band] = w.parameters();
  const sum = w.local('f64');
  eachRow(
    w,
    {values, n, band},
    {
      before: () => w.set(sum, 0),
      entry: (value, column) =>
        add(w, sum, w.op('f64.mul', w.op('f64.abs', value), w.load(w.element(weights, column)))),
      after: row => w.store(w.element(scale, row), sum),
    },
  );
}

/**
 * rowsChanged(values, largest, least, n, band): 1 where a diagonal entry is larger than `largest` of its row, or |Σ
 * aᵢⱼ| less than `least` of Σ |aᵢⱼ|; else 0. See linear/error-amplification.ts.
 */
export function rowsChanged(w: Writer): void {
  const [values, largest, least, n, band] = w.parameters();
  const [sum, sizes, own] = w.locals('f64', 3);
  const [at, changed] = [w.local('i32'), w.keep('i32', 0)];
  w.set(at, 0);
  eachRow(
    w,
    {values, n, band},
    {
      before() {
        w.set(sum, 0);
        w.set(sizes, 0);
      },
      entry(value, column) {
        const size = w.op('f64.abs', value);
        add(w, sum, value);
        add(w, sizes, size);
        w.if(w.op('i32.eq', column, at), () => w.set(own, size));
      },
      after(row) {
        const share = w.choose(w.op('f64.gt', sizes, 0), w.op('f64.div', w.op('f64.abs', sum), sizes), w.number(1));
        const grown = w.op('f64.gt', own, w.load(w.element(largest, row)));
        const cancelled = w.op('f64.lt', share, w.load(w.element(least, row)));
        w.set(changed, w.op('i32.or', changed, w.op('i32.or', grown, cancelled)));
        w.set(at, w.plus(row, 1));
      },
    },
  );
  w.push(changed);
}
