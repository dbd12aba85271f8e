/**
 * What the numeric part of a sparse L D Lᵀ has to do, whoever does it: plain loops (supernodal.ts), or
 * WebAssembly (supernodal-compiled.ts). Both order and round their sums differently, so one analysis
 * has all its factors made by the same one.
 */

/** When to give up: at a pivot that is not positive, at one below its floor, or never (enlarge it). */
export type PivotRule = 'positive' | 'above-floor' | 'enlarge';

/** The blocks of one factor, as its arithmetic keeps them. */
export interface Blocks {
  /** Doubles it takes to keep them. */
  readonly size: number;
}

export interface Arithmetic {
  /** What the last factorization met. */
  readonly pivots: Pivots;
  /** One right-hand side in the permuted order: solve() works in place. */
  readonly x: Float64Array;
  /** Four of them, the four numbers of an unknown one after the other; undefined where one by one is as good. */
  readonly four: Float64Array | undefined;
  createBlocks(): Blocks;
  /** Where the lower triangle of a new matrix goes, all zeros as yet. */
  clear(blocks: Blocks): Float64Array;
  /**
   * Factors what was written into the cleared blocks. `scale[k]` is the natural size of pivot k and `floor` the
   * share of it that a pivot needs. False when the rule made it give up.
   */
  factor(blocks: Blocks, scale: Float64Array, rule: PivotRule, floor: number): boolean;
  /** x ← (L D Lᵀ)⁻¹ x */
  solve(blocks: Blocks): void;
  /** The same for `four`. */
  solveFour(blocks: Blocks): void;
}

/** The judgement of pivots, and its record. */
export class Pivots {
  negative = 0;
  enlarged = 0;
  /** min |pivot| / scale. */
  smallest = Infinity;

  begin(): void {
    this.negative = 0;
    this.enlarged = 0;
    this.smallest = Infinity;
  }

  /** The pivot to use, or 0 to give up. */
  accept(pivot: number, scale: number, rule: PivotRule, floor: number): number {
    const size = Math.abs(pivot);
    const ratio = size / scale;
    this.smallest = Math.min(this.smallest, ratio);
    if (rule === 'positive') return pivot > 0 ? pivot : 0;
    if (pivot < 0) this.negative++;
    if (ratio >= floor) return pivot;
    if (rule === 'above-floor') return 0;
    this.enlarged++;
    return pivot < 0 ? -floor * scale : floor * scale;
  }
}
