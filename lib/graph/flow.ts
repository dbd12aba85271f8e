/**
 * The largest flow through a network, and with it the cheapest cut between its source and its sink: blocking flows in
 * the network of shortest paths (Dinic 1970). Each phase is linear in the arcs but for paths that lead nowhere, which
 * are left for good; the networks of programs take a few phases, whose number is that of different lengths of paths.
 */

/** Arcs lie in pairs, an arc and its reverse side by side. */
export class Flow {
  private readonly heads: number[] = [];
  /** Residual capacity of each arc. */
  private readonly residual: number[] = [];
  /** Arcs that leave a vertex: the last one, and for each the one before; −1 for none. */
  private readonly last: number[] = [];
  private readonly before: number[] = [];

  vertex(): number {
    return this.last.push(-1) - 1;
  }

  arc(tail: number, head: number, capacity: number): void {
    this.half(tail, head, capacity);
    this.half(head, tail, 0);
  }

  private half(tail: number, head: number, capacity: number): void {
    this.before.push(this.last[tail]);
    this.last[tail] = this.heads.length;
    this.heads.push(head);
    this.residual.push(capacity);
  }

  /** Computes a maximum flow from source to sink. */
  fill(source: number, sink: number): void {
    for (let depths = this.depths(source, sink); depths[sink] >= 0; depths = this.depths(source, sink))
      this.block(source, sink, depths);
  }

  /** Arcs from the source on shortest paths with residual capacity, up to the sink's depth; −1 beyond. */
  private depths(source: number, sink: number): Int32Array {
    const {heads, residual, last, before} = this;
    const depths = new Int32Array(last.length).fill(-1);
    depths[source] = 0;
    const queue = [source];
    for (let i = 0; i < queue.length && depths[sink] < 0; i++) {
      for (let arc = last[queue[i]]; arc >= 0; arc = before[arc]) {
        if (residual[arc] === 0 || depths[heads[arc]] >= 0) continue;
        depths[heads[arc]] = depths[queue[i]] + 1;
        queue.push(heads[arc]);
      }
    }
    return depths;
  }

  /** Fills paths on which depths grow until there is none. */
  private block(source: number, sink: number, depths: Int32Array): void {
    const {heads, residual, last, before} = this;
    /** By vertex, the first arc that may still lead to the sink. */
    const next = Int32Array.from(last);
    const path: number[] = [];
    let at = source;
    for (;;) {
      if (at === sink) {
        let least = Infinity;
        for (const arc of path) least = Math.min(least, residual[arc]);
        // On from the first arc that is full now.
        let kept = path.length;
        for (let i = path.length - 1; i >= 0; i--) {
          residual[path[i]] -= least;
          residual[path[i] ^ 1] += least;
          if (residual[path[i]] === 0) kept = i;
        }
        at = heads[path[kept] ^ 1];
        path.length = kept;
        continue;
      }
      let arc = next[at];
      while (arc >= 0 && (residual[arc] === 0 || depths[heads[arc]] !== depths[at] + 1)) arc = before[arc];
      next[at] = arc;
      if (arc >= 0) {
        path.push(arc);
        at = heads[arc];
        continue;
      }
      const back = path.pop();
      if (back === undefined) return;
      at = heads[back ^ 1];
      next[at] = before[back];
    }
  }

  /** By vertex, whether the sink can still be reached from it. */
  reaching(sink: number): Uint8Array {
    const {heads, residual, last, before} = this;
    const reaches = new Uint8Array(last.length);
    reaches[sink] = 1;
    const queue = [sink];
    for (const at of queue)
      for (let arc = last[at]; arc >= 0; arc = before[arc])
        if (residual[arc ^ 1] > 0 && reaches[heads[arc]] === 0) {
          reaches[heads[arc]] = 1;
          queue.push(heads[arc]);
        }
    return reaches;
  }
}
