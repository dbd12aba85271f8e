/**
 * Banded LU with partial pivoting: LAPACK's xGBTF2 by rows. A row exchange lengthens the rows of U by up
 * to `lower` places, for which there is room; how far each row really reaches is kept, so a matrix that
 * needs no exchanges pays for none.
 */
import {gather, scatter, type BandOrder} from './band-order.js';
import {GeneralFactor} from './direct.js';
import {rowScales} from './row-scales.js';
import {throwIfNotFinite, ZERO_PIVOT} from './singularity.js';
import type {Pattern} from './solver.js';

/** Multiplications and additions without exchanges. */
export function bandLuWork(n: number, {lower, upper}: BandOrder): number {
  return n * lower * (2 * upper + 1);
}

export class BandLuFactor extends GeneralFactor {
  readonly kind = 'band-lu';
  /** Row i holds columns i − lower … i + upper + lower at i · stride. */
  private readonly a: Float64Array;
  private readonly stride: number;
  private readonly pivots: Int32Array;
  /** The last column of each row of U. */
  private readonly ends: Int32Array;
  private readonly scale: Float64Array;
  private readonly placed: Float64Array;

  constructor(
    pattern: Pattern,
    private readonly band: BandOrder,
  ) {
    super(pattern);
    this.stride = 2 * band.lower + band.upper + 1;
    this.a = new Float64Array(pattern.n * this.stride);
    this.pivots = new Int32Array(pattern.n);
    this.ends = new Int32Array(pattern.n);
    this.scale = new Float64Array(pattern.n);
    this.placed = new Float64Array(pattern.n);
  }

  get size(): number {
    return this.a.length + 3 * this.n;
  }

  protected get width(): number {
    return this.stride;
  }

  protected eliminate(values: Float64Array): number {
    const {a, n, stride, pivots, ends, scale, placed} = this;
    const {lower, upper, order, rows, columns} = this.band;
    if (!rowScales(this.pattern, values, scale)) throwIfNotFinite(this.pattern, values);
    for (let k = 0; k < n; k++) placed[k] = scale[order[k]];
    a.fill(0);
    for (let p = 0; p < rows.length; p++) a[rows[p] * stride + columns[p] - rows[p] + lower] = values[p];
    let smallest = Infinity;
    let reach = 0;
    for (let k = 0; k < n; k++) {
      const last = Math.min(k + lower, n - 1);
      let best = -1;
      let chosen = k;
      for (let i = k; i <= last; i++) {
        const size = Math.abs(a[i * stride + k - i + lower]) * placed[i];
        if (size > best) {
          best = size;
          chosen = i;
        }
      }
      smallest = Math.min(smallest, best);
      reach = Math.min(Math.max(reach, chosen + upper), n - 1);
      pivots[k] = chosen;
      ends[k] = reach;
      // Row i's column j is at start of row + j with this start.
      const top = k * stride - k + lower;
      if (chosen !== k) {
        placed[chosen] = placed[k];
        const other = chosen * stride - chosen + lower;
        for (let j = k; j <= reach; j++) {
          const kept = a[top + j];
          a[top + j] = a[other + j];
          a[other + j] = kept;
        }
      }
      if (best === 0) a[top + k] = ZERO_PIVOT * (placed[k] > 0 ? 1 / placed[k] : 1);
      const reciprocal = 1 / a[top + k];
      a[top + k] = reciprocal;
      for (let i = k + 1; i <= last; i++) {
        const row = i * stride - i + lower;
        const l = a[row + k] * reciprocal;
        a[row + k] = l;
        if (l === 0) continue;
        for (let j = k + 1; j <= reach; j++) a[row + j] -= l * a[top + j];
      }
    }
    return smallest;
  }

  protected substitute(x: Float64Array, at: number): void {
    gather(this.band, x, at, this.placed);
    this.solveBand(this.placed);
    scatter(this.band, this.placed, x, at);
  }

  protected substituteTransposed(x: Float64Array, at: number): void {
    gather(this.band, x, at, this.placed);
    this.solveBandTransposed(this.placed);
    scatter(this.band, this.placed, x, at);
  }

  private solveBand(y: Float64Array): void {
    const {a, n, stride, pivots, ends} = this;
    const {lower} = this.band;
    for (let k = 0; k < n; k++) {
      const chosen = pivots[k];
      const value = y[chosen];
      y[chosen] = y[k];
      y[k] = value;
      const last = Math.min(k + lower, n - 1);
      for (let i = k + 1; i <= last; i++) y[i] -= a[i * stride + k - i + lower] * value;
    }
    for (let k = n - 1; k >= 0; k--) {
      const top = k * stride - k + lower;
      const end = ends[k];
      let sum = y[k];
      for (let j = k + 1; j <= end; j++) sum -= a[top + j] * y[j];
      y[k] = sum * a[top + k];
    }
  }

  private solveBandTransposed(y: Float64Array): void {
    const {a, n, stride, pivots, ends} = this;
    const {lower} = this.band;
    for (let k = 0; k < n; k++) {
      const top = k * stride - k + lower;
      const end = ends[k];
      const value = y[k] * a[top + k];
      y[k] = value;
      for (let j = k + 1; j <= end; j++) y[j] -= a[top + j] * value;
    }
    for (let k = n - 1; k >= 0; k--) {
      const last = Math.min(k + lower, n - 1);
      let sum = y[k];
      for (let i = k + 1; i <= last; i++) sum -= a[i * stride + k - i + lower] * y[i];
      const chosen = pivots[k];
      y[k] = y[chosen];
      y[chosen] = sum;
    }
  }
}
