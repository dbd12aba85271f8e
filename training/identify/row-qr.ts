/**
 * The QR factorization of a tall matrix with its right side, J = QR and c = Qᵀr, taken in by blocks of
 * rows (sequential TSQR: Golub & Van Loan, Matrix Computations, §5.2; Demmel et al. 2012). Q is never
 * formed, and each row is read once.
 *
 * Why not the normal equations: they square the condition number, so parameters that differ in effect
 * by 1e-8 look the same; a parameter of 1e-6 next to one of 1e6 is ordinary here. QR costs 2mp² operations,
 * twice as many, which beside a simulation of m steps is nothing.
 */

/** A factorized linear least-squares problem, as iterations use it. */
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

/** The residuals' projection on the space that the columns span. */
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

/** Squares below it have lost digits to underflow, and their inverse would be infinite: the column counts as zero. */
const LEAST_SQUARE = 1e-290;

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
    if (below < LEAST_SQUARE) return;
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

export interface SingularValues {
  /** Descending. */
  readonly values: Float64Array;
  /** [n, n] row-major; column k belongs to values[k]. */
  readonly vectors: Float64Array;
}

/** Columns count as orthogonal when the cosine between them is roundoff. */
const ORTHOGONAL = 4 * Number.EPSILON;

/** Convergence is quadratic: some six sweeps are usual, thirty have never been needed (LAPACK dgesvj's limit). */
const SWEEPS = 30;

/**
 * Singular values and right singular vectors of a small square matrix by one-sided Jacobi rotations (Hestenes 1958;
 * Golub & Van Loan §8.6.3). They find small singular values of a matrix with scaled columns to full relative accuracy
 * (Demmel & Veselić 1992), where eigenvalues of JᵀJ lose everything below √ε: those decide which parameters cannot be
 * told apart.
 */
export function singularValues(matrix: Float64Array, n: number): SingularValues {
  const a = matrix.slice();
  const v = identity(n);
  for (let sweep = 0; sweep < SWEEPS; sweep++) if (!rotateAllPairs(a, v, n)) break;
  const norms = Array.from({length: n}, (_, j) => columnNorm(a, n, j));
  const order = norms.map((_, j) => j).sort((i, j) => norms[j] - norms[i]);
  const vectors = new Float64Array(n * n);
  order.forEach((from, to) => {
    for (let i = 0; i < n; i++) vectors[i * n + to] = v[i * n + from];
  });
  return {values: Float64Array.from(order, j => norms[j]), vectors};
}

function rotateAllPairs(a: Float64Array, v: Float64Array, n: number): boolean {
  let rotated = false;
  for (let i = 0; i < n - 1; i++) for (let j = i + 1; j < n; j++) rotated = orthogonalize(a, v, n, i, j) || rotated;
  return rotated;
}

function orthogonalize(a: Float64Array, v: Float64Array, n: number, i: number, j: number): boolean {
  let ii = 0;
  let jj = 0;
  let ij = 0;
  for (let k = 0; k < n * n; k += n) {
    ii += a[k + i] ** 2;
    jj += a[k + j] ** 2;
    ij += a[k + i] * a[k + j];
  }
  if (ij === 0 || Math.abs(ij) <= ORTHOGONAL * Math.sqrt(ii) * Math.sqrt(jj)) return false;
  const zeta = (jj - ii) / (2 * ij);
  const t = (zeta >= 0 ? 1 : -1) / (Math.abs(zeta) + Math.hypot(1, zeta)); // the smaller of the two rotations
  const cosine = 1 / Math.hypot(1, t);
  rotate(a, n, i, j, cosine, cosine * t);
  rotate(v, n, i, j, cosine, cosine * t);
  return true;
}

function rotate(m: Float64Array, n: number, i: number, j: number, cosine: number, sine: number): void {
  for (let k = 0; k < n * n; k += n) {
    const x = m[k + i];
    const y = m[k + j];
    m[k + i] = cosine * x - sine * y;
    m[k + j] = sine * x + cosine * y;
  }
}

function columnNorm(m: Float64Array, n: number, j: number): number {
  let norm = 0;
  for (let k = 0; k < n * n; k += n) norm = Math.hypot(norm, m[k + j]);
  return norm;
}

function identity(n: number): Float64Array {
  const v = new Float64Array(n * n);
  for (let i = 0; i < n; i++) v[i * n + i] = 1;
  return v;
}
