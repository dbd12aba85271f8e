/**
 * The singular value decomposition of a small dense matrix, A = U diag(s) Vᵀ, by Hestenes' one-sided Jacobi
 * rotations (Golub & Van Loan, Matrix Computations, §8.6.3): columns are rotated in pairs until all are
 * orthogonal; their lengths are the singular values, small ones as accurate as the columns themselves allow
 * (Demmel & Veselić 1992). Columns of U that belong to no length are completed to an orthonormal set.
 */

import {ascending} from './eigen.js';

/** Rotations converge quadratically: thirty sweeps are never needed. */
const mostSweeps = 30;

/** Two columns are orthogonal when their cosine is below this: the rounding of a dot product, nearly. */
const orthogonal = 4 * Number.EPSILON;

/** A column this small beside the largest is rounding, and has no direction. */
const nothing = 16 * Number.EPSILON;

export class SvdWorkspace {
  /** A or Aᵀ by columns, as many as are rotated: p × q, p ≥ q. */
  readonly columns: Float64Array;
  /** The rotations, by columns. */
  readonly turned: Float64Array;
  readonly lengths: Float64Array;
  /** The matrix's divisor, and a length. */
  readonly size = new Float64Array(2);
  /** The lengths with their sign turned: longest first. */
  readonly keys: Float64Array;
  readonly order: Int32Array;
  /** Orthonormal columns of the long side, of the length p. */
  readonly long: Float64Array;
  readonly p: number;
  readonly q: number;
  /** Columns of U and of V. */
  readonly widths: {readonly u: number; readonly v: number};

  constructor(
    readonly m: number,
    readonly n: number,
    readonly full: boolean,
  ) {
    this.p = Math.max(m, n);
    this.q = Math.min(m, n);
    this.columns = new Float64Array(this.p * this.q);
    this.turned = new Float64Array(this.q * this.q);
    this.lengths = new Float64Array(this.q);
    this.keys = new Float64Array(this.q);
    this.order = new Int32Array(this.q);
    this.widths = full ? {u: m, v: n} : {u: this.q, v: this.q};
    this.long = new Float64Array(this.p * (full ? this.p : this.q));
  }
}

/**
 * Of the m × n numbers of `a` from `at` on: s, descending, U [m, k] and V [n, k], row-major, one after another into
 * `out` from `to` on, k = min(m, n), or all columns where the workspace is for the full form. A matrix that is not
 * finite has NaN for all.
 */
export function singularValues(
  a: Float64Array,
  at: number,
  workspace: SvdWorkspace,
  out: Float64Array,
  to: number,
): void {
  const {m, n, q, p, full, widths, lengths, keys, order, long, turned} = workspace;
  const toU = to + q;
  const toV = toU + m * widths.u;
  if (!load(a, at, workspace)) {
    out.fill(NaN, to, toV + n * widths.v);
    return;
  }
  rotateAll(workspace);
  for (let j = 0; j < q; j++) {
    storeLength(workspace.columns, j * p, p, lengths, j);
    keys[j] = -lengths[j];
  }
  ascending(keys, order);
  orthonormalize(workspace, full ? p : q);
  // The long side is U's where A has no fewer rows than columns.
  for (let k = 0; k < q; k++) out[to + k] = lengths[order[k]] * workspace.size[0];
  writeColumns(long, out, m >= n ? toU : toV, p, m >= n ? widths.u : widths.v, undefined);
  // The short side's completion is itself: its rotations are square.
  writeColumns(turned, out, m >= n ? toV : toU, q, q, order);
}

/** The matrix by columns of its longer side, scaled so that squares stay in range; false if not finite. */
function load(a: Float64Array, at: number, {m, n, p, q, columns, turned, size: scale}: SvdWorkspace): boolean {
  let largest = 0;
  for (let i = 0; i < m * n; i++) {
    if (!Number.isFinite(a[at + i])) return false;
    largest = Math.max(largest, Math.abs(a[at + i]));
  }
  // A power of two: the scaling is exact.
  const size = largest === 0 ? 1 : 2 ** Math.max(-1000, Math.floor(Math.log2(largest)));
  for (let j = 0; j < q; j++) {
    for (let i = 0; i < p; i++) columns[j * p + i] = a[at + (m >= n ? i * n + j : j * n + i)] / size;
  }
  turned.fill(0);
  for (let j = 0; j < q; j++) turned[j * q + j] = 1;
  scale[0] = size;
  return true;
}

function rotateAll({p, q, columns, turned}: SvdWorkspace): void {
  for (let sweep = 0, rotated = true; rotated && sweep < mostSweeps; sweep++) {
    rotated = false;
    let largest = 0;
    for (let i = 0; i < q; i++) {
      let square = 0;
      for (let k = i * p; k < (i + 1) * p; k++) square += columns[k] * columns[k];
      largest = Math.max(largest, square);
    }
    for (let i = 0; i < q; i++) {
      for (let j = i + 1; j < q; j++) {
        let alpha = 0;
        let beta = 0;
        let gamma = 0;
        for (let k = 0; k < p; k++) {
          const x = columns[i * p + k];
          const y = columns[j * p + k];
          alpha += x * x;
          beta += y * y;
          gamma += x * y;
        }
        if (
          Math.abs(gamma) <= orthogonal * Math.sqrt(alpha) * Math.sqrt(beta)
          || Math.abs(gamma) <= nothing * Number.EPSILON * largest
        )
          continue;
        const zeta = (beta - alpha) / (2 * gamma);
        const t =
          Math.abs(zeta) > 1e150 ? 0.5 / zeta : Math.sign(zeta || 1) / (Math.abs(zeta) + Math.sqrt(1 + zeta * zeta));
        const c = 1 / Math.sqrt(1 + t * t);
        turn(columns, i * p, j * p, p, c, c * t);
        turn(turned, i * q, j * q, q, c, c * t);
        rotated = true;
      }
    }
  }
}

function turn(x: Float64Array, i: number, j: number, count: number, c: number, s: number): void {
  for (let k = 0; k < count; k++) {
    const a = x[i + k];
    const b = x[j + k];
    x[i + k] = c * a - s * b;
    x[j + k] = s * a + c * b;
  }
}

/** Columns of unit length in the order of the singular values, then others orthogonal to them, `count` in all. */
function orthonormalize({p, q, columns, lengths, order, long, size}: SvdWorkspace, count: number): void {
  for (let k = 0; k < count; k++) {
    if (k < q && lengths[order[k]] > nothing * lengths[order[0]]) {
      for (let i = 0; i < p; i++) long[k * p + i] = columns[order[k] * p + i] / lengths[order[k]];
      project(long, k, p);
      storeLength(long, k * p, p, size, 1);
      // Only rounding was taken away: one pass is enough (Kahan & Parlett: from ½√2 on).
      if (size[1] > Math.SQRT1_2) {
        for (let i = k * p; i < (k + 1) * p; i++) long[i] /= size[1];
        continue;
      }
    }
    complete(long, k, p, size);
  }
}

/** Column k less its part along the columns before it. */
function project(long: Float64Array, k: number, p: number): void {
  for (let j = 0; j < k; j++) {
    let along = 0;
    for (let i = 0; i < p; i++) along += long[j * p + i] * long[k * p + i];
    for (let i = 0; i < p; i++) long[k * p + i] -= along * long[j * p + i];
  }
}

/** Column k: of the unit vectors the one farthest from the columns before it, made orthogonal to them. */
function complete(long: Float64Array, k: number, p: number, size: Float64Array): void {
  let best = 0;
  let least = Infinity;
  for (let i = 0; i < p; i++) {
    let covered = 0;
    for (let j = 0; j < k; j++) covered += long[j * p + i] ** 2;
    if (covered < least) {
      least = covered;
      best = i;
    }
  }
  long.fill(0, k * p, (k + 1) * p);
  long[k * p + best] = 1;
  // At least 1 − k/p of its square is left, and a second pass takes what rounding made of that.
  for (let pass = 0; pass < 2; pass++) {
    project(long, k, p);
    storeLength(long, k * p, p, size, 1);
    for (let i = k * p; i < (k + 1) * p; i++) long[i] /= size[1];
  }
}

/** Columns of length `rows` into a row-major [rows, width]. */
function writeColumns(
  from: Float64Array,
  out: Float64Array,
  to: number,
  rows: number,
  width: number,
  order: Int32Array | undefined,
): void {
  for (let k = 0; k < width; k++) {
    const column = (order === undefined ? k : order[k]) * rows;
    for (let i = 0; i < rows; i++) out[to + i * width + k] = from[column + i];
  }
}

/** ‖x[at … at + count)‖₂ into an array: a number that a function gives back may be boxed, which allocates. */
function storeLength(x: Float64Array, at: number, count: number, into: Float64Array, place: number): void {
  let square = 0;
  for (let i = at; i < at + count; i++) square += x[i] * x[i];
  into[place] = Math.sqrt(square);
}

/**
 * x = V diag(1/s) Uᵀ b, k columns: the shortest of the vectors for which A x is nearest to b. Singular values
 * up to `share` of the largest count as zero.
 */
export function leastNorm(
  a: Float64Array,
  at: number,
  workspace: SvdWorkspace,
  factors: Float64Array,
  share: number,
  b: Float64Array,
  atB: number,
  x: Float64Array,
  atX: number,
  k: number,
): void {
  const {m, n, q} = workspace;
  const u = q;
  const v = q + m * q;
  singularValues(a, at, workspace, factors, 0);
  x.fill(Number.isNaN(factors[0]) ? NaN : 0, atX, atX + n * k);
  const least = share * factors[0];
  for (let r = 0; r < q; r++) {
    if (!(factors[r] > least)) continue;
    for (let c = 0; c < k; c++) {
      let sum = 0;
      for (let i = 0; i < m; i++) sum += factors[u + i * q + r] * b[atB + i * k + c];
      sum /= factors[r];
      for (let j = 0; j < n; j++) x[atX + j * k + c] += sum * factors[v + j * q + r];
    }
  }
}
