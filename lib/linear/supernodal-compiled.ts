/**
 * The arithmetic of supernodal.ts with its inner loops in WebAssembly. One memory holds the lists of an
 * analysis and the blocks of the factor last used; the blocks of its other factors wait outside, as
 * ordinary arrays, and are copied in when they are asked for: a copy costs less than one of the two
 * sweeps of a solve, and all factors give the same bits wherever they were.
 *
 * A block takes the updates of the blocks before it, then is factored by panels of four columns,
 * left-looking within wider panels, so that nearly all operations are updates by tiles.
 */
import {type Arithmetic, type Blocks, Pivots, type PivotRule} from './arithmetic.js';
import {supernodalKernels, tileColumns, type SupernodalKernels} from './supernodal-kernels.js';
import type {Supernodes} from './supernodes.js';

/** Depth and columns of what is packed at once: 64 KiB, beside as much of rows in the second-level cache. */
const packedDepth = 128;
const packedColumns = 64;

/** Columns of a block factored before the rest of it is updated. */
const panelColumns = 32;

const pageBytes = 65536;

/** Addresses are compared as signed numbers. */
const largestMemory = 2 ** 31;

class Tenant implements Blocks {
  /** The numbers as they were when another factor took their place. */
  outside: Float64Array | undefined;
  /** What is outside is not what is inside. */
  changed = false;

  constructor(readonly size: number) {}
}

export class CompiledSupernodal implements Arithmetic {
  readonly pivots = new Pivots();
  readonly x: Float64Array;
  readonly four: Float64Array;
  private readonly kernels: SupernodalKernels;
  private readonly blocks: Float64Array;
  private readonly pivotValues: Float64Array;
  private readonly position: Int32Array;
  private readonly triangle: Float64Array;
  private readonly packed: number;
  private readonly lists: {readonly first: number; readonly pointers: number; readonly rows: number; readonly starts: number};
  private inside: Tenant | undefined;

  /** undefined where WebAssembly is not allowed, or the factor would not fit into one memory. */
  static create(nodes: Supernodes): CompiledSupernodal | undefined {
    try {
      return new CompiledSupernodal(nodes);
    } catch (error) {
      // No vectors or no compilation here (CompileError), no such memory (RangeError), no WebAssembly (ReferenceError).
      if (error instanceof RangeError || error instanceof ReferenceError || (error instanceof Error && error.name === 'CompileError')) return undefined;
      throw error;
    }
  }

  private constructor(private readonly nodes: Supernodes) {
    const {first, rowPointers, rows, blocks, count, size} = nodes;
    const n = first[count];
    let end = 0;
    const room = (bytes: number): number => {
      const address = end;
      end += Math.ceil(bytes / 16) * 16;
      return address;
    };
    this.packed = room(8 * packedDepth * packedColumns);
    const triangle = room(8 * 10);
    const lists = {first: room(4 * first.length), pointers: room(4 * rowPointers.length), rows: room(4 * rows.length), starts: room(4 * blocks.length)};
    const position = room(4 * n);
    const pivots = room(8 * n);
    const x = room(8 * n);
    const four = room(32 * n);
    const numbers = room(8 * size);
    // Zeros of columns that are not there are subtracted from what follows the last block.
    room(8 * tileColumns);
    if (end > largestMemory) throw new RangeError(`a factor of ${size} numbers does not fit into one memory`);
    const pages = Math.ceil(end / pageBytes);
    const memory = new WebAssembly.Memory({initial: pages, maximum: pages});
    this.kernels = supernodalKernels(memory);
    const {buffer} = memory;
    new Int32Array(buffer, lists.first, first.length).set(first);
    new Int32Array(buffer, lists.pointers, rowPointers.length).set(rowPointers);
    new Int32Array(buffer, lists.rows, rows.length).set(rows);
    new Int32Array(buffer, lists.starts, blocks.length).set(blocks.map((start) => numbers + 8 * start));
    this.lists = lists;
    this.position = new Int32Array(buffer, position, n);
    this.pivotValues = new Float64Array(buffer, pivots, n);
    this.triangle = new Float64Array(buffer, triangle, 10);
    this.x = new Float64Array(buffer, x, n);
    this.four = new Float64Array(buffer, four, 4 * n);
    this.blocks = new Float64Array(buffer, numbers, size);
  }

  createBlocks(): Tenant {
    return new Tenant(this.nodes.size);
  }

  clear(blocks: Tenant): Float64Array {
    this.leave(blocks);
    this.inside = blocks;
    blocks.changed = true;
    return this.blocks.fill(0);
  }

  /** Whoever is inside, unless it is this one, goes out. */
  private leave(next: Tenant): void {
    const {inside} = this;
    if (inside === undefined || inside === next || !inside.changed) return;
    inside.outside ??= new Float64Array(inside.size);
    inside.outside.set(this.blocks);
    inside.changed = false;
  }

  private enter(blocks: Tenant): void {
    if (this.inside === blocks) return;
    this.leave(blocks);
    if (blocks.outside !== undefined) this.blocks.set(blocks.outside);
    this.inside = blocks;
  }

  factor(blocks: Tenant, scale: Float64Array, rule: PivotRule, floor: number): boolean {
    this.enter(blocks);
    this.pivots.begin();
    const {count} = this.nodes;
    for (let s = 0; s < count; s++) {
      this.place(s);
      this.collect(s);
      if (!this.factorBlock(s, scale, rule, floor)) return false;
    }
    return true;
  }

  /** position[row] ← where that row of block s would have column 0 of the whole matrix. */
  private place(s: number): void {
    const {first, rowPointers, rows, blocks: starts} = this.nodes;
    const {position} = this;
    const stride = 8 * (first[s + 1] - first[s]);
    let address = this.blocks.byteOffset + 8 * starts[s] - 8 * first[s];
    for (let p = rowPointers[s], end = rowPointers[s + 1]; p < end; p++, address += stride) position[rows[p]] = address;
  }

  /** Subtracts L_k D_k L_kᵀ of all earlier supernodes k with rows among the columns of s. */
  private collect(s: number): void {
    const {first, rowPointers, blocks: starts, updatePointers, updateFrom, updateBegin, updateEnd} = this.nodes;
    for (let u = updatePointers[s], last = updatePointers[s + 1]; u < last; u++) {
      const k = updateFrom[u];
      const begin = updateBegin[u];
      const depth = first[k + 1] - first[k];
      const a = this.blocks.byteOffset + 8 * (starts[k] + begin * depth);
      this.update(a, 8 * depth, rowPointers[k] + begin, rowPointers[k + 1], first[k], depth, updateEnd[u] - begin);
    }
  }

  /**
   * Rows of a source, listed from `list` to `end`, times the multiples of the first `columns` of them by
   * the pivots from `pivot` on, are subtracted where `position` says.
   */
  private update(a: number, stride: number, list: number, end: number, pivot: number, depth: number, columns: number): void {
    const {kernels, packed, lists} = this;
    const {rows} = this.nodes;
    const pivots = this.pivotValues.byteOffset + 8 * pivot;
    for (let c = 0; c < columns; c += packedColumns) {
      const width = Math.min(packedColumns, columns - c);
      const at = list + c;
      const contiguous = rows[at + width - 1] - rows[at] === width - 1 ? 1 : 0;
      for (let t = 0; t < depth; t += packedDepth) {
        const deep = Math.min(packedDepth, depth - t);
        const source = a + c * stride + 8 * t;
        kernels.pack(packed, source, stride, pivots + 8 * t, width, deep);
        kernels.update(source, stride, lists.rows + 4 * at, end - at, deep, packed, lists.rows + 4 * at, width, contiguous, this.position.byteOffset);
      }
    }
  }

  /** Dense L D Lᵀ of the block's triangle and the division of the rows below it. */
  private factorBlock(s: number, scale: Float64Array, rule: PivotRule, floor: number): boolean {
    const {first, rowPointers, blocks: starts} = this.nodes;
    const width = first[s + 1] - first[s];
    const [list, end] = [rowPointers[s], rowPointers[s + 1]];
    const base = this.blocks.byteOffset + 8 * starts[s];
    const stride = 8 * width;
    for (let left = 0; left < width; left += panelColumns) {
      const right = Math.min(left + panelColumns, width);
      if (left > 0) this.update(base + left * stride, stride, list + left, end, first[s], left, right - left);
      for (let c = left; c < right; c += 4) {
        const columns = Math.min(4, right - c);
        if (c > left) this.update(base + c * stride + 8 * left, stride, list + c, end, first[s] + left, c - left, columns);
        if (!this.factorTriangle(starts[s] + c * width + c, width, first[s] + c, columns, scale, rule, floor)) return false;
        this.divide(columns, base + (c + columns) * stride + 8 * c, stride, end - list - c - columns);
      }
    }
    return true;
  }

  /** Up to four columns from place `at` of the blocks on; leaves L and 1/D in `triangle` too. */
  private factorTriangle(at: number, width: number, k: number, columns: number, scale: Float64Array, rule: PivotRule, floor: number): boolean {
    const {blocks, pivotValues, triangle, pivots} = this;
    const diagonal = (columns * (columns - 1)) / 2;
    for (let t = 0; t < columns; t++) {
      const pivot = pivots.accept(blocks[at + t * width + t], scale[k + t], rule, floor);
      if (pivot === 0) return false;
      pivotValues[k + t] = pivot;
      const reciprocal = 1 / pivot;
      blocks[at + t * width + t] = reciprocal;
      triangle[diagonal + t] = reciprocal;
      for (let r = t + 1; r < columns; r++) {
        const row = at + r * width;
        const l = blocks[row + t] * reciprocal;
        // Row c of this column is not divided yet where c ≥ r.
        for (let c = t + 1; c < r; c++) blocks[row + c] -= l * blocks[at + c * width + t] * pivot;
        blocks[row + r] -= l * blocks[row + t];
        blocks[row + t] = l;
        triangle[(r * (r - 1)) / 2 + t] = l;
      }
    }
    return true;
  }

  private divide(columns: number, at: number, stride: number, rows: number): void {
    const {kernels} = this;
    const triangle = this.triangle.byteOffset;
    if (rows === 0) return;
    if (columns === 4) kernels.divide4(at, stride, rows, triangle);
    else if (columns === 3) kernels.divide3(at, stride, rows, triangle);
    else if (columns === 2) kernels.divide2(at, stride, rows, triangle);
    else kernels.divide1(at, stride, rows, triangle);
  }

  solve(blocks: Tenant): void {
    this.enter(blocks);
    const {first, pointers, rows, starts} = this.lists;
    const {count} = this.nodes;
    this.kernels.forward(count, first, pointers, rows, starts, this.x.byteOffset);
    this.kernels.backward(count, first, pointers, rows, starts, this.x.byteOffset);
  }

  solveFour(blocks: Tenant): void {
    this.enter(blocks);
    const {first, pointers, rows, starts} = this.lists;
    const {count} = this.nodes;
    this.kernels.forwardFour(count, first, pointers, rows, starts, this.four.byteOffset);
    this.kernels.backwardFour(count, first, pointers, rows, starts, this.four.byteOffset);
  }
}
