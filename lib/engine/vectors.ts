/**
 * What Newton's iteration and the adjoint do with whole vectors between two runs of a program: norms,
 * comparisons with a unit, corrections. An executable has its own (compiled, on its memory); here they are
 * as plain loops, for executables without, and for vectors that lie anywhere.
 */
export interface Vectors {
  sumOfSquares(x: Float64Array): number;
  /** max |xᵢ|, NaN where one is: finite exactly when all are. */
  largest(x: Float64Array): number;
  /** max |xᵢ|/unitᵢ; 0/0 is 0, ∞ where a number is not one. */
  largestRatio(x: Float64Array, unit: Float64Array): number;
  /** weightsᵢ = absolute + relative·max(|zᵢ|, |baseᵢ|); returns the largest |xᵢ|/weightsᵢ, as above. */
  computeWeights(
    weights: Float64Array,
    z: Float64Array,
    base: Float64Array,
    x: Float64Array,
    absolute: number,
    relative: number,
  ): number;
  /** base ← z, and z ← z − delta. */
  saveAndStep(z: Float64Array, base: Float64Array, delta: Float64Array): void;
  /** z = base − s·delta; base may be z. */
  axpy(z: Float64Array, base: Float64Array, delta: Float64Array, s: number): void;
  /** to ← from */
  copy(to: Float64Array, from: Float64Array): void;
}

/** The operations on vectors in plain loops. */
export const plainVectors: Vectors = {
  sumOfSquares(x) {
    let sum = 0;
    for (let i = 0; i < x.length; i++) sum += x[i] * x[i];
    return sum;
  },
  largest(x) {
    let most = 0;
    for (let i = 0; i < x.length; i++) most = Math.max(most, Math.abs(x[i]));
    return most;
  },
  largestRatio(x, unit) {
    let worst = 0;
    for (let i = 0; i < x.length; i++) {
      const size = Math.abs(x[i]);
      if (size === 0) continue;
      const ratio = size / unit[i];
      if (ratio > worst) worst = ratio;
      else if (Number.isNaN(ratio)) return Infinity;
    }
    return worst;
  },
  computeWeights(weights, z, base, x, absolute, relative) {
    for (let i = 0; i < weights.length; i++)
      weights[i] = absolute + relative * Math.max(Math.abs(z[i]), Math.abs(base[i]));
    return this.largestRatio(x, weights);
  },
  saveAndStep(z, base, delta) {
    for (let i = 0; i < z.length; i++) {
      base[i] = z[i];
      z[i] -= delta[i];
    }
  },
  axpy(z, base, delta, s) {
    for (let i = 0; i < z.length; i++) z[i] = base[i] - s * delta[i];
  },
  copy(to, from) {
    for (let i = 0; i < to.length; i++) to[i] = from[i];
  },
};
