/**
 * The arithmetic of L D Lᵀ over supernodes, left-looking: a block takes the updates of the blocks before it, then is
 * factored by panels of four columns (Rothberg & Gupta 1993), left-looking within wider panels, so that nearly all
 * operations are updates by tiles. The inner loops are the kernels' of panels.ts.
 */
import type {Blocks, PanelKernels} from './panels.js';
import {Pivots, type PivotRule} from './pivots.js';
import type {Supernodes} from './supernodes.js';

/** Columns of a block factored before the rest of it is updated. */
export const panelColumns = 32;

export class Supernodal {
  /** What the last factorization met. */
  readonly pivots = new Pivots();

  constructor(
    private readonly nodes: Supernodes,
    private readonly kernels: PanelKernels,
  ) {}

  /** One right-hand side in the permuted order: solve() works in place. */
  get x(): Float64Array {
    return this.kernels.x;
  }

  /** Four of them, the four numbers of an unknown one after the other. */
  get four(): Float64Array {
    return this.kernels.four;
  }

  createBlocks(): Blocks {
    return this.kernels.createBlocks();
  }

  /** Where the lower triangle of a new matrix goes, all zeros as yet. */
  clear(blocks: Blocks): Float64Array {
    return this.kernels.clear(blocks);
  }

  /**
   * Factors what was written into the cleared blocks. `scale[k]` is the natural size of pivot k and `floor` the
   * share of it that a pivot needs. False when the rule made it give up.
   */
  factor(blocks: Blocks, scale: Float64Array, rule: PivotRule, floor: number): boolean {
    this.kernels.enter(blocks);
    this.pivots.begin();
    const {count} = this.nodes;
    for (let s = 0; s < count; s++) {
      this.kernels.place(s);
      this.collect(s);
      if (!this.factorBlock(s, scale, rule, floor)) return false;
    }
    return true;
  }

  /** Subtracts L_k D_k L_kᵀ of all earlier supernodes k with rows among the columns of s. */
  private collect(s: number): void {
    const {first, rowPointers, blocks: starts, updatePointers, updateFrom, updateBegin, updateEnd} = this.nodes;
    for (let u = updatePointers[s], last = updatePointers[s + 1]; u < last; u++) {
      const k = updateFrom[u];
      const begin = updateBegin[u];
      const depth = first[k + 1] - first[k];
      this.update(
        starts[k] + begin * depth,
        depth,
        rowPointers[k] + begin,
        rowPointers[k + 1],
        first[k],
        depth,
        updateEnd[u] - begin,
      );
    }
  }

  /** Rows at a, listed from `list` to `end`, times the multiples of the first `columns` of them by the pivots from `pivot` on. */
  private update(
    a: number,
    stride: number,
    list: number,
    end: number,
    pivot: number,
    depth: number,
    columns: number,
  ): void {
    this.kernels.update(0, a, a, stride, list, end, list, columns, pivot, depth);
  }

  /** Dense L D Lᵀ of the block's triangle and the division of the rows below it. */
  private factorBlock(s: number, scale: Float64Array, rule: PivotRule, floor: number): boolean {
    const {first, rowPointers, blocks: starts} = this.nodes;
    const width = first[s + 1] - first[s];
    const [list, end] = [rowPointers[s], rowPointers[s + 1]];
    const base = starts[s];
    for (let left = 0; left < width; left += panelColumns) {
      const right = Math.min(left + panelColumns, width);
      if (left > 0) this.update(base + left * width, width, list + left, end, first[s], left, right - left);
      for (let c = left; c < right; c += 4) {
        const columns = Math.min(4, right - c);
        if (c > left) this.update(base + c * width + left, width, list + c, end, first[s] + left, c - left, columns);
        if (!this.factorTriangle(base + c * width + c, width, first[s] + c, columns, scale, rule, floor)) return false;
        this.kernels.divide(columns, base + (c + columns) * width + c, width, end - list - c - columns);
      }
    }
    return true;
  }

  /** Up to four columns from place `at` of the blocks on; leaves L and 1/D in `triangle` too. */
  private factorTriangle(
    at: number,
    width: number,
    k: number,
    columns: number,
    scale: Float64Array,
    rule: PivotRule,
    floor: number,
  ): boolean {
    const {pivots} = this;
    const {numbers: blocks, pivotValues, triangle} = this.kernels;
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

  /** x ← (L D Lᵀ)⁻¹ x */
  solve(blocks: Blocks): void {
    this.sweep(blocks, false);
  }

  /** The same for `four`. */
  solveFour(blocks: Blocks): void {
    this.sweep(blocks, true);
  }

  private sweep(blocks: Blocks, four: boolean): void {
    const {count} = this.nodes;
    this.kernels.enter(blocks);
    this.kernels.forward(0, 0, count, four);
    this.kernels.backward(0, 0, count, four);
  }
}
