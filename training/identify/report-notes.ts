/** The sentences of a fit's report on priors, on the noise, and on the minima that its starts found. */
import type {Chart} from '../report/plot.js';
import {errorText, measuredText, numberText} from '../report/number-text.js';
import type {LinearFit, NoiseFound} from './objective.js';
import type {ParameterSpace} from './parameters.js';
import {priorRows, type PriorRow} from './priors.js';
import type {Minimum} from './starts.js';
import {type Uncertainty, uncertainty} from './uncertainty.js';
import type {Fit} from './fit.js';

/** Parameters whose priors are told one by one; of more, as of a network's weights, how many there are. */
const SINGLY = 8;

/** The part of a prior's deviation that the data left, by its row. @param standardError of the coordinates */
const leftOf = ({column, derivative}: PriorRow, standardError: Float64Array): number =>
  standardError[column] * Math.abs(derivative);

/**
 * A variance so many times that of independent residuals: data that are related in time count for so much too much
 * beside a prior. A prior has a tenth of the information, and moves the estimate, from this share of its deviation on
 * that the error is.
 */
const [overrated, matters] = [2, 0.3];

/** Priors that are weighed against residuals as if these were independent, which they are not. */
export function priorWarnings(
  space: ParameterSpace,
  x: Float64Array,
  {standardError, inflation}: Pick<Uncertainty, 'standardError' | 'inflation'>,
): string[] {
  const found = priorRows(space, x).filter(
    row => inflation[row.column] > overrated && leftOf(row, standardError) > matters,
  );
  if (found.length === 0) return [];
  const most = found.reduce((best, {column}) => (inflation[column] > inflation[best] ? column : best), found[0].column);
  return [
    'The residuals are correlated in time, and a fit that takes them as independent weighs the data too much beside '
      + `the prior of ${space.labels[most]}${found.length > 1 ? ` and ${found.length - 1} more` : ''}: the variance of `
      + `the estimate is ${numberText(inflation[most], 2)} times what it takes, and estimate and posterior make too `
      + 'little of the prior. Use noise: noise.autoregressive(), or look for what the model misses.',
  ];
}

/** How much the data say beside each prior. @param standardError of the coordinates */
export function priorNotes(space: ParameterSpace, x: Float64Array, standardError: Float64Array): string[] {
  const rows = priorRows(space, x);
  const total = rows.reduce((sum, row) => sum + leftOf(row, standardError) ** 2, 0);
  if (rows.length > SINGLY)
    return [
      `${rows.length} numbers have priors; the data determine about ${numberText(rows.length - total, 3)} of them.`,
    ];
  return rows.map(row => {
    const {kind, prior} = space.moving[row.column];
    const {mean, sd} = prior!;
    const known =
      kind === 'positive'
        ? `${numberText(Math.exp(mean))} to a factor of ${numberText(Math.exp(sd), 3)}`
        : `${measuredText(mean, sd)} ± ${errorText(sd)}`;
    return (
      `Prior of ${space.labels[row.column]}: ${known}; the data moved it by ${numberText(row.residual, 2)} standard `
      + `deviations and left ${numberText(100 * leftOf(row, standardError), 2)} % of that deviation.`
    );
  });
}

/** The noise as it was found. */
export function noiseNotes({model, sd, coefficients}: NoiseFound): string[] {
  if (model === 'white') return [];
  if (model === 'density')
    return ['The cost is −ln of the likelihood by noise.logDensity; standard errors are those of its scores.'];
  const size = `of scale ${numberText(sd)} per weighted residual`;
  if (model === 'huber') return [`Beyond Huber's threshold only the sign of a residual counts; the noise is ${size}.`];
  if (model === 'studentT') return [`The noise is assumed to have Student's t distribution, ${size}.`];
  if (model === 'quantized')
    return [`The measurements are assumed to be rounded to a converter's steps; before rounding the noise is ${size}.`];
  return coefficients.map(
    (phi, output) =>
      `The noise of output ${output} is an autoregression with φ = `
      + `${Array.from(phi, value => numberText(value, 3)).join(', ')}.`,
  );
}

/** The cost of each minimum, by how many starts reached it; nothing of a single start. */
export function minimaChart(minima: readonly Minimum<unknown>[]): Chart[] {
  if (minima.reduce((sum, {count}) => sum + count, 0) < 2) return [];
  const ends = minima.flatMap(({cost, count}) => Array.from({length: count}, () => cost));
  return [
    {
      title: `Minima: ${minima.length} among ${ends.length} starts that converged`,
      x: {label: 'start, in the order of the costs'},
      y: {label: 'cost'},
      series: [
        {name: 'cost', x: Float64Array.from(ends.keys(), k => k + 1), y: Float64Array.from(ends), style: 'points'},
      ],
      legend: false,
    },
  ];
}

/** The option `residuals` of `identify`. */
type ResidualAssumption = 'correlated' | 'independent';

/** A standard error under the other assumption. */
export interface OtherError {
  readonly standardError: number;
  readonly assumption: ResidualAssumption;
}

/** Errors that differ by less are one for most purposes; a record tells its own error no better where it is short. */
const APART = 2;

/** @param order of the autoregression that was fitted with the parameters */
export function assumptionText(residuals: ResidualAssumption = 'correlated', order = 0): string {
  const beside = order > 0 ? 'after the fitted autoregression ' : '';
  return residuals === 'correlated'
    ? `${beside}the residuals may be correlated in time (residuals: 'correlated', the default)`
    : `${beside}the residuals are independent of each other (residuals: 'independent')`;
}

/**
 * The standard errors under the other assumption, by number that moves; undefined where they are within a factor of 2.
 * @param linearFit the end of the fit, of which `judged` is the uncertainty
 */
export function otherErrors(
  fit: Fit,
  x: Float64Array,
  linearFit: LinearFit,
  judged: Uncertainty,
  {residuals = 'correlated', variance}: {readonly residuals?: ResidualAssumption; readonly variance?: number},
): (OtherError | undefined)[] {
  const p = x.length;
  const covariance =
    residuals === 'correlated'
      ? judged.independent
      : uncertainty(linearFit, {
          observations: fit.observations,
          priorRows: linearFit.priorRows,
          variance,
          series: fit.residualSeries(),
        }).covariance;
  const other = fit.space.naturalErrors(
    Float64Array.from({length: p}, (_, i) => Math.sqrt(covariance[i * p + i])),
    x,
  );
  const own = fit.space.naturalErrors(judged.standardError, x);
  return Array.from(other, (standardError, i) =>
    Math.abs(Math.log(standardError / own[i])) > Math.log(APART) && Number.isFinite(standardError / own[i])
      ? {standardError, assumption: residuals === 'correlated' ? 'independent' : 'correlated'}
      : undefined,
  );
}

/** The other error, to stand beside ±. */
export const otherErrorText = ({standardError, assumption}: OtherError): string =>
  `± ${errorText(standardError)} if the residuals are ${assumption}`;
