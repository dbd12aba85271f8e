/**
 * A sparse matrix found from products with it and with its transpose: full rows (a constraint on
 * everything, a mean, a mass coupled to all) by transposed products, a group of them for each, and what is
 * left by column colours. One full row would otherwise ask for as many tangents as there are columns; a
 * full column is one colour of its own in either case (Coleman & Verma 1998, "The efficient computation of
 * sparse Jacobian matrices using automatic differentiation", the bidirectional partition, by rows alone).
 */
import type {Coloring} from './coloring.js';
import {colorColumns} from './coloring.js';
import type {SparsityPattern} from './sparsity.js';
import {transposePattern} from './sparsity.js';

export interface Bicoloring {
  /** Colours of the columns of all rows but the full ones. */
  readonly columns: Coloring;
  /** Groups of full rows: no column has two of one group. */
  readonly rows: number;
  /** The group of each full row; −1 for the others. */
  readonly ofRow: Int32Array;
}

/**
 * Another partition is tried where its least possible number of products is below this share of what is
 * found: a transposed product costs up to two tangents, and looking for it costs a colouring.
 */
const worthwhile = 0.5;

/** The partition with the fewest products among: no full rows, those with more than 1, 2, 4, … entries, all rows. */
export function bicolor(pattern: SparsityPattern): Bicoloring {
  const counts = Int32Array.from({length: pattern.rows}, (_, row) => pattern.pointers[row + 1] - pattern.pointers[row]);
  const most = counts.reduce((a, b) => Math.max(a, b), 0);
  const limits = [most, 0];
  for (let limit = 1; limit < most; limit *= 2) limits.push(limit);
  const candidates = limits
    .map(limit => ({limit, least: leastProducts(pattern, counts, limit)}))
    .sort((a, b) => a.least - b.least || b.limit - a.limit);
  // No full rows unless that asks for far fewer products.
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

/** No colouring can do with less: the fullest row of the rest, and the column that most full rows meet in. */
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

/** The same matrix with the other rows empty. */
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
