/**
 * How a Gaussian goes through a nonlinear function. The extended Kalman filter takes the function's derivative at the
 * mean (Jazwinski 1970); the unscented one a set of points with the Gaussian's mean and covariance (Julier & Uhlmann,
 * Unscented filtering and nonlinear estimation, Proceedings of the IEEE 92, 2004). Both are a linear function plus a
 * remainder without correlation to its argument (Lefebvre, Bruyninckx & De Schutter 2002), which is what is returned.
 */
import {OptionError} from '../../lib/index.js';
import {nonNegative, optional, positive, readOptions, type Options} from '../../lib/checks.js';
import type {RowMatrix} from './roots.js';

/** A function of a state, in double precision. */
export interface StateFunction {
  value(x: Float64Array): Float64Array;
  /** The value, and the derivatives along the directions [count, size of x], [count, size of the value]. */
  jvp(x: Float64Array, directions: RowMatrix): {readonly value: Float64Array; readonly pushed: Float64Array};
}

/** The image of a Gaussian. */
export interface Image {
  readonly mean: Float64Array;
  /** The image of each row of the argument's root under the linear part, [rows, size of the value]. */
  readonly pushed: Float64Array;
  /** Rows of a root of the part of the covariance that the linear part does not give. */
  readonly remainder: Float64Array;
}

/** Made by `extended` or `unscented`. */
export interface GaussianTransform {
  readonly name: string;
  /** @param root rows R with P = RᵀR, [n, n] */
  image(f: StateFunction, mean: Float64Array, root: RowMatrix): Image;
}

/** The extended Kalman filter: the exact tangents of the simulated step and of the observation at the mean. */
export function extended(): GaussianTransform {
  return {
    name: 'extended',
    image(f, mean, root) {
      const {value, pushed} = f.jvp(mean, root);
      return {mean: value, pushed, remainder: new Float64Array(0)};
    },
  };
}

const unscentedOptions = {
  /** Spread of the points, √(α²(n + κ)) standard deviations; default 1. */
  alpha: optional(positive, 1),
  /**
   * Weight of the centre in the covariance; default 2, which is correct to fourth order for a Gaussian with α = 1 and κ
   * = 0.
   */
  beta: optional(nonNegative, 2),
  /** Default 0; Julier & Uhlmann's is 3 − n, with `beta: 0`, for n up to 3 states. */
  kappa: optional(nonNegative, 0),
};

/** Options of `unscented`, with the names of van der Merwe & Wan (2001). @interface */
export type UnscentedOptions = Options<typeof unscentedOptions>;

/**
 * The unscented Kalman filter: 2n + 1 runs per step instead of tangents.
 * @throws OptionError if an option is out of range; 'negative-weight', in the filter, if the centre would have a
 *   negative weight and a covariance might lose its definiteness
 */
export function unscented(options: UnscentedOptions = {}): GaussianTransform {
  const {alpha, beta, kappa} = readOptions(options, unscentedOptions, 'unscented');
  return {
    name: 'unscented',
    image(f, mean, root) {
      const n = root.count;
      const spread = alpha ** 2 * (n + kappa); // n + λ
      const centre = 1 - n / spread;
      const weight = centre + 1 - alpha ** 2 + beta;
      if (weight < 0)
        throw new OptionError(
          'negative-weight',
          `unscented: with alpha = ${alpha}, beta = ${beta}, kappa = ${kappa} and ${n} states the centre's weight in `
            + `the covariance is ${weight.toPrecision(3)}, so the covariance might not stay positive. Use alpha: 1, `
            + 'the default.',
          {weight},
        );
      return imageOfPoints(f, mean, root, {spread, centre, weight});
    },
  };
}

/** Points m ± √(n + λ) rᵢ in pairs: half their difference is the linear part, the rest the remainder. */
function imageOfPoints(
  f: StateFunction,
  mean: Float64Array,
  {count, columns, values}: RowMatrix,
  {spread, centre, weight}: {readonly spread: number; readonly centre: number; readonly weight: number},
): Image {
  const reach = Math.sqrt(spread);
  const still = f.value(mean);
  const size = still.length;
  const pushed = new Float64Array(count * size);
  const middles = new Float64Array(count * size);
  const whole = still.map(value => centre * value);
  for (let k = 0; k < count; k++) {
    const [ahead, behind] = [reach, -reach].map(step =>
      f.value(mean.map((value, i) => value + step * values[k * columns + i])),
    );
    for (let i = 0; i < size; i++) {
      pushed[k * size + i] = (ahead[i] - behind[i]) / (2 * reach);
      middles[k * size + i] = (ahead[i] + behind[i]) / 2;
      whole[i] += middles[k * size + i] / spread;
    }
  }
  const remainder = new Float64Array((count + 1) * size);
  for (let i = 0; i < size; i++) {
    for (let k = 0; k < count; k++) remainder[k * size + i] = (middles[k * size + i] - whole[i]) / reach;
    remainder[count * size + i] = Math.sqrt(weight) * (still[i] - whole[i]);
  }
  return {mean: whole, pushed, remainder};
}
