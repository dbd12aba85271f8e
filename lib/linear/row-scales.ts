/**
 * Implicit equilibration: pivots are compared by size times the scale of their row, so that equations in
 * different units have equal chances (Numerical Recipes §2.3). The matrix itself is not scaled.
 */
import type {Pattern} from './solver.js';

/** scale_i = 1 / max_j |a_ij|, 0 for a row of zeros; false when something is not finite. */
export function rowScales({n, rowPointers}: Pattern, values: Float64Array, scale: Float64Array): boolean {
  let check = 0;
  for (let i = 0; i < n; i++) {
    let largest = 0;
    const end = rowPointers[i + 1];
    for (let p = rowPointers[i]; p < end; p++) {
      const size = Math.abs(values[p]);
      if (size > largest) largest = size;
      check += size * 0;
    }
    scale[i] = largest > 0 ? 1 / largest : 0;
  }
  return check === 0;
}
