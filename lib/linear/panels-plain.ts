/**
 * panels.ts as plain loops, for where WebAssembly is not allowed. Each number is made by the
 * operations of supernodal-kernels.ts and supernodal-solves.ts in their order.
 */
import {type PanelBlocks, packedDepth, type Panel, type PanelKernels} from './panels.js';
import type {Supernodes} from './supernodes.js';

interface Numbers extends PanelBlocks {
  readonly numbers: Float64Array;
}

export class PlainPanels implements PanelKernels {
  numbers: Float64Array = new Float64Array(0);
  readonly pivotValues: Float64Array;
  readonly x: Float64Array;
  readonly triangle = new Float64Array(10);
  private readonly size: number;
  /** Where a row of the placed block has column 0 of the whole matrix, in panel 0. */
  private readonly position: Int32Array;
  private readonly packed: Float64Array;
  private readonly y = new Float64Array(4);

  constructor(
    private readonly nodes: Supernodes,
    panels: 1 | 2,
  ) {
    const n = nodes.first[nodes.count];
    this.size = panels * nodes.size;
    this.pivotValues = new Float64Array(n);
    this.x = new Float64Array(n);
    this.position = new Int32Array(n);
    this.packed = new Float64Array(packedDepth * nodes.widest);
  }

  createBlocks(): Numbers {
    return {size: this.size, numbers: new Float64Array(this.size)};
  }

  clear(blocks: Numbers): Float64Array {
    this.numbers = blocks.numbers;
    return this.numbers.fill(0);
  }

  enter(blocks: Numbers): void {
    this.numbers = blocks.numbers;
  }

  place(s: number): void {
    const {first, rowPointers, rows, blocks: starts} = this.nodes;
    const {position} = this;
    const width = first[s + 1] - first[s];
    for (let p = rowPointers[s], end = rowPointers[s + 1], at = starts[s] - first[s]; p < end; p++, at += width)
      position[rows[p]] = at;
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
    const {numbers, position, packed, nodes} = this;
    const {rows} = nodes;
    const base = panel * nodes.size;
    const triangular = list === columnList;
    for (let t = 0; t < depth; t += packedDepth) {
      const deep = Math.min(packedDepth, depth - t);
      this.pack(b + t, stride, columns, pivot + t, deep);
      for (let r = list, row = a + t; r < end; r++, row += stride) {
        const at = base + position[rows[r]];
        const stop = triangular ? Math.min(columns, r - list + 1) : columns;
        for (let c = 0, q = 0; c < stop; c++) {
          let sum = 0;
          for (let k = 0; k < deep; k++) sum += numbers[row + k] * packed[q++];
          numbers[at + rows[columnList + c]] -= sum;
        }
      }
    }
  }

  /** Columns times D, one after the other. */
  private pack(b: number, stride: number, columns: number, pivot: number, depth: number): void {
    const {numbers, pivotValues, packed} = this;
    for (let c = 0, q = 0; c < columns; c++) {
      const row = b + c * stride;
      for (let t = 0; t < depth; t++) packed[q++] = numbers[row + t] * pivotValues[pivot + t];
    }
  }

  divide(columns: number, at: number, stride: number, rows: number): void {
    const {numbers, y} = this;
    for (let r = 0; r < rows; r++, at += stride) {
      this.quotient(columns, at);
      for (let t = 0; t < columns; t++) numbers[at + t] = y[t];
    }
  }

  bounded(columns: number, at: number, stride: number, rows: number, bound: number): boolean {
    const {y} = this;
    for (let r = 0; r < rows; r++, at += stride) {
      this.quotient(columns, at);
      for (let t = 0; t < columns; t++) if (!(Math.abs(y[t]) <= bound)) return false;
    }
    return true;
  }

  /** `y` ← one row divided. */
  private quotient(columns: number, at: number): void {
    const {numbers, triangle, y} = this;
    for (let t = 0, q = 0; t < columns; t++) {
      let value = numbers[at + t];
      for (let s = 0; s < t; s++) value -= y[s] * triangle[q++];
      y[t] = value;
    }
    const diagonal = (columns * (columns - 1)) / 2;
    for (let t = 0; t < columns; t++) y[t] *= triangle[diagonal + t];
  }

  forward(panel: Panel, from: number, to: number): void {
    const {numbers, x} = this;
    const {first, rowPointers, rows, blocks: starts, size} = this.nodes;
    for (let s = from; s < to; s++) {
      const own = first[s];
      const width = first[s + 1] - own;
      const list = rowPointers[s];
      const height = rowPointers[s + 1] - list;
      let row = starts[s] + panel * size + width;
      for (let r = 1; r < height; r++, row += width) {
        const length = Math.min(r, width);
        let even = 0;
        let odd = 0;
        for (let t = 0; t < length; t += 2) even += numbers[row + t] * x[own + t];
        for (let t = 1; t < length; t += 2) odd += numbers[row + t] * x[own + t];
        x[rows[list + r]] -= even + odd;
      }
    }
  }

  backward(panel: Panel, from: number, to: number): void {
    const {numbers, x} = this;
    const {first, rowPointers, rows, blocks: starts, size} = this.nodes;
    for (let s = to - 1; s >= from; s--) {
      const own = first[s];
      const width = first[s + 1] - own;
      const list = rowPointers[s];
      const base = starts[s] + panel * size;
      const give = (r: number): void => {
        const value = x[rows[list + r]];
        for (let t = 0; t < Math.min(r, width); t++) x[own + t] -= numbers[base + r * width + t] * value;
      };
      for (let t = 0; t < width; t++) x[own + t] *= numbers[base + t * width + t];
      for (let r = width; r < rowPointers[s + 1] - list; r++) give(r);
      for (let r = width - 1; r > 0; r--) give(r);
    }
  }
}
