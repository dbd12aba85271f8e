/**
 * The fewest numbers through which values depend on others: a minimum cut of the graph, every node as wide as
 * it has numbers (Ford & Fulkerson 1956; shortest augmenting paths, Edmonds & Karp 1972). A gradient keeps
 * these of a step instead of what they are computed from.
 */
import type {Node} from './node.js';
import {isOp, topological} from './node.js';

/** Arcs in pairs, an arc and its reverse side by side. */
class Flow {
  private readonly heads: number[] = [];
  private readonly room: number[] = [];
  private readonly from: number[][] = [];

  vertex(): number {
    return this.from.push([]) - 1;
  }

  arc(tail: number, head: number, room: number): void {
    this.from[tail].push(this.heads.length);
    this.heads.push(head);
    this.room.push(room);
    this.from[head].push(this.heads.length);
    this.heads.push(tail);
    this.room.push(0);
  }

  /** As much as will go from source to sink. */
  fill(source: number, sink: number): void {
    for (let path = this.path(source, sink); path !== undefined; path = this.path(source, sink)) {
      let least = Infinity;
      for (const arc of path) least = Math.min(least, this.room[arc]);
      for (const arc of path) {
        this.room[arc] -= least;
        this.room[arc ^ 1] += least;
      }
    }
  }

  /** Arcs of a shortest path with room, from the sink back. */
  private path(source: number, sink: number): number[] | undefined {
    const by = new Int32Array(this.from.length).fill(-1);
    const queue = [source];
    for (let i = 0; i < queue.length && by[sink] < 0; i++) {
      for (const arc of this.from[queue[i]]) {
        const head = this.heads[arc];
        if (this.room[arc] === 0 || by[head] >= 0 || head === source) continue;
        by[head] = arc;
        queue.push(head);
      }
    }
    if (by[sink] < 0) return undefined;
    const path: number[] = [];
    for (let at = sink; at !== source; at = this.heads[by[at] ^ 1]) path.push(by[at]);
    return path;
  }

  /** Vertices from which the sink can still be reached. */
  reaching(sink: number): Set<number> {
    const found = new Set([sink]);
    for (const at of found) for (const arc of this.from[at]) if (this.room[arc ^ 1] > 0) found.add(this.heads[arc]);
    return found;
  }
}

/**
 * Nodes of least total size without which no output depends on a source; of several such cuts the one
 * nearest the outputs, which leaves the least to be computed after it.
 * @param sources inputs
 * @param later inputs whose values are not there yet when the cut is taken: what depends on them is behind it
 */
export function narrowestCut(outputs: readonly Node[], sources: readonly Node[], later: ReadonlySet<Node>): Node[] {
  const order = topological(outputs);
  const behind = new Set<Node>();
  const before = new Set<Node>();
  for (const node of order) {
    if (later.has(node) || node.operands.some(operand => behind.has(operand))) behind.add(node);
    else if (sources.includes(node) || node.operands.some(operand => before.has(operand))) before.add(node);
  }
  const flow = new Flow();
  const source = flow.vertex();
  const sink = flow.vertex();
  const entrance = new Map<Node, number>();
  const exit = (node: Node): number => (entrance.get(node) as number) + 1;
  for (const node of order) {
    if (!before.has(node)) continue;
    entrance.set(node, flow.vertex());
    flow.vertex();
    // What is not a number of double precision is computed again.
    flow.arc(exit(node) - 1, exit(node), node.dtype === 'float' ? node.size : Infinity);
    if (isOp(node, 'input')) flow.arc(source, exit(node) - 1, Infinity);
    for (const operand of new Set(node.operands)) if (before.has(operand)) flow.arc(exit(operand), exit(node) - 1, Infinity);
  }
  const asked = new Set(outputs);
  for (const node of order) if (behind.has(node)) for (const operand of node.operands) asked.add(operand);
  for (const node of asked) if (before.has(node)) flow.arc(exit(node), sink, Infinity);
  flow.fill(source, sink);
  const reaching = flow.reaching(sink);
  return order.filter(node => before.has(node) && reaching.has(exit(node)) && !reaching.has(exit(node) - 1));
}
