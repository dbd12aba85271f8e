/**
 * The residual of a computed solution and what it says: the componentwise backward error
 * max_i |b − A x|_i / (|A| |x| + |b|)_i of Oettli and Prager (1964), the smallest relative change of the
 * entries of A and b for which x is exact. It does not depend on how rows are scaled, so it can end an
 * iterative refinement (Arioli, Demmel & Duff 1989).
 */
import {StiffgradError} from '../errors.js';
import {EPSILON, type Pattern} from './solver.js';

/** Refinement ends here: a backward error of some ε, as after a solve with pivoting. */
export const REFINED = 8 * EPSILON;

/**
 * A right-hand side that stands for all must end here when pivots are small: far enough below what a solve may be left
 * with that no other one is refused later.
 */
export const PROBED = 8 * REFINED;

/** A step must halve the backward error at least, or rounding has the last word (Arioli et al. 1989). */
const MAX_REFINEMENTS = 10;

/** Largest backward error after refinement: above it the factor is of no use and the solve an error. */
export const ACCEPTABLE = 1e-10;

export const isInaccurate = (error: unknown): boolean =>
  error instanceof StiffgradError && error.code === 'inaccurate-solve';

/** @throws StiffgradError 'inaccurate-solve' */
export function throwInaccurate(method: string, error: number, iterations: number): never {
  throw new StiffgradError(
    'inaccurate-solve',
    `${method}: refinement ends at a backward error of ${error.toExponential(1)}. The matrix is nearly singular, `
      + 'or needs pivoting: use sparseLu().',
    {
      backwardError: error,
      iterations,
    },
  );
}

/** A factor whose solves are refined. */
export interface Substitution {
  /** One solve in place with the factor as it is. */
  substituteOnce(x: Float64Array, at: number, transposed: boolean): void;
}

/** The refinement itself, with its scratch: for all factors of an analysis. */
export class Refinement {
  readonly right: Float64Array;
  readonly solution: Float64Array;
  readonly residual: Float64Array;
  readonly sizes: Float64Array;
  /** Steps of the last one. */
  iterations = 0;

  constructor(private readonly pattern: Pattern) {
    const {n} = pattern;
    this.right = new Float64Array(n);
    this.solution = new Float64Array(n);
    this.residual = new Float64Array(n);
    this.sizes = new Float64Array(n);
  }

  /** x[at …] ← A⁻¹ x (or A⁻ᵀ). Returns the backward error that is left. */
  solve(factor: Substitution, values: Float64Array, x: Float64Array, at: number, transposed: boolean): number {
    const {right, solution} = this;
    for (let i = 0; i < right.length; i++) solution[i] = right[i] = x[at + i];
    const error = this.refine(factor, values, transposed);
    for (let i = 0; i < right.length; i++) x[at + i] = solution[i];
    return error <= ACCEPTABLE ? error : this.errorBesideZeros(values, transposed);
  }

  /**
   * The backward error where rows of nothing but rounding are compared with the whole solution: of an equation a x_j =
   * 0, as of a coordinate that is held, |a x_j| is the rounding itself, and its share of itself 1 (Arioli, Demmel &
   * Duff 1989, §2: rows with (|A| |x| + |b|)_i below 1000 n ε (‖A_i‖ ‖x‖ + |b_i|), to which |A_i| ‖x‖ is added). It
   * judges, and does not end the refinement.
   */
  private errorBesideZeros(values: Float64Array, transposed: boolean): number {
    const {
      right,
      solution,
      residual,
      sizes,
      pattern: {n, rowPointers, columns},
    } = this;
    let whole = 0;
    for (let i = 0; i < n; i++) whole = Math.max(whole, Math.abs(solution[i]));
    const largest = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      for (let p = rowPointers[i]; p < rowPointers[i + 1]; p++) {
        const row = transposed ? columns[p] : i;
        largest[row] = Math.max(largest[row], Math.abs(values[p]));
      }
    }
    let worst = 0;
    for (let i = 0; i < n; i++) {
      if (residual[i] === 0) continue;
      const beside = largest[i] * whole;
      const isRounding = sizes[i] <= 1000 * n * EPSILON * (beside + Math.abs(right[i]));
      worst = Math.max(worst, Math.abs(residual[i]) / (isRounding ? sizes[i] + beside : sizes[i]));
    }
    return worst;
  }

  /**
   * Solves for a right-hand side that is in no proper subspace one could name. Of a singular matrix the
   * refinement cannot converge then; of a regular one it converges when what was done to the pivots did no harm.
   */
  probe(factor: Substitution, values: Float64Array, transposed: boolean): number {
    const {right, solution} = this;
    for (let i = 0, seed = 1; i < right.length; i++) {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      solution[i] = right[i] = seed / 2 ** 31 - 1;
    }
    return this.refine(factor, values, transposed);
  }

  /** `solution` ← A⁻¹ `right`, in place of the right-hand side it holds. */
  private refine(factor: Substitution, values: Float64Array, transposed: boolean): number {
    const {right, solution, residual, sizes} = this;
    factor.substituteOnce(solution, 0, transposed);
    let error = backwardError(this.pattern, values, solution, right, residual, sizes, transposed);
    this.iterations = 0;
    while (error > REFINED && this.iterations < MAX_REFINEMENTS) {
      factor.substituteOnce(residual, 0, transposed);
      for (let i = 0; i < solution.length; i++) solution[i] += residual[i];
      this.iterations++;
      const next = backwardError(this.pattern, values, solution, right, residual, sizes, transposed);
      const stalled = !(next <= error / 2);
      error = next;
      if (stalled) break;
    }
    return error;
  }
}

/** residual ← b − A x (or Aᵀ); returns the backward error, NaN or ∞ when x is not finite. */
export function backwardError(
  pattern: Pattern,
  values: Float64Array,
  x: Float64Array,
  b: Float64Array,
  residual: Float64Array,
  sizes: Float64Array,
  transposed: boolean,
): number {
  const {n} = pattern;
  if (transposed) multiplyTransposed(pattern, values, x, b, residual, sizes);
  else multiply(pattern, values, x, b, residual, sizes);
  let worst = 0;
  for (let i = 0; i < n; i++) {
    const share = residual[i] === 0 ? 0 : Math.abs(residual[i]) / sizes[i];
    worst = Math.max(worst, share);
  }
  return worst;
}

function multiply(
  {n, rowPointers, columns}: Pattern,
  values: Float64Array,
  x: Float64Array,
  b: Float64Array,
  residual: Float64Array,
  sizes: Float64Array,
): void {
  for (let i = 0; i < n; i++) {
    let sum = b[i];
    let size = Math.abs(sum);
    const end = rowPointers[i + 1];
    for (let p = rowPointers[i]; p < end; p++) {
      const term = values[p] * x[columns[p]];
      sum -= term;
      size += Math.abs(term);
    }
    residual[i] = sum;
    sizes[i] = size;
  }
}

function multiplyTransposed(
  {n, rowPointers, columns}: Pattern,
  values: Float64Array,
  x: Float64Array,
  b: Float64Array,
  residual: Float64Array,
  sizes: Float64Array,
): void {
  for (let i = 0; i < n; i++) {
    residual[i] = b[i];
    sizes[i] = Math.abs(b[i]);
  }
  for (let i = 0; i < n; i++) {
    const factor = x[i];
    const end = rowPointers[i + 1];
    for (let p = rowPointers[i]; p < end; p++) {
      const term = values[p] * factor;
      residual[columns[p]] -= term;
      sizes[columns[p]] += Math.abs(term);
    }
  }
}
