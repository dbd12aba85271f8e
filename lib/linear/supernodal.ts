/**
 * The arithmetic of L D Lᵀ over supernodes, left-looking: each block first takes the updates of the
 * blocks before it, then is factored densely, four columns at a time (Rothberg & Gupta 1993; the loops
 * of dense-lu.ts on a trapezoid). A block is row-major, its columns' own rows first: a unit lower
 * triangle with the *reciprocal* pivots on the diagonal, then the rows below.
 */
import {type Arithmetic, type Blocks, Pivots, type PivotRule} from './arithmetic.js';
import type {Supernodes} from './supernodes.js';

interface Numbers extends Blocks {
  readonly numbers: Float64Array;
}

export class Supernodal implements Arithmetic {
  readonly pivots = new Pivots();
  readonly x: Float64Array;
  readonly four = undefined;
  private readonly pivotValues: Float64Array;
  private readonly position: Int32Array;
  private readonly scaled: Float64Array;
  private readonly panel: Float64Array;

  constructor(readonly nodes: Supernodes) {
    this.x = new Float64Array(nodes.first[nodes.count]);
    this.pivotValues = new Float64Array(nodes.first[nodes.count]);
    this.position = new Int32Array(nodes.first[nodes.count]);
    this.scaled = new Float64Array(nodes.widest * nodes.widest);
    this.panel = new Float64Array(4 * nodes.widest);
  }

  createBlocks(): Numbers {
    const {size} = this.nodes;
    return {size, numbers: new Float64Array(size)};
  }

  clear({numbers}: Numbers): Float64Array {
    return numbers.fill(0);
  }

  factor({numbers: blocks}: Numbers, scale: Float64Array, rule: PivotRule, floor: number): boolean {
    this.pivots.begin();
    const {count} = this.nodes;
    for (let s = 0; s < count; s++) {
      this.collect(blocks, s);
      if (!this.factorBlock(blocks, s, scale, rule, floor)) return false;
    }
    return true;
  }

  /** Subtracts L_k D_k L_kᵀ of all earlier supernodes k with rows among the columns of s. */
  private collect(blocks: Float64Array, s: number): void {
    const {first, rowPointers, rows, updatePointers, updateFrom, updateBegin, updateEnd} = this.nodes;
    const position = this.position;
    const start = rowPointers[s];
    const stop = rowPointers[s + 1];
    if (updatePointers[s] === updatePointers[s + 1]) return;
    for (let p = start; p < stop; p++) position[rows[p]] = p - start;
    for (let u = updatePointers[s]; u < updatePointers[s + 1]; u++) {
      const k = updateFrom[u];
      if (first[k + 1] - first[k] === 1) this.updateByColumn(blocks, s, k, updateBegin[u], updateEnd[u]);
      else this.updateByBlock(blocks, s, k, updateBegin[u], updateEnd[u]);
    }
  }

  /** The update of a single column: an outer product. */
  private updateByColumn(blocks: Float64Array, s: number, k: number, begin: number, end: number): void {
    const {first, rowPointers, rows, blocks: starts} = this.nodes;
    const position = this.position;
    const width = first[s + 1] - first[s];
    const into = starts[s];
    const column = starts[k];
    const list = rowPointers[k];
    const height = rowPointers[k + 1] - list;
    const pivot = this.pivotValues[first[k]];
    for (let c = begin; c < end; c++) {
      const factor = blocks[column + c] * pivot;
      const at = into + rows[list + c] - first[s];
      for (let r = c; r < height; r++) blocks[at + position[rows[list + r]] * width] -= factor * blocks[column + r];
    }
  }

  /** The update of several columns: dot products of rows, two rows with two columns at a time. */
  private updateByBlock(blocks: Float64Array, s: number, k: number, begin: number, end: number): void {
    const {first, rowPointers, rows, blocks: starts} = this.nodes;
    const {position, pivotValues: pivots, scaled} = this;
    const width = first[s + 1] - first[s];
    const into = starts[s] - first[s];
    const depth = first[k + 1] - first[k];
    const list = rowPointers[k];
    const height = rowPointers[k + 1] - list;
    const from = starts[k];
    for (let c = begin, q = 0; c < end; c++) {
      for (let t = 0; t < depth; t++) scaled[q++] = blocks[from + c * depth + t] * pivots[first[k] + t];
    }
    for (let r = begin; r < end; r++) {
      const row = from + r * depth;
      const at = into + position[rows[list + r]] * width;
      for (let c = begin; c <= r; c++) {
        const column = (c - begin) * depth;
        let sum = 0;
        for (let t = 0; t < depth; t++) sum += blocks[row + t] * scaled[column + t];
        blocks[at + rows[list + c]] -= sum;
      }
    }
    let r = end;
    for (; r + 1 < height; r += 2) {
      const row0 = from + r * depth;
      const row1 = row0 + depth;
      const at0 = into + position[rows[list + r]] * width;
      const at1 = into + position[rows[list + r + 1]] * width;
      let c = begin;
      for (; c + 1 < end; c += 2) {
        const column0 = (c - begin) * depth;
        const column1 = column0 + depth;
        let s00 = 0;
        let s01 = 0;
        let s10 = 0;
        let s11 = 0;
        for (let t = 0; t < depth; t++) {
          const a0 = blocks[row0 + t];
          const a1 = blocks[row1 + t];
          const b0 = scaled[column0 + t];
          const b1 = scaled[column1 + t];
          s00 += a0 * b0;
          s01 += a0 * b1;
          s10 += a1 * b0;
          s11 += a1 * b1;
        }
        const j0 = rows[list + c];
        const j1 = rows[list + c + 1];
        blocks[at0 + j0] -= s00;
        blocks[at0 + j1] -= s01;
        blocks[at1 + j0] -= s10;
        blocks[at1 + j1] -= s11;
      }
      if (c < end) {
        const column = (c - begin) * depth;
        let s0 = 0;
        let s1 = 0;
        for (let t = 0; t < depth; t++) {
          s0 += blocks[row0 + t] * scaled[column + t];
          s1 += blocks[row1 + t] * scaled[column + t];
        }
        const j = rows[list + c];
        blocks[at0 + j] -= s0;
        blocks[at1 + j] -= s1;
      }
    }
    if (r < height) {
      const row = from + r * depth;
      const at = into + position[rows[list + r]] * width;
      for (let c = begin; c < end; c++) {
        const column = (c - begin) * depth;
        let sum = 0;
        for (let t = 0; t < depth; t++) sum += blocks[row + t] * scaled[column + t];
        blocks[at + rows[list + c]] -= sum;
      }
    }
  }

  /** Dense L D Lᵀ of the block's triangle and the division of the rows below it, by panels of four. */
  private factorBlock(blocks: Float64Array, s: number, scale: Float64Array, rule: PivotRule, floor: number): boolean {
    const {first, rowPointers, blocks: starts} = this.nodes;
    const {pivotValues: pivots, panel} = this;
    const width = first[s + 1] - first[s];
    const height = rowPointers[s + 1] - rowPointers[s];
    const base = starts[s];
    for (let left = 0; left < width; left += 4) {
      const right = Math.min(left + 4, width);
      for (let t = left; t < right; t++) {
        const k = first[s] + t;
        const pivot = this.pivots.accept(blocks[base + t * width + t], scale[k], rule, floor);
        if (pivot === 0) return false;
        pivots[k] = pivot;
        const reciprocal = 1 / pivot;
        blocks[base + t * width + t] = reciprocal;
        for (let c = t + 1; c < right; c++) panel[c] = blocks[base + c * width + t];
        for (let r = t + 1; r < height; r++) {
          const row = base + r * width;
          const l = blocks[row + t] * reciprocal;
          blocks[row + t] = l;
          const stop = r < right ? r + 1 : right;
          for (let c = t + 1; c < stop; c++) blocks[row + c] -= l * panel[c];
        }
      }
      if (right < width) this.updateRight(blocks, base, width, height, left, first[s]);
    }
    return true;
  }

  /** The columns right of a finished panel of four lose its multiples, in one pass. */
  private updateRight(blocks: Float64Array, base: number, width: number, height: number, left: number, firstColumn: number): void {
    const {panel, pivotValues: pivots} = this;
    const right = left + 4;
    const d0 = pivots[firstColumn + left];
    const d1 = pivots[firstColumn + left + 1];
    const d2 = pivots[firstColumn + left + 2];
    const d3 = pivots[firstColumn + left + 3];
    const p1 = width;
    const p2 = 2 * width;
    const p3 = 3 * width;
    for (let c = right; c < width; c++) {
      const row = base + c * width + left;
      panel[c] = blocks[row] * d0;
      panel[p1 + c] = blocks[row + 1] * d1;
      panel[p2 + c] = blocks[row + 2] * d2;
      panel[p3 + c] = blocks[row + 3] * d3;
    }
    for (let r = right; r < width; r++) {
      const row = base + r * width;
      const l0 = blocks[row + left];
      const l1 = blocks[row + left + 1];
      const l2 = blocks[row + left + 2];
      const l3 = blocks[row + left + 3];
      for (let c = right; c <= r; c++) {
        blocks[row + c] -= l0 * panel[c] + l1 * panel[p1 + c] + l2 * panel[p2 + c] + l3 * panel[p3 + c];
      }
    }
    let r = width;
    for (; r + 1 < height; r += 2) {
      const row = base + r * width;
      const next = row + width;
      const l0 = blocks[row + left];
      const l1 = blocks[row + left + 1];
      const l2 = blocks[row + left + 2];
      const l3 = blocks[row + left + 3];
      const m0 = blocks[next + left];
      const m1 = blocks[next + left + 1];
      const m2 = blocks[next + left + 2];
      const m3 = blocks[next + left + 3];
      for (let c = right; c < width; c++) {
        const u0 = panel[c];
        const u1 = panel[p1 + c];
        const u2 = panel[p2 + c];
        const u3 = panel[p3 + c];
        blocks[row + c] -= l0 * u0 + l1 * u1 + l2 * u2 + l3 * u3;
        blocks[next + c] -= m0 * u0 + m1 * u1 + m2 * u2 + m3 * u3;
      }
    }
    if (r < height) {
      const row = base + r * width;
      const l0 = blocks[row + left];
      const l1 = blocks[row + left + 1];
      const l2 = blocks[row + left + 2];
      const l3 = blocks[row + left + 3];
      for (let c = right; c < width; c++) {
        blocks[row + c] -= l0 * panel[c] + l1 * panel[p1 + c] + l2 * panel[p2 + c] + l3 * panel[p3 + c];
      }
    }
  }

  /** One by one is as good here: see `four` of Arithmetic. */
  solveFour(): void {
    throw new Error('plain loops solve for one right-hand side at a time');
  }

  solve({numbers: blocks}: Numbers): void {
    const {x} = this;
    const {count, first, rowPointers, rows, blocks: starts} = this.nodes;
    for (let s = 0; s < count; s++) {
      const from = first[s];
      const width = first[s + 1] - from;
      const list = rowPointers[s];
      const height = rowPointers[s + 1] - list;
      let row = starts[s] + width;
      for (let r = 1; r < width; r++, row += width) {
        let sum = x[from + r];
        for (let t = 0; t < r; t++) sum -= blocks[row + t] * x[from + t];
        x[from + r] = sum;
      }
      for (let r = width; r < height; r++, row += width) {
        let sum = 0;
        for (let t = 0; t < width; t++) sum += blocks[row + t] * x[from + t];
        x[rows[list + r]] -= sum;
      }
    }
    for (let s = count - 1; s >= 0; s--) {
      const from = first[s];
      const width = first[s + 1] - from;
      const list = rowPointers[s];
      const height = rowPointers[s + 1] - list;
      const base = starts[s];
      for (let t = 0; t < width; t++) x[from + t] *= blocks[base + t * width + t];
      let row = base + (height - 1) * width;
      for (let r = height - 1; r >= width; r--, row -= width) {
        const value = x[rows[list + r]];
        for (let t = 0; t < width; t++) x[from + t] -= blocks[row + t] * value;
      }
      for (let r = width - 1; r > 0; r--, row -= width) {
        const value = x[from + r];
        for (let t = 0; t < r; t++) x[from + t] -= blocks[row + t] * value;
      }
    }
  }
}
