/**
 * A = L D U over the supernodes of A + Aᵀ (supernodal.ts).
 *
 * A pivot stays on the diagonal while it is at least PIVOT_THRESHOLD of its whole column. Four columns are tried so,
 * since of nearly all matrices they pass; where not, rows are exchanged, but only among the block's own rows: the rows
 * below keep their places and with them the lists of all blocks (Schenk & Gärtner, Future Gener. Comput. Syst. 20
 * (2004) 475–487). An exchange belongs to its block. It concerns neither the blocks after it, which see only the
 * product of what is below with what is right of it, nor those before it: a solve exchanges numbers where it comes to
 * the block.
 *
 * What the block's own rows cannot give is recorded, and a pivot that vanishes beside the rows below is enlarged;
 * supernodal-lu.ts judges.
 */
import {LduBlocks, PivotRecord} from './ldu-blocks.js';
import {PIVOT_THRESHOLD} from './lu-plan.js';
import {divided, type PanelKernels} from './panels.js';
import {ZERO_PIVOT} from './singularity.js';
import {Supernodal} from './supernodal.js';
import type {Supernodes} from './supernodes.js';

export class SupernodalLdu extends Supernodal<LduBlocks> {
  readonly pivots = new PivotRecord();
  /** Four columns' rows of their own while they are tried. */
  private readonly square = new Float64Array(divided * divided);

  constructor(nodes: Supernodes, kernels: PanelKernels) {
    super(nodes, kernels, false);
  }

  createBlocks(): LduBlocks {
    return new LduBlocks(this.kernels.createBlocks(), this.nodes);
  }

  clear({blocks}: LduBlocks): Float64Array {
    return this.kernels.clear(blocks);
  }

  /** Factors what was written into the cleared blocks. */
  factor(factor: LduBlocks): void {
    this.pivots.begin();
    factor.exchangedCount = 0;
    this.factorBlocks(factor, factor.blocks);
  }

  /** Up to four columns of L from column c of block s on, and those columns' own part of Uᵀ. */
  protected factorColumns(factor: LduBlocks, s: number, c: number, columns: number): boolean {
    const {first, rowPointers, blocks: starts, size} = this.nodes;
    const {kernels} = this;
    const width = first[s + 1] - first[s];
    const below = rowPointers[s + 1] - rowPointers[s] - c - columns;
    const lower = starts[s] + c * width + c;
    const rest = lower + columns * width;
    const isSound =
      this.trySquare(lower, lower + size, width, columns)
      && kernels.bounded(columns, rest, width, below, 1 / PIVOT_THRESHOLD);
    if (isSound) {
      this.storeSquare(lower, lower + size, width, columns, first[s] + c);
      kernels.divide(columns, rest, width, below);
    } else this.pivotColumns(factor, s, c, columns);
    return true;
  }

  /**
   * L D U of the columns' own rows without exchanges, into `square`; `triangle` is that of U. False where a multiplier
   * is too large.
   */
  private trySquare(lower: number, upper: number, width: number, columns: number): boolean {
    const {square} = this;
    const {numbers, triangle} = this.kernels;
    for (let i = 0; i < columns; i++) {
      for (let j = 0; j <= i; j++) square[divided * i + j] = numbers[lower + i * width + j];
      for (let j = i + 1; j < columns; j++) square[divided * i + j] = numbers[upper + j * width + i];
    }
    for (let t = 0; t < columns; t++) {
      const pivot = square[divided * t + t];
      if (!(Math.abs(pivot) > ZERO_PIVOT)) return false;
      const reciprocal = 1 / pivot;
      for (let i = t + 1; i < columns; i++) {
        const l = square[divided * i + t] * reciprocal;
        if (!(Math.abs(l) <= 1 / PIVOT_THRESHOLD)) return false;
        square[divided * i + t] = l;
        for (let j = t + 1; j < columns; j++) square[divided * i + j] -= l * square[divided * t + j];
      }
      for (let j = t + 1; j < columns; j++) square[divided * t + j] *= reciprocal;
    }
    let q = 0;
    for (let r = 1; r < columns; r++) for (let t = 0; t < r; t++) triangle[q++] = square[divided * t + r];
    for (let t = 0; t < columns; t++) triangle[q++] = 1 / square[divided * t + t];
    return true;
  }

  private storeSquare(lower: number, upper: number, width: number, columns: number, k: number): void {
    const {square, pivots} = this;
    const {numbers, pivotValues} = this.kernels;
    for (let t = 0; t < columns; t++) {
      const pivot = square[divided * t + t];
      pivots.note(Math.abs(pivot));
      pivotValues[k + t] = pivot;
      numbers[lower + t * width + t] = numbers[upper + t * width + t] = 1 / pivot;
      for (let r = t + 1; r < columns; r++) {
        numbers[lower + r * width + t] = square[divided * r + t];
        numbers[upper + r * width + t] = square[divided * t + r];
      }
    }
  }

  /** Factors columns with a search for each pivot among the rows of the block. */
  private pivotColumns(factor: LduBlocks, s: number, c: number, columns: number): void {
    const {first, rowPointers, blocks: starts, size} = this.nodes;
    const {numbers, pivotValues} = this.kernels;
    const width = first[s + 1] - first[s];
    const height = rowPointers[s + 1] - rowPointers[s];
    const lower = starts[s];
    const upper = lower + size;
    for (let k = c, stop = c + columns; k < stop; k++) {
      const pivot = this.choosePivot(factor, s, k, width, height);
      const reciprocal = 1 / pivot;
      pivotValues[first[s] + k] = pivot;
      numbers[lower + k * width + k] = numbers[upper + k * width + k] = reciprocal;
      for (let r = k + 1; r < height; r++) {
        const row = lower + r * width;
        const l = numbers[row + k] * reciprocal;
        numbers[row + k] = l;
        for (let j = k + 1; j < stop; j++)
          numbers[r < j ? upper + j * width + r : row + j] -= l * numbers[upper + j * width + k];
      }
      for (let j = k + 1; j < stop; j++) numbers[upper + j * width + k] *= reciprocal;
    }
  }

  /**
   * Brings a pivot to the diagonal of column k of block s, the one there if it may stay. Returns it, enlarged where it
   * has to be.
   */
  private choosePivot(factor: LduBlocks, s: number, k: number, width: number, height: number): number {
    const {numbers} = this.kernels;
    const column = this.nodes.blocks[s] + k;
    let chosen = k;
    let best = Math.abs(numbers[column + k * width]);
    for (let r = k + 1; r < width; r++) {
      const entry = Math.abs(numbers[column + r * width]);
      if (entry > best) {
        best = entry;
        chosen = r;
      }
    }
    let largest = best;
    for (let r = width; r < height; r++) largest = Math.max(largest, Math.abs(numbers[column + r * width]));
    if (chosen !== k && Math.abs(numbers[column + k * width]) >= PIVOT_THRESHOLD * largest) chosen = k;
    if (chosen !== k) this.exchange(factor, s, k, chosen, width, height);
    return this.pivots.take(numbers[column + k * width], largest);
  }

  /** Rows k < r of block s: what is left of the diagonal stands in L, the rest in Uᵀ. */
  private exchange(factor: LduBlocks, s: number, k: number, r: number, width: number, height: number): void {
    const {first, blocks: starts, size} = this.nodes;
    const {numbers} = this.kernels;
    const lower = starts[s];
    const upper = lower + size;
    const {exchanged, swaps} = factor;
    if (factor.exchangedCount === 0 || exchanged[factor.exchangedCount - 1] !== s) {
      exchanged[factor.exchangedCount++] = s;
      for (let i = first[s]; i < first[s + 1]; i++) swaps[i] = i;
    }
    swaps[first[s] + k] = first[s] + r;
    for (let j = 0; j < height; j++) {
      const one = j <= k ? lower + k * width + j : upper + j * width + k;
      const other = j <= r ? lower + r * width + j : upper + j * width + r;
      const value = numbers[one];
      numbers[one] = numbers[other];
      numbers[other] = value;
    }
  }

  solve(factor: LduBlocks, transposed: boolean): void {
    const {kernels} = this;
    const {count} = this.nodes;
    const {exchanged, exchangedCount} = factor;
    kernels.enter(factor.blocks);
    if (transposed) {
      kernels.forward(1, 0, count);
      let to = count;
      for (let e = exchangedCount - 1; e >= 0; e--) {
        kernels.backward(0, exchanged[e], to);
        to = exchanged[e];
        for (let k = this.nodes.first[to + 1] - 1; k >= this.nodes.first[to]; k--) this.swap(k, factor.swaps[k]);
      }
      kernels.backward(0, 0, to);
      return;
    }
    let from = 0;
    for (let e = 0; e < exchangedCount; e++) {
      kernels.forward(0, from, exchanged[e]);
      from = exchanged[e];
      for (let k = this.nodes.first[from]; k < this.nodes.first[from + 1]; k++) this.swap(k, factor.swaps[k]);
    }
    kernels.forward(0, from, count);
    kernels.backward(1, 0, count);
  }

  private swap(k: number, r: number): void {
    if (k === r) return;
    const {x} = this.kernels;
    const value = x[k];
    x[k] = x[r];
    x[r] = value;
  }
}
