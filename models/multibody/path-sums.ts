/**
 * Sums along the paths from a tree's roots, of poses or velocities, for all its nodes at once. Every other level of
 * the tree is joined with the one above it and left out, what remains is a tree of half the depth, and the levels left
 * out follow from it: the parallel prefix sum (Blelloch 1990) on a tree. A chain of n takes 2 n operations in 2 log₂ n
 * vectors, where body by body it would take n programs of one number each.
 */
import * as tf from '@tensorflow/tfjs';

/** Several numbers of every node, [nodes] each. */
export type PathColumns = readonly tf.Tensor[];

/** Columns of some nodes, by constant numbers. */
export const pick = <T extends PathColumns>(columns: T, nodes: readonly number[]): T =>
  nodes.length === columns[0].shape[0] && nodes.every((node, i) => node === i)
    ? columns
    : (columns.map(column => tf.gather(column, tf.tensor1d([...nodes], 'int32'))) as unknown as T);

/** Two sets of nodes one after the other, then in the order of `positions`. */
const merged = <T extends PathColumns>(first: T, second: T, positions: readonly number[]): T =>
  pick(first.map((column, i) => tf.concat([column, second[i]])) as unknown as T, positions);

/**
 * own[root] ∘ … ∘ own[node] of every node.
 * @param parents a node's, −1 of a root
 * @param combine associative: what is nearer to the root first
 */
export function pathSums<T extends PathColumns>(
  parents: readonly number[],
  own: T,
  combine: (before: T, after: T) => T,
): T {
  const roots = [...parents.keys()].filter(node => parents[node] < 0);
  if (roots.length === parents.length) return own;
  const depths = depthsOf(parents);
  // Levels 1, 3, 5, … join those above them; 0 is done, 2, 4, … follow.
  const joined = [...parents.keys()].filter(node => depths[node] % 2 === 1);
  const later = [...parents.keys()].filter(node => depths[node] % 2 === 0);
  const number = new Int32Array(parents.length);
  joined.forEach((node, i) => (number[node] = i));
  const above = joined.map(node => parents[node]);
  const halves = combine(pick(own, above), pick(own, joined));
  const grand = above.map(node => (parents[node] < 0 ? -1 : number[parents[node]]));
  const sums = pathSums(grand, halves, combine);
  const deep = later.filter(node => parents[node] >= 0);
  const position = new Int32Array(parents.length);
  joined.forEach((node, i) => (position[node] = i));
  [...roots, ...deep].forEach((node, i) => (position[node] = joined.length + i));
  const done = pick(own, roots);
  if (deep.length === 0) return merged(sums, done, [...position]);
  const before = deep.map(node => number[parents[node]]);
  const followed = combine(pick(sums, before), pick(own, deep));
  const rest = done.map((column, i) => tf.concat([column, followed[i]])) as unknown as T;
  return merged(sums, rest, [...position]);
}

/** Depths of the nodes, 0 for roots. Parents may stand behind their children. */
function depthsOf(parents: readonly number[]): Int32Array {
  const depths = new Int32Array(parents.length).fill(-1);
  for (const node of parents.keys()) {
    const path: number[] = [];
    let at = node;
    while (at >= 0 && depths[at] < 0) {
      path.push(at);
      at = parents[at];
    }
    let depth = at < 0 ? -1 : depths[at];
    for (const below of path.reverse()) depths[below] = ++depth;
  }
  return depths;
}
