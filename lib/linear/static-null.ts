/**
 * What is wrong with a large symmetric matrix that L D Lᵀ with static pivots refused: is it singular, and
 * in which rows? The factor is that of A + E, with E the little that was added to pivots that vanished.
 * If A v = 0 then v = (A + E)⁻¹E v, and v ← v − (A + E)⁻¹A v converges to such a vector from nearly any other: what
 * is regular in A shrinks by about √ε at a time, and what is null stays. So a few solves find what an LU,
 * which pivots off the diagonal and fills up, would take minutes to find.
 */
import {StiffgradError} from '../errors.js';
import {NULL_VECTOR_SHARE, randomize} from './null-space.js';
import {backwardError} from './refinement.js';
import {throwDependent} from './singularity.js';
import {EPSILON, type Pattern} from './solver.js';

/**
 * Counted operations of L D Lᵀ up to which an LU judges what that refused. On square grids of 60² and 100²
 * unknowns whose pivots vanish the LU took 200 to 600 nanoseconds for each of them, against 10 to 30 of L D Lᵀ: this
 * limit is a quarter of a minute to a minute.
 */
export const LU_IN_REACH = 1e8;

/** Rounds: each gains about eight digits where the matrix is singular. Without a null vector none helps. */
const ROUNDS = 6;

/** A v may be this share of |A| |v|, both in the largest row: the rounding of a row's sum, with room. */
const NULL = 64 * EPSILON;

/**
 * @param solve x ← (A + E)⁻¹ x
 * @param unit size of each unknown's null vector that counts as one: 1/s where S A S has entries near 1
 * @throws SingularMatrixError 'singular-matrix' with `rows`, or StiffgradError 'unstable-pivots' where none was found
 */
export function judgeByNullVector(pattern: Pattern, values: Float64Array, solve: (x: Float64Array) => void, unit: Float64Array): never {
  const {n} = pattern;
  const v = new Float64Array(n);
  randomize(v, 0);
  for (let i = 0; i < n; i++) v[i] /= unit[i];
  const zero = new Float64Array(n);
  const residual = new Float64Array(n);
  const sizes = new Float64Array(n);
  for (let round = 0; round < ROUNDS; round++) {
    backwardError(pattern, values, v, zero, residual, sizes, false);
    if (largest(residual, unit, true) <= NULL * largest(sizes, unit, true)) throwDependent(n, supportOf(v, unit));
    solve(residual);
    for (let i = 0; i < n; i++) v[i] += residual[i];
    const size = largest(v, unit, false);
    if (!(size > 0 && size < Infinity)) break;
    for (let i = 0; i < n; i++) v[i] /= size;
  }
  throw new StiffgradError(
    'unstable-pivots',
    `The symmetric ${n} × ${n} matrix is too far from what LDLᵀ can take: pivots vanish, and refinement does not make up for them. Far from a solution that is common: take a smaller step, ` +
      'or newton({onFailure: \'halve\'}). An LU may still take it, in minutes for a matrix of this size: ask for that by sparseLu().',
    {},
  );
}

/** max |x_i| in units of the unknowns, or of the rows, which are their reciprocals. */
function largest(x: Float64Array, unit: Float64Array, ofRows: boolean): number {
  let most = 0;
  for (let i = 0; i < x.length; i++) most = Math.max(most, ofRows ? Math.abs(x[i]) / unit[i] : Math.abs(x[i]) * unit[i]);
  return most;
}

function supportOf(v: Float64Array, unit: Float64Array): number[] {
  const least = NULL_VECTOR_SHARE * largest(v, unit, false);
  return [...v.keys()].filter(i => Math.abs(v[i]) * unit[i] > least);
}
