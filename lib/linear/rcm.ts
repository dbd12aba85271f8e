/**
 * Reverse Cuthill–McKee: numbers a graph level by level from a far end, so that neighbours get near
 * numbers and the matrix a small band (Cuthill & McKee 1969; reversed by George 1971, which never
 * enlarges the profile). The far end is George and Liu's pseudo-peripheral vertex (1979).
 */
import type {AdjacencyGraph} from './graph.js';

/** order[k] is the vertex numbered k. */
export function reverseCuthillMcKee(graph: AdjacencyGraph): Int32Array {
  const {n, pointers} = graph;
  const order = new Int32Array(n);
  const level = new Int32Array(n).fill(-1);
  const queue = new Int32Array(n);
  const degree = (i: number): number => pointers[i + 1] - pointers[i];
  const byDegree = Int32Array.from({length: n}, (_, i) => i).sort((a, b) => degree(a) - degree(b) || a - b);
  const numbered = new Uint8Array(n);
  let count = 0;
  for (const seed of byDegree) {
    if (numbered[seed] === 1) continue;
    const start = farEnd(graph, seed, level, queue);
    count = numberFrom(graph, start, order, count, numbered);
  }
  return order.reverse();
}

/** Moves to the least connected vertex of the last level for as long as that makes the levels more. */
function farEnd(graph: AdjacencyGraph, seed: number, level: Int32Array, queue: Int32Array): number {
  const {pointers} = graph;
  let vertex = seed;
  let depth = -1;
  for (;;) {
    const reached = levels(graph, vertex, level, queue);
    const last = level[queue[reached - 1]];
    let best = -1;
    for (let k = reached - 1; k >= 0 && level[queue[k]] === last; k--) {
      const i = queue[k];
      if (best < 0 || pointers[i + 1] - pointers[i] < pointers[best + 1] - pointers[best]) best = i;
    }
    for (let k = 0; k < reached; k++) level[queue[k]] = -1;
    if (last <= depth) return vertex;
    depth = last;
    vertex = best;
  }
}

/** Breadth-first levels from a vertex; returns how many vertices were reached, listed in `queue`. */
function levels({pointers, adjacent}: AdjacencyGraph, start: number, level: Int32Array, queue: Int32Array): number {
  let count = 1;
  queue[0] = start;
  level[start] = 0;
  for (let head = 0; head < count; head++) {
    const i = queue[head];
    for (let p = pointers[i]; p < pointers[i + 1]; p++) {
      const j = adjacent[p];
      if (level[j] >= 0) continue;
      level[j] = level[i] + 1;
      queue[count++] = j;
    }
  }
  return count;
}

/** Cuthill and McKee's numbering of one component: the new neighbours of each vertex by rising degree. */
function numberFrom(
  {pointers, adjacent}: AdjacencyGraph,
  start: number,
  order: Int32Array,
  first: number,
  numbered: Uint8Array,
): number {
  let count = first;
  order[count++] = start;
  numbered[start] = 1;
  for (let head = first; head < count; head++) {
    const i = order[head];
    const begin = count;
    for (let p = pointers[i]; p < pointers[i + 1]; p++) {
      const j = adjacent[p];
      if (numbered[j] === 1) continue;
      numbered[j] = 1;
      order[count++] = j;
    }
    order
      .subarray(begin, count)
      .sort((a, b) => pointers[a + 1] - pointers[a] - (pointers[b + 1] - pointers[b]) || a - b);
  }
  return count;
}

/** max |place(i) − place(j)| over the edges: the half bandwidth of the permuted matrix. */
export function bandwidth({n, pointers, adjacent}: AdjacencyGraph, place?: Int32Array): number {
  let widest = 0;
  for (let i = 0; i < n; i++) {
    for (let p = pointers[i]; p < pointers[i + 1]; p++) {
      const j = adjacent[p];
      widest = Math.max(widest, Math.abs((place?.[i] ?? i) - (place?.[j] ?? j)));
    }
  }
  return widest;
}
