/**
 * Kalman filter and fixed-interval smoother over any system: continuous motion, discrete measurements. The smoother is
 * that of Rauch, Tung & Striebel (Maximum likelihood estimates of linear dynamic systems, AIAA Journal 3, 1965), for
 * the unscented filter as Särkkä has it (Unscented Rauch–Tung–Striebel smoother, IEEE TAC 53, 2008), in square roots.
 */
import type {AnySystem, ParamsOf} from '../../lib/internal.js';
import {OptionError} from '../../lib/index.js';
import type {StateBlock} from './motion.js';
import type {FilteredSample, Gaussian, Pass} from './pass.js';
import {forwardPass} from './pass.js';
import type {CheckedProblem, EstimationProblem} from './problem.js';
import {checkProblem} from './problem.js';
import {covarianceOf, rowsOf, triangular} from './roots.js';

/** Estimated states along a record, with their covariance at each sample. */
export interface EstimatedStates {
  /** [samples] */
  readonly t: Float64Array;
  /** Of shape [samples, states]: the blocks q, v and hidden states, or y, one after another. */
  readonly mean: Float64Array;
  /** [samples, states, states] */
  readonly covariance: Float64Array;
  /** The mean of one block, 'q', 'v', 'y' or a hidden state: [samples, numbers of the block]. */
  values(name: string): Float64Array;
  /** Standard deviations of one block, of the shape of its `values`. */
  standardDeviations(name: string): Float64Array;
}

/** The result of a filter. */
export interface Filtered {
  /** From the measurements before each sample. */
  readonly predicted: EstimatedStates;
  /** From those up to each sample. */
  readonly filtered: EstimatedStates;
  /** Measured − predicted, [samples, outputs]: white if model and noise are correct. NaN where nothing was measured. */
  readonly innovations: Float64Array;
  /**
   * The innovations of each sample, whitened to independent values of unit variance by the root of their covariance.
   */
  readonly standardizedInnovations: Float64Array;
  /** Covariance of the innovations, [samples, outputs, outputs]; NaN where nothing was measured. */
  readonly innovationCovariance: Float64Array;
  /** ln p(measurements), from Gaussian innovations; higher is more likely. */
  readonly logLikelihood: number;
}

/** The result of a smoother: also the states estimated from the whole record. */
export interface Smoothed extends Filtered {
  readonly smoothed: EstimatedStates;
}

/**
 * Estimates the state along a record from its noisy measurements up to each sample.
 * @throws OptionError, ShapeError, DataError for a problem that is not well posed; NewtonError and similar if the
 *   system cannot be simulated from an estimate
 */
export function filter<S extends AnySystem, Q = ParamsOf<S>>(problem: EstimationProblem<S, Q>): Filtered;
export function filter(problem: EstimationProblem): Filtered {
  const checked = checkProblem(problem, 'kalman.filter');
  return filteredOf(checked, forwardPass(checked, false));
}

/**
 * Estimates the state along a record from all its measurements, in addition to the result of `kalman.filter`.
 * @throws as `kalman.filter`
 */
export function smoother<S extends AnySystem, Q = ParamsOf<S>>(problem: EstimationProblem<S, Q>): Smoothed;
export function smoother(problem: EstimationProblem): Smoothed {
  const checked = checkProblem(problem, 'kalman.smoother');
  const pass = forwardPass(checked, true);
  return {
    ...filteredOf(checked, pass),
    smoothed: statesOf(checked.motion.blocks, checked.record.t, backwardPass(pass)),
  };
}

/** From the last sample to the first: x given the whole record, at each sample. */
function backwardPass({samples, back}: Pass): Gaussian[] {
  const smoothed = samples.map(({filtered}) => filtered);
  let later = smoothed[samples.length - 1];
  let sample = samples.length - 1;
  for (let i = back.length - 1; i >= 0; i--) {
    const {from, nextMean, gain, left} = back[i];
    const n = from.mean.length;
    const correction = later.mean.map((value, j) => value - nextMean[j]);
    const mean = from.mean.map((value, j) => correction.reduce((sum, c, k) => sum + gain[k * n + j] * c, value));
    // [left; R G'] is a root of what is left plus G P Gᵀ: a sum, nothing is subtracted.
    later = {mean, root: triangular([rowsOf(left, n), rowsOf(product(later.root, gain, n), n)])};
    const before = back[i - 1]?.sample;
    if (before !== undefined || i === 0) {
      sample = before ?? sample - 1;
      if (sample >= 0) smoothed[sample] = later;
    }
  }
  return smoothed;
}

function product(a: Float64Array, b: Float64Array, n: number): Float64Array {
  const c = new Float64Array(n * n);
  for (let i = 0; i < n; i++)
    for (let k = 0; k < n; k++) for (let j = 0; j < n; j++) c[i * n + j] += a[i * n + k] * b[k * n + j];
  return c;
}

export function filteredOf({motion, record, measurement}: CheckedProblem, {samples, logLikelihood}: Pass): Filtered {
  const outputs = Math.sqrt(measurement.length);
  const along = (of: (sample: FilteredSample) => Gaussian): EstimatedStates =>
    statesOf(motion.blocks, record.t, samples.map(of));
  const spread = (of: (sample: FilteredSample) => Float64Array): Float64Array => {
    const all = new Float64Array(samples.length * outputs).fill(NaN);
    samples.forEach((sample, k) => of(sample).forEach((value, i) => (all[k * outputs + sample.present[i]] = value)));
    return all;
  };
  const innovationCovariance = new Float64Array(samples.length * outputs ** 2).fill(NaN);
  samples.forEach(({present, innovationRoot}, k) => {
    const m = present.length;
    covarianceOf(rowsOf(innovationRoot, Math.max(m, 1))).forEach((value, i) => {
      if (m > 0) innovationCovariance[(k * outputs + present[Math.floor(i / m)]) * outputs + present[i % m]] = value;
    });
  });
  return {
    predicted: along(({predicted}) => predicted),
    filtered: along(({filtered}) => filtered),
    innovations: spread(({innovation}) => innovation),
    standardizedInnovations: spread(({standardized}) => standardized),
    innovationCovariance,
    logLikelihood,
  };
}

function statesOf(blocks: readonly StateBlock[], t: Float64Array, gaussians: readonly Gaussian[]): EstimatedStates {
  const n = blocks.reduce((sum, {size}) => sum + size, 0);
  const mean = new Float64Array(t.length * n);
  const covariance = new Float64Array(t.length * n * n);
  gaussians.forEach((gaussian, k) => {
    mean.set(gaussian.mean, k * n);
    covariance.set(covarianceOf(rowsOf(gaussian.root, n)), k * n * n);
  });
  const read = (name: string, value: (k: number, i: number) => number): Float64Array => {
    const block = blocks.find(one => one.name === name);
    if (block === undefined)
      throw new OptionError(
        'no-series',
        `The state has ${blocks.map(one => one.name).join(' and ')}, but no '${name}'.`,
        {name},
      );
    const {offset, size} = block;
    return Float64Array.from({length: t.length * size}, (_, j) => value(Math.floor(j / size), offset + (j % size)));
  };
  return {
    t: t.slice(),
    mean,
    covariance,
    values: name => read(name, (k, i) => mean[k * n + i]),
    standardDeviations: name => read(name, (k, i) => Math.sqrt(covariance[(k * n + i) * n + i])),
  };
}
