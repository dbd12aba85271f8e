/**
 * A normal variable that is known to within a step: −ln of the probability P that it lies between l = z − a and u = z +
 * a, in units of its deviation, and its derivatives by z and by the deviation. Tails by Mills' ratio (1 − Φ)/φ, so that
 * nothing is lost to cancellation.
 */

/** From here on the continued fraction takes fewer terms than the series loses digits. */
const FAR = 2;

/** More than it takes at FAR: 60 terms. */
const TERMS = 400;

/** (1 − Φ(x))/φ(x) for x ≥ 0: Marsaglia's series (2004), or Laplace's continued fraction, from its end. */
export function millsRatio(x: number): number {
  if (x < FAR) {
    let [term, sum] = [x, x];
    for (let k = 3; Math.abs(term) > 1e-17 * sum; k += 2) sum += term *= (x * x) / k;
    return Math.sqrt(Math.PI / 2) * Math.exp((x * x) / 2) - sum;
  }
  let tail = x;
  for (let k = Math.ceil(TERMS / x); k > 0; k--) tail = x + k / tail;
  return 1 / tail;
}

/** A step of so few deviations is none: what it changes, a²/6, and what differences of Φ lose, ε/2a, are both 1e-11. */
const SMOOTH = 1e-5;

const ROOT = Math.sqrt(2 * Math.PI);

/** ρ is P's −ln, less that of z = 0; ψ and ρ″ by z; the tension is 1 + (l φ(l) − u φ(u))/P. */
export function roundedLoss(
  z: number,
  a: number,
): {readonly rho: number; readonly psi: number; readonly slope: number; readonly tension: number} {
  if (a < SMOOTH) return {rho: (z * z) / 2, psi: z, slope: 1, tension: z * z};
  const [l, u] = [Math.abs(z) - a, Math.abs(z) + a];
  // All in units of φ(l), or of φ(0) where the interval has 0 in it.
  const inside = l < 0;
  const [lower, upper] = inside
    ? [Math.exp((-l * l) / 2), Math.exp((-u * u) / 2)]
    : [1, Math.exp(-2 * Math.abs(z) * a)]; // u² − l² = 4 |z| a
  const mass = inside ? ROOT - millsRatio(-l) * lower - millsRatio(u) * upper : millsRatio(l) - millsRatio(u) * upper;
  const psi = (lower - upper) / mass;
  const turn = (l * lower - u * upper) / mass;
  const rho = -Math.log(mass) + (inside ? 0 : (l * l) / 2);
  return {
    rho: Math.max(rho + Math.log(central(a)), 0),
    psi: Math.sign(z) * psi,
    slope: psi * psi - turn,
    tension: 1 + turn,
  };
}

/** −ln of P √(2π)/(2a) at z = 0, which falls to 0 with a as for a density. */
export const roundedGround = (a: number): number => (a < SMOOTH ? 0 : -Math.log(central(a) / (2 * a)));

/** √(2π) P at z = 0. */
const central = (a: number): number => ROOT - 2 * millsRatio(a) * Math.exp((-a * a) / 2);
