/**
 * Where values lie. Each program's intermediate values share one region (programs run one at a
 * time and keep nothing there); a value gives its block back after the last step that reads it.
 */
import type {Node} from '../../graph/node.js';
import type {Access} from './access.js';
import {reachOf} from './access.js';
import {double} from './format.js';
import type {Loop} from './fuse.js';
import {visitExpressions} from './fuse.js';
import {Held} from './held.js';
import type {LoweredProgram} from './lower.js';
import type {Step, TiledSteps} from './steps.js';
import type {TileLimits} from './tiles.js';
import {worthTiles} from './tiles.js';
import {bare} from './view.js';

/** Pairs of doubles are loaded fastest from addresses divisible by their size. */
const alignment = 16;

export function aligned(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

/**
 * Bytes set aside for a value. Long ones begin at different places within 4 KiB: processors tell a load
 * from an earlier store by their last twelve bits at first, so that with arrays of 1024 numbers one
 * after another a load of a left neighbour waits for the store just before; and such arrays share the
 * same few lines of the first-level cache. Measured: 3 to 5 % of a run of a chain of 16,384.
 */
export function blockBytes(bytes: number): number {
  return aligned(bytes) + (bytes >= shortestSpread ? spread : 0);
}

const shortestSpread = 2048;
/** Three lines of the cache. */
const spread = 192;

/** Hands out blocks of a region that grows as needed; freed neighbours join. */
export class Region {
  private readonly free: {at: number; size: number}[] = [];
  /** Bytes needed so far. */
  size = 0;

  /** The smallest free block that fits, or new bytes at the end. */
  take(bytes: number): number {
    const size = blockBytes(bytes);
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
    const size = blockBytes(bytes);
    if (size === 0) return;
    const next = this.free.findIndex(block => block.at > at);
    const place = next < 0 ? this.free.length : next;
    this.free.splice(place, 0, {at, size});
    for (const i of [place, place - 1]) {
      const [left, right] = [this.free[i], this.free[i + 1]];
      if (left !== undefined && right !== undefined && left.at + left.size === right.at)
        this.free.splice(i, 2, {at: left.at, size: left.size + right.size});
    }
  }
}

/** How programs treat their memory; other than `ordinary` for finding mistakes in that. */
export interface MemoryUse {
  /** Values may be written over others that the same loop reads for the last time. */
  readonly inPlace: boolean;
  /** The region and outputs are NaN when a program begins, and a block is NaN again after it was last read. */
  readonly poisoned: boolean;
  readonly tiles: TileLimits;
}

export const ordinary: MemoryUse = {inPlace: true, poisoned: false, tiles: worthTiles};

export interface Placement {
  /** Offset in the shared region of each intermediate value that has an address there. */
  readonly offsets: ReadonlyMap<Node, number>;
  /** Values written straight into an output's buffer. */
  readonly direct: ReadonlyMap<Node, string>;
  /** Single numbers kept in locals. */
  readonly locals: ReadonlySet<Node>;
  /** Loops that write over what they read: at each point, all is read before anything is written. */
  readonly overwriting: ReadonlySet<Step>;
  /** Values whose block is freed after a step. */
  readonly dead: ReadonlyMap<Step, readonly Node[]>;
  /** Bytes of the shared region. */
  readonly size: number;
}

export function placeValues(
  lowered: LoweredProgram,
  {inPlace}: Pick<MemoryUse, 'inPlace'> = ordinary,
  held = new Held(lowered, double),
): Placement {
  return new Placing(lowered, held, inPlace).place();
}

/** Steps, and what of the values that they write gets a place in a region. */
interface Intermediates {
  readonly steps: readonly Step[];
  /** Place in the list of the last step that reads a value. */
  readonly lastRead: ReadonlyMap<Node, number>;
  readonly bytesOf: (node: Node) => number;
  readonly isElsewhere: (node: Node) => boolean;
}

class Placing {
  private readonly locals = new Set<Node>();
  private readonly direct = new Map<Node, string>();
  private readonly offsets = new Map<Node, number>();
  private readonly overwriting = new Set<Step>();
  private readonly dead = new Map<Step, readonly Node[]>();
  private readonly lastRead = new Map<Node, number>();
  private readonly firstWrite = new Map<Node, number>();

  constructor(
    private readonly lowered: LoweredProgram,
    private readonly held: Held,
    private readonly inPlace: boolean,
  ) {
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
    return {
      offsets: this.offsets,
      direct: this.direct,
      locals: this.locals,
      overwriting: this.overwriting,
      dead: this.dead,
      size,
    };
  }

  /** A result goes straight to its output's buffer, unless this program still reads that buffer as an input. */
  private placeOutput(name: string, value: Node): void {
    const written = this.firstWrite.get(value);
    if (written === undefined || this.direct.has(value) || this.locals.has(value)) return;
    if (!this.held.mayBeOutput(value)) return;
    const {graph, steps} = this.lowered;
    for (const input of graph.inputs) {
      if (input.attributes.name !== name) continue;
      const read = this.lastRead.get(input) ?? -1;
      if (read < written) continue;
      if (read > written || !this.mayOverwrite(steps[written], value, input)) return;
      this.overwriting.add(steps[written]);
    }
    this.direct.set(value, name);
  }

  private placeIntermediates(): number {
    const region = new Region();
    this.placeIn(region, {
      steps: this.lowered.steps,
      lastRead: this.lastRead,
      bytesOf: node => this.bytesOf(node),
      isElsewhere: node => this.locals.has(node) || this.direct.has(node),
    });
    return region.size;
  }

  /** Blocks of a region for what steps leave, each from the step that writes it to the last that reads it. */
  private placeIn(region: Region, {steps, lastRead, bytesOf, isElsewhere}: Intermediates): void {
    const dying: Set<Node>[] = steps.map(() => new Set());
    steps.forEach((step, i) => {
      for (const node of step.writes) {
        if (isElsewhere(node) || this.offsets.has(node)) continue;
        const overwritten = [...dying[i]].find(
          value => bytesOf(value) === bytesOf(node) && this.mayOverwrite(step, node, value),
        );
        if (overwritten !== undefined) {
          dying[i].delete(overwritten);
          this.overwriting.add(step);
        }
        this.offsets.set(node, this.offsets.get(overwritten ?? node) ?? region.take(bytesOf(node)));
        const last = Math.max(i, lastRead.get(node) ?? i);
        if (last < steps.length) dying[last].add(node);
      }
      if (step.kind === 'tiles') this.placeTile(region, step);
      for (const node of dying[i]) region.give(this.offsets.get(node) ?? 0, bytesOf(node));
      this.dead.set(step, [...dying[i]]);
    });
  }

  /** The local values of tiles lie in one block, which is theirs while the tiles are run. */
  private placeTile(region: Region, tiles: TiledSteps): void {
    const {steps, local, rows, atOnce} = tiles;
    const lastRead = new Map<Node, number>();
    steps.forEach((step, i) => {
      for (const node of step.reads) lastRead.set(node, i);
    });
    const inTile = new Region();
    this.placeIn(inTile, {
      steps,
      lastRead,
      bytesOf: node => (this.bytesOf(node) / rows) * atOnce,
      isElsewhere: node => !local.has(node),
    });
    const begin = region.take(inTile.size);
    for (const node of local) this.offsets.set(node, begin + (this.offsets.get(node) ?? 0));
    region.give(begin, inTile.size);
  }

  private bytesOf(node: Node): number {
    return this.held.own(node).bytes * node.size;
  }

  private mayOverwrite(step: Step, written: Node, read: Node): boolean {
    return this.inPlace && mayOverwrite(step, written, read);
  }
}

/**
 * Whether a loop may write one value where another lies that it reads: wherever it reads, it has not written before.
 * At a point all is read before anything is written, so that the same place may be read and written there. What is
 * zeroed before the loop, or added to element by element, is written before anything is read; and the value that
 * lies there must be complete, not one that this loop writes too.
 */
function mayOverwrite(step: Step, written: Node, read: Node): boolean {
  if (step.kind !== 'loop' || written.size !== read.size) return false;
  const {nest} = step;
  if (
    step.writes.has(read)
    || nest.roots.some(root => root.node === written && (root.clear || root.combine !== 'store'))
  )
    return false;
  const pieces = readsOf(step).map(({sizes, loads, scattered, stores}) => ({
    sizes,
    loads: loads.get(read) ?? [],
    scattered: scattered.has(read),
    stores: stores.get(written) ?? [],
  }));
  // The pieces of one axis follow each other; those of several may take turns.
  const inOrder = nest.axes.length <= 1;
  return pieces.every(
    (reading, r) =>
      !reading.scattered
      && pieces.every((writing, w) => {
        if (inOrder && w > r) return true;
        return reading.loads.every(load =>
          writing.stores.every(
            store => (r === w && sameAccess(load, store)) || apart(load, reading.sizes, store, writing.sizes),
          ),
        );
      }),
  );
}

/** Where a piece of a loop reads and writes, by value. */
interface PieceReads {
  readonly sizes: readonly number[];
  readonly loads: ReadonlyMap<Node, readonly Access[]>;
  /** Values it reads at computed places. */
  readonly scattered: ReadonlySet<Node>;
  readonly stores: ReadonlyMap<Node, readonly Access[]>;
}

/** Each loop is gone through once, whatever number of values may be overwritten there. */
const reads = new WeakMap<Loop, readonly PieceReads[]>();

function readsOf(loop: Loop): readonly PieceReads[] {
  let found = reads.get(loop);
  if (found === undefined) {
    found = loop.built.pieces.map(piece => {
      const [loads, stores] = [new Map<Node, Access[]>(), new Map<Node, Access[]>()];
      const scattered = new Set<Node>();
      const add = (to: Map<Node, Access[]>, node: Node, access: Access): void => {
        const list = to.get(node);
        if (list === undefined) to.set(node, [access]);
        else list.push(access);
      };
      visitExpressions({pieces: [piece]}, e => {
        if (e.kind === 'load') add(loads, e.of, e.access);
        else if (e.kind === 'lookup' || e.kind === 'loadAt') scattered.add(e.of);
      });
      for (const {root, target} of piece.assignments) add(stores, root.node, target);
      return {sizes: piece.sizes, loads, scattered, stores};
    });
    reads.set(loop, found);
  }
  return found;
}

function sameAccess(a: Access, b: Access): boolean {
  return a.offset === b.offset && a.coefficients.every((c, axis) => c === b.coefficients[axis]);
}

/** Whether one lies before the other altogether. */
function apart(a: Access, sizesA: readonly number[], b: Access, sizesB: readonly number[]): boolean {
  const [[lowA, highA], [lowB, highB]] = [reachOf(a, sizesA), reachOf(b, sizesB)];
  return highA < lowB || highB < lowA;
}
