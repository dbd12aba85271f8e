/**
 * Banded LU with the pivots on the diagonal, for matrices that need no exchanges: Newton matrices of
 * chains in first-order form, among others. Without the search, and without room for fill from
 * exchanges, it takes six tenths of the time of band-lu.ts, measured at 1 to 8 diagonals a side.
 * Multipliers are watched instead: one that is too large, relative to the scales of its two rows, and
 * the matrix goes to the method with pivoting. Two rows are eliminated at a time, as in band-cholesky.ts.
 */
import {gather, scatter, type BandOrder} from './band-order.js';
import {SpecialFactor} from './direct.js';
import {SUSPICIOUS_PIVOT} from './singularity.js';
import type {Pattern} from './solver.js';

/** Growth of at most 11 a step, as threshold pivoting with 0.1 allows (lu-plan.ts). */
const LARGEST_MULTIPLIER = 10;

export class BandPlainLuFactor extends SpecialFactor {
  readonly kind = 'band-plain-lu';
  /** Row i holds columns i − lower … i + upper; rows of zeros follow the last one. */
  private readonly a: Float64Array;
  /** The largest entry of each row; later the solution, with zeros behind it. */
  private readonly y: Float64Array;
  private readonly targets: Int32Array;
  private readonly stride: number;

  /** For bands with at least one diagonal on either side. */
  constructor(
    pattern: Pattern,
    private readonly band: BandOrder,
  ) {
    super(pattern);
    const {lower, upper, rows, columns} = band;
    this.stride = lower + upper + 1;
    this.a = new Float64Array((pattern.n + lower + 1) * this.stride);
    this.y = new Float64Array(pattern.n + Math.max(lower, upper) + 1);
    this.targets = rows.map((row, p) => row * this.stride + columns[p] - row + lower);
  }

  get size(): number {
    return this.a.length + this.y.length;
  }

  tryRefactor(values: Float64Array): boolean {
    this.load(values);
    this.usable = this.eliminate();
    return this.usable;
  }

  private load(values: Float64Array): void {
    const {a, n, stride, targets, y: sizes} = this;
    a.fill(0);
    for (let p = 0; p < targets.length; p++) a[targets[p]] = values[p];
    for (let i = 0, p = 0; i < n; i++) {
      let largest = 0;
      for (const end = p + stride; p < end; p++) {
        const size = Math.abs(a[p]);
        if (size > largest) largest = size;
      }
      sizes[i] = largest;
    }
    // Rows of zeros give multipliers of zero, whatever their scale.
    for (let i = n; i < sizes.length; i++) sizes[i] = 1;
  }

  private eliminate(): boolean {
    const {a, n, stride, y: sizes} = this;
    const {lower, upper} = this.band;
    for (let k = 0; k < n; k += 2) {
      const top = k * stride + lower;
      const size0 = sizes[k];
      if (!(Math.abs(a[top]) > SUSPICIOUS_PIVOT * size0)) return false;
      const r0 = 1 / a[top];
      a[top] = r0;
      if (k + 1 === n) break;
      const next = top + stride;
      const size1 = sizes[k + 1];
      const l = a[next - 1] * r0;
      a[next - 1] = l;
      if (!(Math.abs(l) * size0 <= LARGEST_MULTIPLIER * size1)) return false;
      for (let j = 1; j <= upper; j++) a[next - 1 + j] -= l * a[top + j];
      if (!(Math.abs(a[next]) > SUSPICIOUS_PIVOT * size1)) return false;
      const r1 = 1 / a[next];
      a[next] = r1;
      const right = a[top + 1];
      for (let i = 2; i <= lower; i++) {
        const row = top + i * (stride - 1);
        const l0 = a[row] * r0;
        const l1 = (a[row + 1] - l0 * right) * r1;
        a[row] = l0;
        a[row + 1] = l1;
        if (!(Math.abs(l0) * size0 + Math.abs(l1) * size1 <= LARGEST_MULTIPLIER * sizes[k + i])) return false;
        for (let j = 2; j <= upper; j++) a[row + j] -= l0 * a[top + j] + l1 * a[next + j - 1];
        a[row + upper + 1] -= l1 * a[next + upper];
      }
      const row = next + lower * (stride - 1);
      const l1 = a[row] * r1;
      a[row] = l1;
      if (!(Math.abs(l1) * size1 <= LARGEST_MULTIPLIER * sizes[k + 1 + lower])) return false;
      for (let j = 1; j <= upper; j++) a[row + j] -= l1 * a[next + j];
    }
    return true;
  }

  protected substitute(x: Float64Array, at: number): void {
    const {a, n, stride, y} = this;
    const {lower, upper} = this.band;
    gather(this.band, x, at, y);
    for (let i = 1; i < n; i++) {
      const row = i * stride + lower - i;
      let sum = y[i];
      for (let j = i < lower ? 0 : i - lower; j < i; j++) sum -= a[row + j] * y[j];
      y[i] = sum;
    }
    for (let i = n - 1; i >= 0; i--) {
      const row = i * stride + lower;
      let sum = y[i];
      for (let j = upper; j >= 1; j--) sum -= a[row + j] * y[i + j];
      y[i] = sum * a[row];
    }
    scatter(this.band, y, x, at);
  }

  protected substituteTransposed(x: Float64Array, at: number): void {
    const {a, n, stride, y} = this;
    const {lower, upper} = this.band;
    gather(this.band, x, at, y);
    for (let i = 0; i < n; i++) {
      const row = i * stride + lower;
      const value = y[i] * a[row];
      y[i] = value;
      for (let j = 1; j <= upper; j++) y[i + j] -= a[row + j] * value;
    }
    for (let i = n - 1; i > 0; i--) {
      const row = i * stride + lower - i;
      const value = y[i];
      for (let j = i < lower ? 0 : i - lower; j < i; j++) y[j] -= a[row + j] * value;
    }
    scatter(this.band, y, x, at);
  }
}
