/** The normal distribution's quantiles, and those of samples. */

/**
 * Φ⁻¹, to 1.2e-9 relative (Acklam's rational approximation, 2003): −∞ and ∞ at 0 and 1.
 */
export function normalQuantile(p: number): number {
  if (p <= 0) return -Infinity;
  if (p >= 1) return Infinity;
  if (p < CENTRAL) return tail(Math.sqrt(-2 * Math.log(p)));
  if (p > 1 - CENTRAL) return -tail(Math.sqrt(-2 * Math.log1p(-p)));
  const q = p - 0.5;
  const r = q * q;
  return (q * polynomial(A, r)) / polynomial(B, r);
}

const CENTRAL = 0.02425;
const A = [
  -3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2, 1.38357751867269e2, -3.066479806614716e1,
  2.506628277459239,
];
const B = [
  -5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1, 1,
];
const C = [
  -7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838, -2.549732539343734, 4.374664141464968,
  2.938163982698783,
];
const D = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1];

const polynomial = (coefficients: readonly number[], x: number): number =>
  coefficients.reduce((value, coefficient) => value * x + coefficient, 0);
const tail = (q: number): number => polynomial(C, q) / polynomial(D, q);

/** Quantile p of ascending values, between neighbours linearly (Hyndman & Fan 1996, type 7). */
export function quantile(sorted: Float64Array, p: number): number {
  const place = p * (sorted.length - 1);
  const below = Math.floor(place);
  const above = Math.min(below + 1, sorted.length - 1);
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}
