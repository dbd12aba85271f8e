/**
 * What is wrong with a large matrix that a factorization with static pivots refused, L D Lᵀ or the supernodal
 * LU: is it singular, and in which rows? The factor is that of A + E, with E the little that was added to pivots that
 * vanished; below, A stands for Aᵀ where A is not symmetric, since a left null vector names dependent rows.
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
 * Counted operations of L D Lᵀ up to which the scalar LU judges what the factors in supernodes refused. On square grids
 * of 60² and 100² unknowns whose pivots vanish, and on meshes of flow with zeros on the pressures' diagonal, that took
 * 200 to 750 nanoseconds for each of them, against less than one in supernodes: this limit is a quarter of a minute to
 * a minute.
 */
export const LU_IN_REACH = 1e8;

/** Rounds: each gains about eight digits where the matrix is singular. Without a null vector none helps. */
const ROUNDS = 6;

/** A v may be this share of |A| |v|, both in the largest row: the rounding of a row's sum, with room. */
const NULL = 64 * EPSILON;

/**
 * @param solve x ← (A + E)⁻¹ x, or (A + E)⁻ᵀ x where `transposed`
 * @param unknownScale size of an unknown of the null vector, and with `equationScale` S, T where T A S (or T Aᵀ S) has
 * entries near 1
 * @throws SingularMatrixError 'singular-matrix' with `rows`, or StiffgradError 'unstable-pivots' where none was found
 */
export function judgeByNullVector(
  pattern: Pattern,
  values: Float64Array,
  solve: (x: Float64Array) => void,
  unknownScale: Float64Array,
  equationScale: Float64Array,
  transposed: boolean,
): never {
  const {n} = pattern;
  const v = new Float64Array(n);
  randomize(v, 0);
  for (let i = 0; i < n; i++) v[i] *= unknownScale[i];
  const zero = new Float64Array(n);
  const residual = new Float64Array(n);
  const sizes = new Float64Array(n);
  for (let round = 0; round < ROUNDS; round++) {
    backwardError(pattern, values, v, zero, residual, sizes, transposed);
    if (largest(residual, equationScale) <= NULL * largest(sizes, equationScale))
      throwDependent(n, supportOf(v, unknownScale), pattern.symmetric || !transposed);
    solve(residual);
    for (let i = 0; i < n; i++) v[i] += residual[i];
    const size = relativeSize(v, unknownScale);
    if (!(size > 0 && size < Infinity)) break;
    for (let i = 0; i < n; i++) v[i] /= size;
  }
  throw new StiffgradError(
    'unstable-pivots',
    `The ${n} × ${n} matrix cannot be factored in a fixed order: pivots vanish, and refinement does not make up `
      + 'for them. Far from a solution that is common: use a smaller '
      + "step, or newton({onFailure: 'halve'}). An LU with full pivoting, sparseLu(), may still factor it, in "
      + 'minutes for a matrix of this size.',
    {},
  );
}

/** max |x_i| s_i */
function largest(x: Float64Array, scale: Float64Array): number {
  let most = 0;
  for (let i = 0; i < x.length; i++) most = Math.max(most, Math.abs(x[i]) * scale[i]);
  return most;
}

/** max |v_i| / s_i */
function relativeSize(v: Float64Array, scale: Float64Array): number {
  let most = 0;
  for (let i = 0; i < v.length; i++) most = Math.max(most, Math.abs(v[i]) / scale[i]);
  return most;
}

function supportOf(v: Float64Array, scale: Float64Array): number[] {
  const least = NULL_VECTOR_SHARE * relativeSize(v, scale);
  return [...v.keys()].filter(i => Math.abs(v[i]) / scale[i] > least);
}
