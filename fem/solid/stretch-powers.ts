/**
 * Sums of powers of isochoric principal stretches, λ₁^α + λ₂^α + λ₃^α, from the invariants of C = FᵀF with det C = 1.
 * Eigenvalues of C have no derivatives where they are equal, as at rest, but such sums have: with β = α/2 and the
 * characteristic polynomial P(z) = z³ − I₁ z² + I₂ z − 1 they are
 *
 *     S = 1/(2πi) ∮ z^β P'/P dz,   ∂S/∂I₁ = β/(2πi) ∮ z^(β+1)/P dz,   ∂S/∂I₂ = −β/(2πi) ∮ z^β/P dz,
 *
 * and all further derivatives are of the form ∮ z^β (ln z)^l/P^r dz, without differences of eigenvalues. The contour is
 * an ellipse in the plane of ln z, where the trapezoidal rule converges as a geometric series (Trefethen & Weideman,
 * SIAM Review 56, 2014).
 */
import * as tf from '@tensorflow/tfjs';
import {definePrimitive} from '../../lib/index.js';

/** A function of I₁, I₂ and β, element by element. */
type OfInvariants = (I1: tf.Tensor, I2: tf.Tensor, beta: tf.Tensor) => tf.Tensor;

/** The largest root of z³ − I₁ z² + I₂ z − 1, of which all are positive. */
function largestRoot(I1: number, I2: number): number {
  const m = I1 / 3;
  const r = Math.sqrt(Math.max(0, m * m - I2 / 3));
  const q = m * m * m - (m * I2) / 2 + 0.5;
  const cosine = r > 0 ? Math.max(-1, Math.min(1, q / (r * r * r))) : 1;
  return m + 2 * r * Math.cos(Math.acos(cosine) / 3);
}

/** Half of the least distance between the foci: an ellipse around equal roots is a circle. */
const leastFocus = 0.02;
/** The height of the ellipse in the plane of ln z; images of the roots lie 2π above. */
const height = 1.5;
/** −ln ε, to which the error is reduced. */
const digits = 37;
/** Widest strip that the convergence is judged by: beyond it z^β grows faster than the error falls. */
const widestStrip = 1.1;

/**
 * 1/(2πi) ∮ z^β (ln z)^l / P^r dz around the roots of P; for r = 0 with P'/P in the place of 1/P^r. The ellipse has the
 * least and the largest ln of a root for foci, and is lower for large powers, so that z^β on it is e³ times its value
 * at the roots at most. The number of points follows from the strip without poles around it.
 */
function contourIntegral(r: number, l: number, I1: number, I2: number, beta: number): number {
  // The least root is one by the largest of C⁻¹, whose invariants are I₂ and I₁.
  const [high, low] = [Math.log(largestRoot(I1, I2)), -Math.log(largestRoot(I2, I1))];
  const middle = (high + low) / 2;
  const f = Math.max((high - low) / 2, leastFocus);
  const eta = Math.asinh(height / Math.max(1, Math.abs(beta) / 2) / f);
  const strip = Math.min(eta, Math.asinh((2 * Math.PI) / f) - eta, widestStrip);
  const growth = Math.abs(beta) * f * (Math.cosh(eta + strip) - Math.cosh(eta));
  /** Points in the upper half plane; those in the lower are their conjugates. */
  const points = Math.ceil((digits + growth) / strip / 2);
  if (!Number.isFinite(points)) return NaN;
  const [a, b] = [f * Math.cosh(eta), f * Math.sinh(eta)];
  let sum = 0;
  for (let j = 0; j < points; j++) {
    const theta = ((j + 0.5) * Math.PI) / points;
    const [x, y] = [middle + a * Math.cos(theta), b * Math.sin(theta)];
    const z = polar(x, y);
    // z dw/dθ / i of z = e^w
    let value = times(z, [b * Math.cos(theta), a * Math.sin(theta)]);
    value = times(value, polar(beta * x, beta * y));
    for (let k = 0; k < l; k++) value = times(value, [x, y]);
    const square = times(z, z);
    const cube = times(square, z);
    const P: Complex = [cube[0] - I1 * square[0] + I2 * z[0] - 1, cube[1] - I1 * square[1] + I2 * z[1]];
    if (r === 0) value = times(value, [3 * square[0] - 2 * I1 * z[0] + I2, 3 * square[1] - 2 * I1 * z[1]]);
    const size = P[0] * P[0] + P[1] * P[1];
    for (let k = 0; k < Math.max(r, 1); k++) value = times(value, [P[0] / size, -P[1] / size]);
    sum += value[0];
  }
  return sum / points;
}

type Complex = readonly [real: number, imaginary: number];
const times = ([a, b]: Complex, [c, d]: Complex): Complex => [a * c - b * d, a * d + b * c];
const polar = (x: number, y: number): Complex => [Math.exp(x) * Math.cos(y), Math.exp(x) * Math.sin(y)];

const known = new Map<string, OfInvariants>();

/** The integral with its derivatives, which are such integrals. */
function integral(r: number, l: number): OfInvariants {
  const key = `${r} ${l}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  /** The integral of β + by. */
  const other =
    (R: number, L: number, by: number): OfInvariants =>
    (I1, I2, beta) =>
      integral(R, L)(I1, I2, tf.add(beta, by));
  const scaled =
    (by: tf.Tensor | number, f: OfInvariants): OfInvariants =>
    (...at) =>
      tf.mul(by, f(...at));
  /** ∮ (z^β (ln z)^l)' z^power / P, for r = 0. */
  const ofSlope =
    (power: number): OfInvariants =>
    (I1, I2, beta) => {
      const first = scaled(beta, other(1, l, power - 1))(I1, I2, beta);
      return l === 0 ? first : tf.add(first, scaled(l, other(1, l - 1, power - 1))(I1, I2, beta));
    };
  const [byFirst, bySecond] =
    r === 0 ? [ofSlope(2), scaled(-1, ofSlope(1))] : [scaled(r, other(r + 1, l, 2)), scaled(-r, other(r + 1, l, 1))];
  const primitive = definePrimitive({
    name: `stretchPowers(${key})`,
    value: (I1, I2, beta) => contourIntegral(r, l, I1, I2, beta),
    derivatives: [byFirst, bySecond, other(r, l + 1, 0)].map(
      f =>
        ([I1, I2, beta]: readonly tf.Tensor[]) =>
          f(I1, I2, beta),
    ),
  });
  const own: OfInvariants = (I1, I2, beta) => primitive(I1, I2, beta);
  known.set(key, own);
  return own;
}

/** λ₁^α + λ₂^α + λ₃^α of stretches with λ₁λ₂λ₃ = 1, from the invariants I₁ and I₂ of FᵀF; shapes broadcast. */
export const stretchPowers = (I1: tf.Tensor, I2: tf.Tensor, alpha: tf.Tensor): tf.Tensor =>
  integral(0, 0)(I1, I2, tf.mul(0.5, alpha));
