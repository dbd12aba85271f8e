/**
 * Where values lie. Each program's intermediate values share one region (programs run one at a
 * time and keep nothing there); a value gives its room back after the last step that reads it.
 */
import type {Node} from '../../graph/node.js';
import type {Lowered} from './lower.js';
import {bare} from './view.js';

/** Pairs of doubles are loaded fastest from addresses divisible by their size. */
const alignment = 16;

export function aligned(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

/** Hands out blocks of a region that grows as needed; freed neighbours join. */
export class Region {
  private readonly free: {at: number; size: number}[] = [];
  /** Bytes needed so far. */
  size = 0;

  /** The smallest free block that fits, or new room at the end. */
  take(bytes: number): number {
    const size = aligned(bytes);
    let best = -1;
    this.free.forEach((block, i) => {
      if (block.size >= size && (best < 0 || block.size < this.free[best].size)) best = i;
    });
    if (best >= 0) {
      const {at, size: room} = this.free[best];
      if (room === size) this.free.splice(best, 1);
      else this.free[best] = {at: at + size, size: room - size};
      return at;
    }
    const last = this.free[this.free.length - 1];
    if (last !== undefined && last.at + last.size === this.size) {
      // The last block is free but too small: it grows.
      this.free.pop();
      this.size = last.at + size;
      return last.at;
    }
    const at = this.size;
    this.size += size;
    return at;
  }

  give(at: number, bytes: number): void {
    const size = aligned(bytes);
    if (size === 0) return;
    const next = this.free.findIndex(block => block.at > at);
    const place = next < 0 ? this.free.length : next;
    this.free.splice(place, 0, {at, size});
    for (const i of [place, place - 1]) {
      const [left, right] = [this.free[i], this.free[i + 1]];
      if (left !== undefined && right !== undefined && left.at + left.size === right.at) this.free.splice(i, 2, {at: left.at, size: left.size + right.size});
    }
  }
}

export interface Placement {
  /** Offset in the shared region of each intermediate value that has an address there. */
  readonly offsets: ReadonlyMap<Node, number>;
  /** Values written straight into an output's buffer. */
  readonly direct: ReadonlyMap<Node, string>;
  /** Single numbers kept in locals. */
  readonly locals: ReadonlySet<Node>;
  /** Bytes of the shared region. */
  readonly size: number;
}

export function placeValues({graph, steps, addressed}: Lowered): Placement {
  const inputNames = new Set(graph.inputs.map(node => node.attributes.name));
  const written = new Set(steps.flatMap(step => step.writes));
  const locals = new Set<Node>();
  for (const node of written) if (node.size === 1 && !addressed.has(node)) locals.add(node);

  // A result goes straight to its output's buffer, unless this program still reads that buffer as an input.
  const direct = new Map<Node, string>();
  for (const {name, node} of graph.outputs) {
    const value = bare(node);
    if (!inputNames.has(name) && written.has(value) && !direct.has(value) && !locals.has(value)) direct.set(value, name);
  }

  const lastRead = new Map<Node, number>();
  steps.forEach((step, i) => {
    for (const node of step.reads) lastRead.set(node, i);
  });
  for (const {node} of graph.outputs) lastRead.set(bare(node), steps.length);

  const region = new Region();
  const offsets = new Map<Node, number>();
  const dying: Node[][] = steps.map(() => []);
  steps.forEach((step, i) => {
    for (const node of step.writes) {
      if (locals.has(node) || direct.has(node) || offsets.has(node)) continue;
      offsets.set(node, region.take(8 * node.size));
      const last = Math.max(i, lastRead.get(node) ?? i);
      if (last < steps.length) dying[last].push(node);
    }
    for (const node of dying[i]) region.give(offsets.get(node) ?? 0, 8 * node.size);
  });
  return {offsets, direct, locals, size: region.size};
}
