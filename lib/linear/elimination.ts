/**
 * What a symmetric elimination will do, before any number is known: the elimination tree (Liu 1990) and
 * the entries of each column of the factor. Row k of the factor is found by walking up the tree from
 * the entries of row k of the matrix; the walks together take as long as the factor has entries.
 */
import {inverse, type AdjacencyGraph} from './graph.js';

export interface Elimination {
  /** The order, re-sorted so that children come right before their parents (a postorder). */
  readonly order: Int32Array;
  /** parent[k] is the first row below the diagonal in column k of the factor, −1 where there is none. */
  readonly parent: Int32Array;
  /** Entries of each column below the diagonal. */
  readonly counts: Int32Array;
  /** Σ counts. */
  readonly below: number;
  /** Σ counts², the leading term of the work: one multiplication and addition a pair is Σ c(c+1)/2. */
  readonly squares: number;
}

/** Tree and counts for an order; the postorder changes neither fill nor work. */
export function eliminate(graph: AdjacencyGraph, order: Int32Array): Elimination {
  const parentBefore = eliminationTree(graph, order);
  const post = postorder(parentBefore);
  const sorted = post.map(k => order[k]);
  const place = inverse(post);
  const parent = post.map(k => (parentBefore[k] < 0 ? -1 : place[parentBefore[k]]));
  const counts = columnCounts(graph, sorted, parent);
  let below = 0;
  let squares = 0;
  for (const c of counts) {
    below += c;
    squares += c * c;
  }
  return {order: sorted, parent, counts, below, squares};
}

/** Liu's algorithm with path compression. */
function eliminationTree({n, pointers, adjacent}: AdjacencyGraph, order: Int32Array): Int32Array {
  const place = inverse(order);
  const parent = new Int32Array(n).fill(-1);
  const ancestor = new Int32Array(n).fill(-1);
  for (let k = 0; k < n; k++) {
    const vertex = order[k];
    for (let p = pointers[vertex]; p < pointers[vertex + 1]; p++) {
      for (let i = place[adjacent[p]]; i >= 0 && i < k;) {
        const above = ancestor[i];
        ancestor[i] = k;
        if (above < 0) parent[i] = k;
        i = above;
      }
    }
  }
  return parent;
}

/** post[k] is the node visited k-th, children before parents, siblings by their number. */
function postorder(parent: Int32Array): Int32Array {
  const n = parent.length;
  const firstChild = new Int32Array(n).fill(-1);
  const sibling = new Int32Array(n).fill(-1);
  for (let k = n - 1; k >= 0; k--) {
    if (parent[k] < 0) continue;
    sibling[k] = firstChild[parent[k]];
    firstChild[parent[k]] = k;
  }
  const post = new Int32Array(n);
  const stack = new Int32Array(n);
  let count = 0;
  for (let root = 0; root < n; root++) {
    if (parent[root] >= 0) continue;
    let top = 0;
    stack[0] = root;
    while (top >= 0) {
      const k = stack[top];
      const child = firstChild[k];
      if (child >= 0) {
        firstChild[k] = sibling[child];
        stack[++top] = child;
      } else {
        post[count++] = k;
        top--;
      }
    }
  }
  return post;
}

/** Counts the entries of each column by walking every row's subtree. */
function columnCounts({n, pointers, adjacent}: AdjacencyGraph, order: Int32Array, parent: Int32Array): Int32Array {
  const place = inverse(order);
  const counts = new Int32Array(n);
  const visited = new Int32Array(n).fill(-1);
  for (let k = 0; k < n; k++) {
    visited[k] = k;
    const vertex = order[k];
    for (let p = pointers[vertex]; p < pointers[vertex + 1]; p++) {
      for (let i = place[adjacent[p]]; i < k && visited[i] !== k; i = parent[i]) {
        visited[i] = k;
        counts[i]++;
      }
    }
  }
  return counts;
}
