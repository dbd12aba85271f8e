/**
 * Dense Cholesky without square roots, A = Uᵀ D⁻¹ U with U's diagonal equal to D: half the work of LU
 * and no pivoting, for symmetric positive definite matrices such as M − h²K of a stable structure. The
 * upper triangle is used because its rows lie in order in memory (Golub & Van Loan §4.1, by rows).
 */
import {SingularMatrixError, StiffgradError} from '../errors.js';
import {loadDense} from './dense-lu.js';
import {FactorAnalysis} from './analysis.js';
import {SpecialFactor} from './direct.js';
import {withRecipe} from './recipe.js';
import {examine, SUSPICIOUS_PIVOT, throwIfNotFinite, ZERO_PIVOT} from './singularity.js';
import type {LinearSolver, Pattern} from './solver.js';

/** Dense Cholesky; refuses a matrix that is not positive definite, and names the row of the failing pivot. */
export function cholesky(): LinearSolver {
  return withRecipe(
    {
      name: 'cholesky',
      analyze: pattern =>
        new FactorAnalysis({
          kind: 'dense',
          n: pattern.n,
          nonzeros: (pattern.n * (pattern.n + 1)) / 2,
          work: choleskyWork(pattern.n),
          createFactor: () => new CholeskyFactor(pattern),
        }),
    },
    'cholesky',
  );
}

/**
 * Two mirrored entries are equal when they differ by this share of the larger, or of the geometric mean of
 * their diagonal entries: rounding of sums that cancel to a thousandth leaves 1e-13.
 */
const SAME = 1e-12;

/** Σ_k m(m+1) + m over m = n − k − 1. */
function choleskyWork(n: number): number {
  return ((n - 1) * n * (n + 4)) / 3;
}

export class CholeskyFactor extends SpecialFactor {
  readonly kind = 'cholesky';
  private readonly a: Float64Array;
  private readonly diagonal: Float64Array;
  /** The first row whose pivot was certainly negative, or −1. */
  private negativeRow = -1;

  constructor(pattern: Pattern) {
    super(pattern);
    this.a = new Float64Array(pattern.n ** 2);
    this.diagonal = new Float64Array(pattern.n);
  }

  get size(): number {
    return this.a.length + this.n;
  }

  override refactor(values: Float64Array): void {
    if (!this.pattern.symmetric) this.requireSymmetry(values);
    if (this.tryRefactor(values)) return;
    throwIfNotFinite(this.pattern, values);
    const row = this.negativeRow;
    throw new SingularMatrixError(
      'not-positive-definite',
      `The ${this.n} × ${this.n} matrix is not positive definite: the pivot of row ${row} is negative. `
        + 'Use auto() or lu() instead. For a structure at rest it means buckling, or a force with the wrong sign.',
      {rows: [row]},
    );
  }

  /** Only the upper triangle is read: without this, the lower one would be ignored in silence. */
  private requireSymmetry(values: Float64Array): void {
    const {a, n} = this;
    loadDense(this.pattern, values, a);
    for (let i = 0; i < n; i++) {
      for (let j = i + 1; j < n; j++) {
        const gap = Math.abs(a[i * n + j] - a[j * n + i]);
        if (gap <= SAME * Math.max(Math.abs(a[i * n + j]), Math.abs(a[j * n + i]))) continue;
        if (!(gap > SAME * Math.sqrt(Math.abs(a[i * n + i] * a[j * n + j])))) continue;
        throw new StiffgradError(
          'not-symmetric',
          `The ${n} × ${n} matrix is not symmetric: entry (${i}, ${j}) is ${a[i * n + j]} `
            + `and entry (${j}, ${i}) is ${a[j * n + i]}. `
            + 'Use auto() or lu() instead. For a structure it means a force without a potential: '
            + 'a gyroscope, a follower load, a coupling that acts one way.',
          {rows: [i, j]},
        );
      }
    }
  }

  /** False, without an error, when the matrix is not positive definite: the caller has another method. */
  tryRefactor(values: Float64Array): boolean {
    this.usable = false;
    const smallest = this.eliminate(values);
    if (this.negativeRow >= 0) return false;
    if (!(smallest > SUSPICIOUS_PIVOT)) {
      examine(this.pattern, values, this, this.n);
      this.negativeRow = this.diagonal.findIndex(pivot => pivot < 0);
      if (this.negativeRow >= 0) return false;
    }
    this.usable = true;
    return true;
  }

  private eliminate(values: Float64Array): number {
    const {a, diagonal, n} = this;
    this.negativeRow = -1;
    loadDense(this.pattern, values, a);
    for (let k = 0; k < n; k++) {
      diagonal[k] = a[k * n + k];
      // A zero or negative diagonal entry decides the matter at once; a KKT matrix is told by it.
      if (!(diagonal[k] > 0)) {
        this.negativeRow = k;
        return 0;
      }
    }
    let smallest = Infinity;
    for (let start = 0; start < n; start += 4) {
      const right = Math.min(start + 4, n);
      for (let k = start; k < right; k++) {
        const top = k * n;
        let pivot = a[top + k];
        const size = pivot / diagonal[k];
        if (!(size >= -SUSPICIOUS_PIVOT)) {
          this.negativeRow = k;
          return 0;
        }
        smallest = Math.min(smallest, size);
        if (pivot === 0) pivot = ZERO_PIVOT * diagonal[k];
        diagonal[k] = pivot;
        const reciprocal = 1 / pivot;
        a[top + k] = reciprocal;
        for (let i = k + 1; i < right; i++) {
          const row = i * n;
          const l = a[top + i] * reciprocal;
          for (let j = i; j < n; j++) a[row + j] -= l * a[top + j];
        }
      }
      if (right === start + 4) updateTrailing(a, n, start);
    }
    return smallest;
  }

  protected substitute(x: Float64Array, at: number): void {
    const {a, n} = this;
    for (let k = 0; k < n; k++) {
      const row = k * n;
      const value = x[at + k] * a[row + k];
      x[at + k] = value;
      for (let j = k + 1; j < n; j++) x[at + j] -= a[row + j] * value;
    }
    for (let i = n - 2; i >= 0; i--) {
      const row = i * n;
      let sum = 0;
      for (let j = i + 1; j < n; j++) sum += a[row + j] * x[at + j];
      x[at + i] -= sum * a[row + i];
    }
  }

  protected substituteTransposed(x: Float64Array, at: number): void {
    this.substitute(x, at);
  }
}

/** Rows below lose their multiples of four finished rows in one pass over memory. */
function updateTrailing(a: Float64Array, n: number, start: number): void {
  const r0 = start * n;
  const r1 = r0 + n;
  const r2 = r1 + n;
  const r3 = r2 + n;
  const d0 = a[r0 + start];
  const d1 = a[r1 + start + 1];
  const d2 = a[r2 + start + 2];
  const d3 = a[r3 + start + 3];
  // Two rows at a time: each entry that is read serves both.
  let i = start + 4;
  for (; i + 1 < n; i += 2) {
    const row = i * n;
    const next = row + n;
    const l0 = a[r0 + i] * d0;
    const l1 = a[r1 + i] * d1;
    const l2 = a[r2 + i] * d2;
    const l3 = a[r3 + i] * d3;
    const m0 = a[r0 + i + 1] * d0;
    const m1 = a[r1 + i + 1] * d1;
    const m2 = a[r2 + i + 1] * d2;
    const m3 = a[r3 + i + 1] * d3;
    a[row + i] -= l0 * a[r0 + i] + l1 * a[r1 + i] + l2 * a[r2 + i] + l3 * a[r3 + i];
    for (let j = i + 1; j < n; j++) {
      const u0 = a[r0 + j];
      const u1 = a[r1 + j];
      const u2 = a[r2 + j];
      const u3 = a[r3 + j];
      a[row + j] -= l0 * u0 + l1 * u1 + l2 * u2 + l3 * u3;
      a[next + j] -= m0 * u0 + m1 * u1 + m2 * u2 + m3 * u3;
    }
  }
  if (i < n) {
    a[i * n + i] -= a[r0 + i] ** 2 * d0 + a[r1 + i] ** 2 * d1 + a[r2 + i] ** 2 * d2 + a[r3 + i] ** 2 * d3;
  }
}
