/**
 * Aggregates of nodes for multigrid (Vaněk, Mandel & Brezina 1996, algorithm 5.1): disjoint neighbourhoods first, then
 * the nodes between them. They depend on the pattern alone, so that they are found once.
 */

/** Which nodes are neighbours, each also of itself. */
export interface Adjacency {
  readonly count: number;
  readonly rowPointers: Int32Array;
  readonly columns: Int32Array;
}

export interface Aggregates {
  readonly count: number;
  /** The aggregate of each node. */
  readonly of: Int32Array;
}

export function aggregate({count: nodes, rowPointers, columns}: Adjacency): Aggregates {
  const of = new Int32Array(nodes).fill(-1);
  let count = 0;
  // Whole neighbourhoods of which no node is taken yet.
  for (let i = 0; i < nodes; i++) {
    let isFree = of[i] < 0;
    for (let q = rowPointers[i]; isFree && q < rowPointers[i + 1]; q++) isFree = of[columns[q]] < 0;
    if (!isFree) continue;
    of[i] = count;
    for (let q = rowPointers[i]; q < rowPointers[i + 1]; q++) of[columns[q]] = count;
    count++;
  }
  // Nodes beside them join the one with which they have most neighbours in common.
  const whole = of.slice();
  const shared = new Int32Array(count);
  for (let i = 0; i < nodes; i++) {
    if (whole[i] >= 0) continue;
    let best = -1;
    for (let q = rowPointers[i]; q < rowPointers[i + 1]; q++) {
      const a = whole[columns[q]];
      if (a < 0) continue;
      shared[a]++;
      if (best < 0 || shared[a] > shared[best]) best = a;
    }
    for (let q = rowPointers[i]; q < rowPointers[i + 1]; q++) if (whole[columns[q]] >= 0) shared[whole[columns[q]]] = 0;
    of[i] = best;
  }
  // What is left has only neighbours that were left, too.
  for (let i = 0; i < nodes; i++) {
    if (of[i] >= 0) continue;
    of[i] = count;
    for (let q = rowPointers[i]; q < rowPointers[i + 1]; q++) if (of[columns[q]] < 0) of[columns[q]] = count;
    count++;
  }
  return {count, of};
}

/**
 * The next level's graph: aggregates are neighbours where two of their nodes are. The coarse matrix couples more, since
 * smoothed prolongators overlap, and would make aggregates of up to 87 where the fine level's have 27.
 */
export function contracted({count: nodes, rowPointers, columns}: Adjacency, {count, of}: Aggregates): Adjacency {
  const found = Array.from({length: count}, () => new Set<number>());
  for (let i = 0; i < nodes; i++)
    for (let q = rowPointers[i]; q < rowPointers[i + 1]; q++) found[of[i]].add(of[columns[q]]);
  const pointers = new Int32Array(count + 1);
  found.forEach((set, a) => (pointers[a + 1] = pointers[a] + set.size));
  const to = new Int32Array(pointers[count]);
  found.forEach((set, a) =>
    to.set(
      [...set].sort((b, c) => b - c),
      pointers[a],
    ),
  );
  return {count, rowPointers: pointers, columns: to};
}
