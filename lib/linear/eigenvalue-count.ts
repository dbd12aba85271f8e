/** How many eigenvalues of a matrix are negative, by the signs of the pivots of L D Lᵀ (Sylvester's law of inertia). */
import {structurallySymmetric, transpose} from './pattern.js';
import type {Pattern} from './solver.js';
import {analyzeLdlt, type SparseLdltFactor} from './sparse-ldlt.js';

/** A matrix whose entries differ from those of its transpose by this share of the largest is not symmetric. */
const asymmetry = 1e-9;

/** Negative eigenvalues of matrices of one pattern. */
export class EigenvalueCount {
  /** Where the mirror image of each entry is. */
  private readonly mirror: Int32Array | undefined;
  private readonly factor: SparseLdltFactor | undefined;

  /** @param multipliers rows of constraints, whose entries are mirror images only up to a scale of each row */
  constructor(
    private readonly pattern: Pattern,
    private readonly multipliers: readonly number[] = [],
  ) {
    // The pivots of a matrix with intermediate values are not those of the matrix without them.
    if (pattern.schurSize !== undefined || !structurallySymmetric(pattern)) return;
    this.mirror = transpose(pattern).source;
    // Rows of constraints have nothing on their diagonals before others are eliminated.
    this.factor = analyzeLdlt({...pattern, deferredPivots: Int32Array.from(multipliers)}).createFactor();
  }

  /**
   * Negative eigenvalues of −A, less one for each multiplier: those of the stiffness of a Jacobian A of forces in what
   * constraints leave free. Undefined where A is not symmetric, or singular.
   */
  unstable(A: Float64Array): number | undefined {
    const {pattern, mirror, factor, multipliers} = this;
    if (mirror === undefined || factor === undefined) return undefined;
    const {rowPointers} = pattern;
    const values = A.map(x => -x);
    for (const row of multipliers) {
      let most = rowPointers[row];
      for (let p = most; p < rowPointers[row + 1]; p++) if (Math.abs(values[p]) > Math.abs(values[most])) most = p;
      const scale = values[mirror[most]] / values[most];
      for (let p = rowPointers[row]; p < rowPointers[row + 1]; p++) values[p] *= scale;
    }
    const largest = values.reduce((size, x) => Math.max(size, Math.abs(x)), 0);
    if (!values.every((x, p) => Math.abs(x - values[mirror[p]]) <= asymmetry * largest)) return undefined;
    if (!factor.tryRefactor(values) || factor.enlargedPivots > 0) return undefined;
    return factor.negativePivots - multipliers.length;
  }
}
