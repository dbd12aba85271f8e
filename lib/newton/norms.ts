/** Norms of vectors. */
import type {Vectors} from '../engine/vectors.js';

/** Sums of squares below this have lost digits to underflow: 2⁻¹⁰²² over ε. */
export const minReliableSquare = 1e-292;

/** ‖x‖₂, scaled where its square would overflow or underflow. NaN or Infinity where x is not finite. */
export function norm(vectors: Vectors, x: Float64Array): number {
  const sum = vectors.sumOfSquares(x);
  return sum > minReliableSquare && sum < Infinity ? Math.sqrt(sum) : scaledNorm(x);
}

/**
 * The s below which z − sΔ is z; of components near zero, which no s leaves as they are, as of the whole of z and Δ.
 */
export function minStepLength(z: Float64Array, delta: Float64Array, epsilon: number): number {
  let magnitude = 0;
  for (let i = 0; i < z.length; i++) magnitude = Math.max(magnitude, Math.abs(z[i]), Math.abs(delta[i]));
  let largest = 0;
  for (let i = 0; i < z.length; i++)
    if (delta[i] !== 0) largest = Math.max(largest, Math.abs(delta[i]) / Math.max(Math.abs(z[i]), epsilon * magnitude));
  return largest === 0 ? 1 : epsilon / largest;
}

function scaledNorm(x: Float64Array): number {
  let largest = 0;
  for (let i = 0; i < x.length; i++) {
    if (Number.isNaN(x[i])) return NaN;
    largest = Math.max(largest, Math.abs(x[i]));
  }
  if (largest === 0 || largest === Infinity) return largest;
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += (x[i] / largest) ** 2;
  return largest * Math.sqrt(sum);
}
