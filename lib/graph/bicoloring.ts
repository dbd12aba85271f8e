/**
 * Computes a sparse matrix from products with it and with its transpose. Dense rows (a constraint on all coordinates, a
 * mean, a mass that is coupled to all others) are computed by transposed products, one for each group of rows; the
 * other rows by products, one for each colour of columns. Without transposed products, a single dense row would need as
 * many tangents as there are columns; a dense column needs only a colour of its own (Coleman & Verma 1998, "The
 * efficient computation of sparse Jacobian matrices using automatic differentiation"; their bidirectional partition,
 * restricted to rows).
 */
import type {Coloring} from './coloring.js';
import {colorColumns} from './coloring.js';
import type {SparsityPattern} from './sparsity.js';
import {transposePattern} from './sparsity.js';

export interface Bicoloring {
  /** The colouring of columns for all rows except the dense ones. */
  readonly columns: Coloring;
  /** Number of groups of dense rows: no column has entries in two rows of a group. */
  readonly rows: number;
  /** The group of each dense row; −1 for the others. */
  readonly ofRow: Int32Array;
}

/**
 * Another partition is tried only if its lower bound is below this share of the number of products found so far: a
 * transposed product costs up to two tangents, and a partition costs a colouring.
 */
const worthwhile = 0.5;

/** The partition with the fewest products: rows with more than 1, 2, 4, … entries count as dense, or none, or all. */
export function bicolor(pattern: SparsityPattern): Bicoloring {
  const counts = Int32Array.from({length: pattern.rows}, (_, row) => pattern.pointers[row + 1] - pattern.pointers[row]);
  const most = counts.reduce((a, b) => Math.max(a, b), 0);
  const limits = [most, 0];
  for (let limit = 1; limit < most; limit *= 2) limits.push(limit);
  const candidates = limits
    .map(limit => ({limit, least: leastProducts(pattern, counts, limit)}))
    .sort((a, b) => a.least - b.least || b.limit - a.limit);
  // A partition without dense rows is preferred unless another needs far fewer products.
  const plain = candidates.findIndex(({limit}) => limit === most);
  if (candidates[0].least >= worthwhile * candidates[plain].least) candidates.unshift(...candidates.splice(plain, 1));
  let best: Bicoloring | undefined;
  for (const {limit, least} of candidates) {
    if (best !== undefined && least >= worthwhile * (best.columns.colors + best.rows)) continue;
    const found = partition(pattern, counts, limit);
    if (best === undefined || found.columns.colors + found.rows < best.columns.colors + best.rows) best = found;
  }
  return best as Bicoloring;
}

/** A lower bound: the largest number of entries in a row that is not dense, plus that of dense rows in one column. */
function leastProducts({columns, pointers, indices}: SparsityPattern, counts: Int32Array, limit: number): number {
  const meeting = new Int32Array(columns);
  let [rest, full] = [0, 0];
  counts.forEach((count, row) => {
    if (count <= limit) rest = Math.max(rest, count);
    else for (let k = pointers[row]; k < pointers[row + 1]; k++) full = Math.max(full, ++meeting[indices[k]]);
  });
  return rest + full;
}

function partition(pattern: SparsityPattern, counts: Int32Array, limit: number): Bicoloring {
  const columns = colorColumns(only(pattern, row => counts[row] <= limit));
  const groups = colorColumns(transposePattern(only(pattern, row => counts[row] > limit)));
  const ofRow = Int32Array.from(counts, (count, row) => (count > limit ? groups.ofColumn[row] : -1));
  return {columns, rows: ofRow.reduce((most, group) => Math.max(most, group + 1), 0), ofRow};
}

/** The pattern with only the rows that `keeps` selects. */
function only({rows, columns, pointers, indices}: SparsityPattern, keeps: (row: number) => boolean): SparsityPattern {
  const kept = new Int32Array(rows + 1);
  const left = new Int32Array(indices.length);
  for (let row = 0; row < rows; row++) {
    kept[row + 1] = kept[row];
    if (!keeps(row)) continue;
    left.set(indices.subarray(pointers[row], pointers[row + 1]), kept[row]);
    kept[row + 1] += pointers[row + 1] - pointers[row];
  }
  return {rows, columns, pointers: kept, indices: left.slice(0, kept[rows])};
}
