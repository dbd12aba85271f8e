/**
 * What is asked of a matrix row by row, its values as they lie: Newton's scales of the rows, and whether rows have changed
 * since their digits were looked at. Row i has the columns from i − band to i + band, as far as there are such: a tridiagonal
 * matrix with a band of 1, a full one with a band of n. Sums go from left to right, as those of plain loops over a pattern do.
 */
import type {Local} from '../../../wasm/assembler.js';
import type {Push, Writer} from '../../../wasm/writer.js';

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
  const [row, column, end] = [w.local('i32'), w.local('i32'), w.local('i32')];
  const value = w.local('f64');
  const at = w.keep('i32', w.get(values));
  w.for(row, w.int(0), w.get(n), () => {
    code.before();
    const first = w.op('i32.sub', w.get(row), w.get(band));
    const last = w.plus(w.plus(w.get(row), w.get(band)), w.int(1));
    w.set(end, w.choose(w.op('i32.lt_s', last, w.get(n)), last, w.get(n)));
    w.for(column, w.choose(w.op('i32.gt_s', first, w.int(0)), first, w.int(0)), w.get(end), () => {
      w.set(value, w.load(w.get(at)));
      w.set(at, w.plus(w.get(at), w.int(8)));
      code.entry(value, column);
    });
    code.after(row);
  });
}

const add = (w: Writer, sum: Local, term: Push): void => w.set(sum, w.op('f64.add', w.get(sum), term));

/** rowScales(values, weights, scale, n, band): scaleᵢ = Σ |aᵢⱼ| weightsⱼ. */
export function rowScales(w: Writer): void {
  const [values, weights, scale, n, band] = [0, 1, 2, 3, 4].map(i => w.parameter(i));
  const sum = w.local('f64');
  eachRow(
    w,
    {values, n, band},
    {
      before: () => w.set(sum, w.number(0)),
      entry: (value, column) =>
        add(w, sum, w.op('f64.mul', w.op('f64.abs', w.get(value)), w.load(w.element(w.get(weights), w.get(column))))),
      after: row => w.store(w.element(w.get(scale), w.get(row)), w.get(sum)),
    },
  );
}

/**
 * rowsChanged(values, largest, least, n, band): 1 where a diagonal entry is larger than `largest` of its row, or |Σ aᵢⱼ| less than
 * `least` of Σ |aᵢⱼ|; else 0. See linear/lost-digits.ts.
 */
export function rowsChanged(w: Writer): void {
  const [values, largest, least, n, band] = [0, 1, 2, 3, 4].map(i => w.parameter(i));
  const [sum, sizes, own] = [w.local('f64'), w.local('f64'), w.local('f64')];
  const [at, changed] = [w.local('i32'), w.keep('i32', w.int(0))];
  w.set(at, w.int(0));
  eachRow(
    w,
    {values, n, band},
    {
      before() {
        w.set(sum, w.number(0));
        w.set(sizes, w.number(0));
      },
      entry(value, column) {
        const size = w.op('f64.abs', w.get(value));
        add(w, sum, w.get(value));
        add(w, sizes, size);
        w.if(w.op('i32.eq', w.get(column), w.get(at)), () => w.set(own, size));
      },
      after(row) {
        const share = w.choose(
          w.op('f64.gt', w.get(sizes), w.number(0)),
          w.op('f64.div', w.op('f64.abs', w.get(sum)), w.get(sizes)),
          w.number(1),
        );
        const grown = w.op('f64.gt', w.get(own), w.load(w.element(w.get(largest), w.get(row))));
        const cancelled = w.op('f64.lt', share, w.load(w.element(w.get(least), w.get(row))));
        w.set(changed, w.op('i32.or', w.get(changed), w.op('i32.or', grown, cancelled)));
        w.set(at, w.plus(w.get(row), w.int(1)));
      },
    },
  );
  w.get(changed)();
}
