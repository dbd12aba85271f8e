/**
 * The undirected graph of a matrix: vertices are unknowns, and i and j are neighbours when a_ij or a_ji
 * is in the pattern. Orderings see this and nothing else.
 */
import {transpose} from './pattern.js';
import type {Pattern} from './solver.js';

/** Neighbours of vertex i: adjacent[pointers[i]] … adjacent[pointers[i + 1] − 1]; never i itself. */
export interface AdjacencyGraph {
  readonly n: number;
  readonly pointers: Int32Array;
  readonly adjacent: Int32Array;
}

/**
 * A line of a matrix with more entries than this is dense to the orderings: it goes last, since it would be found in
 * nearly every list and cost the ordering n² for nothing. TOMS 837's default is max(16, 10 √n).
 */
export const denseLimit = (n: number): number => Math.max(16, 10 * Math.sqrt(n));

/** The graph of A + Aᵀ, neighbours ascending. */
export function symmetricGraph(pattern: Pattern): AdjacencyGraph {
  const {n, rowPointers, columns} = pattern;
  const {columnPointers, rows} = transpose(pattern);
  const pointers = new Int32Array(n + 1);
  const adjacent = new Int32Array(2 * columns.length);
  let count = 0;
  for (let i = 0; i < n; i++) {
    let p = rowPointers[i];
    let q = columnPointers[i];
    while (p < rowPointers[i + 1] || q < columnPointers[i + 1]) {
      const fromRow = p < rowPointers[i + 1] ? columns[p] : n;
      const fromColumn = q < columnPointers[i + 1] ? rows[q] : n;
      const j = Math.min(fromRow, fromColumn);
      if (fromRow === j) p++;
      if (fromColumn === j) q++;
      if (j !== i) adjacent[count++] = j;
    }
    pointers[i + 1] = count;
  }
  return {n, pointers, adjacent: adjacent.slice(0, count)};
}

/** The place of each vertex in an order: the inverse permutation. */
export function inverse(order: Int32Array): Int32Array {
  const place = new Int32Array(order.length);
  for (let k = 0; k < order.length; k++) place[order[k]] = k;
  return place;
}
