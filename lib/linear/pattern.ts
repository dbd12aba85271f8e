/**
 * Patterns of matrices: how they are made, checked and transposed. Kept apart from the solvers, which
 * trust a pattern that has been checked once.
 */
import {OptionError, ShapeError} from '../errors.js';
import type {Pattern} from './solver.js';

/** The pattern of a full n × n matrix. */
export function densePattern(n: number, symmetric = false): Pattern {
  const rowPointers = new Int32Array(n + 1);
  const columns = new Int32Array(n * n);
  for (let i = 0, p = 0; i < n; i++) {
    for (let j = 0; j < n; j++) columns[p++] = j;
    rowPointers[i + 1] = p;
  }
  return {n, rowPointers, columns, symmetric, dense: true};
}

/** The pattern of compressed rows. @throws ShapeError where they are not one. */
export function csrPattern(rowPointers: Int32Array, columns: Int32Array, symmetric = false): Pattern {
  const n = rowPointers.length - 1;
  const pattern = {n, rowPointers, columns, symmetric, dense: n > 0 && columns.length === n * n};
  checkPattern(pattern);
  return pattern;
}

/** The pattern of a list of places (repeated ones count once), in any order. */
export function patternFromEntries(
  n: number,
  rows: ArrayLike<number>,
  columns: ArrayLike<number>,
  symmetric = false,
): Pattern {
  const sets: Set<number>[] = Array.from({length: n}, () => new Set<number>());
  for (let k = 0; k < rows.length; k++) sets[rows[k]].add(columns[k]);
  const rowPointers = new Int32Array(n + 1);
  for (let i = 0; i < n; i++) rowPointers[i + 1] = rowPointers[i] + sets[i].size;
  const sorted = new Int32Array(rowPointers[n]);
  for (let i = 0; i < n; i++) sorted.set(Int32Array.from(sets[i]).sort(), rowPointers[i]);
  return csrPattern(rowPointers, sorted, symmetric);
}

/** @throws ShapeError where rows are not ascending, columns leave the matrix, or symmetry is impossible. */
export function checkPattern(pattern: Pattern): void {
  const {n, rowPointers, columns} = pattern;
  if (!Number.isInteger(n) || n < 0) throw new OptionError('bad-pattern', `a matrix needs n ≥ 0 rows, not ${n}.`, {n});
  if (rowPointers.length !== n + 1 || rowPointers[0] !== 0 || rowPointers[n] !== columns.length) {
    throw new ShapeError(
      'bad-pattern',
      `rowPointers must have ${n + 1} places, start at 0 and end at the ${columns.length} columns given.`,
      {n, rowPointers: rowPointers.length, columns: columns.length},
    );
  }
  for (let i = 0; i < n; i++) {
    for (let p = rowPointers[i], last = -1; p < rowPointers[i + 1]; p++) {
      const j = columns[p];
      if (j <= last || j >= n) {
        throw new ShapeError(
          'bad-pattern',
          `row ${i} of the pattern has column ${j} after ${last}: columns must ascend and stay below ${n}.`,
          {row: i, column: j},
        );
      }
      last = j;
    }
  }
  if (pattern.dense && columns.length !== n * n) {
    throw new ShapeError('bad-pattern', `a dense pattern has all ${n * n} entries, not ${columns.length}.`, {
      n,
      columns: columns.length,
    });
  }
  if (pattern.symmetric && !pattern.dense && !structurallySymmetric(pattern)) {
    throw new ShapeError(
      'bad-pattern',
      'the pattern is called symmetric but has an entry (i, j) without its (j, i).',
      {},
    );
  }
}

/** Columns of a pattern in compressed form, with the place in the row order each entry came from. */
export interface Transpose {
  readonly columnPointers: Int32Array;
  readonly rows: Int32Array;
  /** source[p] is the position, in row order, of the entry at p in column order. */
  readonly source: Int32Array;
}

/** Column order of a pattern; rows ascend in each column because the rows are visited in order. */
export function transpose(pattern: Pattern): Transpose {
  const {n, rowPointers, columns} = pattern;
  const columnPointers = new Int32Array(n + 1);
  for (let p = 0; p < columns.length; p++) columnPointers[columns[p] + 1]++;
  for (let j = 0; j < n; j++) columnPointers[j + 1] += columnPointers[j];
  const next = columnPointers.slice(0, n);
  const rows = new Int32Array(columns.length);
  const source = new Int32Array(columns.length);
  for (let i = 0; i < n; i++) {
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) {
      const q = next[columns[p]]++;
      rows[q] = i;
      source[q] = p;
    }
  }
  return {columnPointers, rows, source};
}

/** Every entry (i, j) has its (j, i). */
export function structurallySymmetric(pattern: Pattern): boolean {
  return structuralSymmetry(pattern) === 1;
}

/**
 * The share of off-diagonal entries whose mirror image is an entry too; 1 when there are none.
 * @param longest rows and columns with more entries, and those of the same number, are left out of account
 */
export function structuralSymmetry(pattern: Pattern, longest = Infinity): number {
  if (pattern.dense) return 1;
  const {n, rowPointers, columns} = pattern;
  const {columnPointers, rows} = transpose(pattern);
  const long = Uint8Array.from({length: n}, (_, i) =>
    Number(Math.max(rowPointers[i + 1] - rowPointers[i], columnPointers[i + 1] - columnPointers[i]) > longest),
  );
  let mirrored = 0;
  let total = 0;
  for (let i = 0; i < n; i++) {
    if (long[i] === 1) continue;
    let q = columnPointers[i];
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) {
      if (columns[p] === i || long[columns[p]] === 1) continue;
      total++;
      while (q < columnPointers[i + 1] && rows[q] < columns[p]) q++;
      if (q < columnPointers[i + 1] && rows[q] === columns[p]) mirrored++;
    }
  }
  return total === 0 ? 1 : mirrored / total;
}
