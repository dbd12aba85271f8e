/**
 * The arithmetic of factors in supernodes, left-looking: a block takes the updates of the blocks before it, then is
 * factored by panels of four columns (Rothberg & Gupta 1993), left-looking within wider panels, so that nearly all
 * operations are updates by tiles. L D Lᵀ (supernodal-ldlt.ts) keeps the blocks of L, an L D U (supernodal-ldu.ts)
 * those of L and of Uᵀ, each updated by the other. The inner loops are the kernels' of panels.ts.
 */
import {divided, type PanelBlocks, type PanelKernels} from './panels.js';
import type {Supernodes} from './supernodes.js';

/** Columns of a block factored before the rest of it is updated. */
const panelColumns = 32;

/** @typeParam F what a factorization leaves */
export abstract class Supernodal<F> {
  /** Doubles from a place in L to that in Uᵀ; 0 where L is both. */
  protected readonly toUpper: number;

  constructor(
    readonly nodes: Supernodes,
    readonly kernels: PanelKernels,
    readonly isSymmetric: boolean,
  ) {
    this.toUpper = isSymmetric ? 0 : nodes.size;
  }

  abstract createBlocks(): F;
  /** Where a new matrix goes, L's panel first, then that of Uᵀ; all zeros as yet. */
  abstract clear(factor: F): Float64Array;
  /** x ← A⁻¹ x or A⁻ᵀ x, of the kernels' `x`, in the permuted order. */
  abstract solve(factor: F, transposed: boolean): void;

  /** Up to four columns from column c of block s on. False to give up. */
  protected abstract factorColumns(factor: F, s: number, c: number, columns: number): boolean;

  /** Factors what was written into the cleared blocks. False where it was given up. */
  protected factorBlocks(factor: F, blocks: PanelBlocks): boolean {
    const {nodes, kernels} = this;
    kernels.enter(blocks);
    for (let s = 0; s < nodes.count; s++) {
      kernels.place(s);
      this.collect(s);
      if (!this.factorBlock(factor, s)) return false;
    }
    return true;
  }

  /** Subtracts what all earlier supernodes with a row among the columns of s have for it. */
  private collect(s: number): void {
    const {first, rowPointers, blocks: starts, updatePointers, updateFrom, updateBegin, updateEnd} = this.nodes;
    for (let u = updatePointers[s], last = updatePointers[s + 1]; u < last; u++) {
      const k = updateFrom[u];
      const begin = updateBegin[u];
      const depth = first[k + 1] - first[k];
      const list = rowPointers[k] + begin;
      const end = rowPointers[k + 1];
      this.updateBoth(starts[k] + begin * depth, depth, list, end, end, updateEnd[u] - begin, first[k], depth);
    }
  }

  /**
   * Columns of L are brought up to date before they are factored, all their rows, since exchanges need them; of Uᵀ
   * only the rows that belong to those columns. The rest of it follows when no exchange can come any more.
   */
  private factorBlock(factor: F, s: number): boolean {
    const {first, rowPointers} = this.nodes;
    const width = first[s + 1] - first[s];
    const height = rowPointers[s + 1] - rowPointers[s];
    for (let left = 0; left < width; left += panelColumns) {
      const right = Math.min(left + panelColumns, width);
      this.updateColumns(s, 0, left, right);
      for (let c = left; c < right; c += divided) {
        const stop = Math.min(c + divided, right);
        if (!this.isSymmetric) this.finishUpper(s, c, stop, left, c);
        this.updateColumns(s, left, c, stop);
        if (!this.factorColumns(factor, s, c, stop - c)) return false;
      }
      if (this.isSymmetric || right === height) continue;
      if (left > 0) this.updateUpper(s, right, height, 0, left, right);
      this.finishUpper(s, right, height, left, right);
    }
    return true;
  }

  /** Columns `from` to `to` lose the products of columns `done` to `from`: in L all rows, in Uᵀ those above `to`. */
  private updateColumns(s: number, done: number, from: number, to: number): void {
    if (from === done) return;
    const {first, rowPointers, blocks: starts} = this.nodes;
    const width = first[s + 1] - first[s];
    const at = starts[s] + from * width + done;
    const list = rowPointers[s];
    this.updateBoth(at, width, list + from, rowPointers[s + 1], list + to, to - from, first[s] + done, from - done);
  }

  /**
   * L's rows at `at`, listed from `list` to `end`, lose their products with the first `columns` of these rows in Uᵀ;
   * and Uᵀ's, to `until`, with those in L. `depth` numbers of each row are multiplied, by the pivots from `pivot` on.
   */
  private updateBoth(
    at: number,
    stride: number,
    list: number,
    end: number,
    until: number,
    columns: number,
    pivot: number,
    depth: number,
  ): void {
    const {kernels, toUpper} = this;
    kernels.update(0, at, at + toUpper, stride, list, end, list, columns, pivot, depth);
    if (toUpper > 0) kernels.update(1, at + toUpper, at, stride, list, until, list, columns, pivot, depth);
  }

  /** Rows `from` to `to` of Uᵀ lose, in columns `left` to `right`, the products of columns `done` to `left`. */
  private updateUpper(s: number, from: number, to: number, done: number, left: number, right: number): void {
    const {first, rowPointers, blocks: starts} = this.nodes;
    const k = first[s];
    const width = first[s + 1] - k;
    const [list, lower] = [rowPointers[s], starts[s] + done];
    this.kernels.update(
      1,
      lower + this.toUpper + from * width,
      lower + left * width,
      width,
      list + from,
      list + to,
      list + left,
      right - left,
      k + done,
      left - done,
    );
  }

  /** Rows `from` to `to` of Uᵀ, in columns `left` to `right`: solved with the finished rows of L, by fours. */
  private finishUpper(s: number, from: number, to: number, left: number, right: number): void {
    const {first, blocks: starts} = this.nodes;
    const {kernels} = this;
    const width = first[s + 1] - first[s];
    for (let c = left; c < right; c += divided) {
      const columns = Math.min(divided, right - c);
      if (c > left) this.updateUpper(s, from, to, left, c, c + columns);
      this.loadTriangle(starts[s] + c * width + c, width, columns);
      kernels.divide(columns, starts[s] + this.toUpper + from * width + c, width, to - from);
    }
  }

  private loadTriangle(at: number, width: number, columns: number): void {
    const {numbers, triangle} = this.kernels;
    let q = 0;
    for (let r = 1; r < columns; r++) for (let t = 0; t < r; t++) triangle[q++] = numbers[at + r * width + t];
    for (let t = 0; t < columns; t++) triangle[q++] = numbers[at + t * width + t];
  }
}
