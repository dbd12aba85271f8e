/**
 * Models of the noise: white, autoregressive, or with outliers. A model says how residuals weigh in the cost. An
 * autoregressive one whitens them (Prais & Winsten 1954; Box & Jenkins, ch. 7); one with outliers bounds the influence
 * of each (Huber, Robust Statistics, 1981, ch. 7; Lange, Little & Taylor, Robust statistical modeling using the t
 * distribution, JASA 84, 1989).
 */
import {OptionError} from '../../lib/errors.js';
import {positiveInteger, positive, refuseUnknownOptions, requireValue} from '../../lib/checks.js';
import {roundedGround, roundedLoss} from './rounded-normal.js';

/** Made by `white`, `autoregressive`, `huber`, `studentT` or `quantized`; plain data. */
export interface Noise {
  readonly name: 'white' | 'autoregressive' | 'huber' | 'studentT' | 'quantized' | 'density';
  /** Scale of a weighted residual, if known; otherwise it is estimated. */
  readonly sd?: number;
  /** Order of an autoregression. */
  readonly order: number;
  /** Huber's k, Student's ν, or the step of a converter. */
  readonly shape: number;
}

/** Options of noise models. */
export interface NoiseOptions {
  /**
   * Standard deviation of a weighted residual: 1 where weights are inverse standard deviations. Default: estimated from
   * the residuals.
   */
  readonly sd?: number;
}

/** Independent errors of equal variance: least squares. */
export function white(options: NoiseOptions = {}): Noise {
  return noiseOf('white', options, 0, 0);
}

/**
 * Autoregressive errors: rₖ = φ₁ rₖ₋₁ + … + φₚ rₖ₋ₚ + eₖ with white e. The coefficients are estimated with the
 * parameters, output by output; all records need evenly spaced samples. `order` is p, default 1.
 */
export function autoregressive({order = 1, ...rest}: NoiseOptions & {readonly order?: number} = {}): Noise {
  requireValue(order, positiveInteger, 'autoregressive: order', 'bad-option', 'order');
  return noiseOf('autoregressive', rest, order, 0);
}

/**
 * Mostly normal errors with some outliers: beyond k deviations the cost grows no faster than the residual.
 * `threshold` is k, default 1.345: 95 % efficient without outliers (Holland & Welsch 1977).
 */
export function huber({threshold = 1.345, ...rest}: NoiseOptions & {readonly threshold?: number} = {}): Noise {
  requireValue(threshold, positive, 'huber: threshold', 'bad-option', 'threshold');
  return noiseOf('huber', rest, 0, threshold);
}

/**
 * Errors with Student's t distribution: large residuals have less weight. `sd` is the distribution's scale,
 * `degrees` its ν, default 4 (Lange, Little & Taylor 1989).
 */
export function studentT({degrees = 4, ...rest}: NoiseOptions & {readonly degrees?: number} = {}): Noise {
  requireValue(degrees, positive, 'studentT: degrees', 'bad-option', 'degrees');
  return noiseOf('studentT', rest, 0, degrees);
}

/**
 * Normal errors that were then rounded to a converter's steps: a measurement means that the value with its noise was
 * within half a `step` of it, whose probability is a difference of two normal distributions (Wang, Yin & Zhang, System
 * identification using binary sensors, IEEE TAC 48, 2003; Gustafsson & Karlsson, Statistical results for system
 * identification based on quantized observations, Automatica 45, 2009). `sd` is the standard deviation before rounding.
 * For steps below two standard deviations it differs little from white noise with step²/12 more variance; with coarse
 * steps, white noise would be biased. `step` is that of a weighted residual.
 */
export function quantized({step, ...rest}: NoiseOptions & {readonly step: number}): Noise {
  requireValue(step, positive, 'quantized: step', 'bad-option', 'step');
  return noiseOf('quantized', rest, 0, step);
}

function noiseOf(name: Noise['name'], options: NoiseOptions, order: number, shape: number): Noise {
  refuseUnknownOptions(options, {sd: positive}, name);
  return options.sd === undefined ? {name, order, shape} : {name, order, shape, sd: options.sd};
}

/** Stands for a density of one's own, which contains its scale. */
export const densityNoise: Noise = {name: 'density', order: 0, shape: 0, sd: 1};

/** @throws OptionError of what none of the functions above made */
export function requireNoise(noise: Noise): void {
  if (['white', 'autoregressive', 'huber', 'studentT', 'quantized'].includes((noise as Noise | null)?.name ?? ''))
    return;
  throw new OptionError(
    'bad-option',
    'identify: noise must be made by noise.white(), noise.autoregressive({order}), noise.huber({threshold}), '
      + 'noise.studentT({degrees}) or noise.quantized({step}), or be a density of your own, {logDensity: '
      + '(residual, params, rows) => tensor}.',
    {option: 'noise'},
  );
}

/** ρ of a residual in units of its scale: −ln of its density less that of 0; with both derivatives. */
export interface Loss {
  readonly rho: number;
  readonly psi: number;
  readonly slope: number;
  /** −∂ ln(density)/∂ ln(scale) + 1: ψ z of a density that its scale only stretches. */
  readonly tension: number;
}

/** ρ, ρ′ and ρ″ at z. @param sd the scale */
export function lossAt({name, shape}: Noise, z: number, sd: number): Loss {
  if (name === 'quantized') return roundedLoss(z, shape / (2 * sd));
  if (name === 'huber' && Math.abs(z) > shape) {
    const psi = Math.sign(z) * shape;
    return {rho: shape * Math.abs(z) - shape ** 2 / 2, psi, slope: 0, tension: psi * z};
  }
  if (name === 'studentT') {
    const psi = ((shape + 1) * z) / (shape + z ** 2);
    return {
      rho: ((shape + 1) / 2) * Math.log1p(z ** 2 / shape),
      psi,
      slope: ((shape + 1) * (shape - z ** 2)) / (shape + z ** 2) ** 2,
      tension: psi * z,
    };
  }
  return {rho: z ** 2 / 2, psi: z, slope: 1, tension: z ** 2};
}

/** Least −ln of the density, in units of the scale, where that depends on the scale: of no residual. */
export const groundOf = ({name, shape}: Noise, sd: number): number =>
  name === 'quantized' ? roundedGround(shape / (2 * sd)) : 0;

/** Whether residuals enter the cost other than squared. */
export const isRobust = ({name}: Noise): boolean => !['white', 'autoregressive', 'density'].includes(name);

/** The deviation of normal errors over the median of their sizes. */
const MEDIAN_TO_DEVIATION = 1.482602218505602;

/** A scale that outliers do not move: to start from. */
export function medianScale(residuals: Float64Array): number {
  const sorted = residuals.map(Math.abs).sort();
  return MEDIAN_TO_DEVIATION * sorted[Math.floor(sorted.length / 2)];
}

/** In steps of a converter: smaller noise leaves nearly all readings as they are, and cannot be told. */
const FINEST = 0.1;

/** Pairs of extrapolated fixed-point steps; a few are enough. */
const SCALE_STEPS = 100;

/** An extrapolation by more than a factor e is none. */
const FARTHEST = 1;

/**
 * The scale of residuals: the root mean square, Huber's proposal 2, or the most likely one of the t distribution and of
 * rounded errors.
 * @param degrees of freedom: residuals less what was fitted to them
 */
export function scaleOf(noise: Noise, residuals: Float64Array, degrees: number, start: number): number {
  const mean = (of: (r: number) => number): number => residuals.reduce((sum, r) => sum + of(r), 0) / degrees;
  if (!isRobust(noise)) return Math.sqrt(mean(r => r * r));
  const least = noise.name === 'quantized' ? noise.shape * FINEST : 0;
  const expected = noise.name === 'huber' ? clippedVariance(noise.shape) : 1;
  const next = (s: number): number =>
    noise.name === 'huber'
      ? s * Math.sqrt(mean(r => lossAt(noise, r / s, s).psi ** 2) / expected)
      : Math.max(
          least,
          s
            * Math.sqrt(
              Math.max(
                mean(r => lossAt(noise, r / s, s).tension),
                0,
              ),
            ),
        );
  let scale = start;
  for (let step = 0; step < SCALE_STEPS && scale > 0; step++) {
    const one = next(scale);
    const two = next(one);
    if (Math.abs(two - one) <= 1e-12 * one) return two;
    // Aitken's extrapolation of a sequence that loses the same share of its error in each step.
    const [first, second] = [Math.log(one / scale), Math.log(two / one)];
    const ahead = two * Math.exp(-(second * second) / (second - first));
    scale = Math.abs(Math.log(ahead / two)) < FARTHEST ? ahead : two;
  }
  return scale;
}

/** E min(z², k²) of a normal z as k² − ∫₀ᵏ (k² − z²) 2φ(z) dz, by Simpson's rule. */
function clippedVariance(k: number): number {
  const n = 400;
  let sum = 0;
  for (let i = 0; i <= n; i++) {
    const z = (k * i) / n;
    const weight = i === 0 || i === n ? 1 : i % 2 === 1 ? 4 : 2;
    sum += weight * (k * k - z * z) * 2 * Math.exp(-(z * z) / 2);
  }
  return k * k - (sum * k) / (3 * n) / Math.sqrt(2 * Math.PI);
}
