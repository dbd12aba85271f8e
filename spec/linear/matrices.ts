/** Matrices and measures the tests of this folder share: a seeded generator, products, backward errors. */
import {StiffgradError} from '../../lib/errors.js';
import {patternFromEntries} from '../../lib/linear/pattern.js';
import type {Pattern} from '../../lib/linear/solver.js';

/** A matrix as the solvers take it. */
export interface Matrix {
  readonly pattern: Pattern;
  readonly values: Float64Array;
}

/** Mulberry32: 32 bits of state are plenty for test matrices, and the same everywhere. */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function vector(n: number, next: () => number): Float64Array {
  return Float64Array.from({length: n}, () => 2 * next() - 1);
}

/** A matrix from a map of its entries; entries that are exactly zero stay when `keepZeros`. */
export function fromEntries(
  n: number,
  entries: Iterable<readonly [number, number, number]>,
  symmetric = false,
): Matrix {
  const sums = new Map<number, number>();
  for (const [i, j, value] of entries) sums.set(i * n + j, (sums.get(i * n + j) ?? 0) + value);
  const keys = [...sums.keys()].sort((a, b) => a - b);
  const pattern = patternFromEntries(
    n,
    keys.map(key => Math.floor(key / n)),
    keys.map(key => key % n),
    symmetric,
  );
  return {pattern, values: Float64Array.from(keys, key => sums.get(key) ?? 0)};
}

export function fromRows(rows: readonly (readonly number[])[], symmetric = false): Matrix {
  return fromEntries(
    rows.length,
    rows.flatMap((row, i) => row.map((value, j) => [i, j, value] as const)),
    symmetric,
  );
}

export function multiply({pattern, values}: Matrix, x: Float64Array, transposed = false): Float64Array {
  const y = new Float64Array(pattern.n);
  for (let i = 0; i < pattern.n; i++) {
    for (let p = pattern.rowPointers[i]; p < pattern.rowPointers[i + 1]; p++) {
      if (transposed) y[pattern.columns[p]] += values[p] * x[i];
      else y[i] += values[p] * x[pattern.columns[p]];
    }
  }
  return y;
}

const largest = (x: Float64Array): number => x.reduce((most, value) => Math.max(most, Math.abs(value)), 0);

/** ‖b − A x‖ / (‖A‖ ‖x‖ + ‖b‖) in the maximum norm: the backward error of Rigal and Gaches. */
export function backwardError(matrix: Matrix, x: Float64Array, b: Float64Array, transposed = false): number {
  const residual = multiply(matrix, x, transposed).map((value, i) => b[i] - value);
  const ones = new Float64Array(b.length).fill(1);
  const sizes = {pattern: matrix.pattern, values: matrix.values.map(Math.abs)};
  const norm = largest(multiply(sizes, ones, transposed));
  if (!residual.every(Number.isFinite)) return NaN;
  return largest(residual) / (norm * largest(x) + largest(b));
}

/** The matrix with row i and column i moved to place[i]. */
export function permuted(
  {pattern, values}: Matrix,
  rowPlace: ArrayLike<number>,
  columnPlace: ArrayLike<number> = rowPlace,
): Matrix {
  const entries: [number, number, number][] = [];
  for (let i = 0; i < pattern.n; i++) {
    for (let p = pattern.rowPointers[i]; p < pattern.rowPointers[i + 1]; p++) {
      entries.push([rowPlace[i], columnPlace[pattern.columns[p]], values[p]]);
    }
  }
  return fromEntries(pattern.n, entries, pattern.symmetric);
}

/** Row i times rows[i], column j times columns[j]. */
export function scaled({pattern, values}: Matrix, rows: Float64Array, columns: Float64Array): Matrix {
  const result = values.slice();
  for (let i = 0; i < pattern.n; i++) {
    for (let p = pattern.rowPointers[i]; p < pattern.rowPointers[i + 1]; p++)
      result[p] *= rows[i] * columns[pattern.columns[p]];
  }
  return {pattern, values: result};
}

export function shuffle(n: number, next: () => number): Int32Array {
  const order = Int32Array.from({length: n}, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(next() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** Random values in [−1, 1], each off-diagonal place filled with the given probability. */
export function randomMatrix(n: number, density: number, next: () => number, diagonal = 0): Matrix {
  const entries: [number, number, number][] = [];
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      if (i === j) entries.push([i, j, diagonal + 2 * next() - 1]);
      else if (next() < density) entries.push([i, j, 2 * next() - 1]);
    }
  }
  return fromEntries(n, entries);
}

/** B Bᵀ + δ I of a random sparse B: symmetric positive definite. */
export function randomDefinite(n: number, density: number, next: () => number, shift = 0.1): Matrix {
  const rows = Array.from({length: n}, (_, i) => {
    const row = new Float64Array(n);
    for (let j = 0; j < n; j++) if (i === j || next() < density) row[j] = 2 * next() - 1;
    return row;
  });
  const entries: [number, number, number][] = [];
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = i === j ? shift : 0;
      let structural = i === j;
      for (let k = 0; k < n; k++) {
        sum += rows[i][k] * rows[j][k];
        structural ||= rows[i][k] !== 0 && rows[j][k] !== 0;
      }
      if (structural) entries.push([i, j, sum]);
      if (structural && i !== j) entries.push([j, i, sum]);
    }
  }
  return fromEntries(n, entries, true);
}

/** Five-point Laplacian of a k × l grid: 4 on the diagonal, −1 to each neighbour. */
export function grid(k: number, l = k): Matrix {
  const entries: [number, number, number][] = [];
  for (let r = 0; r < k; r++) {
    for (let c = 0; c < l; c++) {
      const i = r * l + c;
      entries.push([i, i, 4]);
      if (r > 0) entries.push([i, i - l, -1], [i - l, i, -1]);
      if (c > 0) entries.push([i, i - 1, -1], [i - 1, i, -1]);
    }
  }
  return fromEntries(k * l, entries, true);
}

/** h_ij = 1 / (i + j + 1): condition 1.6e13 at n = 10, 1.7e16 at n = 12 (Higham, table 28.1). */
export function hilbert(n: number): Matrix {
  return fromRows(
    Array.from({length: n}, (_, i) => Array.from({length: n}, (_unused, j) => 1 / (i + j + 1))),
    true,
  );
}

/** [A Gᵀ; G 0] with A definite (banded with random couplings) and m independent, overlapping constraints. */
export function saddle(n: number, m: number, next: () => number, stiffness = 1): Matrix {
  const entries: [number, number, number][] = [];
  for (let i = 0; i < n; i++) {
    entries.push([i, i, stiffness * (4 + next())]);
    if (i > 0) {
      const coupling = stiffness * (2 * next() - 1);
      entries.push([i, i - 1, coupling], [i - 1, i, coupling]);
    }
  }
  for (let c = 0; c < m; c++) {
    const first = Math.floor((c * n) / m);
    for (const j of new Set([first, (first + 1) % n, Math.floor(next() * n)])) {
      const value = j === first ? 2 + next() : (next() < 0.5 ? -1 : 1) * (0.1 + next());
      entries.push([n + c, j, value], [j, n + c, value]);
    }
  }
  return fromEntries(n + m, entries, true);
}

/** A diagonal, a full first row and a full first column: natural order fills it, any other does not. */
export function arrow(n: number): Matrix {
  const entries: [number, number, number][] = [[0, 0, n]];
  for (let i = 1; i < n; i++) entries.push([i, i, 2], [i, 0, 1], [0, i, 1]);
  return fromEntries(n, entries, true);
}

/** Diagonals −lower … upper, random, with a chosen diagonal. */
export function banded(n: number, lower: number, upper: number, next: () => number, diagonal = 0): Matrix {
  const entries: [number, number, number][] = [];
  for (let i = 0; i < n; i++) {
    for (let j = Math.max(0, i - lower); j <= Math.min(n - 1, i + upper); j++) {
      entries.push([i, j, (i === j ? diagonal : 0) + 2 * next() - 1]);
    }
  }
  return fromEntries(n, entries);
}

/** The same values with the promise of symmetry taken back: what LU must solve too. */
export function unsymmetric({pattern, values}: Matrix): Matrix {
  return {pattern: {...pattern, symmetric: false}, values};
}

export function rowOf({pattern}: Matrix, p: number): number {
  let i = 0;
  while (pattern.rowPointers[i + 1] <= p) i++;
  return i;
}

/** Place of entry (j, i) for the entry (i, j) at p; p itself where there is none. */
export function mirror(matrix: Matrix, p: number): number {
  const {rowPointers, columns} = matrix.pattern;
  const i = rowOf(matrix, p);
  for (let q = rowPointers[columns[p]]; q < rowPointers[columns[p] + 1]; q++) if (columns[q] === i) return q;
  return p;
}

/**
 * −Δu + w·∇u on a k × k grid by central differences, the wind turning over it: entries −1 ∓ |w|h/2. Above |w|h/2 = 1 the
 * matrix is not diagonally dominant.
 */
export function advection(k: number, halfWind = 0.8): Matrix {
  const entries: [number, number, number][] = [];
  for (let r = 0; r < k; r++) {
    for (let c = 0; c < k; c++) {
      const i = r * k + c;
      const [x, y] = [halfWind * Math.cos((7 * r + 3 * c) / k), halfWind * Math.sin((7 * r + 3 * c) / k)];
      entries.push([i, i, 4]);
      if (c > 0) entries.push([i, i - 1, -1 - x]);
      if (c + 1 < k) entries.push([i, i + 1, -1 + x]);
      if (r > 0) entries.push([i, i - k, -1 - y]);
      if (r + 1 < k) entries.push([i, i + k, -1 + y]);
    }
  }
  return fromEntries(k * k, entries);
}

/** The error that a matrix is refused with. */
export function refusal(factor: () => unknown): StiffgradError {
  try {
    factor();
  } catch (error) {
    if (error instanceof StiffgradError) return error;
    throw error;
  }
  throw new Error('the matrix was taken');
}
