/**
 * Where the null vectors of a singular matrix live, of which rows (left) and of which columns (right).
 * Complete pivoting finds the rank, P A Q = L [U₁ U₂; 0 0], and a generic left null vector is then
 * Pᵀ L⁻ᵀ (0, z) with random z, a right one Q (−U₁⁻¹U₂z, z): their supports are the union of all
 * dependencies at once. For error messages: it takes n³ operations on a dense copy, once, before a throw.
 */

import {eliminate} from './rank.js';
import {EPSILON} from './solver.js';

/** Larger matrices would take seconds; see `singularity.ts` for what is done with those. */
export const DENSE_LIMIT = 600;

/**
 * A row belongs to a dependency when its share of the null vector is above this. The vector's own error
 * is ε times the condition of the rest of the matrix: 1e-6 is safe up to a condition of 10⁹.
 */
export const NULL_VECTOR_SHARE = 1e-6;

/** `a` is n × n, row-major, scaled to largest entries near 1, numerically singular; it is destroyed. */
export function nullSpaceSupports(a: Float64Array, n: number): {rows: number[]; columns: number[]} {
  const rowOf = Array.from({length: n}, (_, i) => i);
  const columnOf = [...rowOf];
  const largest = a.reduce((most, entry) => Math.max(most, Math.abs(entry)), 0);
  // Zeros are left as a few n ε, growth being small under complete pivoting. The rank is n − 1 at most.
  const rank = eliminate(a, n, n, rowOf, columnOf, 8 * n * EPSILON * largest, n - 1);
  const left = new Float64Array(n);
  const right = new Float64Array(n);
  randomize(left, rank);
  randomize(right, rank);
  for (let i = n - 1; i > 0; i--) {
    // Multipliers exist for the first `rank` columns only.
    for (let j = 0; j < Math.min(i, rank); j++) left[j] -= a[i * n + j] * left[i];
  }
  for (let i = rank - 1; i >= 0; i--) {
    let sum = 0;
    for (let j = i + 1; j < n; j++) sum -= a[i * n + j] * right[j];
    right[i] = sum / a[i * n + i];
  }
  return {rows: support(left, rowOf), columns: support(right, columnOf)};
}

/** x[from …] gets numbers in [0.5, 1.5): Numerical Recipes' linear congruence, the same at every call. */
export function randomize(x: Float64Array, from: number): void {
  for (let i = from, seed = 1; i < x.length; i++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    x[i] = 0.5 + seed / 2 ** 32;
  }
}

function support(x: Float64Array, original: readonly number[]): number[] {
  const largest = x.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const inside = [...original.keys()].filter(k => Math.abs(x[k]) > NULL_VECTOR_SHARE * largest);
  return inside.map(k => original[k]).sort((a, b) => a - b);
}
