/**
 * The constraint preconditioner P = [D −Gᵀ; G C] of a constrained step (Keller, Gould & Wathen 2000,
 * "Constraint preconditioning for indefinite linear systems"): the Newton matrix with all that couples
 * different coordinates left out of A, and the multipliers' rows and columns complete. So P⁻¹A has the
 * eigenvalue 1 twice for every constraint, and iterates meet the linearized constraints exactly. D is
 * eliminated first by the sparse factorization, which is the factor of the Schur complement G D⁻¹ Gᵀ.
 * Unknowns of one coordinate (position and velocity, two accelerations) stay coupled with one another.
 */
import type {Coupling} from './operator.js';
import type {Analysis, Factor, LinearSolver, Pattern} from './solver.js';

/** Rows of one group are one coordinate; −1 is a multiplier. */
export type CoupledGroups = Int32Array;

/** @returns the pattern of P, and the places in the whole matrix's values that P keeps */
function kept(pattern: Pattern, groups: CoupledGroups): {own: Pattern; entries: Int32Array} {
  const {n, rowPointers, columns} = pattern;
  const pointers = new Int32Array(n + 1);
  const entries: number[] = [];
  for (let row = 0; row < n; row++) {
    for (let p = rowPointers[row]; p < rowPointers[row + 1]; p++) {
      const column = columns[p];
      if (groups[row] === -1 || groups[column] === -1 || groups[row] === groups[column]) entries.push(p);
    }
    pointers[row + 1] = entries.length;
  }
  const places = Int32Array.from(entries);
  return {
    entries: places,
    own: {
      n,
      rowPointers: pointers,
      columns: places.map(p => columns[p]),
      symmetric: pattern.symmetric,
      dense: places.length === n * n,
    },
  };
}

/**
 * @param evaluate leaves the whole matrix's values in `values`, in the pattern's order
 * @param direct what P is factored by
 */
export function constraintCoupling(
  pattern: Pattern,
  groups: CoupledGroups,
  values: Float64Array,
  evaluate: () => void,
  direct: LinearSolver,
): Coupling {
  const {own, entries} = kept(pattern, groups);
  const numbers = new Float64Array(entries.length);
  let analysis: Analysis | undefined;
  let factor: Factor | undefined;
  return {
    refresh() {
      evaluate();
      for (let i = 0; i < entries.length; i++) numbers[i] = values[entries[i]];
      factor = (analysis ??= direct.analyze(own)).factor(numbers);
    },
    solve(r, z, transposed) {
      if (transposed) factor?.solveTransposed(r, z);
      else factor?.solve(r, z);
    },
  };
}
