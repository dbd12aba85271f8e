/**
 * The inner loops of factors in supernodes, whoever runs them: plain loops (panels-plain.ts) or WebAssembly
 * (panels-compiled.ts), both by the same operations in the same order, so that they give the same bits.
 *
 * A factor has one panel of blocks, or two: L D Lᵀ keeps L, an L D U keeps L and Uᵀ, block by block of one
 * shape, row-major, each with its columns' own rows first: a unit lower triangle with the reciprocal pivots on the
 * diagonal, then the rows below. What stands right of the diagonal in those rows means nothing.
 * Places count doubles in `numbers`; the second panel begins where the first one ends.
 */

/** The blocks of one factor, as the kernels keep them. */
export interface PanelBlocks {
  /** Doubles it takes to keep them. */
  readonly size: number;
}

/** Depth of the sums that are made before anything is subtracted from its block: see panels-compiled.ts. */
export const packedDepth = 128;

/** Columns that `divide` takes at once. */
export const divided = 4;

/** Panel 0 is L, panel 1 is Uᵀ. */
export type Panel = 0 | 1;

export interface PanelKernels {
  /** All blocks of the factor that entered last. */
  readonly numbers: Float64Array;
  /** D of the present factorization. */
  readonly pivotValues: Float64Array;
  /** A right-hand side in the permuted order. */
  readonly x: Float64Array;
  /** For `divide` and `bounded`: up to four columns' unit triangle without its diagonal, by rows, then 1/D. */
  readonly triangle: Float64Array;
  createBlocks(): PanelBlocks;
  /** Makes `numbers` those of this factor, all zeros. */
  clear(blocks: PanelBlocks): Float64Array;
  /** Makes `numbers` those of this factor. */
  enter(blocks: PanelBlocks): void;
  /** Block s is what updates go to. */
  place(s: number): void;
  /**
   * Rows of `depth` numbers at `a`, `stride` apart, whose rows in the matrix are listed from `list` to `end`, times D
   * (from `pivot` on), times as many columns as there are rows at `b`: subtracted from the placed block in a
   * panel, in the columns listed from `columnList` on. Where both lists begin at one place, only on and below the
   * diagonal.
   */
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
  ): void;
  /** Rows of 1 to 4 numbers at `at`, `stride` apart: y ← y T⁻ᵀ D⁻¹ with the triangle T. */
  divide(columns: number, at: number, stride: number, rows: number): void;
  /** Whether `divide` would leave only numbers of at most this size, no NaN among them. */
  bounded(columns: number, at: number, stride: number, rows: number, bound: number): boolean;
  /** x ← T⁻¹ x with the unit triangles T of a panel, of supernodes `from` to `to`. */
  forward(panel: Panel, from: number, to: number): void;
  /** x ← T⁻ᵀ D⁻¹ x, from the last of these supernodes to the first. */
  backward(panel: Panel, from: number, to: number): void;
}
