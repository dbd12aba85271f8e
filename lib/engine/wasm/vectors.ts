/** Vector arithmetic on one memory, by compiled kernels: every vector given must lie there. */
import type {Vectors} from '../vectors.js';
import type {VectorKernels} from './kernels.js';

export function memoryVectors({
  sumOfSquares,
  largest,
  largestRatio,
  computeWeights,
  saveAndStep,
  axpy,
  copy,
}: VectorKernels): Vectors {
  return {
    sumOfSquares: x => sumOfSquares(x.byteOffset, x.length),
    largest: x => largest(x.byteOffset, x.length),
    largestRatio: (x, unit) => largestRatio(x.byteOffset, unit.byteOffset, x.length),
    computeWeights: (weights, z, base, x, absolute, relative) =>
      computeWeights(
        weights.byteOffset,
        z.byteOffset,
        base.byteOffset,
        x.byteOffset,
        weights.length,
        absolute,
        relative,
      ),
    saveAndStep: (z, base, delta) => saveAndStep(z.byteOffset, base.byteOffset, delta.byteOffset, z.length),
    axpy: (z, base, delta, s) => axpy(z.byteOffset, base.byteOffset, delta.byteOffset, z.length, s),
    copy: (to, from) => copy(to.byteOffset, from.byteOffset, to.length),
  };
}
