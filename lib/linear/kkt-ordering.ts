/**
 * An order for factors that pivot on the diagonal only. A row whose diagonal entry is not in the pattern
 * (a multiplier of a hard constraint) must come after a neighbour that has one: eliminating q first
 * leaves −g²/a on λ's diagonal. Each such row is therefore matched with a neighbour of its own, the pair
 * is ordered as one vertex, and taken apart as (q, λ) (Duff & Pralet 2005 do this with weights). With A
 * definite and the constraints independent, no pivot is then zero in exact arithmetic, up to accidents.
 */
import {ordering, type OrderingName} from './ordering.js';
import {inverse, type AdjacencyGraph} from './graph.js';
import type {Pattern} from './solver.js';

export function pairedOrdering(pattern: Pattern, graph: AdjacencyGraph, name: OrderingName): Int32Array {
  if (pattern.deferredPivots !== undefined && pattern.deferredPivots.length > 0)
    return weakLast(graph, pattern.deferredPivots, name);
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

/**
 * Each weak row directly after the last of its strong neighbours. There its pivot is that of G M⁻¹Gᵀ, less what rows
 * before it share with it, and a definite matrix needs no other. A pair would not do: contacts are mostly more than
 * bodies can move, and a velocity across a contact is no partner of its row. The strong rows are ordered as if the weak
 * ones were gone: each joins its neighbours to each other.
 */
function weakLast(graph: AdjacencyGraph, weak: Int32Array, name: OrderingName): Int32Array {
  const {n, pointers, adjacent} = graph;
  const isWeak = new Uint8Array(n);
  for (const i of weak) isWeak[i] = 1;
  const strong = Int32Array.from({length: n}, (_, i) => i).filter(i => isWeak[i] === 0);
  const number = new Int32Array(n).fill(-1);
  strong.forEach((i, k) => (number[i] = k));
  const joined: number[] = [];
  const joinedPointers = new Int32Array(strong.length + 1);
  const seen = new Int32Array(strong.length).fill(-1);
  strong.forEach((i, k) => {
    seen[k] = k;
    const meet = (j: number): void => {
      if (isWeak[j] === 1 || seen[number[j]] === k) return;
      seen[number[j]] = k;
      joined.push(number[j]);
    };
    for (let p = pointers[i]; p < pointers[i + 1]; p++) {
      const j = adjacent[p];
      meet(j);
      if (isWeak[j] === 1) for (let q = pointers[j]; q < pointers[j + 1]; q++) meet(adjacent[q]);
    }
    joinedPointers[k + 1] = joined.length;
  });
  const first = ordering({n: strong.length, pointers: joinedPointers, adjacent: Int32Array.from(joined)}, name);
  const place = inverse(first);
  const after: number[][] = strong.length === 0 ? [[...weak]] : Array.from(first, () => []);
  for (const i of weak) {
    let last = strong.length - 1;
    let most = -1;
    for (let p = pointers[i]; p < pointers[i + 1]; p++)
      if (isWeak[adjacent[p]] === 0) most = Math.max(most, place[number[adjacent[p]]]);
    if (most >= 0) last = most;
    after[Math.max(0, last)].push(i);
  }
  if (strong.length === 0) return Int32Array.from(after[0]);
  return Int32Array.from(Array.from(first).flatMap((k, at) => [strong[k], ...after[at]]));
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
function match({n, pointers, adjacent}: AdjacencyGraph, bare: readonly number[]): Int32Array {
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
function compress(graph: AdjacencyGraph, group: Int32Array, members: readonly number[][]): AdjacencyGraph {
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
