/**
 * Inertia that stays physical whatever its ten parameters are: the log-Cholesky factor of the pseudo-inertia (Rucker &
 * Wensing, IEEE Robotics and Automation Letters 7, 2022). The pseudo-inertia [Σ h; hᵀ m] of a body with density ρ ≥ 0
 * is ∫ρ (x, 1)(x, 1)ᵀ, positive definite exactly where mass and principal moments are those of such a body, the
 * triangle inequality among them; it is written UUᵀ with U upper triangular.
 */
import * as tf from '@tensorflow/tfjs';
import type {Params} from '../../lib/index.js';
import {OptionError, ShapeError} from '../../lib/index.js';
import {optional, positive, readOptions, typed, type Options} from '../../lib/checks.js';
import type {Coefficient} from '../coefficient.js';
import {coefficient} from '../coefficient.js';
import {vector} from './numbers.js';

/** Mass and inertia about the centre as functions of params, for a body of `multibody`, and where the centre is. */
export interface PhysicalInertia {
  /** []. */
  readonly mass: (params: Params) => tf.Tensor;
  /** [3, 3], about the centre of mass. */
  readonly inertia: (params: Params) => tf.Tensor;
  /** [3], of mass, from the point that the parameters belong to. */
  readonly centre: (params: Params) => tf.Tensor;
}

/**
 * Moments may break the triangle inequality, and entries symmetry, by this share: thin plates are on the border, and
 * files have some six digits.
 */
const rounding = 1e-6;

/**
 * Mass and inertia of parameters that may have any values.
 * @param theta [10]: α, d₁, d₂, d₃, s₁₂, s₂₃, s₁₃, t₁, t₂, t₃ with
 *   U = e^α [e^d₁ s₁₂ s₁₃ t₁; 0 e^d₂ s₂₃ t₂; 0 0 e^d₃ t₃; 0 0 0 1].
 *   For a centre that is known, as a body of `multibody` has it, t is zero: leave it out and give [7]
 * @throws OptionError 'bad-coefficient'; ShapeError 'inertia-shape' when traced
 */
export function logCholeskyInertia(theta: Coefficient): PhysicalInertia {
  const read = coefficient(theta, 'logCholeskyInertia: theta');
  const parts = (params: Params): tf.Tensor[] => {
    const value = read(params);
    if (value.size !== 10 && value.size !== 7)
      throw new ShapeError(
        'inertia-shape',
        `logCholeskyInertia: theta has shape [${value.shape.join(', ')}]; give ten numbers, or seven about the centre.`,
        {theta: value.shape},
      );
    const numbers = tf.unstack(tf.reshape(value, [value.size]));
    const none = tf.zerosLike(numbers[0]);
    return numbers.length === 10 ? numbers : [...numbers, none, none, none];
  };
  /** e^2α. */
  const mass = ([alpha]: tf.Tensor[]): tf.Tensor => tf.exp(tf.mul(2, alpha));
  return {
    mass: params => mass(parts(params)),
    centre: params => tf.stack(parts(params).slice(7)),
    inertia: params => {
      const theta10 = parts(params);
      const [, d1, d2, d3, s12, s23, s13] = theta10;
      const [e1, e2, e3] = [d1, d2, d3].map(d => tf.exp(d));
      const m = mass(theta10);
      // About the centre Σ is e^2α times the product of the upper left of U with its transpose: t belongs to the
      // centre.
      const xx = tf.addN([tf.square(e1), tf.square(s12), tf.square(s13)]);
      const yy = tf.add(tf.square(e2), tf.square(s23));
      const zz = tf.square(e3);
      const xy = tf.add(tf.mul(s12, e2), tf.mul(s13, s23));
      const [xz, yz] = [tf.mul(s13, e3), tf.mul(s23, e3)];
      const rows = [
        [tf.add(yy, zz), tf.neg(xy), tf.neg(xz)],
        [tf.neg(xy), tf.add(xx, zz), tf.neg(yz)],
        [tf.neg(xz), tf.neg(yz), tf.add(xx, yy)],
      ];
      return tf.mul(m, tf.stack(rows.map(row => tf.stack(row))));
    },
  };
}

const bodyOptions = {
  mass: positive,
  /** About the centre of mass, [Jx, Jy, Jz] or 3 × 3. */
  inertia: typed<readonly number[] | readonly (readonly number[])[]>(),
  /** From the point that the parameters belong to; default there. */
  centre: optional(vector, [0, 0, 0]),
};

/**
 * The parameters of a known body, for a start: ten numbers.
 * @throws OptionError 'bad-multibody' where no body has this inertia, or it is not symmetric
 */
export function logCholeskyParameters(spec: Options<typeof bodyOptions>): Float64Array {
  const {mass, inertia, centre} = readOptions(spec, bodyOptions, 'logCholeskyParameters', 'bad-multibody');
  const J = (
    typeof inertia[0] === 'number' ? inertia.map((x, i) => inertia.map((_, j) => (i === j ? x : 0))) : inertia
  ) as readonly (readonly number[])[];
  const size = Math.max(...J.flat().map(Math.abs));
  if (J.some((row, i) => row.some((x, j) => Math.abs(x - J[j][i]) > rounding * size)))
    throw new OptionError('bad-multibody', 'logCholeskyParameters: the inertia is not symmetric.');
  const half = (J[0][0] + J[1][1] + J[2][2]) / 2;
  const sigma = (i: number, j: number): number => ((i === j ? half : 0) - J[i][j]) / mass;
  // UUᵀ of Σ/m from its last row upwards.
  const e3 = Math.sqrt(sigma(2, 2));
  const [s23, s13] = [sigma(1, 2) / e3, sigma(0, 2) / e3];
  const e2 = Math.sqrt(sigma(1, 1) - s23 ** 2);
  const s12 = (sigma(0, 1) - s13 * s23) / e2;
  const e1 = Math.sqrt(sigma(0, 0) - s12 ** 2 - s13 ** 2);
  if (!(mass > 0 && e1 > 0 && e2 > 0 && e3 > 0))
    throw new OptionError(
      'bad-multibody',
      'logCholeskyParameters: no body has this mass and inertia: each principal moment must be less than the sum of '
        + 'the other two.',
    );
  return Float64Array.of(Math.log(mass) / 2, Math.log(e1), Math.log(e2), Math.log(e3), s12, s23, s13, ...centre);
}

/** The moments of a symmetric matrix about its principal axes, ascending (Smith, Commun. ACM 4, 1961). */
export function principalMoments(J: readonly (readonly number[])[]): readonly [number, number, number] {
  const mean = (J[0][0] + J[1][1] + J[2][2]) / 3;
  const rest = J.map((row, i) => row.map((x, j) => (i === j ? x - mean : x)));
  const size = Math.sqrt(rest.flat().reduce((sum, x) => sum + x * x, 0) / 6);
  if (size === 0) return [mean, mean, mean];
  const [[a, b, c], [, d, e], [, , f]] = rest;
  const half = (a * (d * f - e * e) - b * (b * f - c * e) + c * (b * e - c * d)) / (2 * size ** 3);
  const angle = Math.acos(Math.max(-1, Math.min(1, half))) / 3;
  const [greatest, least] = [0, (2 * Math.PI) / 3].map(more => mean + 2 * size * Math.cos(angle + more));
  return [least, 3 * mean - greatest - least, greatest];
}

/**
 * Why no body, not even a point, a rod or a plate, can have a symmetric matrix as its inertia; undefined where one can.
 */
export function inertiaFault(J: readonly (readonly number[])[]): string | undefined {
  const moments = principalMoments(J);
  const [least, middle, greatest] = moments;
  const size = Math.max(Math.abs(least), Math.abs(greatest));
  const principal = `its principal moments are ${moments.map(x => Number(x.toPrecision(6))).join(', ')}`;
  if (!moments.every(Number.isFinite)) return 'it is not finite';
  if (least < -rounding * size) return `no body has this inertia: ${principal}, and none can be negative`;
  if (greatest > least + middle + rounding * size)
    return `no body has this inertia: ${principal}, and none can be more than the other two together`;
  return undefined;
}
