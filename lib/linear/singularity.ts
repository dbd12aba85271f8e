/**
 * Is this matrix singular, and which rows depend on one another? Runs only when a factorization meets a
 * pivot so small that it may be rounding alone, so it can afford to be careful: a small pivot can be
 * honest, since a row in micrometres beside a row in meganewtons is not a defect. The matrix is
 * therefore judged after scaling its rows and columns, by Hager's and Higham's
 * estimate of the condition number (Higham, Accuracy and Stability of Numerical Algorithms, alg. 15.1).
 *
 * The dependent rows are the support of the left null vectors, yᵀA = 0: of all of them up to 600 unknowns
 * (null-space.ts), of the one that inverse iteration finds beyond.
 */
import {SingularMatrixError, StiffgradError} from '../errors.js';
import {listed} from '../text.js';
import {DENSE_LIMIT, NULL_VECTOR_SHARE, nullSpaceSupports, randomize} from './null-space.js';
import {EPSILON, type Pattern} from './solver.js';

/**
 * A pivot below this share of its row's largest entry starts an examination. A pivot that would be zero
 * without rounding is at most (element growth) · m · ε; ε^(2/3) leaves a factor 10⁵ for growth and m.
 */
export const SUSPICIOUS_PIVOT = EPSILON ** (2 / 3);

/**
 * What stands in for a pivot that is exactly zero, relative to its row: so small that no scaling of the
 * columns makes it look honest, and so large that its reciprocal stays far from overflow.
 */
export const ZERO_PIVOT = 1e-150;

/**
 * How much rounding may have grown on its way to the last pivot. Of 6000 exactly singular KKT matrices of 14 to 46
 * rows a limit without it accepts 40 by LU with threshold pivoting and 19 by auto(), 8 leaves 5 and 4.
 */
const GROWTH = 8;

/** A factor to examine; zero pivots have been replaced, so that its solves go through. */
export interface Examined {
  readonly n: number;
  solveAt(x: Float64Array, at: number): void;
  solveTransposedAt(x: Float64Array, at: number): void;
}

/**
 * Returns the estimated condition number of the equilibrated matrix.
 * @param width terms in the longest sum of the elimination (n of a dense matrix, the band of a banded
 *   one): width · ε is the relative error of such a sum, before growth, and 1 / (GROWTH · width · ε) the
 *   largest condition number that is told from infinity.
 * @throws SingularMatrixError 'singular-matrix' with `rows`, `columns` and `condition`; StiffgradError 'not-finite'.
 */
export function examine(pattern: Pattern, values: Float64Array, factor: Examined, width: number): number {
  throwIfNotFinite(pattern, values);
  const rowScale = new Float64Array(pattern.n);
  const columnScale = new Float64Array(pattern.n);
  const limit = 1 / (GROWTH * width * EPSILON);
  let condition = Infinity;
  // Largest entries alone first: ten times cheaper, and enough for most matrices that are not singular.
  for (const balanced of [false, true]) {
    equilibrate(pattern, values, rowScale, columnScale, balanced);
    condition = scaledNorm(pattern, values, rowScale, columnScale) * inverseNorm(factor, rowScale, columnScale);
    if (condition < limit && !rowScale.includes(0) && !columnScale.includes(0)) return condition;
  }
  const {emptyRows, emptyColumns} = emptyLines(rowScale, columnScale);

  const supports =
    pattern.n <= DENSE_LIMIT
      ? nullSpaceSupports(scaledCopy(pattern, values, rowScale, columnScale), pattern.n)
      : undefined;
  const rows = emptyRows.length > 0 ? emptyRows : (supports?.rows ?? nullSupport(factor, rowScale, columnScale, true));
  const columns =
    emptyColumns.length > 0 ? emptyColumns : (supports?.columns ?? nullSupport(factor, rowScale, columnScale, false));
  throw new SingularMatrixError(
    'singular-matrix',
    sentence(pattern.n, rows, columns, emptyRows.length > 0, emptyColumns.length > 0),
    {
      rows,
      columns,
      condition: emptyRows.length + emptyColumns.length > 0 ? Infinity : condition,
    },
  );
}

/** @throws SingularMatrixError 'singular-matrix': left null vectors, and right ones if symmetric, are in these rows */
export function throwDependent(n: number, rows: number[], symmetric: boolean): never {
  throw new SingularMatrixError('singular-matrix', sentence(n, rows, rows, false, false), {
    rows,
    ...(symmetric ? {columns: rows} : {}),
    condition: Infinity,
  });
}

function sentence(n: number, rows: number[], columns: number[], emptyRow: boolean, emptyColumn: boolean): string {
  const what = emptyRow
    ? `${named('row', rows)} ${rows.length > 1 ? 'are' : 'is'} zero`
    : emptyColumn
      ? `${named('unknown', columns)} ${columns.length > 1 ? 'appear' : 'appears'} in no equation`
      : `${named('row', rows)} ${rows.length > 1 ? 'depend on one another' : 'carries no information of its own'}`;
  return (
    `The ${n} × ${n} matrix is singular to working precision: ${what}. `
    + 'Remove redundant equations (two constraints that say the same), or give every unknown an equation, a mass '
    + 'or a compliance.'
  );
}

function named(noun: string, indices: number[]): string {
  return `${noun}${indices.length > 1 ? 's' : ''} ${listed(indices)}`;
}

/** @throws StiffgradError 'not-finite' naming the first bad entry and all rows that have one. */
export function throwIfNotFinite(pattern: Pattern, values: Float64Array): void {
  const rows: number[] = [];
  let first = -1;
  for (let i = 0; i < pattern.n; i++) {
    for (let p = pattern.rowPointers[i]; p < pattern.rowPointers[i + 1]; p++) {
      if (!Number.isFinite(values[p])) {
        if (first < 0) first = p;
        if (rows[rows.length - 1] !== i) rows.push(i);
      }
    }
  }
  if (first < 0) return;
  const column = pattern.columns[first];
  throw new StiffgradError(
    'not-finite',
    `The matrix has ${values[first]} at row ${rows[0]}, column ${column}: a derivative is not finite there. `
      + 'Check the state at which it was computed, and divisions, roots and logarithms in the forces.',
    {rows, row: rows[0], column, value: values[first]},
  );
}

/**
 * Scales rows and columns so that the largest entry of each is 1. `balanced`: only after the logarithms of
 * all entries were brought as near 0 as can be in the mean (Curtis & Reid 1972, by alternating means),
 * which undoes any choice of units. Scales of empty rows and columns are 0.
 */
function equilibrate(
  pattern: Pattern,
  values: Float64Array,
  rowScale: Float64Array,
  columnScale: Float64Array,
  balanced: boolean,
): void {
  rowScale.fill(1);
  columnScale.fill(1);
  // Each sweep shrinks the error by the square of a correlation; ten are far more than units need.
  for (let sweep = 0; balanced && sweep < 10; sweep++) balanceMeans(pattern, values, rowScale, columnScale);
  normalizeLargest(pattern, values, rowScale, columnScale);
}

function balanceMeans(
  {n, rowPointers, columns}: Pattern,
  values: Float64Array,
  rowScale: Float64Array,
  columnScale: Float64Array,
): void {
  const sums = new Float64Array(n);
  const counts = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let sum = 0;
    let count = 0;
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) {
      if (values[p] === 0) continue;
      sum += Math.log(Math.abs(values[p])) + Math.log(columnScale[columns[p]]);
      count++;
    }
    const mean = count > 0 ? sum / count : 0;
    rowScale[i] = Math.exp(-mean);
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) {
      if (values[p] === 0) continue;
      sums[columns[p]] += Math.log(Math.abs(values[p])) - mean;
      counts[columns[p]]++;
    }
  }
  for (let j = 0; j < n; j++) columnScale[j] = counts[j] > 0 ? Math.exp(-sums[j] / counts[j]) : 1;
}

function normalizeLargest(
  {n, rowPointers, columns}: Pattern,
  values: Float64Array,
  rowScale: Float64Array,
  columnScale: Float64Array,
): void {
  const largest = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let top = 0;
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++)
      top = Math.max(top, Math.abs(values[p]) * columnScale[columns[p]]);
    rowScale[i] = top > 0 ? 1 / top : 0;
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) {
      largest[columns[p]] = Math.max(largest[columns[p]], Math.abs(values[p]) * rowScale[i] * columnScale[columns[p]]);
    }
  }
  for (let j = 0; j < n; j++) columnScale[j] = largest[j] > 0 ? columnScale[j] / largest[j] : 0;
}

function emptyLines(rowScale: Float64Array, columnScale: Float64Array): {emptyRows: number[]; emptyColumns: number[]} {
  const zeros = (scale: Float64Array): number[] => [...scale.keys()].filter(i => scale[i] === 0);
  return {emptyRows: zeros(rowScale), emptyColumns: zeros(columnScale)};
}

/** R A C as a dense array. */
function scaledCopy(
  pattern: Pattern,
  values: Float64Array,
  rowScale: Float64Array,
  columnScale: Float64Array,
): Float64Array {
  const {n, rowPointers, columns} = pattern;
  const a = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++)
      a[i * n + columns[p]] = values[p] * rowScale[i] * columnScale[columns[p]];
  }
  return a;
}

/** ‖R A C‖₁: the largest column sum. */
function scaledNorm(pattern: Pattern, values: Float64Array, rowScale: Float64Array, columnScale: Float64Array): number {
  const sums = new Float64Array(pattern.n);
  for (let i = 0; i < pattern.n; i++) {
    for (let p = pattern.rowPointers[i]; p < pattern.rowPointers[i + 1]; p++) {
      sums[pattern.columns[p]] += Math.abs(values[p]) * rowScale[i] * columnScale[pattern.columns[p]];
    }
  }
  return sums.reduce((a, b) => Math.max(a, b), 0);
}

/** Hager's estimate of ‖(R A C)⁻¹‖₁: five pairs of solves at most, as in LAPACK's xLACON. */
function inverseNorm(factor: Examined, rowScale: Float64Array, columnScale: Float64Array): number {
  const n = factor.n;
  const x = new Float64Array(n).fill(1 / n);
  const signs = new Float64Array(n);
  let estimate = 0;
  for (let round = 0; round < 5; round++) {
    scaledSolve(factor, x, rowScale, columnScale, false);
    const norm = x.reduce((sum, value) => sum + Math.abs(value), 0);
    if (!(norm < Infinity)) return Infinity;
    if (norm <= estimate) break;
    estimate = norm;
    for (let i = 0; i < n; i++) signs[i] = x[i] < 0 ? -1 : 1;
    scaledSolve(factor, signs, rowScale, columnScale, true);
    let largest = 0;
    for (let i = 1; i < n; i++) if (Math.abs(signs[i]) > Math.abs(signs[largest])) largest = i;
    x.fill(0);
    x[largest] = 1;
  }
  // Higham's safeguard: a fixed vector that the iteration cannot be fooled on.
  for (let i = 0; i < n; i++) x[i] = (i % 2 === 0 ? 1 : -1) * (1 + i / Math.max(1, n - 1));
  scaledSolve(factor, x, rowScale, columnScale, false);
  const alternative = (2 * x.reduce((sum, value) => sum + Math.abs(value), 0)) / (3 * n);
  return alternative <= estimate ? estimate : alternative < Infinity ? alternative : Infinity;
}

/** x ← (R A C)⁻¹ x = C⁻¹ A⁻¹ R⁻¹ x, or its transpose. */
function scaledSolve(
  factor: Examined,
  x: Float64Array,
  rowScale: Float64Array,
  columnScale: Float64Array,
  transposed: boolean,
): void {
  const before = transposed ? columnScale : rowScale;
  const after = transposed ? rowScale : columnScale;
  for (let i = 0; i < x.length; i++) x[i] = before[i] > 0 ? x[i] / before[i] : x[i];
  if (transposed) factor.solveTransposedAt(x, 0);
  else factor.solveAt(x, 0);
  for (let i = 0; i < x.length; i++) x[i] = after[i] > 0 ? x[i] / after[i] : x[i];
}

/** Indices where a generic null vector of the scaled matrix lives: rows (left) or columns (right). */
function nullSupport(factor: Examined, rowScale: Float64Array, columnScale: Float64Array, left: boolean): number[] {
  const x = new Float64Array(factor.n);
  randomize(x, 0);
  // Solving with A and Aᵀ by turns is inverse iteration for the singular vectors; with one of them alone
  // it would fail where the left null vector is orthogonal to the right one. Each round shrinks the rest
  // by the square of a ratio of singular values near ε: two are plenty.
  for (let round = 0; round < 2; round++) {
    scaledSolve(factor, x, rowScale, columnScale, !left);
    normalize(x);
    scaledSolve(factor, x, rowScale, columnScale, left);
    normalize(x);
  }
  return [...x.keys()].filter(i => !(Math.abs(x[i]) <= NULL_VECTOR_SHARE));
}

function normalize(x: Float64Array): void {
  let largest = 0;
  for (let i = 0; i < x.length; i++) largest = Math.max(largest, Math.abs(x[i]));
  if (largest > 0 && largest < Infinity) for (let i = 0; i < x.length; i++) x[i] /= largest;
}
