/**
 * What standard errors assume of the residuals, in a sentence, and the errors under the other assumption where it matters:
 * residuals that may be correlated in time, or independent ones, give one estimate two errors.
 */
import {errorText} from '../report/number-text.js';
import type {Fit} from './fit.js';
import type {Judgeable} from './objective.js';
import type {Uncertainty} from './uncertainty.js';
import {uncertainty} from './uncertainty.js';

/** The option `residuals` of `identify`. */
export type ResidualAssumption = 'correlated' | 'independent';

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
 * @param judgeable the end of the fit, of which `judged` is the uncertainty
 */
export function otherErrors(
  fit: Fit,
  x: Float64Array,
  judgeable: Judgeable,
  judged: Uncertainty,
  {residuals = 'correlated', variance}: {readonly residuals?: ResidualAssumption; readonly variance?: number},
): (OtherError | undefined)[] {
  const p = x.length;
  const covariance =
    residuals === 'correlated'
      ? judged.independent
      : uncertainty(judgeable, {
          observations: fit.observations,
          priorRows: judgeable.priorRows,
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
