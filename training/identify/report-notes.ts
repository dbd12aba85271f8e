/** What a fit's report says of priors, of the noise, and of the minima that its starts found. */
import type {Chart} from '../report/plot.js';
import {errorText, measuredText, numberText} from '../report/number-text.js';
import type {LinearFit, NoiseFound} from './objective.js';
import type {ParameterSpace} from './parameters.js';
import type {Minimum} from './starts.js';
import {type Uncertainty, uncertainty} from './uncertainty.js';
import type {Fit} from './fit.js';

/** Parameters whose priors are told one by one; of more, as of a network's weights, how many there are. */
const SINGLY = 8;

/** Standard error over the prior's deviation, and how far the data moved the number in that deviation. */
function besidePriors(
  space: ParameterSpace,
  x: Float64Array,
  standardError: Float64Array,
): {
  readonly i: number;
  readonly logarithmic: boolean;
  readonly mean: number;
  readonly sd: number;
  readonly moved: number;
  readonly left: number;
}[] {
  const slope = space.derivative(x);
  const natural = space.natural(x);
  return Array.from(x.keys()).flatMap(i => {
    const {kind, prior} = space.parameterAt(i);
    if (prior === undefined) return [];
    const entry = space.entryAt(i);
    const [mean, sd] = [prior.mean[entry], prior.sd[entry]];
    const logarithmic = kind === 'positive';
    const after = logarithmic ? standardError[i] : standardError[i] * Math.abs(slope[i]);
    const moved = ((logarithmic ? x[i] : natural[i]) - mean) / sd;
    return [{i, logarithmic, mean, sd, moved, left: after / sd}];
  });
}

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
  const found = besidePriors(space, x, standardError).filter(({i, left}) => inflation[i] > overrated && left > matters);
  if (found.length === 0) return [];
  const most = found.reduce((best, one) => (inflation[one.i] > inflation[best.i] ? one : best));
  return [
    `The residuals are related in time, and a fit to independent ones weighs the data too much beside the prior of ${space.labels[most.i]}${found.length > 1 ? ` and ${found.length - 1} more` : ''}: the variance of the estimate is ${numberText(inflation[most.i], 2)} times what it takes, and estimate and posterior make too little of the prior. Use noise: autoregressive(), or look for what the model misses.`,
  ];
}

/** How much the data say beside each prior. @param standardError of the coordinates */
export function priorNotes(space: ParameterSpace, x: Float64Array, standardError: Float64Array): string[] {
  const notes = besidePriors(space, x, standardError).map(({i, logarithmic, mean, sd, moved, left}) => {
    const known = logarithmic
      ? `${numberText(Math.exp(mean))} to a factor of ${numberText(Math.exp(sd), 3)}`
      : `${measuredText(mean, sd)} ± ${errorText(sd)}`;
    return {
      text:
        `Prior of ${space.labels[i]}: ${known}; the data moved it by ${numberText(moved, 2)} standard deviations `
        + `and left ${numberText(100 * left, 2)} % of that deviation.`,
      moved,
      left,
    };
  });
  if (notes.length <= SINGLY) return notes.map(({text}) => text);
  const left = notes.reduce((sum, note) => sum + note.left ** 2, 0);
  return [
    `${notes.length} numbers have priors; the data determine about ${numberText(notes.length - left, 3)} of them.`,
  ];
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
