/**
 * The order of a banded factorization and what the band is in it: rows as given when that band is as
 * narrow as any, else reverse Cuthill–McKee.
 */
import {inverse, symmetricGraph} from './graph.js';
import {bandwidth, reverseCuthillMcKee} from './rcm.js';
import type {Pattern} from './solver.js';

export interface BandOrder {
  /** Row order[k] of the matrix is row k of the band. */
  readonly order: Int32Array;
  readonly natural: boolean;
  /** Diagonals below and above the main one. */
  readonly lower: number;
  readonly upper: number;
  /** Row and column in the band of each entry of the pattern. */
  readonly rows: Int32Array;
  readonly columns: Int32Array;
}

export function bandOrder(pattern: Pattern): BandOrder {
  const {n, rowPointers} = pattern;
  const graph = symmetricGraph(pattern);
  let order: Int32Array = Int32Array.from({length: n}, (_, i) => i);
  let natural = true;
  const given = bandwidth(graph);
  if (given > 1) {
    const found = reverseCuthillMcKee(graph);
    natural = bandwidth(graph, inverse(found)) >= given;
    if (!natural) order = found;
  }
  const place = inverse(order);
  const rows = new Int32Array(pattern.columns.length);
  const columns = new Int32Array(pattern.columns.length);
  let lower = 0;
  let upper = 0;
  for (let i = 0; i < n; i++) {
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) {
      rows[p] = place[i];
      columns[p] = place[pattern.columns[p]];
      lower = Math.max(lower, rows[p] - columns[p]);
      upper = Math.max(upper, columns[p] - rows[p]);
    }
  }
  return {order, natural, lower, upper, rows, columns};
}

/** y ← x[at …] in the order of the band, with zeros behind where there is room. */
export function gather({order, natural}: BandOrder, x: Float64Array, at: number, y: Float64Array): void {
  for (let k = 0; k < order.length; k++) y[k] = x[at + (natural ? k : order[k])];
  for (let k = order.length; k < y.length; k++) y[k] = 0;
}

/** x[at …] ← y, given in the order of the band. */
export function scatter({order, natural}: BandOrder, y: Float64Array, x: Float64Array, at: number): void {
  for (let k = 0; k < order.length; k++) x[at + (natural ? k : order[k])] = y[k];
}
