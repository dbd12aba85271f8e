/**
 * How well least squares determines its parameters: covariance, standard errors, correlations, and which
 * parameters the data cannot tell apart. From the singular values of the Jacobian with columns of unit
 * length (Belsley, Kuh & Welsch, Regression Diagnostics, 1980): a singular value of zero is a direction
 * in which the residuals do not change, and the parameters in it get an infinite standard error and a
 * warning. Two covariances: s²(JᵀJ)⁻¹, right where residuals are independent, and the one of Andrews & Monahan
 * (Econometrica 1992) where they are not, which is the rule for residuals of a simulation: what the
 * model misses lasts for many samples.
 */
import {OptionError} from '../../lib/errors.js';
import {
  list,
  nonNegative,
  numbers,
  optional,
  positive,
  readOptions,
  typed,
  nonNegativeInteger,
  type Options,
} from '../../lib/checks.js';
import type {ResidualLinearization} from './least-squares-problem.js';
import {longRunCovariance} from './long-run-covariance.js';
import {RowQr, singularValues, type SingularValues} from './row-qr.js';
import {type OutputGroup, type ResidualSeries, measuredSamples} from './measured-samples.js';
import {degreesOf, unleveraged, widening, Z} from './small-sample.js';

export type {ResidualSeries} from './measured-samples.js';

const uncertaintyOptions = {
  /** Names for the warnings; default x[0], x[1], ... */
  names: optional(typed<readonly string[]>(list)),
  /** Number of residuals that are measurements; default all. Those of weight 0 have rows, but no information. */
  observations: optional(nonNegativeInteger),
  /** With them, the covariance allows for correlation in time: between samples of one series, not between series. */
  series: optional(typed<readonly ResidualSeries[]>(list)),
  /**
   * Number of measured samples after which correlation is neglected; default from the autocorrelation of the scores
   * (Andrews 1991).
   */
  bandwidth: optional(positive),
  /**
   * Singular values below this fraction of the largest count as zero. Default 1e-10, the accuracy of
   * sensitivities from a converged Newton iteration; Jacobians by finite differences need 1e-6.
   */
  rankTolerance: optional(nonNegative, 1e-10),
  /**
   * Rows [k, p] of a prior that the factor has below the Jacobian's, in the residuals' scale: they add information, but
   * are not measurements.
   */
  priorRows: optional(typed<Float64Array>(numbers)),
  /** Variance of a residual, if known; default: estimated from the residuals. */
  variance: optional(positive),
};

/** Options of `reports.uncertainty`. @interface */
export type UncertaintyOptions = Options<typeof uncertaintyOptions>;

/** A direction in which the residuals do not change. */
export interface UnidentifiedDirection {
  /** Which parameters are in it. */
  readonly parameters: readonly number[];
  /** How each parameter moves along it, [p], the largest change scaled to 1. */
  readonly direction: Float64Array;
}

/** How far estimates can be believed. */
export interface Uncertainty {
  /** Variance of a residual: as known, else 2·cost / (m − rank); NaN without degrees of freedom. */
  readonly variance: number;
  readonly degreesOfFreedom: number;
  /**
   * [p, p] row-major; rows of unidentified parameters are NaN with an infinite diagonal. Of residuals that may be
   * correlated it is so wide that 1.96 standard errors hold 95 % of short records too (small-sample.ts).
   */
  readonly covariance: Float64Array;
  /** The covariance if the residuals were independent; equal to `covariance` where they are taken to be. */
  readonly independent: Float64Array;
  /** [p]; infinite where unidentified. */
  readonly standardError: Float64Array;
  /** [p, p] row-major, unit diagonal; NaN where unidentified. */
  readonly correlation: Float64Array;
  /**
   * [p], each variance over what it would be with independent residuals; 1 where they are taken to be. A likelihood of
   * independent residuals is too steep by as much along its profile (Kent, Robust properties of likelihood ratio tests,
   * Biometrika 69, 1982).
   */
  readonly inflation: Float64Array;
  /** [p], degrees of freedom of each variance; `degreesOfFreedom` where residuals are independent. */
  readonly degrees: Float64Array;
  /**
   * [p], standard errors to each side of an estimate that hold 95 %: Student's quantile of `degrees`, or 1.96 where the
   * variance is known and where the errors are wide enough already, as those of residuals that may be correlated.
   */
  readonly quantile: Float64Array;
  readonly rank: number;
  /** Greatest over least singular value of the scaled Jacobian. */
  readonly condition: number;
  readonly unidentified: readonly UnidentifiedDirection[];
  /** Samples over which correlation in time was allowed for; 0: independent residuals assumed. */
  readonly bandwidth: number;
  /** Sentences for the report: what cannot be told apart, and what hardly can. */
  readonly warnings: readonly string[];
}

/** Beyond it one parameter's error would shrink sevenfold, 1/√(1 − 0.99²), were the other known. */
const STRONG_CORRELATION = 0.99;

/** The uncertainty of a fit, from the minimum that `levenbergMarquardt` returned. */
export function uncertainty(
  fit: ResidualLinearization & {readonly factor: RowQr; readonly cost: number},
  options: UncertaintyOptions = {},
): Uncertainty {
  const {rankTolerance, series, bandwidth, ...given} = readOptions(options, uncertaintyOptions, 'reports.uncertainty');
  const {p} = fit.factor;
  const names = given.names ?? Array.from({length: p}, (_, i) => `x[${i}]`);
  const norms = fit.factor.columnNorms();
  const decomposition = singularValues(scaledColumns(fit.factor, norms), p);
  const rank = decomposition.values.filter(value => value > rankTolerance * decomposition.values[0]).length;
  const observations = given.observations ?? fit.residuals.length;
  const root = inverseRoot(decomposition, norms, rank);
  const prior = mapped(given.priorRows ?? new Float64Array(0), root, rank, p);
  // Numbers that the data determine, where the priors do not (MacKay, Neural Computation 4, 1992).
  const byPriors = prior.reduce((sum, value) => sum + value * value, 0);
  const degreesOfFreedom = observations - rank + byPriors;
  const variance = given.variance ?? (degreesOfFreedom > 0 ? (2 * fit.cost) / degreesOfFreedom : NaN);
  // The error of correlated residuals is judged by those that depend on the parameters alone, as a fixed start's does
  // not.
  const informing = series === undefined ? observations : Math.min(observations, informingRows(fit.jacobian, p));
  const judged = informing - observations + degreesOfFreedom > 0;
  const correlated =
    series === undefined
      ? undefined
      : sandwich(
          fit,
          root,
          p,
          series,
          bandwidth,
          rank - byPriors,
          prior.map(value => value * Math.sqrt(variance)),
        );
  const degrees = correlated?.degrees ?? new Float64Array(p).fill(degreesOfFreedom);
  const independent = gram(root, p).map(value => value * variance);
  const covariance = correlated?.covariance ?? independent;
  // Before `forget`: of what is not identified there is neither.
  const inflation = Float64Array.from({length: p}, (_, i) =>
    correlated === undefined ? 1 : covariance[i * p + i] / independent[i * p + i],
  );
  const unidentified = nullDirections(decomposition, norms, rank, rankTolerance);
  const lost = new Set(unidentified.flatMap(({parameters}) => parameters));
  forget(covariance, p, lost);
  if (independent !== covariance) forget(independent, p, lost);
  const standardError = Float64Array.from({length: p}, (_, i) =>
    judged ? Math.sqrt(covariance[i * p + i]) : Infinity,
  );
  const correlation = correlationOf(covariance, p);
  return {
    variance,
    degreesOfFreedom,
    covariance,
    independent,
    standardError,
    correlation,
    inflation,
    degrees,
    quantile:
      correlated !== undefined || given.variance !== undefined || !(degreesOfFreedom > 0)
        ? new Float64Array(p).fill(Z)
        : studentQuantiles(root, prior, degrees),
    rank,
    condition: p === 0 ? 1 : decomposition.values[0] / decomposition.values[p - 1],
    unidentified,
    bandwidth: correlated?.bandwidth ?? 0,
    warnings:
      informing <= p && p > 0 && prior.length === 0
        ? [tooFewResiduals(informing, p)]
        : [...unidentifiedWarnings(unidentified, names), ...strongPairs(correlation, names)],
  };
}

/** The bound of Cramér and Rao on the errors of estimates. @param factor of Fisher's information */
export const informationBound = (factor: RowQr, names: readonly string[], rankTolerance?: number): Uncertainty =>
  uncertainty(
    {factor, residuals: new Float64Array(0), jacobian: new Float64Array(0), cost: 0},
    {names, observations: 3 * factor.p, rankTolerance, variance: 1},
  );

/** Student's quantiles of independent residuals. @param prior its rows times Bᵀ */
function studentQuantiles(root: Float64Array, prior: Float64Array, degrees: Float64Array): Float64Array {
  const p = degrees.length;
  const all = diagonalOf(root, p);
  if (prior.length === 0) return widened(degrees, all, all).map(wide => Z * wide);
  const rank = root.length / p;
  const factor = new RowQr(rank).append(prior, new Float64Array(prior.length / rank));
  const byPriors = diagonalOf(halfOf(factor.r, root, p), p);
  const told = all.map((value, j) => value - byPriors[j]);
  return widened(degrees, all, told).map(wide => Z * wide);
}

/**
 * By how much errors are widened: what the priors tell is known; of what the data tell the error is known to so many
 * degrees of freedom.
 * @param all variances, [p]
 * @param told what the data tell of them
 */
const widened = (degrees: Float64Array, all: Float64Array, told: Float64Array): Float64Array =>
  all.map((value, j) => Math.sqrt(1 + (widening(degrees[j]) ** 2 - 1) * (value > 0 ? told[j] / value : 0)));

/** R with columns of unit length; a column of zeros stays. */
export function scaledColumns({r, p}: RowQr, norms: Float64Array): Float64Array {
  return r.map((value, index) => value / (norms[index % p] || 1));
}

/** B [rank, p] with BᵀB = (JᵀJ)⁻¹ over the directions that the residuals see: Σ⁻¹ Vᵀ D⁻¹. */
function inverseRoot({values, vectors}: SingularValues, norms: Float64Array, rank: number): Float64Array {
  const p = values.length;
  const root = new Float64Array(rank * p);
  for (let k = 0; k < rank; k++)
    for (let i = 0; i < p; i++) root[k * p + i] = vectors[i * p + k] / values[k] / (norms[i] || 1);
  return root;
}

/** Rows [k, p] times Bᵀ: [k, rank]. */
function mapped(rows: Float64Array, root: Float64Array, rank: number, p: number): Float64Array {
  const product = new Float64Array(p === 0 ? 0 : (rows.length / p) * rank);
  for (let k = 0; k * p < rows.length; k++)
    for (let i = 0; i < rank; i++)
      for (let j = 0; j < p; j++) product[k * rank + i] += rows[k * p + j] * root[i * p + j];
  return product;
}

/** AᵀA of A [rows, p]: its diagonal is a sum of squares, and no correlation from it exceeds 1 but by rounding. */
export function gram(a: Float64Array, p: number): Float64Array {
  const product = new Float64Array(p * p);
  for (let row = 0; row < a.length; row += p)
    for (let i = 0; i < p; i++) for (let j = 0; j < p; j++) product[i * p + j] += a[row + i] * a[row + j];
  return product;
}

/**
 * (JᵀJ)⁻¹ S (JᵀJ)⁻¹ with S the long-run covariance of the scores Σ over outputs of J_row·r, as BᵀRᵀRB with RᵀR = BSBᵀ.
 * @param determined numbers that the data determine
 * @param prior its rows times Bᵀ, in the scale of the noise
 */
function sandwich(
  fit: ResidualLinearization,
  root: Float64Array,
  p: number,
  series: readonly ResidualSeries[],
  bandwidth: number | undefined,
  determined: number,
  prior: Float64Array,
): {covariance: Float64Array; bandwidth: number; degrees: Float64Array} {
  const rank = p === 0 ? 0 : root.length / p;
  const rows = series.reduce((sum, {samples, outputs}) => sum + samples * outputs, 0);
  if (rows !== fit.residuals.length) {
    throw new OptionError(
      'series-length',
      `The series cover ${rows} residuals, but there are ${fit.residuals.length}.`,
      {
        rows,
        residuals: fit.residuals.length,
      },
    );
  }
  const errors = {residuals: unleveraged(fit.residuals, fit.jacobian, root, p), jacobian: fit.jacobian};
  const measured = series.map(measuredSamples);
  const middle = longRunCovariance(
    measured.map(({samples, groups}) => ({
      samples,
      groups: groups.map(group => ({...group, vectors: scores(errors, group, p)})),
    })),
    p,
    root,
    determined,
    bandwidth,
  );
  const degrees = degreesOf(fit.jacobian, measured, root, p, middle);
  // A prior is a measurement of known variance, independent of all others.
  const factor = new RowQr(rank).append(middle.root, new Float64Array(rank));
  const byData = halfOf(factor.r, root, p);
  if (prior.length > 0) factor.append(prior, new Float64Array(prior.length / rank));
  const half = halfOf(factor.r, root, p);
  const wide = widened(degrees, diagonalOf(half, p), diagonalOf(byData, p));
  return {
    covariance: gram(
      half.map((value, index) => value * wide[index % p]),
      p,
    ),
    bandwidth: middle.bandwidth,
    degrees,
  };
}

/** R B of R [rank, rank] upper triangular. */
function halfOf(r: Float64Array, root: Float64Array, p: number): Float64Array {
  const rank = p === 0 ? 0 : root.length / p;
  const half = new Float64Array(rank * p);
  for (let i = 0; i < rank; i++)
    for (let k = i; k < rank; k++) for (let j = 0; j < p; j++) half[i * p + j] += r[i * rank + k] * root[k * p + j];
  return half;
}

/** The diagonal of AᵀA. */
function diagonalOf(a: Float64Array, p: number): Float64Array {
  const sums = new Float64Array(p);
  a.forEach((value, index) => (sums[index % p] += value * value));
  return sums;
}

function scores(
  {residuals, jacobian}: ResidualLinearization,
  {firstRow, outputs}: OutputGroup,
  p: number,
): Float64Array {
  const score = new Float64Array(firstRow.length * p);
  firstRow.forEach((first, k) => {
    for (const output of outputs) {
      const row = first + output;
      for (let j = 0; j < p; j++) score[k * p + j] += jacobian[row * p + j] * residuals[row];
    }
  });
  return score;
}

function nullDirections(
  {vectors, values}: SingularValues,
  norms: Float64Array,
  rank: number,
  rankTolerance: number,
): UnidentifiedDirection[] {
  const p = values.length;
  // A direction of weight w changes the residuals by w of what the parameter alone does: below the root of
  // the tolerance, its square, which enters the covariance, is roundoff.
  const least = Math.sqrt(rankTolerance);
  return Array.from({length: p - rank}, (_, k) => {
    const scaled = Float64Array.from({length: p}, (_, i) => vectors[i * p + rank + k]);
    const parameters = [...scaled.keys()].filter(i => Math.abs(scaled[i]) > least);
    const direction = scaled.map((value, i) => (Math.abs(value) > least ? value / (norms[i] || 1) : 0));
    const largest = direction.reduce((found, value) => (Math.abs(value) > Math.abs(found) ? value : found), 0);
    return {parameters, direction: direction.map(value => value / largest)};
  });
}

/** A parameter that is not identified has an infinite variance, and no correlations. */
function forget(covariance: Float64Array, p: number, lost: ReadonlySet<number>): void {
  for (const i of lost) {
    for (let j = 0; j < p; j++) covariance[i * p + j] = covariance[j * p + i] = NaN;
    covariance[i * p + i] = Infinity;
  }
}

function correlationOf(covariance: Float64Array, p: number): Float64Array {
  const deviation = Float64Array.from({length: p}, (_, i) => Math.sqrt(covariance[i * p + i]));
  return covariance.map((value, index) => {
    const [i, j] = [Math.floor(index / p), index % p];
    if (i === j) return 1;
    const both = deviation[i] * deviation[j];
    return Number.isFinite(both) && both > 0 ? Math.max(-1, Math.min(1, value / both)) : NaN;
  });
}

/** Rows that are not zero. */
function informingRows(jacobian: Float64Array, p: number): number {
  let count = 0;
  for (let row = 0; row < jacobian.length; row += p)
    if (jacobian.subarray(row, row + p).some(value => value !== 0)) count++;
  return count;
}

const tooFewResiduals = (observations: number, p: number): string =>
  `There are not more residuals that depend on the parameters (${observations}) than numbers to estimate (${p}): many `
  + 'values fit the data equally well, and no residuals are left to estimate the errors from. Give more data, or '
  + 'estimate fewer parameters.';

/** Beyond so many directions their sentences tell less than their number: a network's weights have dozens. */
const SENTENCES = 4;

function unidentifiedWarnings(directions: readonly UnidentifiedDirection[], names: readonly string[]): string[] {
  if (directions.length <= SENTENCES) return directions.map(direction => unidentifiedWarning(direction, names));
  const among = [...new Set(directions.flatMap(({parameters}) => parameters))].sort((i, j) => i - j);
  const some = among
    .slice(0, SENTENCES)
    .map(i => names[i])
    .join(', ');
  return [
    `In ${directions.length} independent directions the residuals do not change: ${among.length} numbers cannot be `
      + `told apart, among them ${some}. Fix some of them, use a smaller model, or give data that they affect `
      + 'differently.',
  ];
}

function unidentifiedWarning({parameters, direction}: UnidentifiedDirection, names: readonly string[]): string {
  if (parameters.length === 1)
    return (
      `The data do not depend on ${names[parameters[0]]}: it cannot be identified. Fix it, or measure something `
      + 'that it affects.'
    );
  const list = parameters.map(i => names[i]);
  const moves = parameters
    .map(i => `${direction[i] < 0 ? '−' : '+'}${Math.abs(direction[i]).toPrecision(3)} ${names[i]}`)
    .join(' ')
    .replace(/^\+/, '');
  return (
    `${list.slice(0, -1).join(', ')} and ${list[list.length - 1]} cannot be told apart: the residuals do not `
    + `change along ${moves}. Fix one of them, or measure something that they affect differently.`
  );
}

function strongPairs(correlation: Float64Array, names: readonly string[]): string[] {
  const p = names.length;
  const sentences: string[] = [];
  for (let i = 0; i < p; i++) {
    for (let j = i + 1; j < p; j++) {
      const value = correlation[i * p + j];
      if (Math.abs(value) > STRONG_CORRELATION)
        sentences.push(
          `${names[i]} and ${names[j]} are hard to tell apart: their estimates have correlation `
            + `${value.toPrecision(6)}.`,
        );
    }
  }
  return sentences;
}
