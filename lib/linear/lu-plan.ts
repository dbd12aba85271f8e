/**
 * Sparse LU column by column, after Gilbert and Peierls (SIAM J. Sci. Stat. Comput. 9 (1988) 862–874):
 * column k of the factors solves L x = A(:, q_k), a sparse triangular solve whose nonzeros are found by
 * depth-first search, in columns pruned after Eisenstat and Liu (1992) of what other columns reach. The pivot is the
 * largest candidate by row-scaled size, unless the diagonal entry of the symmetric order is within the threshold of it.
 *
 * What comes out is a *plan*: the pivots and the pattern of both factors. Other values can follow it
 * without any search, and without rounding differences between one use and the next.
 */
import {denseLimit} from './graph.js';
import {rowScales} from './row-scales.js';
import {ZERO_PIVOT} from './singularity.js';
import type {Pattern} from './solver.js';
import type {Transpose} from './pattern.js';

export interface LuPlan {
  /** Row i of the matrix is pivot rowPlace[i]; column order[k] is the k-th. */
  readonly rowPlace: Int32Array;
  readonly order: Int32Array;
  /** L without its unit diagonal and U without its pivots, by columns, rows in pivot numbering. */
  readonly lowerPointers: Int32Array;
  readonly lowerRows: Int32Array;
  readonly upperPointers: Int32Array;
  /** Ascending in each column: an order in which the updates may be applied. */
  readonly upperRows: Int32Array;
  /** Entries of column k of the matrix: their place in the values and their pivot row. */
  readonly entryPointers: Int32Array;
  readonly entrySource: Int32Array;
  readonly entryRows: Int32Array;
  /** Most numbers in a row or column of a factor. */
  readonly width: number;
}

/**
 * A diagonal pivot is taken when it is at least this share of the largest candidate. 0.1 is the
 * classical compromise of fill and growth (Duff, Erisman & Reid, Direct Methods, §5.4): growth per
 * step is at most 1 + 1/0.1.
 */
export const PIVOT_THRESHOLD = 0.1;

/**
 * An order of pivots chosen for another matrix serves while each pivot is at least this share of the largest entry of
 * its column: KLU's tolerance. Looser than that of a new search, so that a plan is not left as soon as it is made.
 */
export const KEEP_THRESHOLD = 1e-3;

/** Chooses pivots for these values. `columns` is the pattern by columns, `order` the column order. */
export function plan(pattern: Pattern, columns: Transpose, order: Int32Array, values: Float64Array): LuPlan {
  const search = new PivotSearch(pattern, columns, order, values);
  for (let k = 0; k < pattern.n; k++) search.column(k);
  return search.finish();
}

class PivotSearch {
  private readonly n: number;
  private readonly scale: Float64Array;
  /** 1 for dense rows. */
  private readonly dense: Uint8Array;
  private readonly rowPlace: Int32Array;
  private readonly pivotRow: Int32Array;
  private readonly x: Float64Array;
  /** The last column whose search visited a row. */
  private readonly visited: Int32Array;
  private readonly stack: Int32Array;
  private readonly position: Int32Array;
  /** Rows reached by the present column, from `top` on. */
  private readonly reached: Int32Array;
  private readonly lowerPointers: Int32Array;
  private readonly upperPointers: Int32Array;
  /** How far a search follows each column of L. */
  private readonly searchEnds: Int32Array;
  private lowerRows: Int32Array;
  private lowerValues: Float64Array;
  private upperRows: Int32Array;

  constructor(
    pattern: Pattern,
    private readonly columns: Transpose,
    private readonly order: Int32Array,
    private readonly values: Float64Array,
  ) {
    const n = pattern.n;
    this.n = n;
    this.scale = new Float64Array(n);
    this.dense = Uint8Array.from({length: n}, (_, i) =>
      Number(pattern.rowPointers[i + 1] - pattern.rowPointers[i] > denseLimit(n)),
    );
    rowScales(pattern, values, this.scale);
    this.rowPlace = new Int32Array(n).fill(-1);
    this.pivotRow = new Int32Array(n).fill(-1);
    this.x = new Float64Array(n);
    this.visited = new Int32Array(n).fill(-1);
    this.stack = new Int32Array(n);
    this.position = new Int32Array(n);
    this.reached = new Int32Array(n);
    this.lowerPointers = new Int32Array(n + 1);
    this.upperPointers = new Int32Array(n + 1);
    this.searchEnds = new Int32Array(n);
    const guess = 2 * pattern.columns.length + n;
    this.lowerRows = new Int32Array(guess);
    this.lowerValues = new Float64Array(guess);
    this.upperRows = new Int32Array(guess);
  }

  column(k: number): void {
    const {columns, order, values, x, reached, rowPlace, lowerPointers, upperPointers, n} = this;
    const j = order[k];
    const top = this.reach(k, j);
    this.reserve(lowerPointers[k] + n - top, upperPointers[k] + n - top);
    const {lowerRows, lowerValues, upperRows} = this;
    for (let p = columns.columnPointers[j]; p < columns.columnPointers[j + 1]; p++)
      x[columns.rows[p]] = values[columns.source[p]];
    let upper = upperPointers[k];
    for (let r = top; r < n; r++) if (rowPlace[reached[r]] >= 0) upperRows[upper++] = rowPlace[reached[r]];
    upperPointers[k + 1] = upper;
    // Pivot numbers ascending are a topological order too, and the one `follow` will use: same bits.
    upperRows.subarray(upperPointers[k], upper).sort();
    for (let p = upperPointers[k]; p < upper; p++) {
      const pivot = upperRows[p];
      const value = x[this.pivotRow[pivot]];
      for (let q = lowerPointers[pivot]; q < lowerPointers[pivot + 1]; q++) x[lowerRows[q]] -= lowerValues[q] * value;
    }
    const chosen = this.choose(k, top);
    let lower = lowerPointers[k];
    const reciprocal = chosen < 0 ? 0 : 1 / x[chosen];
    for (let r = top; r < n; r++) {
      const i = reached[r];
      if (rowPlace[i] < 0) {
        lowerRows[lower] = i;
        lowerValues[lower++] = x[i] * reciprocal;
      }
      x[i] = 0;
    }
    lowerPointers[k + 1] = lower;
    if (chosen >= 0) this.prune(k, chosen);
  }

  /**
   * Where U has (j, k) and L has (k, j), whatever column j leads to below row k, column k leads to as well:
   * a later search need not follow column j beyond its rows that are pivots by now. They go to the front.
   */
  private prune(k: number, chosen: number): void {
    const {rowPlace, lowerPointers, lowerRows, lowerValues, upperPointers, upperRows, searchEnds} = this;
    searchEnds[k] = lowerPointers[k + 1];
    for (let p = upperPointers[k]; p < upperPointers[k + 1]; p++) {
      const j = upperRows[p];
      const end = lowerPointers[j + 1];
      if (searchEnds[j] < end || !contains(lowerRows, lowerPointers[j], end, chosen)) continue;
      let front = lowerPointers[j];
      for (let q = front; q < end; q++) {
        if (rowPlace[lowerRows[q]] < 0) continue;
        const [row, value] = [lowerRows[q], lowerValues[q]];
        lowerRows[q] = lowerRows[front];
        lowerValues[q] = lowerValues[front];
        lowerRows[front] = row;
        lowerValues[front++] = value;
      }
      searchEnds[j] = front;
    }
  }

  /** All rows the column will have, by depth-first search through the columns of L. Returns the top. */
  private reach(k: number, j: number): number {
    const {columns, visited} = this;
    let top = this.n;
    for (let p = columns.columnPointers[j]; p < columns.columnPointers[j + 1]; p++) {
      const i = columns.rows[p];
      if (visited[i] !== k) top = this.search(k, i, top);
    }
    return top;
  }

  private search(k: number, start: number, top: number): number {
    const {rowPlace, visited, stack, position, reached, lowerPointers, lowerRows, searchEnds} = this;
    let depth = 0;
    stack[0] = start;
    visited[start] = k;
    position[0] = rowPlace[start] < 0 ? 0 : lowerPointers[rowPlace[start]];
    while (depth >= 0) {
      const i = stack[depth];
      const pivot = rowPlace[i];
      const end = pivot < 0 ? 0 : searchEnds[pivot];
      let p = position[depth];
      while (p < end && visited[lowerRows[p]] === k) p++;
      if (p < end) {
        const next = lowerRows[p];
        position[depth] = p + 1;
        visited[next] = k;
        stack[++depth] = next;
        position[depth] = rowPlace[next] < 0 ? 0 : lowerPointers[rowPlace[next]];
      } else {
        reached[--top] = i;
        depth--;
      }
    }
    return top;
  }

  /** Picks the pivot row and numbers it; −1 when the column has no candidate left. */
  private choose(k: number, top: number): number {
    const {x, scale, reached, rowPlace, order, visited, n} = this;
    let best = -1;
    let chosen = -1;
    let bestShort = -1;
    let chosenShort = -1;
    for (let r = top; r < n; r++) {
      const i = reached[r];
      if (rowPlace[i] >= 0) continue;
      const size = Math.abs(x[i]) * scale[i];
      if (size > best) {
        best = size;
        chosen = i;
      }
      if (size > bestShort && this.dense[i] === 0) {
        bestShort = size;
        chosenShort = i;
      }
    }
    if (chosen < 0) return -1;
    // The pivot row goes into every row of its column: a dense one would make them all dense.
    if (best > 0 && bestShort >= PIVOT_THRESHOLD * best) chosen = chosenShort;
    const diagonal = order[k];
    if (
      visited[diagonal] === k
      && rowPlace[diagonal] < 0
      && Math.abs(x[diagonal]) * scale[diagonal] >= PIVOT_THRESHOLD * best
    ) {
      chosen = diagonal;
    }
    rowPlace[chosen] = k;
    this.pivotRow[k] = chosen;
    // A column of zeros: all its multipliers are zero, whatever stands here.
    if (best === 0) x[chosen] = 1;
    return chosen;
  }

  private reserve(lower: number, upper: number): void {
    if (lower > this.lowerRows.length) {
      this.lowerRows = grown(this.lowerRows, new Int32Array(2 * lower));
      this.lowerValues = grown(this.lowerValues, new Float64Array(2 * lower));
    }
    if (upper > this.upperRows.length) this.upperRows = grown(this.upperRows, new Int32Array(2 * upper));
  }

  finish(): LuPlan {
    const {n, rowPlace, order, columns, lowerPointers, upperPointers} = this;
    this.placeLeftRows();
    const lowerRows = this.lowerRows.slice(0, lowerPointers[n]).map(i => rowPlace[i]);
    const upperRows = this.upperRows.slice(0, upperPointers[n]);
    const entryPointers = new Int32Array(n + 1);
    const entrySource = new Int32Array(columns.rows.length);
    const entryRows = new Int32Array(columns.rows.length);
    let count = 0;
    for (let k = 0; k < n; k++) {
      for (let p = columns.columnPointers[order[k]]; p < columns.columnPointers[order[k] + 1]; p++) {
        entrySource[count] = columns.source[p];
        entryRows[count++] = rowPlace[columns.rows[p]];
      }
      entryPointers[k + 1] = count;
    }
    let width = 1;
    for (let k = 0; k < n; k++)
      width = Math.max(width, lowerPointers[k + 1] - lowerPointers[k] + 1, upperPointers[k + 1] - upperPointers[k] + 1);
    return {
      rowPlace,
      order,
      lowerPointers: lowerPointers.slice(),
      lowerRows,
      upperPointers: upperPointers.slice(),
      upperRows,
      entryPointers,
      entrySource,
      entryRows,
      width,
    };
  }

  /** Columns without a candidate get the rows that no column took; the matrix is singular by structure. */
  private placeLeftRows(): void {
    const taken = new Uint8Array(this.n);
    for (const place of this.rowPlace) if (place >= 0) taken[place] = 1;
    let k = 0;
    for (let i = 0; i < this.n; i++) {
      if (this.rowPlace[i] >= 0) continue;
      while (taken[k] === 1) k++;
      this.rowPlace[i] = k++;
    }
  }
}

function contains(rows: Int32Array, from: number, to: number, wanted: number): boolean {
  for (let p = from; p < to; p++) if (rows[p] === wanted) return true;
  return false;
}

function grown<T extends Int32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/** Numbers of a factor in a plan; `reciprocals` are those of the pivots. */
export interface LuNumbers {
  readonly lower: Float64Array;
  readonly upper: Float64Array;
  readonly reciprocals: Float64Array;
}

/**
 * Follows a plan with new values. Returns the smallest row-scaled pivot, or −1 as soon as a pivot is less
 * than `keep` of the largest candidate of its column (never for keep = 0). `scale` is by matrix row;
 * `work` and `placed` are scratch of n numbers, `work` zero on entry and on return.
 */
export function follow(
  plan: LuPlan,
  values: Float64Array,
  numbers: LuNumbers,
  scale: Float64Array,
  keep: number,
  work: Float64Array,
  placed: Float64Array,
): number {
  const {rowPlace, lowerPointers, lowerRows, upperPointers, upperRows, entryPointers, entrySource, entryRows} = plan;
  const {lower, upper, reciprocals} = numbers;
  const n = rowPlace.length;
  for (let i = 0; i < n; i++) placed[rowPlace[i]] = scale[i];
  let smallest = Infinity;
  for (let k = 0; k < n; k++) {
    for (let p = entryPointers[k], end = entryPointers[k + 1]; p < end; p++)
      work[entryRows[p]] = values[entrySource[p]];
    for (let p = upperPointers[k], end = upperPointers[k + 1]; p < end; p++) {
      const i = upperRows[p];
      const value = work[i];
      work[i] = 0;
      upper[p] = value;
      for (let q = lowerPointers[i], stop = lowerPointers[i + 1]; q < stop; q++) work[lowerRows[q]] -= lower[q] * value;
    }
    let pivot = work[k];
    work[k] = 0;
    const size = Math.abs(pivot) * placed[k];
    let largest = size;
    const begin = lowerPointers[k];
    const end = lowerPointers[k + 1];
    for (let p = begin; p < end; p++) largest = Math.max(largest, Math.abs(work[lowerRows[p]]) * placed[lowerRows[p]]);
    if (!(size >= keep * largest && size > 0) && keep > 0) {
      work.fill(0);
      return -1;
    }
    smallest = Math.min(smallest, size);
    if (pivot === 0) pivot = ZERO_PIVOT * (placed[k] > 0 ? 1 / placed[k] : 1);
    const reciprocal = 1 / pivot;
    reciprocals[k] = reciprocal;
    for (let p = begin; p < end; p++) {
      const i = lowerRows[p];
      lower[p] = work[i] * reciprocal;
      work[i] = 0;
    }
  }
  return smallest;
}

/** x[at …] ← A⁻¹ x; `y` is scratch. */
export function planSolve(
  plan: LuPlan,
  {lower, upper, reciprocals}: LuNumbers,
  x: Float64Array,
  at: number,
  y: Float64Array,
): void {
  const {rowPlace, order, lowerPointers, lowerRows, upperPointers, upperRows} = plan;
  const n = rowPlace.length;
  for (let i = 0; i < n; i++) y[rowPlace[i]] = x[at + i];
  for (let k = 0; k < n; k++) {
    const value = y[k];
    for (let p = lowerPointers[k], end = lowerPointers[k + 1]; p < end; p++) y[lowerRows[p]] -= lower[p] * value;
  }
  for (let k = n - 1; k >= 0; k--) {
    const value = y[k] * reciprocals[k];
    x[at + order[k]] = value;
    for (let p = upperPointers[k], end = upperPointers[k + 1]; p < end; p++) y[upperRows[p]] -= upper[p] * value;
  }
}

/** x[at …] ← A⁻ᵀ x. */
export function planSolveTransposed(
  plan: LuPlan,
  {lower, upper, reciprocals}: LuNumbers,
  x: Float64Array,
  at: number,
  y: Float64Array,
): void {
  const {rowPlace, order, lowerPointers, lowerRows, upperPointers, upperRows} = plan;
  const n = rowPlace.length;
  for (let k = 0; k < n; k++) {
    let sum = x[at + order[k]];
    for (let p = upperPointers[k], end = upperPointers[k + 1]; p < end; p++) sum -= upper[p] * y[upperRows[p]];
    y[k] = sum * reciprocals[k];
  }
  for (let k = n - 1; k >= 0; k--) {
    let sum = y[k];
    for (let p = lowerPointers[k], end = lowerPointers[k + 1]; p < end; p++) sum -= lower[p] * y[lowerRows[p]];
    y[k] = sum;
  }
  for (let i = 0; i < n; i++) x[at + i] = y[rowPlace[i]];
}
