/**
 * Banded L D Lᵀ of a symmetric positive definite matrix: cholesky.ts within a band, half the work of
 * band LU and no room for exchanges.
 */
import type { BandOrder } from './band-order.js';
import { SpecialFactor } from './direct.js';
import { SUSPICIOUS_PIVOT } from './singularity.js';
import type { Pattern } from './solver.js';

export function bandCholeskyWork(n: number, { upper }: BandOrder): number {
  return n * upper * (upper + 2);
}

export class BandCholeskyFactor extends SpecialFactor {
  readonly kind = 'band-cholesky';
  /** Row i holds columns i … i + upper, the reciprocal pivot first. */
  private readonly a: Float64Array;
  private readonly diagonal: Float64Array;
  private readonly stride: number;

  constructor(
    pattern: Pattern,
    private readonly band: BandOrder,
  ) {
    super(pattern);
    this.stride = band.upper + 1;
    this.a = new Float64Array(pattern.n * this.stride);
    this.diagonal = new Float64Array(pattern.n);
  }

  get size(): number {
    return this.a.length + this.n;
  }

  tryRefactor(values: Float64Array): boolean {
    this.usable = this.eliminate(values) > SUSPICIOUS_PIVOT;
    return this.usable;
  }

  private eliminate(values: Float64Array): number {
    const { a, n, stride, diagonal } = this;
    const { rows, columns, upper } = this.band;
    a.fill(0);
    for (let p = 0; p < rows.length; p++) {
      const above = columns[p] - rows[p];
      if (above >= 0) a[rows[p] * stride + above] = values[p];
    }
    for (let k = 0; k < n; k++) diagonal[k] = a[k * stride];
    let smallest = Infinity;
    for (let k = 0; k < n; k++) {
      const top = k * stride;
      const pivot = a[top];
      if (!(pivot > 0)) return -1;
      smallest = Math.min(smallest, pivot / diagonal[k]);
      const reciprocal = 1 / pivot;
      a[top] = reciprocal;
      const last = Math.min(upper, n - 1 - k);
      for (let i = 1; i <= last; i++) {
        const l = a[top + i] * reciprocal;
        const row = top + i * stride - i;
        for (let j = i; j <= last; j++) a[row + j] -= l * a[top + j];
      }
    }
    return smallest;
  }

  protected substitute(x: Float64Array, at: number): void {
    const { a, n, stride, diagonal: y } = this;
    const { order, upper } = this.band;
    for (let k = 0; k < n; k++) y[k] = x[at + order[k]];
    for (let k = 0; k < n; k++) {
      const top = k * stride;
      const value = y[k] * a[top];
      y[k] = value;
      const last = Math.min(upper, n - 1 - k);
      for (let j = 1; j <= last; j++) y[k + j] -= a[top + j] * value;
    }
    for (let k = n - 1; k >= 0; k--) {
      const top = k * stride;
      const last = Math.min(upper, n - 1 - k);
      let sum = 0;
      for (let j = 1; j <= last; j++) sum += a[top + j] * y[k + j];
      y[k] -= sum * a[top];
      x[at + order[k]] = y[k];
    }
  }

  protected substituteTransposed(x: Float64Array, at: number): void {
    this.substitute(x, at);
  }
}
