/**
 * Supernodes: neighbouring columns of a symmetric factor with the same rows, kept as one dense block, so
 * that the inner loops run over contiguous numbers (Ng & Peyton 1993). Small blocks are merged with
 * their parent at the price of a few stored zeros (Ashcraft & Grimes 1989). All of it is found once from
 * the pattern; the numeric factorization only follows the lists made here.
 */
import {inverse, type AdjacencyGraph} from './graph.js';
import type {Elimination} from './elimination.js';

export interface Supernodes {
  readonly count: number;
  /** Columns first[s] … first[s + 1] − 1 (in the new order) form supernode s. */
  readonly first: Int32Array;
  /** rows[rowPointers[s] …]: the columns of s themselves, then the rows below, ascending. */
  readonly rowPointers: Int32Array;
  readonly rows: Int32Array;
  /** Where block s starts: row-major, (rows of s) × (columns of s). */
  readonly blocks: Int32Array;
  /** Numbers in all blocks. */
  readonly size: number;
  /** Updates into s: updatePointers[s] …; each is a supernode and the rows of it that are columns of s. */
  readonly updatePointers: Int32Array;
  readonly updateFrom: Int32Array;
  readonly updateBegin: Int32Array;
  readonly updateEnd: Int32Array;
  /** Most columns and most rows of any supernode. */
  readonly widest: number;
  readonly tallest: number;
  /** Multiplications and additions of the factorization, zeros included. */
  readonly work: number;
}

/**
 * Merge while the block would be at most `columns` wide and store at most this share of zeros: the form
 * of CHOLMOD's nrelax and zrelax. Its shares for small blocks (1, 0.8) are for BLAS kernels; on grids,
 * two-component meshes and stars these two halves of them were fastest here, by 10 to 50 %.
 */
const RELAXATION = [
  {columns: 4, zeros: 0.4},
  {columns: 16, zeros: 0.3},
  {columns: 48, zeros: 0.1},
  {columns: Infinity, zeros: 0.05},
] as const;

export function supernodes(graph: AdjacencyGraph, elimination: Elimination): Supernodes {
  const first = partition(elimination);
  const {rowPointers, rows} = rowStructure(graph, elimination, first);
  const count = first.length - 1;
  const blocks = new Int32Array(count + 1);
  let widest = 0;
  let tallest = 0;
  for (let s = 0; s < count; s++) {
    const width = first[s + 1] - first[s];
    const height = rowPointers[s + 1] - rowPointers[s];
    blocks[s + 1] = blocks[s] + width * height;
    widest = Math.max(widest, width);
    tallest = Math.max(tallest, height);
  }
  return {
    count,
    first,
    rowPointers,
    rows,
    blocks,
    size: blocks[count],
    ...updates(first, rowPointers, rows),
    widest,
    tallest,
    work: countWork(first, rowPointers),
  };
}

/** Columns with equal structure, then merges of each supernode with the child just before it. */
function partition({parent, counts}: Elimination): Int32Array {
  const n = parent.length;
  const starts: number[] = [];
  /** Stored zeros of each supernode on the stack. */
  const zeros: number[] = [];
  for (let j = 0; j < n; j++) {
    const joins = j > 0 && parent[j - 1] === j && counts[j - 1] === counts[j] + 1;
    if (!joins) {
      starts.push(j);
      zeros.push(0);
    }
    const isEnd = j + 1 === n || parent[j] !== j + 1 || counts[j] !== counts[j + 1] + 1;
    while (isEnd && starts.length > 1 && mergeable(starts, zeros, j, parent, counts)) {
      starts.pop();
      zeros.pop();
    }
  }
  return Int32Array.from([...starts, n]);
}

/** Decides on the last two supernodes of the stack; when yes, the zeros are put in the first one's place. */
function mergeable(starts: number[], zeros: number[], end: number, parent: Int32Array, counts: Int32Array): boolean {
  const top = starts.length - 1;
  const [childStart, start] = [starts[top - 1], starts[top]];
  const above = parent[start - 1];
  if (above < start || above > end) return false;
  const childWidth = start - childStart;
  const width = end + 1 - start;
  const below = counts[end];
  // Each child column is lengthened from counts to the columns of the parent and all rows below it.
  const added = childWidth * (width + below - counts[start - 1]);
  const total = zeros[top - 1] + zeros[top] + added;
  const merged = childWidth + width;
  const stored = (merged * (merged + 1)) / 2 + merged * below;
  const allowed = RELAXATION.find(rule => merged <= rule.columns)?.zeros ?? 0;
  if (total > allowed * stored) return false;
  zeros[top - 1] = total;
  return true;
}

/** Rows of a supernode: those of the matrix in its columns, and the rows below of its children. */
function rowStructure(
  {n, pointers, adjacent}: AdjacencyGraph,
  {order, parent}: Elimination,
  first: Int32Array,
): {rowPointers: Int32Array; rows: Int32Array} {
  const count = first.length - 1;
  const place = inverse(order);
  const owner = new Int32Array(n);
  for (let s = 0; s < count; s++) owner.fill(s, first[s], first[s + 1]);
  const children: number[][] = Array.from({length: count}, () => []);
  const seen = new Int32Array(n).fill(-1);
  const structures: Int32Array[] = [];
  const rowPointers = new Int32Array(count + 1);
  for (let s = 0; s < count; s++) {
    const end = first[s + 1];
    const below: number[] = [];
    const add = (row: number): void => {
      if (row < end || seen[row] === s) return;
      seen[row] = s;
      below.push(row);
    };
    for (let j = first[s]; j < end; j++) {
      for (let p = pointers[order[j]]; p < pointers[order[j] + 1]; p++) add(place[adjacent[p]]);
    }
    for (const child of children[s])
      for (let k = first[child + 1] - first[child]; k < structures[child].length; k++) add(structures[child][k]);
    const sorted = Int32Array.from(below).sort();
    const structure = new Int32Array(end - first[s] + sorted.length);
    for (let j = first[s]; j < end; j++) structure[j - first[s]] = j;
    structure.set(sorted, end - first[s]);
    structures.push(structure);
    rowPointers[s + 1] = rowPointers[s] + structure.length;
    if (parent[end - 1] >= 0) children[owner[parent[end - 1]]].push(s);
  }
  const rows = new Int32Array(rowPointers[count]);
  structures.forEach((structure, s) => rows.set(structure, rowPointers[s]));
  return {rowPointers, rows};
}

/** For each supernode the earlier ones with a row among its columns, in rising order. */
function updates(
  first: Int32Array,
  rowPointers: Int32Array,
  rows: Int32Array,
): Pick<Supernodes, 'updatePointers' | 'updateFrom' | 'updateBegin' | 'updateEnd'> {
  const count = first.length - 1;
  const owner = new Int32Array(first[count]);
  for (let s = 0; s < count; s++) owner.fill(s, first[s], first[s + 1]);
  const updatePointers = new Int32Array(count + 1);
  const visit = (found: (into: number, from: number, begin: number, end: number) => void): void => {
    for (let s = 0; s < count; s++) {
      for (let p = rowPointers[s] + first[s + 1] - first[s]; p < rowPointers[s + 1];) {
        const into = owner[rows[p]];
        let end = p;
        while (end < rowPointers[s + 1] && owner[rows[end]] === into) end++;
        found(into, s, p - rowPointers[s], end - rowPointers[s]);
        p = end;
      }
    }
  };
  visit(into => updatePointers[into + 1]++);
  for (let s = 0; s < count; s++) updatePointers[s + 1] += updatePointers[s];
  const next = updatePointers.slice(0, count);
  const total = updatePointers[count];
  const updateFrom = new Int32Array(total);
  const updateBegin = new Int32Array(total);
  const updateEnd = new Int32Array(total);
  visit((into, from, begin, end) => {
    const u = next[into]++;
    updateFrom[u] = from;
    updateBegin[u] = begin;
    updateEnd[u] = end;
  });
  return {updatePointers, updateFrom, updateBegin, updateEnd};
}

/** Column by column: c divisions and c (c + 1) multiplications and additions for c entries below. */
function countWork(first: Int32Array, rowPointers: Int32Array): number {
  let work = 0;
  for (let s = 0; s + 1 < first.length; s++) {
    const height = rowPointers[s + 1] - rowPointers[s];
    for (let t = 0; t < first[s + 1] - first[s]; t++) {
      const c = height - t - 1;
      work += c * (c + 2);
    }
  }
  return work;
}
