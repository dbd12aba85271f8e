/**
 * Sobol sequences in Gray code order (Antonov & Saleev 1979) with the direction numbers of Joe and Kuo (2008). The
 * first 2ᵏ points fill the unit cube evenly in every dimension and pair of dimensions.
 */
import {OptionError} from '../lib/errors.js';
import {directions} from './sobol-directions.js';

/** Binary digits of a coordinate, and so the logarithm of how many points there are. */
const bits = 32;

export const sobolDimensions = directions.length + 1;

/** v₁ … v₃₂ of one dimension, each as its 32 binary digits behind the point. */
function directionNumbers(dimension: number): Uint32Array {
  const v = new Uint32Array(bits);
  if (dimension === 0) return v.map((_, i) => 2 ** (bits - 1 - i));
  const [s, a, ...m] = directions[dimension - 1].split(' ').map(Number);
  for (let i = 0; i < bits; i++) {
    if (i < s) {
      v[i] = m[i] << (bits - 1 - i);
      continue;
    }
    // Bratley & Fox (1988): vᵢ = a₁vᵢ₋₁ ⊕ … ⊕ aₛ₋₁vᵢ₋ₛ₊₁ ⊕ vᵢ₋ₛ ⊕ vᵢ₋ₛ/2ˢ
    v[i] = v[i - s] ^ (v[i - s] >>> s);
    for (let k = 1; k < s; k++) if (((a >> (s - 1 - k)) & 1) === 1) v[i] ^= v[i - k];
  }
  return v;
}

/**
 * Points of [0, 1)ᵈ, the first of which is 0.
 * @param skip how many of the sequence's first points are left out
 * @throws OptionError where more dimensions are asked for than there are direction numbers
 */
export function* sobolPoints(dimensions: number, count: number, skip = 0): Generator<Float64Array, void> {
  if (dimensions > sobolDimensions)
    throw new OptionError(
      'too-many-dimensions',
      `sobol supports at most ${sobolDimensions} dimensions, not ${dimensions}; latinHypercube has no limit.`,
    );
  if (count + skip > 2 ** bits)
    throw new OptionError('too-many-points', `sobol has only 2³² points, not ${count + skip}.`);
  const v = Array.from({length: dimensions}, (_, d) => directionNumbers(d));
  const x = new Uint32Array(dimensions);
  for (let index = 0; index < skip + count; index++) {
    if (index >= skip) yield Float64Array.from(x, digits => digits / 2 ** bits);
    // The lowest digit of the index that is 0 says which direction comes next.
    const zero = Math.clz32(~index & (index + 1)) ^ 31;
    for (let d = 0; d < dimensions; d++) x[d] ^= v[d][zero & 31];
  }
}
