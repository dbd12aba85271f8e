/**
 * Banded L D Lᵀ of a symmetric positive definite matrix: cholesky.ts within a band, half the work of
 * band LU and no room for exchanges. Two rows are eliminated at a time, and as many rows of zeros as the
 * band is wide follow the last one, so that narrow bands do not spend their time on loop ends.
 */
import {gather, scatter, type BandOrder} from './band-order.js';
import {SpecialFactor} from './direct.js';
import {SUSPICIOUS_PIVOT} from './singularity.js';
import type {Pattern} from './solver.js';

export function bandCholeskyWork(n: number, {upper}: BandOrder): number {
  return n * upper * (upper + 2);
}

/** Where the upper triangle of the matrix goes: done once for all factors of a pattern. */
export interface BandTargets {
  readonly band: BandOrder;
  readonly source: Int32Array;
  readonly target: Int32Array;
}

export function bandTargets(band: BandOrder): BandTargets {
  const {rows, columns, upper} = band;
  const source = Int32Array.from(rows.keys()).filter(p => columns[p] >= rows[p]);
  return {band, source, target: source.map(p => rows[p] * (upper + 1) + columns[p] - rows[p])};
}

export class BandCholeskyFactor extends SpecialFactor {
  readonly kind = 'band-cholesky';
  /** Row i holds columns i … i + upper, the reciprocal pivot first. */
  private readonly a: Float64Array;
  /** The diagonal of the matrix, then the solution; `upper` + 1 zeros behind it. */
  private readonly y: Float64Array;
  private readonly stride: number;

  constructor(
    pattern: Pattern,
    private readonly targets: BandTargets,
  ) {
    super(pattern);
    this.stride = targets.band.upper + 1;
    this.a = new Float64Array((pattern.n + this.stride) * this.stride);
    this.y = new Float64Array(pattern.n + this.stride);
  }

  get size(): number {
    return this.a.length + this.y.length;
  }

  tryRefactor(values: Float64Array): boolean {
    this.usable = this.eliminate(values) > SUSPICIOUS_PIVOT;
    return this.usable;
  }

  /** The smallest pivot relative to its diagonal entry, −1 at one that is not positive. */
  private eliminate(values: Float64Array): number {
    const {a, n, stride, y: diagonal} = this;
    const {source, target} = this.targets;
    const upper = stride - 1;
    a.fill(0);
    for (let p = 0; p < source.length; p++) a[target[p]] = values[source[p]];
    for (let k = 0; k < n; k++) diagonal[k] = a[k * stride];
    let smallest = Infinity;
    for (let k = 0; k < n; k += 2) {
      const top = k * stride;
      const first = a[top];
      if (!(first > 0)) return -1;
      smallest = Math.min(smallest, first / diagonal[k]);
      const r0 = 1 / first;
      a[top] = r0;
      if (k + 1 === n) break;
      const next = top + stride;
      if (upper > 0) {
        const l = a[top + 1] * r0;
        for (let j = 1; j <= upper; j++) a[next + j - 1] -= l * a[top + j];
      }
      const second = a[next];
      if (!(second > 0)) return -1;
      smallest = Math.min(smallest, second / diagonal[k + 1]);
      const r1 = 1 / second;
      a[next] = r1;
      for (let i = 2; i <= upper; i++) {
        const l0 = a[top + i] * r0;
        const l1 = a[next + i - 1] * r1;
        const row = top + i * stride - i;
        for (let j = i; j <= upper; j++) a[row + j] -= l0 * a[top + j] + l1 * a[next + j - 1];
        a[row + upper + 1] -= l1 * a[next + upper];
      }
      if (upper > 0) a[next + upper * stride] -= a[next + upper] * r1 * a[next + upper];
    }
    return smallest;
  }

  protected substitute(x: Float64Array, at: number): void {
    const {a, n, stride, y} = this;
    const {band} = this.targets;
    const upper = stride - 1;
    gather(band, x, at, y);
    for (let k = 0; k < n; k += 2) {
      const top = k * stride;
      const value = y[k] * a[top];
      y[k] = value;
      if (k + 1 === n) break;
      const next = top + stride;
      const second = (upper > 0 ? y[k + 1] - a[top + 1] * value : y[k + 1]) * a[next];
      y[k + 1] = second;
      for (let j = 2; j <= upper; j++) y[k + j] -= a[top + j] * value + a[next + j - 1] * second;
      if (upper > 0) y[k + upper + 1] -= a[next + upper] * second;
    }
    // Numbers beyond the end are multiplied by the zeros of the band there.
    for (let k = n; k < y.length; k++) y[k] = 0;
    let k = n - 1;
    for (; k > 0; k -= 2) {
      const next = k * stride;
      const top = next - stride;
      let s1 = upper > 0 ? a[next + upper] * y[k + upper] : 0;
      let s0 = 0;
      for (let j = upper; j >= 2; j--) {
        const value = y[k + j - 1];
        s0 += a[top + j] * value;
        s1 += a[next + j - 1] * value;
      }
      const value = y[k] - s1 * a[next];
      y[k] = value;
      if (upper > 0) s0 += a[top + 1] * value;
      y[k - 1] -= s0 * a[top];
    }
    if (k === 0) {
      let sum = 0;
      for (let j = upper; j >= 1; j--) sum += a[j] * y[j];
      y[0] -= sum * a[0];
    }
    scatter(band, y, x, at);
  }

  protected substituteTransposed(x: Float64Array, at: number): void {
    this.substitute(x, at);
  }
}
