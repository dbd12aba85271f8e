/**
 * Nested dissection (George 1973): a small separator is ordered last, and both sides of it before, each in the same
 * way. Meshes in space have much less fill so than by minimum degree. Separators are found by the multilevel method
 * (Hendrickson & Rothberg, SIAM J. Sci. Comput. 20 (1998) 468–489; Karypis & Kumar 1998): pairs of neighbours are
 * merged until the graph is small, a level of a breadth-first search separates that, and on the way back each finer
 * separator is improved by moves of single vertices (Fiduccia & Mattheyses 1982).
 */
import {amd} from './amd.js';
import type {AdjacencyGraph} from './graph.js';

/** A graph whose vertices stand for several unknowns each, and whose edges for several entries. */
interface WeightedGraph extends AdjacencyGraph {
  readonly weights: Int32Array;
  /** One for each place in `adjacent`; undefined stands for ones. */
  readonly edgeWeights?: Int32Array;
}

/** Parts of at most so many unknowns are ordered by minimum degree: dissecting them gains nothing. */
const LEAF = 200;

/** Graphs of at most so many vertices are separated directly, as in METIS. */
const COARSEST = 100;

/** Coarsening ends where a level keeps more than this share of its vertices. */
const LEAST_MATCHED = 0.9;

/** Neither side may have more than this share of all weight. */
const LARGEST_SIDE = 0.55;

/** A pass ends after so many moves that do not improve the separator. */
const FRUITLESS_MOVES = 60;

/** Passes over one level, and searches in the coarsest one. */
const [PASSES, STARTS] = [8, 8];

const SEPARATOR = 2;

/** order[k] is the vertex to eliminate at step k. */
export function nestedDissection(graph: AdjacencyGraph): Int32Array {
  const {compressed, members} = compress(graph);
  const order = new Int32Array(graph.n);
  let end = graph.n;
  /** From the last to the first. */
  const put = (vertex: number): void => {
    for (let m = members.pointers[vertex + 1] - 1; m >= members.pointers[vertex]; m--) order[--end] = members.list[m];
  };
  const parts: Int32Array[] = [Int32Array.from({length: compressed.n}, (_, i) => i)];
  const number = new Int32Array(compressed.n).fill(-1);
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    const sub = subgraph(compressed, part, number);
    const total = sum(sub.weights);
    const side = total > LEAF ? separate(sub) : undefined;
    const own = part;
    if (side === undefined) {
      amd(sub)
        .reverse()
        .forEach(k => put(own[k]));
      continue;
    }
    for (let k = own.length - 1; k >= 0; k--) if (side[k] === SEPARATOR) put(own[k]);
    for (const s of [0, 1]) {
      const inside = own.filter((_, k) => side[k] === s);
      if (inside.length > 0) parts.push(inside);
    }
  }
  return order;
}

/** Vertices with the same neighbours, themselves included, become one: the unknowns of a node. */
function compress(graph: AdjacencyGraph): {
  compressed: WeightedGraph;
  members: {pointers: Int32Array; list: Int32Array};
} {
  const {n, pointers, adjacent} = graph;
  const group = new Int32Array(n).fill(-1);
  const first: number[] = [];
  const key = (i: number): number => {
    let hash = i;
    for (let p = pointers[i]; p < pointers[i + 1]; p++) hash = (hash + adjacent[p]) | 0;
    return hash;
  };
  const keys = Int32Array.from({length: n}, (_, i) => key(i));
  const mark = new Int32Array(n).fill(-1);
  for (let i = 0; i < n; i++) {
    if (group[i] >= 0) continue;
    group[i] = first.length;
    first.push(i);
    mark[i] = i;
    for (let p = pointers[i]; p < pointers[i + 1]; p++) mark[adjacent[p]] = i;
    const degree = pointers[i + 1] - pointers[i];
    for (let p = pointers[i]; p < pointers[i + 1]; p++) {
      const j = adjacent[p];
      if (group[j] >= 0 || keys[j] !== keys[i] || pointers[j + 1] - pointers[j] !== degree) continue;
      let same = true;
      for (let q = pointers[j]; same && q < pointers[j + 1]; q++) same = mark[adjacent[q]] === i;
      if (same) group[j] = group[i];
    }
  }
  const count = first.length;
  const memberPointers = new Int32Array(count + 1);
  for (const g of group) memberPointers[g + 1]++;
  for (let g = 0; g < count; g++) memberPointers[g + 1] += memberPointers[g];
  const next = memberPointers.slice(0, count);
  const list = new Int32Array(n);
  group.forEach((g, i) => (list[next[g]++] = i));
  const ownPointers = new Int32Array(count + 1);
  const own = new Int32Array(adjacent.length);
  const seen = new Int32Array(count).fill(-1);
  let end = 0;
  first.forEach((i, g) => {
    seen[g] = g;
    for (let p = pointers[i]; p < pointers[i + 1]; p++) {
      const h = group[adjacent[p]];
      if (seen[h] === g) continue;
      seen[h] = g;
      own[end++] = h;
    }
    ownPointers[g + 1] = end;
  });
  const weights = Int32Array.from({length: count}, (_, g) => memberPointers[g + 1] - memberPointers[g]);
  return {
    compressed: {n: count, pointers: ownPointers, adjacent: own.slice(0, end), weights},
    members: {pointers: memberPointers, list},
  };
}

/** @param number −1 everywhere, before and after */
function subgraph(graph: WeightedGraph, vertices: Int32Array, number: Int32Array): WeightedGraph {
  const pointers = new Int32Array(vertices.length + 1);
  let room = 0;
  vertices.forEach((v, k) => {
    number[v] = k;
    room += graph.pointers[v + 1] - graph.pointers[v];
  });
  const adjacent = new Int32Array(room);
  let end = 0;
  vertices.forEach((v, k) => {
    for (let p = graph.pointers[v]; p < graph.pointers[v + 1]; p++) {
      const j = number[graph.adjacent[p]];
      if (j >= 0) adjacent[end++] = j;
    }
    pointers[k + 1] = end;
  });
  for (const v of vertices) number[v] = -1;
  return {n: vertices.length, pointers, adjacent: adjacent.slice(0, end), weights: vertices.map(v => graph.weights[v])};
}

const sum = (numbers: Int32Array): number => numbers.reduce((total, value) => total + value, 0);

/** The side of each vertex, 0 or 1, or SEPARATOR. Undefined where both sides would not be there. */
function separate(graph: WeightedGraph): Int8Array | undefined {
  const coarser = graph.n > COARSEST ? coarsen(graph) : undefined;
  const coarse = coarser === undefined ? undefined : separate(coarser.graph);
  const side =
    coarser === undefined || coarse === undefined ? bestStart(graph) : Int8Array.from(coarser.of, v => coarse[v]);
  if (side === undefined) return undefined;
  improve(graph, side);
  const has = [false, false, false];
  for (const s of side) has[s] = true;
  return has[0] && has[1] ? side : undefined;
}

/** Merges each vertex with the free neighbour of the heaviest edge for its weight; undefined where few find one. */
function coarsen(graph: WeightedGraph): {graph: WeightedGraph; of: Int32Array} | undefined {
  const {n, pointers, adjacent, weights, edgeWeights} = graph;
  const of = new Int32Array(n).fill(-1);
  const pairs: [number, number][] = [];
  const heaviest = (3 * sum(weights)) / COARSEST;
  for (let i = 0; i < n; i++) {
    if (of[i] >= 0) continue;
    let partner = i;
    let best = 0;
    for (let p = pointers[i]; p < pointers[i + 1]; p++) {
      const j = adjacent[p];
      if (of[j] >= 0 || weights[i] + weights[j] > heaviest) continue;
      const value = (edgeWeights === undefined ? 1 : edgeWeights[p]) / weights[j];
      if (value > best) [best, partner] = [value, j];
    }
    of[i] = of[partner] = pairs.length;
    pairs.push([i, partner]);
  }
  const count = pairs.length;
  if (count > LEAST_MATCHED * n) return undefined;
  const coarsePointers = new Int32Array(count + 1);
  const coarse = new Int32Array(adjacent.length);
  const edges = new Int32Array(adjacent.length);
  const place = new Int32Array(count).fill(-1);
  let end = 0;
  pairs.forEach(([i, j], v) => {
    const begin = end;
    for (const member of i === j ? [i] : [i, j]) {
      for (let p = pointers[member]; p < pointers[member + 1]; p++) {
        const u = of[adjacent[p]];
        if (u === v) continue;
        const weight = edgeWeights === undefined ? 1 : edgeWeights[p];
        if (place[u] >= begin) edges[place[u]] += weight;
        else {
          place[u] = end;
          coarse[end] = u;
          edges[end++] = weight;
        }
      }
    }
    coarsePointers[v + 1] = end;
  });
  return {
    of,
    graph: {
      n: count,
      pointers: coarsePointers,
      adjacent: coarse.slice(0, end),
      weights: Int32Array.from(pairs, ([i, j]) => weights[i] + (i === j ? 0 : weights[j])),
      edgeWeights: edges.slice(0, end),
    },
  };
}

/**
 * The best of several: a breadth-first search from some vertex takes half of the weight, its front is the separator,
 * and moves improve it. Parts that are not connected need no separator.
 */
function bestStart(graph: WeightedGraph): Int8Array | undefined {
  const {n, pointers, adjacent, weights} = graph;
  const half = sum(weights) / 2;
  let best: Int8Array | undefined;
  let lightest = Infinity;
  let start = 0;
  for (let trial = 0; trial < STARTS; trial++) {
    const {queue, reached} = search(graph, start);
    if (reached < n) return byComponents(graph);
    // The ends of the longest paths first, then vertices over all of the graph.
    start = trial < 2 ? queue[n - 1] : Math.floor((trial * n) / STARTS);
    const side = new Int8Array(n).fill(1);
    for (let k = 0, taken = 0; k < n && taken < half; taken += weights[queue[k++]]) side[queue[k]] = 0;
    for (let i = 0; i < n; i++) {
      if (side[i] !== 0) continue;
      for (let p = pointers[i]; p < pointers[i + 1]; p++) if (side[adjacent[p]] === 1) side[i] = SEPARATOR;
    }
    const value = improve(graph, side);
    if (value < lightest) [lightest, best] = [value, side];
  }
  return best;
}

/** The vertices that can be reached from one, in the order of a breadth-first search. */
function search({n, pointers, adjacent}: AdjacencyGraph, start: number): {queue: Int32Array; reached: number} {
  const seen = new Uint8Array(n);
  const queue = new Int32Array(n);
  queue[0] = start;
  seen[start] = 1;
  let reached = 1;
  for (let head = 0; head < reached; head++) {
    const i = queue[head];
    for (let p = pointers[i]; p < pointers[i + 1]; p++) {
      const j = adjacent[p];
      if (seen[j] === 1) continue;
      seen[j] = 1;
      queue[reached++] = j;
    }
  }
  return {queue, reached};
}

/** Needs no separator: whole components on either side. */
function byComponents(graph: WeightedGraph): Int8Array {
  const side = new Int8Array(graph.n).fill(-1);
  const total = [0, 0];
  for (let root = 0; root < graph.n; root++) {
    if (side[root] >= 0) continue;
    const {queue, reached} = search(graph, root);
    const s = total[0] <= total[1] ? 0 : 1;
    for (let k = 0; k < reached; k++) {
      side[queue[k]] = s;
      total[s] += graph.weights[queue[k]];
    }
  }
  return side;
}

/** Passes of single moves out of the separator until one gains nothing. Returns what is left of its weight. */
function improve(graph: WeightedGraph, side: Int8Array): number {
  const moves = new SeparatorMoves(graph, side);
  for (let pass = 0; pass < PASSES && moves.pass(); pass++);
  return moves.quality;
}

class SeparatorMoves {
  private readonly weight = [0, 0, 0];
  private readonly limit: number;
  private readonly stamp: Int32Array;
  private passes = 0;

  constructor(
    private readonly graph: WeightedGraph,
    private readonly side: Int8Array,
  ) {
    side.forEach((s, i) => (this.weight[s] += graph.weights[i]));
    this.limit = LARGEST_SIDE * sum(graph.weights);
    this.stamp = new Int32Array(graph.n);
  }

  /** The separator's weight, and a little for sides that differ; more where one is too heavy. Small is good. */
  get quality(): number {
    const {
      weight: [one, other, between],
      limit,
    } = this;
    return between + 2 * Math.max(0, Math.max(one, other) - limit) + 1e-3 * Math.abs(one - other);
  }

  /** What the separator loses if a vertex of it goes to a side: its weight, less that of those it lets in. */
  private gain(v: number, to: number): number {
    const {
      graph: {pointers, adjacent, weights},
      side,
    } = this;
    let gain = weights[v];
    for (let p = pointers[v]; p < pointers[v + 1]; p++) if (side[adjacent[p]] === 1 - to) gain -= weights[adjacent[p]];
    return gain;
  }

  /** One pass; it keeps the best separator on its way. False where that is the first. */
  pass(): boolean {
    const {
      graph: {n, pointers, adjacent, weights},
      side,
      weight,
      stamp,
    } = this;
    const round = ++this.passes;
    const queues = [new GainQueue(), new GainQueue()];
    const enter = (v: number): void => {
      if (stamp[v] === round) return;
      for (const to of [0, 1]) queues[to].push(this.gain(v, to), v);
    };
    for (let v = 0; v < n; v++) if (side[v] === SEPARATOR) enter(v);
    const log: [vertex: number, before: number][] = [];
    const set = (v: number, s: number): void => {
      log.push([v, side[v]]);
      weight[side[v]] -= weights[v];
      weight[s] += weights[v];
      side[v] = s;
    };
    const initial = this.quality;
    let best = initial;
    let bestLength = 0;
    let fruitless = 0;
    while (fruitless < FRUITLESS_MOVES) {
      const to = this.choose(queues);
      if (to < 0) break;
      const v = queues[to].pop();
      stamp[v] = round;
      set(v, to);
      for (let p = pointers[v]; p < pointers[v + 1]; p++) {
        const u = adjacent[p];
        if (side[u] === 1 - to) {
          set(u, SEPARATOR);
          enter(u);
          for (let q = pointers[u]; q < pointers[u + 1]; q++)
            if (side[adjacent[q]] === SEPARATOR && adjacent[q] !== u) enter(adjacent[q]);
        } else if (side[u] === SEPARATOR) enter(u);
      }
      const now = this.quality;
      if (now < best) {
        best = now;
        bestLength = log.length;
        fruitless = 0;
      } else fruitless++;
    }
    while (log.length > bestLength) {
      const [v, before] = log.pop() as [number, number];
      weight[side[v]] -= weights[v];
      weight[before] += weights[v];
      side[v] = before;
    }
    return best < initial;
  }

  /** The side with the best move that leaves it light enough, −1 where there is none. Old entries go. */
  private choose(queues: readonly GainQueue[]): number {
    const {
      graph: {weights},
      side,
      weight,
      limit,
      stamp,
      passes,
    } = this;
    const gains = [0, 1].map(to => {
      const queue = queues[to];
      for (; queue.length > 0; queue.pop()) {
        const v = queue.top;
        if (side[v] !== SEPARATOR || stamp[v] === passes || queue.gain !== this.gain(v, to)) continue;
        const isLight = weight[to] + weights[v] <= limit || weight[to] <= weight[1 - to];
        return isLight ? queue.gain : -Infinity;
      }
      return -Infinity;
    });
    if (gains[0] === -Infinity && gains[1] === -Infinity) return -1;
    if (gains[0] === gains[1]) return weight[0] <= weight[1] ? 0 : 1;
    return gains[0] > gains[1] ? 0 : 1;
  }
}

/** A binary heap of vertices, the largest gain first; of equal ones the first vertex. */
class GainQueue {
  private readonly gains: number[] = [];
  private readonly vertices: number[] = [];

  get length(): number {
    return this.gains.length;
  }

  get top(): number {
    return this.vertices[0];
  }

  get gain(): number {
    return this.gains[0];
  }

  push(gain: number, vertex: number): void {
    const {gains, vertices} = this;
    let k = gains.length;
    gains.push(gain);
    vertices.push(vertex);
    for (let up = (k - 1) >> 1; k > 0 && this.isBefore(k, up); k = up, up = (k - 1) >> 1) this.swap(k, up);
  }

  pop(): number {
    const {gains, vertices} = this;
    const vertex = vertices[0];
    const [gain, last] = [gains.pop() as number, vertices.pop() as number];
    if (gains.length === 0) return vertex;
    gains[0] = gain;
    vertices[0] = last;
    for (let k = 0; ;) {
      let first = k;
      for (const below of [2 * k + 1, 2 * k + 2])
        if (below < gains.length && this.isBefore(below, first)) first = below;
      if (first === k) return vertex;
      this.swap(k, first);
      k = first;
    }
  }

  private isBefore(a: number, b: number): boolean {
    const {gains, vertices} = this;
    return gains[a] > gains[b] || (gains[a] === gains[b] && vertices[a] < vertices[b]);
  }

  private swap(a: number, b: number): void {
    const {gains, vertices} = this;
    [gains[a], gains[b]] = [gains[b], gains[a]];
    [vertices[a], vertices[b]] = [vertices[b], vertices[a]];
  }
}
