/** Preconditioners that are made from a matrix's entries, and so make a Krylov method one on the assembled matrix. */
import {blockPattern, blockSizeOf, invertDiagonal, type BlockPattern, type BlockRows} from './block-rows.js';
import {throwIndefinite} from './krylov-errors.js';
import type {Pattern} from './solver.js';

/** A preconditioner that needs the matrix, not only its products. */
export interface MatrixPreconditioner {
  readonly name: string;
  /** For symmetric matrices only, with a positive definite diagonal. */
  readonly isSymmetric: boolean;
  /** How the matrix is stored. */
  blocks(pattern: Pattern): BlockPattern;
  /**
   * All that depends on the pattern alone.
   * @param pattern of which `blocks` are those
   * @returns what makes an independent preconditioner, which is given the values later
   */
  analyzeBlocks(blocks: BlockPattern, pattern: Pattern): () => PreconditionerFactor;
}

/** z ≈ A⁻¹ r for the matrix last given. */
export interface PreconditionerFactor {
  /** Number of doubles that it stores. */
  readonly size: number;
  /** A new matrix, whose values it may keep by reference. @param definite whether the method needs M⁻¹ to be */
  refactor(matrix: BlockRows, definite: boolean): void;
  /** `r` and `z` are different arrays. */
  solve(r: Float64Array, z: Float64Array): void;
  /** z ≈ A⁻ᵀ r; the same where the matrix is symmetric. */
  solveTransposed?(r: Float64Array, z: Float64Array): void;
}

/** The inverses of the blocks of each node's 2 to 6 unknowns; of the diagonal where nodes have one unknown. */
export const blockJacobi: MatrixPreconditioner = {
  name: 'block-jacobi',
  isSymmetric: false,
  blocks: pattern => blockPattern(pattern, blockSizeOf(pattern)),
  analyzeBlocks: blocks => () => new BlockJacobi(blocks),
};

class BlockJacobi implements PreconditionerFactor {
  private readonly inverses: Float64Array;

  constructor(private readonly blocks: BlockPattern) {
    this.inverses = new Float64Array(blocks.count * blocks.height * blocks.height);
  }

  get size(): number {
    return this.inverses.length;
  }

  refactor(matrix: BlockRows, definite: boolean): void {
    const failed = invertDiagonal(matrix, this.inverses, definite);
    const {height} = this.blocks;
    if (failed >= 0)
      throwIndefinite('block-jacobi', `the diagonal block of rows ${failed * height} to ${(failed + 1) * height - 1}`, {
        rows: Array.from({length: height}, (_, r) => failed * height + r),
      });
  }

  solve(r: Float64Array, z: Float64Array): void {
    this.multiply(r, z, this.blocks.height, 1);
  }

  solveTransposed(r: Float64Array, z: Float64Array): void {
    this.multiply(r, z, 1, this.blocks.height);
  }

  private multiply(r: Float64Array, z: Float64Array, down: number, across: number): void {
    const {
      inverses,
      blocks: {count, height},
    } = this;
    for (let row = 0; row < count; row++) {
      const first = row * height;
      for (let i = 0; i < height; i++) {
        let sum = 0;
        for (let c = 0; c < height; c++) sum += inverses[first * height + i * down + c * across] * r[first + c];
        z[first + i] = sum;
      }
    }
  }
}
