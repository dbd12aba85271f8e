/**
 * panels.ts in WebAssembly. One memory holds the lists of an analysis and the blocks of the factor last
 * used; the blocks of its other factors wait outside, as ordinary arrays, and are copied in when they are
 * asked for: a copy costs less than one of the two sweeps of a solve, and all factors give the same bits
 * wherever they were.
 */
import {type PanelBlocks, packedDepth, type Panel, type PanelKernels} from './panels.js';
import {supernodalKernels, tileColumns, type SupernodalKernels} from './supernodal-kernels.js';
import type {Supernodes} from './supernodes.js';

/** Columns of what is packed at once, `packedDepth` deep: 64 KiB, beside as much of rows in the second-level cache. */
const packedColumns = 64;

const pageBytes = 65536;

/** Addresses are compared as signed numbers. */
const largestMemory = 2 ** 31;

class Tenant implements PanelBlocks {
  /** The numbers as they were when another factor took their place. */
  outside: Float64Array | undefined;
  /** The numbers inside are newer than those outside. */
  changed = false;

  constructor(readonly size: number) {}
}

export class CompiledPanels implements PanelKernels {
  readonly numbers: Float64Array;
  readonly pivotValues: Float64Array;
  readonly x: Float64Array;
  readonly triangle: Float64Array;
  private readonly kernels: SupernodalKernels;
  /** position[panel][row] is the address where that row of the placed block would have column 0 of the whole matrix. */
  private readonly position: readonly Int32Array[];
  /** Addresses of numbers, pivots, triangle, x, and of either position. */
  private readonly at: {
    readonly numbers: number;
    readonly pivots: number;
    readonly triangle: number;
    readonly x: number;
    readonly position: readonly number[];
  };
  private readonly packed: number;
  private readonly lists: {
    readonly first: number;
    readonly pointers: number;
    readonly rows: number;
    readonly starts: readonly number[];
  };
  private inside: Tenant | undefined;

  /** undefined where WebAssembly is not allowed, or the factor would not fit into one memory. */
  static create(nodes: Supernodes, panels: 1 | 2): CompiledPanels | undefined {
    try {
      return new CompiledPanels(nodes, panels);
    } catch (error) {
      // No vectors or no compilation here (CompileError), no such memory (RangeError), no WebAssembly (ReferenceError).
      if (
        error instanceof RangeError
        || error instanceof ReferenceError
        || (error instanceof Error && error.name === 'CompileError')
      )
        return undefined;
      throw error;
    }
  }

  private constructor(
    private readonly nodes: Supernodes,
    panels: 1 | 2,
  ) {
    const {first, rowPointers, rows, blocks, count, size} = nodes;
    const n = first[count];
    const each = <T>(make: (panel: number) => T): T[] => Array.from({length: panels}, (_, panel) => make(panel));
    let end = 0;
    const reserve = (bytes: number): number => {
      const address = end;
      end += Math.ceil(bytes / 16) * 16;
      return address;
    };
    this.packed = reserve(8 * packedDepth * packedColumns);
    const triangle = reserve(8 * 10);
    const lists = {
      first: reserve(4 * first.length),
      pointers: reserve(4 * rowPointers.length),
      rows: reserve(4 * rows.length),
      starts: each(() => reserve(4 * blocks.length)),
    };
    const position = each(() => reserve(4 * n));
    const pivots = reserve(8 * n);
    const x = reserve(8 * n);
    const numbers = reserve(8 * panels * size);
    // Zeros of columns that are not there are subtracted from what follows the last block.
    reserve(8 * tileColumns);
    if (end > largestMemory) throw new RangeError(`a factor of ${panels * size} numbers does not fit into one memory`);
    const pages = Math.ceil(end / pageBytes);
    const memory = new WebAssembly.Memory({initial: pages, maximum: pages});
    this.kernels = supernodalKernels(memory);
    const {buffer} = memory;
    new Int32Array(buffer, lists.first, first.length).set(first);
    new Int32Array(buffer, lists.pointers, rowPointers.length).set(rowPointers);
    new Int32Array(buffer, lists.rows, rows.length).set(rows);
    lists.starts.forEach((starts, panel) =>
      new Int32Array(buffer, starts, blocks.length).set(blocks.map(start => numbers + 8 * (start + panel * size))),
    );
    this.lists = lists;
    this.at = {numbers, pivots, triangle, x, position};
    this.position = position.map(address => new Int32Array(buffer, address, n));
    this.pivotValues = new Float64Array(buffer, pivots, n);
    this.triangle = new Float64Array(buffer, triangle, 10);
    this.x = new Float64Array(buffer, x, n);
    this.numbers = new Float64Array(buffer, numbers, panels * size);
  }

  createBlocks(): Tenant {
    return new Tenant(this.numbers.length);
  }

  clear(blocks: Tenant): Float64Array {
    this.leave(blocks);
    this.inside = blocks;
    blocks.changed = true;
    return this.numbers.fill(0);
  }

  /** Whoever is inside, unless it is this one, goes out. */
  private leave(next: Tenant): void {
    const {inside} = this;
    if (inside === undefined || inside === next || !inside.changed) return;
    inside.outside ??= new Float64Array(inside.size);
    inside.outside.set(this.numbers);
    inside.changed = false;
  }

  enter(blocks: Tenant): void {
    if (this.inside === blocks) return;
    this.leave(blocks);
    if (blocks.outside !== undefined) this.numbers.set(blocks.outside);
    this.inside = blocks;
  }

  place(s: number): void {
    const {first, rowPointers, rows, blocks: starts, size} = this.nodes;
    const stride = 8 * (first[s + 1] - first[s]);
    for (let panel = 0; panel < this.position.length; panel++) {
      const position = this.position[panel];
      let address = this.at.numbers + 8 * (panel * size + starts[s] - first[s]);
      for (let p = rowPointers[s], end = rowPointers[s + 1]; p < end; p++, address += stride)
        position[rows[p]] = address;
    }
  }

  update(
    panel: Panel,
    a: number,
    b: number,
    stride: number,
    list: number,
    end: number,
    columnList: number,
    columns: number,
    pivot: number,
    depth: number,
  ): void {
    const {kernels, packed, lists} = this;
    const {rows} = this.nodes;
    const base = this.at.numbers;
    const pivots = this.at.pivots + 8 * pivot;
    const position = this.at.position[panel];
    const triangular = list === columnList;
    for (let c = 0; c < columns; c += packedColumns) {
      const width = Math.min(packedColumns, columns - c);
      const at = columnList + c;
      const from = triangular ? at : list;
      const contiguous = rows[at + width - 1] - rows[at] === width - 1 ? 1 : 0;
      for (let t = 0; t < depth; t += packedDepth) {
        const deep = Math.min(packedDepth, depth - t);
        kernels.pack(packed, base + 8 * (b + c * stride + t), 8 * stride, pivots + 8 * t, width, deep);
        const source = base + 8 * (a + (from - list) * stride + t);
        const update = triangular ? kernels.update : kernels.updateBelow;
        update(
          source,
          8 * stride,
          lists.rows + 4 * from,
          end - from,
          deep,
          packed,
          lists.rows + 4 * at,
          width,
          contiguous,
          position,
        );
      }
    }
  }

  divide(columns: number, at: number, stride: number, rows: number): void {
    const {kernels, at: addresses} = this;
    if (rows > 0) kernels.divide[columns - 1](addresses.numbers + 8 * at, 8 * stride, rows, addresses.triangle);
  }

  bounded(columns: number, at: number, stride: number, rows: number, bound: number): boolean {
    const {kernels, at: addresses} = this;
    if (rows === 0) return true;
    const address = addresses.numbers + 8 * at;
    return kernels.bounded[columns - 1](address, 8 * stride, rows, addresses.triangle, bound) !== 0;
  }

  forward(panel: Panel, from: number, to: number): void {
    this.sweep(this.kernels.forward, panel, from, to);
  }

  backward(panel: Panel, from: number, to: number): void {
    this.sweep(this.kernels.backward, panel, from, to);
  }

  private sweep(run: SupernodalKernels['forward'], panel: Panel, from: number, to: number): void {
    const {first, pointers, rows, starts} = this.lists;
    const shift = 4 * from;
    run(to - from, first + shift, pointers + shift, rows, starts[panel] + shift, this.at.x);
  }
}
