/**
 * The dense LU of dense.ts for 1 to 8 unknowns, written out without a loop: all addresses are constants,
 * and a row of the pivot stays in registers while the rows below lose their multiples of it. Each size is a
 * module of its own, compiled when first asked for. Storage, exchanges and test of the pivots are those of dense.ts.
 */
import type {ModuleBytes} from '../../../wasm/bytes.js';
import {ZERO_PIVOT} from '../../../linear/singularity.js';
import type {Local, ValueType} from '../../../wasm/assembler.js';
import {isShared, ModuleBuilder} from '../../../wasm/assembler.js';
import type {Operand, Push} from '../../../wasm/writer.js';
import {Writer} from '../../../wasm/writer.js';

/** The sizes written out. */
export const unrolledSizes = {from: 1, to: 8} as const;

export interface UnrolledKernels {
  /**
   * Factors the n × n values into `a`, which may be the same; scratch of n numbers. The smallest pivot relative to its
   * row's largest entry.
   */
  factor(values: number, a: number, pivots: number, scale: number): number;
  /** From one address to another, which may be the same. */
  solve(a: number, pivots: number, from: number, to: number): void;
  solveTransposed(a: number, pivots: number, from: number, to: number): void;
}

/** The bytes of the module for n unknowns; it imports `env.memory`. */
export function unrolledBytes(n: number, shared = false): ModuleBytes {
  const builder = new ModuleBuilder();
  const define = (name: string, results: ValueType[], write: (w: Writer, n: number) => void): void => {
    const {index, body} = builder.define({parameters: ['i32', 'i32', 'i32', 'i32'], results});
    write(new Writer(body), n);
    builder.export(name, index);
  };
  define('factor', ['f64'], factor);
  define('solve', [], w => solve(w, n));
  define('solveTransposed', [], w => solveTransposed(w, n));
  return builder.finish(undefined, shared);
}

/** By size, those for a memory that threads share apart. */
const modules = {own: new Map<number, WebAssembly.Module>(), shared: new Map<number, WebAssembly.Module>()};

/** The kernels for n unknowns on a memory; their code is compiled once. */
export function unrolledKernels(n: number, memory: WebAssembly.Memory): UnrolledKernels {
  const shared = isShared(memory);
  const known = modules[shared ? 'shared' : 'own'];
  let module = known.get(n);
  if (module === undefined) known.set(n, (module = new WebAssembly.Module(unrolledBytes(n, shared))));
  // The definitions above give every export its name and signature.
  return new WebAssembly.Instance(module, {env: {memory}}).exports as unknown as UnrolledKernels;
}

function factor(w: Writer, n: number): void {
  const [values, a, pivots, scale] = w.parameters();
  const place = (i: number, j: number): number => 8 * (i * n + j);
  const [largest, best, size, smallest, reciprocal] = w.locals('f64', 5);
  const [chosen, other] = w.locals('i32', 2);
  for (let i = 0; i < n; i++) {
    const row = Array.from({length: n}, (_, j) => w.keep('f64', w.load(values, place(i, j))));
    row.forEach((entry, j) => w.store(a, entry, place(i, j)));
    w.set(
      largest,
      row.map(entry => w.op('f64.abs', entry)).reduce((one, two) => w.op('f64.max', one, two)),
    );
    w.store(scale, w.choose(w.op('f64.gt', largest, 0), w.op('f64.div', 1, largest), w.number(0)), 8 * i);
    row.forEach(entry => w.body.release(entry));
  }
  w.set(smallest, Infinity);
  for (let k = 0; k < n; k++) {
    const sized = (i: number): Push => w.op('f64.mul', w.op('f64.abs', w.load(a, place(i, k))), w.load(scale, 8 * i));
    w.set(best, sized(k));
    w.set(chosen, k);
    for (let i = k + 1; i < n; i++) {
      w.set(size, sized(i));
      w.set(chosen, w.choose(w.op('f64.gt', size, best), w.int(i), chosen));
      w.set(best, w.choose(w.op('f64.gt', size, best), size, best));
    }
    w.storeInt(pivots, chosen, 4 * k);
    w.if(w.op('i32.ne', chosen, k), () => {
      w.set(other, w.element(scale, chosen));
      w.store(other, w.load(scale, 8 * k));
      w.set(other, w.plus(a, w.op('i32.mul', chosen, 8 * n)));
      for (let j = 0; j < n; j++) {
        w.set(size, w.load(a, place(k, j)));
        w.store(a, w.load(other, 8 * j), place(k, j));
        w.store(other, size, 8 * j);
      }
    });
    w.if(w.op('f64.eq', best, 0), () => {
      // As in dense.ts the scale left at k is that of the row that was there.
      const own = w.load(scale, 8 * k);
      w.store(
        a,
        w.op('f64.mul', ZERO_PIVOT, w.choose(w.op('f64.gt', own, 0), w.op('f64.div', 1, own), w.number(1))),
        place(k, k),
      );
    });
    w.set(reciprocal, w.op('f64.div', 1, w.load(a, place(k, k))));
    w.store(a, reciprocal, place(k, k));
    w.set(smallest, w.op('f64.min', smallest, best));
    eliminate(w, a, n, k, reciprocal);
  }
  w.push(smallest);
}

/** Rows below k lose their multiples of row k, in pairs of columns and a last single one. */
function eliminate(w: Writer, a: Local, n: number, k: number, reciprocal: Local): void {
  const place = (i: number, j: number): number => 8 * (i * n + j);
  const columns: {j: number; paired: boolean; u: Local}[] = [];
  for (let j = k + 1; j < n; j += 2) {
    const paired = j + 1 < n;
    columns.push({
      j,
      paired,
      u: paired ? w.keep('v128', w.loadPair(a, place(k, j))) : w.keep('f64', w.load(a, place(k, j))),
    });
  }
  const [l, both] = [w.local('f64'), w.local('v128')];
  for (let i = k + 1; i < n; i++) {
    w.set(l, w.op('f64.mul', w.load(a, place(i, k)), reciprocal));
    w.store(a, l, place(i, k));
    w.set(both, w.splat(l));
    for (const {j, paired, u} of columns) {
      if (paired)
        w.storePair(a, w.op('f64x2.sub', w.loadPair(a, place(i, j)), w.op('f64x2.mul', both, u)), place(i, j));
      else w.store(a, w.op('f64.sub', w.load(a, place(i, j)), w.op('f64.mul', l, u)), place(i, j));
    }
  }
  for (const local of [l, both, ...columns.map(({u}) => u)]) w.body.release(local);
}

/** Exchanges x_k and x_pivot(k) in memory. */
function exchange(w: Writer, pivots: Local, x: Local, k: number, other: Local, kept: Local): void {
  w.set(other, w.element(x, w.loadInt(pivots, 4 * k)));
  w.set(kept, w.load(x, 8 * k));
  w.store(x, w.load(other), 8 * k);
  w.store(other, kept);
}

function copied(w: Writer, from: Local, to: Local, n: number): void {
  for (let i = 0; i < n; i++) w.store(to, w.load(from, 8 * i), 8 * i);
}

/** x_i less the terms, in the order given. */
const less = (w: Writer, value: Operand, terms: readonly Push[]): Operand =>
  terms.reduce<Operand>((rest, term) => w.op('f64.sub', rest, term), value);

function solve(w: Writer, n: number): void {
  const [a, pivots, from, x] = w.parameters();
  const entry = (i: number, j: number): Push => w.load(a, 8 * (i * n + j));
  const [other, kept] = [w.local('i32'), w.local('f64')];
  copied(w, from, x, n);
  for (let k = 0; k < n; k++) exchange(w, pivots, x, k, other, kept);
  const y: Local[] = [];
  for (let i = 0; i < n; i++)
    y.push(
      w.keep(
        'f64',
        less(
          w,
          w.load(x, 8 * i),
          y.map((value, j) => w.op('f64.mul', entry(i, j), value)),
        ),
      ),
    );
  for (let i = n - 1; i >= 0; i--) {
    const after = Array.from({length: n - 1 - i}, (_, t) => w.op('f64.mul', entry(i, n - 1 - t), y[n - 1 - t]));
    w.set(y[i], w.op('f64.mul', less(w, y[i], after), entry(i, i)));
    w.store(x, y[i], 8 * i);
  }
}

function solveTransposed(w: Writer, n: number): void {
  const [a, pivots, from, x] = w.parameters();
  const entry = (i: number, j: number): Push => w.load(a, 8 * (i * n + j));
  const y: Local[] = [];
  for (let i = 0; i < n; i++) {
    const before = y.map((value, j) => w.op('f64.mul', entry(j, i), value));
    y.push(w.keep('f64', w.op('f64.mul', less(w, w.load(from, 8 * i), before), entry(i, i))));
  }
  for (let i = n - 2; i >= 0; i--) {
    w.set(
      y[i],
      less(
        w,
        y[i],
        Array.from({length: n - 1 - i}, (_, t) => w.op('f64.mul', entry(n - 1 - t, i), y[n - 1 - t])),
      ),
    );
  }
  y.forEach((value, i) => w.store(x, value, 8 * i));
  const [other, kept] = [w.local('i32'), w.local('f64')];
  for (let k = n - 1; k >= 0; k--) exchange(w, pivots, x, k, other, kept);
}
