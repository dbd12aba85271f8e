/**
 * Where values lie. Each program's intermediate values share one region (programs run one at a
 * time and keep nothing there); a value gives its block back after the last step that reads it.
 */
import type {Node} from '../../graph/node.js';
import type {Lowered, Step} from './lower.js';
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

  /** The smallest free block that fits, or new bytes at the end. */
  take(bytes: number): number {
    const size = aligned(bytes);
    let best = -1;
    this.free.forEach((block, i) => {
      if (block.size >= size && (best < 0 || block.size < this.free[best].size)) best = i;
    });
    if (best >= 0) {
      const {at, size: there} = this.free[best];
      if (there === size) this.free.splice(best, 1);
      else this.free[best] = {at: at + size, size: there - size};
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
  /** Values whose block is freed after a step. */
  readonly dead: ReadonlyMap<Step, readonly Node[]>;
  /** Bytes of the shared region. */
  readonly size: number;
}

export function placeValues(lowered: Lowered): Placement {
  return new Placing(lowered).place();
}

class Placing {
  private readonly locals = new Set<Node>();
  private readonly direct = new Map<Node, string>();
  private readonly offsets = new Map<Node, number>();
  private readonly dead = new Map<Step, readonly Node[]>();
  private readonly lastRead = new Map<Node, number>();
  private readonly firstWrite = new Map<Node, number>();

  constructor(private readonly lowered: Lowered) {
    const {graph, steps, addressed} = lowered;
    steps.forEach((step, i) => {
      for (const node of step.reads) this.lastRead.set(node, i);
      for (const node of step.writes) {
        if (!this.firstWrite.has(node)) this.firstWrite.set(node, i);
        if (node.size === 1 && !addressed.has(node)) this.locals.add(node);
      }
    });
    for (const {node} of graph.outputs) this.lastRead.set(bare(node), steps.length);
  }

  place(): Placement {
    for (const {name, node} of this.lowered.graph.outputs) this.placeOutput(name, bare(node));
    const size = this.placeIntermediates();
    return {offsets: this.offsets, direct: this.direct, locals: this.locals, dead: this.dead, size};
  }

  /** A result goes straight to its output's buffer, unless the program reads that buffer as an input then or later. */
  private placeOutput(name: string, value: Node): void {
    const written = this.firstWrite.get(value);
    if (written === undefined || this.direct.has(value) || this.locals.has(value)) return;
    const {graph} = this.lowered;
    if (graph.inputs.some(input => input.attributes.name === name && (this.lastRead.get(input) ?? -1) >= written)) return;
    this.direct.set(value, name);
  }

  private placeIntermediates(): number {
    const {steps} = this.lowered;
    const region = new Region();
    const dying: Set<Node>[] = steps.map(() => new Set());
    steps.forEach((step, i) => {
      for (const node of step.writes) {
        if (this.locals.has(node) || this.direct.has(node) || this.offsets.has(node)) continue;
        this.offsets.set(node, region.take(8 * node.size));
        const last = Math.max(i, this.lastRead.get(node) ?? i);
        if (last < steps.length) dying[last].add(node);
      }
      for (const node of dying[i]) region.give(this.offsets.get(node) ?? 0, 8 * node.size);
      this.dead.set(step, [...dying[i]]);
    });
    return region.size;
  }
}
