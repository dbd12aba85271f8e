/** The metric of Hamiltonian dynamics, the inverse of its mass matrix: a covariance, by its diagonal or as a whole. */
import type {Random} from '../train/random.js';
import {OptionError} from '../../lib/errors.js';

/** M⁻¹. */
export interface Metric {
  /** M⁻¹ p. */
  velocity(p: Float64Array): Float64Array;
  /** p of N(0, M). */
  momentum(random: Random): Float64Array;
}

/** @param variance [n] */
export function diagonalMetric(variance: Float64Array): Metric {
  return {
    velocity: p => p.map((value, i) => value * variance[i]),
    momentum: random => variance.map(v => random.normal() / Math.sqrt(v)),
  };
}

/** @param covariance [n, n] row-major, positive definite */
export function denseMetric(covariance: Float64Array, n: number): Metric {
  const factor = choleskyFactor(covariance, n);
  return {
    velocity: p =>
      Float64Array.from({length: n}, (_, i) => p.reduce((sum, value, j) => sum + covariance[i * n + j] * value, 0)),
    // p = L⁻ᵀ z has the covariance (L Lᵀ)⁻¹ = M.
    momentum: random => {
      const p = Float64Array.from({length: n}, () => random.normal());
      for (let i = n - 1; i >= 0; i--) {
        for (let j = i + 1; j < n; j++) p[i] -= factor[j * n + i] * p[j];
        p[i] /= factor[i * n + i];
      }
      return p;
    },
  };
}

/**
 * L of A = L Lᵀ (Golub & Van Loan, algorithm 4.2.1).
 * @param a [n, n] row-major; its lower triangle is read
 * @throws OptionError 'not-positive-definite'
 */
export function choleskyFactor(a: Float64Array, n: number): Float64Array {
  const l = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = a[i * n + j];
      for (let k = 0; k < j; k++) sum -= l[i * n + k] * l[j * n + k];
      if (i !== j) l[i * n + j] = sum / l[j * n + j];
      else if (sum > 0) l[i * n + i] = Math.sqrt(sum);
      else
        throw new OptionError(
          'not-positive-definite',
          `The covariance is not positive definite: pivot ${i} is ${sum}.`,
          {
            pivot: i,
          },
        );
    }
  }
  return l;
}
