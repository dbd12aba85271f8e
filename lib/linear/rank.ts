/**
 * Rank and null vectors of a small dense matrix by Gaussian elimination with complete pivoting on rows and columns that
 * are scaled to largest entries of one (Golub & Van Loan, Matrix Computations, §3.4.8): P A Q = L [U₁ U₂; 0 0].
 */

/** A matrix by rows. */
export interface Dense {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float64Array;
}

export interface Rank {
  readonly rank: number;
  /** Rows that depend on the others, one for each left null vector. */
  readonly dependent: readonly number[];
  /** Zᵀ with Zᵀ A = 0, a row each; 1 at its own dependent row. */
  readonly left: Dense;
  /** N with A N = 0, a column each. */
  readonly right: Dense;
  /** Some x with A x = b, for a b in the range. */
  solve(b: Float64Array): Float64Array;
}

/**
 * Entries come from derivatives that are exact to rounding and sums of a few products; what elimination leaves of zeros
 * is below n ε, and a matrix this near to a singular one has lost all digits that a step needs.
 */
const negligible = (n: number): number => 1e-13 * Math.max(n, 1);

export const dense = (rows: number, columns: number, at: (i: number, j: number) => number): Dense => {
  const values = new Float64Array(rows * columns);
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) values[i * columns + j] = at(i, j);
  return {rows, columns, values};
};

export const product = (a: Dense, b: Dense): Dense =>
  dense(a.rows, b.columns, (i, j) => {
    let sum = 0;
    for (let k = 0; k < a.columns; k++) sum += a.values[i * a.columns + k] * b.values[k * b.columns + j];
    return sum;
  });

/** A x, A x of absolute values. */
export const times = (
  {rows, columns, values}: Dense,
  x: ArrayLike<number>,
  size = (a: number): number => a,
): number[] =>
  Array.from({length: rows}, (_, i) => {
    let sum = 0;
    for (let j = 0; j < columns; j++) sum += size(values[i * columns + j]) * size(x[j]);
    return sum;
  });

/** Largest entries; 1 of a row or a column of zeros. */
function scalesOf({rows, columns, values}: Dense): {readonly row: Float64Array; readonly column: Float64Array} {
  const row = new Float64Array(rows);
  const column = new Float64Array(columns);
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) row[i] = Math.max(row[i], Math.abs(values[i * columns + j]));
  for (let i = 0; i < rows; i++) row[i] = row[i] || 1;
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < columns; j++) column[j] = Math.max(column[j], Math.abs(values[i * columns + j]) / row[i]);
  for (let j = 0; j < columns; j++) column[j] = column[j] || 1;
  return {row, column};
}

export function rankOf(a: Dense): Rank {
  const {rows, columns} = a;
  const {row, column} = scalesOf(a);
  const u = dense(rows, columns, (i, j) => a.values[i * columns + j] / row[i] / column[j]).values;
  const rowOf = Array.from({length: rows}, (_, i) => i);
  const columnOf = Array.from({length: columns}, (_, j) => j);
  const rank = eliminate(u, rows, columns, rowOf, columnOf, negligible(Math.min(rows, columns)));
  const upper = (i: number, j: number): number => u[i * columns + j];
  const right = dense(columns, columns - rank, () => 0);
  for (let k = 0; k < columns - rank; k++) {
    const x = new Float64Array(columns);
    x[rank + k] = 1;
    for (let i = rank - 1; i >= 0; i--) {
      let sum = upper(i, rank + k);
      for (let j = i + 1; j < rank; j++) sum += upper(i, j) * x[j];
      x[i] = -sum / upper(i, i);
    }
    for (let i = 0; i < columns; i++) right.values[columnOf[i] * (columns - rank) + k] = x[i] / column[columnOf[i]];
  }
  const left = dense(rows - rank, rows, () => 0);
  for (let k = 0; k < rows - rank; k++) {
    const x = new Float64Array(rows);
    x[rank + k] = 1;
    for (let i = rank - 1; i >= 0; i--) {
      let sum = upper(rank + k, i);
      for (let j = i + 1; j < rank; j++) sum += upper(j, i) * x[j];
      x[i] = -sum;
    }
    const own = row[rowOf[rank + k]];
    for (let i = 0; i < rows; i++) left.values[k * rows + rowOf[i]] = (x[i] * own) / row[rowOf[i]];
  }
  return {
    rank,
    dependent: rowOf.slice(rank),
    left,
    right,
    solve: b => {
      const x = new Float64Array(columns);
      const y = rowOf.map(i => b[i] / row[i]);
      for (let i = 0; i < rank; i++) for (let j = 0; j < i; j++) y[i] -= upper(i, j) * y[j];
      for (let i = rank - 1; i >= 0; i--) {
        for (let j = i + 1; j < rank; j++) y[i] -= upper(i, j) * y[j];
        y[i] /= upper(i, i);
      }
      for (let i = 0; i < rank; i++) x[columnOf[i]] = y[i] / column[columnOf[i]];
      return x;
    },
  };
}

/** The rank of a diagonal matrix, whose zeros are exact. */
export function diagonalRank(diagonal: Float64Array): Rank {
  const n = diagonal.length;
  const dependent = [...diagonal.keys()].filter(i => diagonal[i] === 0);
  return {
    rank: n - dependent.length,
    dependent,
    left: dense(dependent.length, n, (k, i) => (dependent[k] === i ? 1 : 0)),
    right: dense(n, dependent.length, (i, k) => (dependent[k] === i ? 1 : 0)),
    solve: b => diagonal.map((d, i) => (d === 0 ? 0 : b[i] / d)),
  };
}

/** In place, with multipliers below the diagonal. Returns the rank: pivots larger than `zero`, at most `steps`. */
export function eliminate(
  u: Float64Array,
  rows: number,
  columns: number,
  rowOf: number[],
  columnOf: number[],
  zero: number,
  steps = Math.min(rows, columns),
): number {
  for (let k = 0; k < steps; k++) {
    let [p, q] = [k, k];
    for (let i = k; i < rows; i++)
      for (let j = k; j < columns; j++)
        if (Math.abs(u[i * columns + j]) > Math.abs(u[p * columns + q])) [p, q] = [i, j];
    if (!(Math.abs(u[p * columns + q]) > zero)) return k;
    exchange(u, rows, columns, k, p, q);
    [rowOf[k], rowOf[p]] = [rowOf[p], rowOf[k]];
    [columnOf[k], columnOf[q]] = [columnOf[q], columnOf[k]];
    for (let i = k + 1; i < rows; i++) {
      const l = u[i * columns + k] / u[k * columns + k];
      u[i * columns + k] = l;
      if (l !== 0) for (let j = k + 1; j < columns; j++) u[i * columns + j] -= l * u[k * columns + j];
    }
  }
  return Math.max(steps, 0);
}

function exchange(u: Float64Array, rows: number, columns: number, k: number, p: number, q: number): void {
  for (let j = 0; j < columns; j++) [u[k * columns + j], u[p * columns + j]] = [u[p * columns + j], u[k * columns + j]];
  for (let i = 0; i < rows; i++) [u[i * columns + k], u[i * columns + q]] = [u[i * columns + q], u[i * columns + k]];
}
