/**
 * GMRES(m) for any matrix: the smallest residual over the Krylov space, by Arnoldi and Givens rotations
 * (Saad & Schultz 1986). Preconditioned from the right, so that the residual it minimizes is that of
 * the system itself.
 */
import {StiffgradError} from '../errors.js';
import {krylovSolver, norm, dot, type Cycle, type KrylovMethod, type KrylovOptions, type SolverOf} from './krylov.js';
import {positiveInteger} from '../checks.js';
import {EPSILON} from './solver.js';

/** Options of `gmres`. */
export interface GmresOptions extends KrylovOptions {
  /** Vectors kept before a restart. Default 30, the usual compromise of memory against convergence. */
  readonly restart?: number;
}

/** GMRES with restarts, for any matrix (Saad & Schultz 1986). */
export function gmres<Options extends GmresOptions = GmresOptions>(options?: Options): SolverOf<Options>;
export function gmres(options: GmresOptions = {}): SolverOf<GmresOptions> {
  return krylovSolver('gmres', n => new Gmres(n, Math.min(Math.max(1, n), options.restart ?? 30)), options, {
    restart: positiveInteger,
  });
}

class Gmres implements KrylovMethod {
  readonly name = 'gmres';
  readonly diagonal = 'any';
  readonly size: number;
  private readonly basis: Float64Array[];
  /** Column j of the Hessenberg matrix, then of its triangular factor, at j · (m + 1). */
  private readonly h: Float64Array;
  private readonly cosines: Float64Array;
  private readonly sines: Float64Array;
  private readonly g: Float64Array;
  private readonly preconditioned: Float64Array;

  constructor(
    private readonly n: number,
    private readonly m: number,
  ) {
    this.basis = Array.from({length: m + 1}, () => new Float64Array(n));
    this.h = new Float64Array(m * (m + 1));
    this.cosines = new Float64Array(m);
    this.sines = new Float64Array(m);
    this.g = new Float64Array(m + 1);
    this.preconditioned = new Float64Array(n);
    this.size = (m + 2) * n + this.h.length + 3 * m + 1;
  }

  cycle({system, residual, correction}: Cycle, target: number, budget: number): number {
    const {n, m, basis, h, g, preconditioned} = this;
    const size = norm(residual);
    for (let i = 0; i < n; i++) basis[0][i] = residual[i] / size;
    g.fill(0);
    g[0] = size;
    let used = 0;
    for (let j = 0; j < m && used < budget; j++) {
      system.precondition(basis[j], preconditioned);
      system.multiply(preconditioned, basis[j + 1]);
      const last = this.orthogonalize(j);
      this.rotate(j, last);
      used++;
      if (!(Math.abs(g[j + 1]) > target) || last === 0) break;
    }
    this.combine(used, correction);
    system.precondition(correction, residual);
    for (let i = 0; i < n; i++) correction[i] = residual[i];
    if (used > 0 && h[(used - 1) * (m + 1) + used - 1] === 0) {
      throw new StiffgradError(
        'breakdown',
        'gmres: the Krylov space closed without a solution, so the matrix is singular. Remove redundant '
          + 'equations or use a direct solver, which names them.',
        {method: this.name, iterations: used},
      );
    }
    return used;
  }

  /** Modified Gram–Schmidt on basis[j + 1]; a second pass when the first took nearly all of it away. */
  private orthogonalize(j: number): number {
    const {n, m, basis, h} = this;
    const w = basis[j + 1];
    const column = j * (m + 1);
    const before = norm(w);
    for (let k = 0; k <= j; k++) h[column + k] = 0;
    let after = before;
    // Twice is enough (Kahan & Parlett): ½√2 is their bound for one pass to have been safe.
    for (let pass = 0, start = before; pass < 2; pass++, start = after) {
      for (let k = 0; k <= j; k++) {
        const v = basis[k];
        const product = dot(v, w);
        h[column + k] += product;
        for (let i = 0; i < n; i++) w[i] -= product * v[i];
      }
      after = norm(w);
      if (after > Math.SQRT1_2 * start) break;
    }
    // Only rounding is left: the space is invariant and the solution lies in it.
    if (after <= EPSILON * before) after = 0;
    if (after !== 0) for (let i = 0; i < n; i++) w[i] /= after;
    return after;
  }

  /** Applies the rotations so far to column j, and a new one that removes its last entry. */
  private rotate(j: number, last: number): void {
    const {h, g, cosines, sines, m} = this;
    const column = j * (m + 1);
    for (let k = 0; k < j; k++) {
      const upper = h[column + k];
      const lower = h[column + k + 1];
      h[column + k] = cosines[k] * upper + sines[k] * lower;
      h[column + k + 1] = cosines[k] * lower - sines[k] * upper;
    }
    const length = Math.hypot(h[column + j], last);
    cosines[j] = length === 0 ? 1 : h[column + j] / length;
    sines[j] = length === 0 ? 0 : last / length;
    h[column + j] = length;
    g[j + 1] = -sines[j] * g[j];
    g[j] *= cosines[j];
  }

  /** correction ← V y with H y = g by back substitution. */
  private combine(count: number, correction: Float64Array): void {
    const {n, m, basis, h, g} = this;
    correction.fill(0);
    for (let j = count - 1; j >= 0; j--) {
      const diagonal = h[j * (m + 1) + j];
      const y = diagonal === 0 ? 0 : g[j] / diagonal;
      for (let k = 0; k < j; k++) g[k] -= h[j * (m + 1) + k] * y;
      const v = basis[j];
      for (let i = 0; i < n; i++) correction[i] += y * v[i];
    }
  }
}
