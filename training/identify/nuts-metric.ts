/** The metric of Hamiltonian dynamics, the inverse of its mass matrix: a covariance, by its diagonal or as a whole. */
import type {Random} from '../train/random.js';
import {choleskyFactor} from './cholesky-factor.js';

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
