/**
 * The QR factorization of a tall matrix with its right side, J = QR and c = Qᵀr, taken in by blocks of
 * rows (sequential TSQR: Golub & Van Loan, Matrix Computations, §5.2; Demmel et al. 2012). Q is never
 * formed, and each row is read once.
 *
 * Why not the normal equations: they square the condition number, so parameters that differ in effect
 * by 1e-8 look the same; a parameter of 1e-6 next to one of 1e6 is ordinary here. QR costs 2mp² operations,
 * twice as many, which beside a simulation of m steps is nothing.
 */

import {singularValues} from './singular-values.js';

/** Of a linear least-squares problem, what an iteration asks of its factorization. */
export interface Factorization {
  /** Columns. */
  readonly p: number;
  /** δ of min ‖Jδ + r‖² + μ‖Dδ‖² with D = diag(scale). */
  damped(scale: Float64Array, mu: number): Float64Array;
  /** The step without damping, and how much of the residuals it takes away; `norms` are those of the columns. */
  projected(norms: Float64Array): Projection;
  /** Jᵀr. */
  gradient(): Float64Array;
  /** Euclidean. */
  columnNorms(): Float64Array;
}

/** What lies in the space that the columns span. */
export interface Projection {
  /** D δ of the Gauss–Newton step δ, D the columns' norms. */
  readonly delta: Float64Array;
  /** ‖Q₁ᵀr‖². */
  readonly inside: number;
  readonly rank: number;
}

/** As in `uncertainty`: a smaller singular value is a direction in which the residuals do not change. */
const RANK_TOLERANCE = 1e-10;

/** Rows folded in at once: 256 rows of 8 columns are 16 KiB, which stays in the first-level cache. */
const BLOCK = 256;

/** The triangular factor of a tall matrix, taken in row by row. */
export class RowQr implements Factorization {
  /** R, [p, p] row-major, upper triangular. */
  readonly r: Float64Array;
  /** The first p entries of Qᵀ times the right side. */
  readonly c: Float64Array;
  private readonly block: Float64Array;

  /** @param rowsAtOnce fewer than the default for factors of few rows, which then take less memory */
  constructor(
    readonly p: number,
    private readonly rowsAtOnce = BLOCK,
  ) {
    this.r = new Float64Array(p * p);
    this.c = new Float64Array(p);
    this.block = new Float64Array((p + 1) * rowsAtOnce);
  }

  /** Adds `count` rows, row-major [count, p], with their right side [count]. */
  append(rows: Float64Array, rightSide: Float64Array, count = rightSide.length): this {
    for (let from = 0; from < count; from += this.rowsAtOnce) {
      const size = Math.min(this.rowsAtOnce, count - from);
      this.gather(rows, rightSide, from, size);
      for (let k = 0; k < this.p; k++) this.reflect(k, size);
    }
    return this;
  }

  copy(): RowQr {
    const other = new RowQr(this.p, this.rowsAtOnce);
    other.r.set(this.r);
    other.c.set(this.c);
    return other;
  }

  /** x of R x = c; the caller sees to it that no diagonal entry is zero. */
  solve(): Float64Array {
    const {p, r} = this;
    const x = this.c.slice();
    for (let i = p - 1; i >= 0; i--) {
      for (let j = i + 1; j < p; j++) x[i] -= r[i * p + j] * x[j];
      x[i] /= r[i * p + i];
    }
    return x;
  }

  /** R with the rows √μ D below it and zeros at their right. */
  damped(scale: Float64Array, mu: number): Float64Array {
    const {p} = this;
    const rows = new Float64Array(p * p);
    for (let j = 0; j < p; j++) rows[j * p + j] = Math.sqrt(mu) * scale[j];
    return this.copy()
      .append(rows, new Float64Array(p))
      .solve()
      .map(d => -d);
  }

  /** By the singular values of R D⁻¹. */
  projected(norms: Float64Array): Projection {
    const {p, r, c} = this;
    const scaled = r.map((value, index) => value / (norms[index % p] || 1));
    const {values, vectors} = singularValues(scaled, p);
    let [rank, inside] = [0, 0];
    const delta = new Float64Array(p);
    while (rank < p && values[rank] > RANK_TOLERANCE * values[0]) {
      // uₖᵀc, with σₖ uₖ = R vₖ
      let along = 0;
      for (let i = 0; i < p; i++) for (let j = i; j < p; j++) along += scaled[i * p + j] * vectors[j * p + rank] * c[i];
      along /= values[rank];
      inside += along ** 2;
      for (let j = 0; j < p; j++) delta[j] -= (vectors[j * p + rank] * along) / values[rank];
      rank++;
    }
    return {delta, inside, rank};
  }

  /** Jᵀr = Rᵀc, free of the cancellation that a sum over all rows would suffer. */
  gradient(): Float64Array {
    const {p, r, c} = this;
    const g = new Float64Array(p);
    for (let i = 0; i < p; i++) for (let j = i; j < p; j++) g[j] += r[i * p + j] * c[i];
    return g;
  }

  /** The columns' Euclidean norms, which QR preserves. */
  columnNorms(): Float64Array {
    const {p, r} = this;
    const norms = new Float64Array(p);
    for (let j = 0; j < p; j++) for (let i = 0; i <= j; i++) norms[j] = Math.hypot(norms[j], r[i * p + j]);
    return norms;
  }

  /** The block lies column by column, the right side last. */
  private gather(rows: Float64Array, rightSide: Float64Array, from: number, size: number): void {
    const {p, block, rowsAtOnce} = this;
    for (let i = 0; i < size; i++) {
      const row = (from + i) * p;
      for (let j = 0; j < p; j++) block[j * rowsAtOnce + i] = rows[row + j];
      block[p * rowsAtOnce + i] = rightSide[from + i];
    }
  }

  /** The Householder reflection of (R[k,k], block column k) onto R[k,k] alone, applied to what is right of it. */
  private reflect(k: number, size: number): void {
    const {p, r, c, block, rowsAtOnce} = this;
    const column = k * rowsAtOnce;
    let below = 0;
    for (let i = 0; i < size; i++) below += block[column + i] ** 2;
    if (below === 0) return;
    const alpha = r[k * p + k];
    const beta = alpha > 0 ? -Math.hypot(alpha, Math.sqrt(below)) : Math.hypot(alpha, Math.sqrt(below));
    const head = alpha - beta; // of the same sign, so nothing cancels
    const factor = 2 / (head * head + below);
    r[k * p + k] = beta;
    for (let j = k + 1; j <= p; j++) {
      const other = j * rowsAtOnce;
      let dot = head * (j < p ? r[k * p + j] : c[k]);
      for (let i = 0; i < size; i++) dot += block[column + i] * block[other + i];
      dot *= factor;
      if (j < p) r[k * p + j] -= dot * head;
      else c[k] -= dot * head;
      for (let i = 0; i < size; i++) block[other + i] -= dot * block[column + i];
    }
  }
}
