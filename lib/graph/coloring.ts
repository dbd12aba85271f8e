/**
 * Columns of a sparse matrix grouped so that no row has two of one group: one tangent then gives a
 * whole group (Curtis, Powell & Reid 1974). Greedy, columns of many neighbours first (Gebremedhin,
 * Manne & Pothen 2005, §4: largest-first is within one or two colours of optimal on meshes).
 */
import type {SparsityPattern} from './sparsity.js';
import {transposePattern} from './sparsity.js';

export interface Coloring {
  readonly colors: number;
  /** The colour of each column. */
  readonly ofColumn: Int32Array;
}

export function colorColumns(pattern: SparsityPattern): Coloring {
  const byColumn = transposePattern(pattern);
  const n = pattern.columns;
  const ofColumn = new Int32Array(n).fill(-1);
  const weight = new Float64Array(n);
  for (let column = 0; column < n; column++) {
    for (let k = byColumn.pointers[column]; k < byColumn.pointers[column + 1]; k++) {
      const row = byColumn.indices[k];
      weight[column] += pattern.pointers[row + 1] - pattern.pointers[row];
    }
  }
  const order = Int32Array.from({length: n}, (_, i) => i).sort((a, b) => weight[b] - weight[a] || a - b);
  const taken = new Int32Array(n + 1).fill(-1);
  let colors = 0;
  for (const column of order) {
    for (let k = byColumn.pointers[column]; k < byColumn.pointers[column + 1]; k++) {
      const row = byColumn.indices[k];
      for (let j = pattern.pointers[row]; j < pattern.pointers[row + 1]; j++) {
        const color = ofColumn[pattern.indices[j]];
        if (color >= 0) taken[color] = column;
      }
    }
    let color = 0;
    while (taken[color] === column) color++;
    ofColumn[column] = color;
    colors = Math.max(colors, color + 1);
  }
  return {colors, ofColumn};
}
