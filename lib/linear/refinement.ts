/**
 * The residual of a computed solution and what it says: the componentwise backward error
 * max_i |b − A x|_i / (|A| |x| + |b|)_i of Oettli and Prager (1964), the smallest relative change of the
 * entries of A and b for which x is exact. It does not depend on how rows are scaled, so it can end an
 * iterative refinement (Arioli, Demmel & Duff 1989).
 */
import type {Pattern} from './solver.js';

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

function multiply({n, rowPointers, columns}: Pattern, values: Float64Array, x: Float64Array, b: Float64Array, residual: Float64Array, sizes: Float64Array): void {
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

function multiplyTransposed({n, rowPointers, columns}: Pattern, values: Float64Array, x: Float64Array, b: Float64Array, residual: Float64Array, sizes: Float64Array): void {
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
