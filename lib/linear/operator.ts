/**
 * A matrix as the Krylov methods know it: its products with vectors, nothing else. A compiled tangent
 * and its transpose are one; compressed rows are another.
 */
import type {Pattern} from './solver.js';

/** A matrix given by its products. */
export interface Operator {
  readonly n: number;
  /** y ← A x. `x` and `y` are different arrays of n numbers; `x` must stay as it is. */
  apply(x: Float64Array, y: Float64Array): void;
  /** y ← Aᵀ x. */
  applyTransposed(x: Float64Array, y: Float64Array): void;
  /** d ← the diagonal of A; needed only for `preconditioner: 'diagonal'`. */
  diagonal?(d: Float64Array): void;
  /** Needed for `preconditioner: 'constraint'`. */
  readonly coupling?: Coupling;
  /** Machine epsilon of its products, where that is not double precision's: no residual far below it is asked for. */
  readonly epsilon?: number;
}

/** The part of a constrained system that a constraint preconditioner solves with exactly. */
export interface Coupling {
  /** Its values have changed. */
  refresh(): void;
  /** z with P z = r, or Pᵀ z = r. `r` and `z` are different arrays. */
  solve(r: Float64Array, z: Float64Array, transposed: boolean): void;
}

/** The operator of compressed rows; `load` gives it new values. */
export class CsrOperator implements Operator {
  readonly n: number;
  private readonly values: Float64Array;

  constructor(private readonly pattern: Pattern) {
    this.n = pattern.n;
    this.values = new Float64Array(pattern.columns.length);
  }

  get size(): number {
    return this.values.length;
  }

  load(values: Float64Array): void {
    const own = this.values;
    for (let p = 0; p < own.length; p++) own[p] = values[p];
  }

  apply(x: Float64Array, y: Float64Array): void {
    const {rowPointers, columns} = this.pattern;
    const {n, values} = this;
    for (let i = 0; i < n; i++) {
      let sum = 0;
      const end = rowPointers[i + 1];
      for (let p = rowPointers[i]; p < end; p++) sum += values[p] * x[columns[p]];
      y[i] = sum;
    }
  }

  applyTransposed(x: Float64Array, y: Float64Array): void {
    const {rowPointers, columns} = this.pattern;
    const {n, values} = this;
    y.fill(0);
    for (let i = 0; i < n; i++) {
      const value = x[i];
      const end = rowPointers[i + 1];
      for (let p = rowPointers[i]; p < end; p++) y[columns[p]] += values[p] * value;
    }
  }

  diagonal(d: Float64Array): void {
    const {rowPointers, columns} = this.pattern;
    d.fill(0);
    for (let i = 0; i < this.n; i++) {
      for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) if (columns[p] === i) d[i] = this.values[p];
    }
  }
}
