/**
 * The largest flow through a network, and with it the cheapest cut between its source and its sink (Ford &
 * Fulkerson 1956; shortest augmenting paths, Edmonds & Karp 1972).
 */

/** Arcs lie in pairs, an arc and its reverse side by side. */
export class Flow {
  private readonly heads: number[] = [];
  /** Residual capacity of each arc. */
  private readonly residual: number[] = [];
  private readonly from: number[][] = [];

  vertex(): number {
    return this.from.push([]) - 1;
  }

  arc(tail: number, head: number, capacity: number): void {
    this.from[tail].push(this.heads.length);
    this.heads.push(head);
    this.residual.push(capacity);
    this.from[head].push(this.heads.length);
    this.heads.push(tail);
    this.residual.push(0);
  }

  /** Computes a maximum flow from source to sink. */
  fill(source: number, sink: number): void {
    for (let path = this.path(source, sink); path !== undefined; path = this.path(source, sink)) {
      let least = Infinity;
      for (const arc of path) least = Math.min(least, this.residual[arc]);
      for (const arc of path) {
        this.residual[arc] -= least;
        this.residual[arc ^ 1] += least;
      }
    }
  }

  /** Arcs of a shortest path with residual capacity, from the sink back. */
  private path(source: number, sink: number): number[] | undefined {
    const by = new Int32Array(this.from.length).fill(-1);
    const queue = [source];
    for (let i = 0; i < queue.length && by[sink] < 0; i++) {
      for (const arc of this.from[queue[i]]) {
        const head = this.heads[arc];
        if (this.residual[arc] === 0 || by[head] >= 0 || head === source) continue;
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
    for (const at of found) for (const arc of this.from[at]) if (this.residual[arc ^ 1] > 0) found.add(this.heads[arc]);
    return found;
  }
}
