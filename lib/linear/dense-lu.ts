/**
 * Dense LU with partial pivoting, P A = L U. Pivots are compared relative to the largest entry of their
 * row (implicit equilibration: Numerical Recipes §2.3), because the rows of a mechanical system carry
 * different units: a constraint row in metres must not lose against a force row in newtons. Scaling the
 * columns too was measured to cost half a factorization at n = 8 and to gain no accuracy. Large matrices
 * are updated four pivots at a time, which reads and writes the trailing matrix a quarter as often. Sums have
 * the order of the code that the compiled engine writes out for small ones, so that engines agree to the bit there.
 */
import {FactorAnalysis} from './analysis.js';
import {GeneralFactor} from './direct.js';
import {withRecipe} from './recipe.js';
import {ZERO_PIVOT} from './singularity.js';
import type {LinearSolver, Pattern} from './solver.js';

const denseLu = withRecipe<LinearSolver>(
  {
    name: 'lu',
    analyze: analyzeDenseLu,
  },
  'lu',
);

/** Dense LU with scaled partial pivoting, for any square matrix. */
export function lu(): LinearSolver {
  return denseLu;
}

export function analyzeDenseLu(pattern: Pattern): FactorAnalysis<DenseLuFactor> {
  const {n, dense} = pattern;
  return new FactorAnalysis({
    kind: 'dense',
    n,
    nonzeros: n * n,
    work: denseLuWork(n),
    createFactor: () => new DenseLuFactor(pattern),
    method: dense ? {name: 'dense'} : undefined,
  });
}

/** Σ_k (n−k−1)(2(n−k−1) + 1) multiplications, additions and divisions. */
export function denseLuWork(n: number): number {
  return ((n - 1) * n * (4 * n + 1)) / 6;
}

export class DenseLuFactor extends GeneralFactor {
  readonly kind = 'lu';
  private readonly a: Float64Array;
  private readonly pivots: Int32Array;
  private readonly scale: Float64Array;

  constructor(pattern: Pattern) {
    super(pattern);
    this.a = new Float64Array(pattern.n ** 2);
    this.pivots = new Int32Array(pattern.n);
    this.scale = new Float64Array(pattern.n);
  }

  get size(): number {
    return this.a.length + 1.5 * this.n;
  }

  protected get width(): number {
    return this.n;
  }

  protected eliminate(values: Float64Array): number {
    if (this.pattern.dense) {
      loadScaled(values, this.a, this.n, this.scale);
    } else {
      loadDense(this.pattern, values, this.a);
      loadScaled(this.a, this.a, this.n, this.scale);
    }
    return luFactor(this.a, this.n, this.pivots, this.scale);
  }

  protected substitute(x: Float64Array, at: number): void {
    luSolve(this.a, this.n, this.pivots, x, at);
  }

  protected substituteTransposed(x: Float64Array, at: number): void {
    luSolveTransposed(this.a, this.n, this.pivots, x, at);
  }
}

/** Writes the values of any pattern as a row-major n·n array. */
export function loadDense(pattern: Pattern, values: Float64Array, a: Float64Array): void {
  const {n, rowPointers, columns} = pattern;
  if (pattern.dense) {
    // A plain loop beats TypedArray.set below a few hundred numbers (the call alone costs some 30 ns).
    if (a.length > 256) a.set(values);
    else for (let p = 0; p < a.length; p++) a[p] = values[p];
    return;
  }
  a.fill(0);
  for (let i = 0; i < n; i++) {
    const row = i * n;
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) a[row + columns[p]] = values[p];
  }
}

/** Copies a row-major matrix and finds scale_i = 1 / max_j |a_ij|, 0 for a row of zeros, in one pass. */
function loadScaled(values: Float64Array, a: Float64Array, n: number, scale: Float64Array): void {
  for (let i = 0, p = 0; i < n; i++) {
    let largest = 0;
    for (const end = p + n; p < end; p++) {
      const value = values[p];
      a[p] = value;
      const size = Math.abs(value);
      if (size > largest) largest = size;
    }
    scale[i] = largest > 0 ? 1 / largest : 0;
  }
}

/**
 * Finds and swaps in the pivot of column k, and leaves its reciprocal on the diagonal. Returns the
 * pivot's scaled size. A column of zeros gets a stand-in, so that the elimination can be finished and
 * the null vectors be found.
 */
function pivot(a: Float64Array, n: number, k: number, pivots: Int32Array, scale: Float64Array): number {
  let best = Math.abs(a[k * n + k]) * scale[k];
  let chosen = k;
  for (let i = k + 1; i < n; i++) {
    const size = Math.abs(a[i * n + k]) * scale[i];
    if (size > best) {
      best = size;
      chosen = i;
    }
  }
  pivots[k] = chosen;
  if (chosen !== k) {
    scale[chosen] = scale[k];
    const from = k * n;
    const to = chosen * n;
    for (let j = 0; j < n; j++) {
      const kept = a[from + j];
      a[from + j] = a[to + j];
      a[to + j] = kept;
    }
  }
  const diagonal = k * n + k;
  if (best === 0) a[diagonal] = ZERO_PIVOT * (scale[k] > 0 ? 1 / scale[k] : 1);
  a[diagonal] = 1 / a[diagonal];
  return best;
}

/**
 * Up to this size one pivot after another: of a matrix this small a panel leaves little. As
 * lib/engine/wasm/kernels/unrolled.ts.
 */
export const SMALL = 8;

/** Four pivots at a time: factor a panel of four columns, then update everything right of it at once. */
export function luFactor(a: Float64Array, n: number, pivots: Int32Array, scale: Float64Array): number {
  let smallest = Infinity;
  let start = 0;
  for (; n > SMALL && start + 4 <= n; start += 4) {
    const right = start + 4;
    for (let k = start; k < right; k++) {
      const size = pivot(a, n, k, pivots, scale);
      smallest = Math.min(smallest, size);
      const top = k * n;
      const reciprocal = a[top + k];
      for (let i = k + 1; i < n; i++) {
        const row = i * n;
        const l = a[row + k] * reciprocal;
        a[row + k] = l;
        for (let j = k + 1; j < right; j++) a[row + j] -= l * a[top + j];
      }
    }
    updateRight(a, n, start);
  }
  for (let k = start; k < n; k++) {
    const size = pivot(a, n, k, pivots, scale);
    smallest = Math.min(smallest, size);
    const top = k * n;
    const reciprocal = a[top + k];
    for (let i = k + 1; i < n; i++) {
      const row = i * n;
      const l = a[row + k] * reciprocal;
      a[row + k] = l;
      for (let j = k + 1; j < n; j++) a[row + j] -= l * a[top + j];
    }
  }
  return smallest;
}

/** Rows start … start + 3 become rows of U; then all rows below lose their four multiples of them. */
function updateRight(a: Float64Array, n: number, start: number): void {
  const r0 = start * n;
  const r1 = r0 + n;
  const r2 = r1 + n;
  const r3 = r2 + n;
  const l10 = a[r1 + start];
  const l20 = a[r2 + start];
  const l21 = a[r2 + start + 1];
  const l30 = a[r3 + start];
  const l31 = a[r3 + start + 1];
  const l32 = a[r3 + start + 2];
  const right = start + 4;
  for (let j = right; j < n; j++) {
    const u0 = a[r0 + j];
    const u1 = a[r1 + j] - l10 * u0;
    const u2 = a[r2 + j] - l20 * u0 - l21 * u1;
    a[r1 + j] = u1;
    a[r2 + j] = u2;
    a[r3 + j] -= l30 * u0 + l31 * u1 + l32 * u2;
  }
  // Two rows at a time: each entry of U that is read serves both.
  let i = right;
  for (; i + 1 < n; i += 2) {
    const row = i * n;
    const next = row + n;
    const l0 = a[row + start];
    const l1 = a[row + start + 1];
    const l2 = a[row + start + 2];
    const l3 = a[row + start + 3];
    const m0 = a[next + start];
    const m1 = a[next + start + 1];
    const m2 = a[next + start + 2];
    const m3 = a[next + start + 3];
    for (let j = right; j < n; j++) {
      const u0 = a[r0 + j];
      const u1 = a[r1 + j];
      const u2 = a[r2 + j];
      const u3 = a[r3 + j];
      a[row + j] -= l0 * u0 + l1 * u1 + l2 * u2 + l3 * u3;
      a[next + j] -= m0 * u0 + m1 * u1 + m2 * u2 + m3 * u3;
    }
  }
  if (i < n) {
    const row = i * n;
    const l0 = a[row + start];
    const l1 = a[row + start + 1];
    const l2 = a[row + start + 2];
    const l3 = a[row + start + 3];
    for (let j = right; j < n; j++) {
      a[row + j] -= l0 * a[r0 + j] + l1 * a[r1 + j] + l2 * a[r2 + j] + l3 * a[r3 + j];
    }
  }
}

function luSolve(a: Float64Array, n: number, pivots: Int32Array, x: Float64Array, at: number): void {
  for (let k = 0; k < n; k++) {
    const chosen = pivots[k];
    if (chosen !== k) {
      const kept = x[at + k];
      x[at + k] = x[at + chosen];
      x[at + chosen] = kept;
    }
  }
  for (let i = 1; i < n; i++) {
    const row = i * n;
    let sum = x[at + i];
    for (let j = 0; j < i; j++) sum -= a[row + j] * x[at + j];
    x[at + i] = sum;
  }
  for (let i = n - 1; i >= 0; i--) {
    const row = i * n;
    let sum = x[at + i];
    // The newest comes last: it is what the others have been waiting for.
    for (let j = n - 1; j > i; j--) sum -= a[row + j] * x[at + j];
    x[at + i] = sum * a[row + i];
  }
}

/** Aᵀ = Uᵀ Lᵀ P: the rows of the factor are used as columns, so memory is still read in order. */
function luSolveTransposed(a: Float64Array, n: number, pivots: Int32Array, x: Float64Array, at: number): void {
  for (let i = 0; i < n; i++) {
    const row = i * n;
    const value = x[at + i] * a[row + i];
    x[at + i] = value;
    for (let j = i + 1; j < n; j++) x[at + j] -= a[row + j] * value;
  }
  for (let i = n - 1; i > 0; i--) {
    const row = i * n;
    const value = x[at + i];
    for (let j = 0; j < i; j++) x[at + j] -= a[row + j] * value;
  }
  for (let k = n - 1; k >= 0; k--) {
    const chosen = pivots[k];
    if (chosen !== k) {
      const kept = x[at + k];
      x[at + k] = x[at + chosen];
      x[at + chosen] = kept;
    }
  }
}
