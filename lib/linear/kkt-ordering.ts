/**
 * An order for factors that pivot on the diagonal only. A row whose diagonal entry is not in the pattern
 * (a multiplier of a hard constraint) must come after a neighbour that has one: eliminating q first
 * leaves −g²/a on λ's diagonal. Each such row is therefore matched with a neighbour of its own, the pair
 * is ordered as one vertex, and taken apart as (q, λ) (Duff & Pralet 2005 do this with weights). With A
 * definite and the constraints independent, no pivot is then zero in exact arithmetic, up to accidents.
 */
import {ordering, type OrderingName} from './ordering.js';
import type {Graph} from './graph.js';
import type {Pattern} from './solver.js';

export function pairedOrdering(pattern: Pattern, graph: Graph, name: OrderingName): Int32Array {
  const bare = rowsWithoutDiagonal(pattern);
  if (bare.length === 0) return ordering(graph, name);
  const isBare = new Set(bare);
  const partner = match(graph, bare);
  const group = new Int32Array(graph.n).fill(-1);
  const members: number[][] = [];
  for (let i = 0; i < graph.n; i++) {
    if (group[i] >= 0) continue;
    const j = partner[i];
    group[i] = members.length;
    if (j >= 0) group[j] = members.length;
    members.push(j < 0 ? [i] : isBare.has(i) ? [j, i] : [i, j]);
  }
  const order = ordering(compress(graph, group, members), name);
  return Int32Array.from([...order].flatMap(g => members[g]));
}

function rowsWithoutDiagonal({n, rowPointers, columns}: Pattern): number[] {
  const bare: number[] = [];
  for (let i = 0; i < n; i++) {
    let found = false;
    for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) found ||= columns[p] === i;
    if (!found) bare.push(i);
  }
  return bare;
}

/** A largest matching of the bare rows with other rows, by augmenting paths (breadth first). */
function match({n, pointers, adjacent}: Graph, bare: readonly number[]): Int32Array {
  const partner = new Int32Array(n).fill(-1);
  const isBare = new Uint8Array(n);
  for (const i of bare) isBare[i] = 1;
  const reachedFrom = new Int32Array(n).fill(-1);
  for (const start of bare) {
    const reached: number[] = [];
    const queue = [start];
    let free = -1;
    for (let head = 0; head < queue.length && free < 0; head++) {
      const i = queue[head];
      for (let p = pointers[i]; p < pointers[i + 1] && free < 0; p++) {
        const j = adjacent[p];
        if (isBare[j] === 1 || reachedFrom[j] >= 0) continue;
        reachedFrom[j] = i;
        reached.push(j);
        if (partner[j] < 0) free = j;
        else queue.push(partner[j]);
      }
    }
    // Flip the path: each row on it takes the neighbour it was reached through.
    while (free >= 0) {
      const i = reachedFrom[free];
      const before = partner[i];
      partner[free] = i;
      partner[i] = free;
      free = before;
    }
    for (const j of reached) reachedFrom[j] = -1;
  }
  return partner;
}

/** The graph of the groups: neighbours where any members are. */
function compress(graph: Graph, group: Int32Array, members: readonly number[][]): Graph {
  const n = members.length;
  const pointers = new Int32Array(n + 1);
  const adjacent: number[] = [];
  const seen = new Int32Array(n).fill(-1);
  members.forEach((vertices, g) => {
    seen[g] = g;
    for (const i of vertices) {
      for (let p = graph.pointers[i]; p < graph.pointers[i + 1]; p++) {
        const h = group[graph.adjacent[p]];
        if (seen[h] === g) continue;
        seen[h] = g;
        adjacent.push(h);
      }
    }
    pointers[g + 1] = adjacent.length;
  });
  return {n, pointers, adjacent: Int32Array.from(adjacent)};
}
