/** Where the entries of a matrix go in the blocks of its factor (supernodes.ts), found once from the pattern. */
import {inverse} from './graph.js';
import type {Pattern} from './solver.js';
import type {Supernodes} from './supernodes.js';

export interface Scatter {
  /** By entry: its place in the blocks of L; above the diagonal its mirror image's, `nodes.size` further on. */
  readonly target: Int32Array;
  /** Position in the values of the diagonal entry of permuted row k, −1 where the pattern has none. */
  readonly diagonal: Int32Array;
}

/** The nodes may be those of A + Aᵀ. */
export function scatter(pattern: Pattern, order: Int32Array, nodes: Supernodes): Scatter {
  const {n, rowPointers, columns} = pattern;
  const {first, rowPointers: lists, rows, blocks, count, size} = nodes;
  const place = inverse(order);
  const owner = new Int32Array(n);
  for (let s = 0; s < count; s++) owner.fill(s, first[s], first[s + 1]);
  const diagonal = new Int32Array(n).fill(-1);
  const target = new Int32Array(columns.length);
  for (let i = 0; i < n; i++) {
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) {
      const [row, column] = [place[i], place[columns[p]]];
      if (row === column) diagonal[row] = p;
      const [low, high] = row < column ? [row, column] : [column, row];
      const s = owner[low];
      const at = find(rows, lists[s], lists[s + 1], high) - lists[s];
      target[p] = (row < column ? size : 0) + blocks[s] + at * (first[s + 1] - first[s]) + low - first[s];
    }
  }
  return {target, diagonal};
}

/** Position of a value in an ascending stretch that contains it. */
function find(sorted: Int32Array, from: number, to: number, value: number): number {
  let low = from;
  let high = to - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
