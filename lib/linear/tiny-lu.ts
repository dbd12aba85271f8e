/**
 * LU of one to three unknowns, written out: the pivoting of dense-lu.ts without its loops, whose
 * bookkeeping is half of the time at these sizes (measured: 27 ns for 42 ns at n = 2, 34 for 75 at n = 3).
 * A pendulum's step takes some 100 ns in all, so it shows.
 */
import {loadDense} from './dense-lu.js';
import {GeneralFactor} from './direct.js';
import {ZERO_PIVOT} from './singularity.js';
import type {Pattern} from './solver.js';

/** Sizes this file is for. */
export const TINY = 3;

export class TinyLuFactor extends GeneralFactor {
  readonly kind = 'lu';
  /** Row by row in pivot order: multipliers, reciprocal pivot, the rest of the row of U. */
  private readonly f = new Float64Array(9);
  private readonly matrix: Float64Array;
  private p0 = 0;
  private p1 = 0;
  private p2 = 0;

  constructor(pattern: Pattern) {
    super(pattern);
    this.matrix = new Float64Array(pattern.dense ? 0 : pattern.n ** 2);
  }

  get size(): number {
    return this.f.length + this.matrix.length;
  }

  protected get width(): number {
    return this.n;
  }

  protected eliminate(values: Float64Array): number {
    let a = values;
    if (!this.pattern.dense) {
      a = this.matrix;
      loadDense(this.pattern, values, a);
    }
    if (this.n === 3) return this.eliminate3(a);
    if (this.n === 2) return this.eliminate2(a);
    if (this.n === 0) return Infinity;
    this.f[0] = 1 / (a[0] === 0 ? ZERO_PIVOT : a[0]);
    // Its own row is its scale: only 0, ∞ and NaN are suspicious.
    return a[0] - a[0] === 0 && a[0] !== 0 ? 1 : 0;
  }

  private eliminate2(a: Float64Array): number {
    const f = this.f;
    const s0 = Math.max(Math.abs(a[0]), Math.abs(a[1]));
    const s1 = Math.max(Math.abs(a[2]), Math.abs(a[3]));
    const exchange = Math.abs(a[2]) * s0 > Math.abs(a[0]) * s1;
    const p = exchange ? 2 : 0;
    const q = 2 - p;
    this.p0 = exchange ? 1 : 0;
    this.p1 = 1 - this.p0;
    const scaleP = exchange ? s1 : s0;
    const scaleQ = exchange ? s0 : s1;
    const d0 = a[p] === 0 ? ZERO_PIVOT * (scaleP > 0 ? scaleP : 1) : a[p];
    const r0 = 1 / d0;
    const l = a[q] * r0;
    const rest = a[q + 1] - l * a[p + 1];
    const d1 = rest === 0 ? ZERO_PIVOT * (scaleQ > 0 ? scaleQ : 1) : rest;
    f[0] = r0;
    f[1] = a[p + 1];
    f[2] = l;
    f[3] = 1 / d1;
    return scaleP > 0 && scaleQ > 0 ? Math.min(Math.abs(d0) / scaleP, Math.abs(d1) / scaleQ) : 0;
  }

  private eliminate3(a: Float64Array): number {
    const f = this.f;
    const s0 = scaleOf(a, 0);
    const s1 = scaleOf(a, 3);
    const s2 = scaleOf(a, 6);
    const c0 = Math.abs(a[0]) * s0;
    const c1 = Math.abs(a[3]) * s1;
    const c2 = Math.abs(a[6]) * s2;
    // Rows p, q, r of the matrix: the pivot row, then the other two.
    const p = c0 >= c1 && c0 >= c2 ? 0 : c1 >= c2 ? 1 : 2;
    let q = p === 0 ? 1 : 0;
    let r = 3 - p - q;
    const scaleP = p === 0 ? s0 : p === 1 ? s1 : s2;
    const d0 = a[3 * p] === 0 ? standIn(scaleP) : a[3 * p];
    const r0 = 1 / d0;
    const u01 = a[3 * p + 1];
    const u02 = a[3 * p + 2];
    let lq = a[3 * q] * r0;
    let lr = a[3 * r] * r0;
    let m11 = a[3 * q + 1] - lq * u01;
    let m12 = a[3 * q + 2] - lq * u02;
    let m21 = a[3 * r + 1] - lr * u01;
    let m22 = a[3 * r + 2] - lr * u02;
    let scaleQ = q === 0 ? s0 : s1;
    let scaleR = r === 2 ? s2 : s1;
    if (Math.abs(m21) * scaleR > Math.abs(m11) * scaleQ) {
      [q, r] = [r, q];
      [lq, lr] = [lr, lq];
      [m11, m21] = [m21, m11];
      [m12, m22] = [m22, m12];
      [scaleQ, scaleR] = [scaleR, scaleQ];
    }
    const d1 = m11 === 0 ? standIn(scaleQ) : m11;
    const r1 = 1 / d1;
    const l21 = m21 * r1;
    const rest = m22 - l21 * m12;
    const d2 = rest === 0 ? standIn(scaleR) : rest;
    this.p0 = p;
    this.p1 = q;
    this.p2 = r;
    f[0] = r0;
    f[1] = u01;
    f[2] = u02;
    f[3] = lq;
    f[4] = r1;
    f[5] = m12;
    f[6] = lr;
    f[7] = l21;
    f[8] = 1 / d2;
    return Math.min(Math.abs(d0) * scaleP, Math.abs(d1) * scaleQ, Math.abs(d2) * scaleR);
  }

  protected substitute(x: Float64Array, at: number): void {
    const f = this.f;
    if (this.n === 3) {
      const y0 = x[at + this.p0];
      const y1 = x[at + this.p1] - f[3] * y0;
      const y2 = x[at + this.p2] - f[6] * y0 - f[7] * y1;
      const x2 = y2 * f[8];
      const x1 = (y1 - f[5] * x2) * f[4];
      x[at + 2] = x2;
      x[at + 1] = x1;
      x[at] = (y0 - f[1] * x1 - f[2] * x2) * f[0];
    } else if (this.n === 2) {
      const y0 = x[at + this.p0];
      const x1 = (x[at + this.p1] - f[2] * y0) * f[3];
      x[at + 1] = x1;
      x[at] = (y0 - f[1] * x1) * f[0];
    } else {
      x[at] *= f[0];
    }
  }

  protected substituteTransposed(x: Float64Array, at: number): void {
    const f = this.f;
    if (this.n === 3) {
      const z0 = x[at] * f[0];
      const z1 = (x[at + 1] - f[1] * z0) * f[4];
      const z2 = (x[at + 2] - f[2] * z0 - f[5] * z1) * f[8];
      const y1 = z1 - f[7] * z2;
      x[at + this.p2] = z2;
      x[at + this.p1] = y1;
      x[at + this.p0] = z0 - f[3] * y1 - f[6] * z2;
    } else if (this.n === 2) {
      const z0 = x[at] * f[0];
      const z1 = (x[at + 1] - f[1] * z0) * f[3];
      x[at + this.p1] = z1;
      x[at + this.p0] = z0 - f[2] * z1;
    } else {
      x[at] *= f[0];
    }
  }
}

/** 1 / the largest entry of a row of three, 0 for zeros. */
function scaleOf(a: Float64Array, row: number): number {
  const largest = Math.max(Math.abs(a[row]), Math.abs(a[row + 1]), Math.abs(a[row + 2]));
  return largest > 0 ? 1 / largest : 0;
}

function standIn(scale: number): number {
  return ZERO_PIVOT * (scale > 0 ? 1 / scale : 1);
}
