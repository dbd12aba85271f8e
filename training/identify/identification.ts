/**
 * The result of an identification: the record of the best start, filled in with its uncertainty, its goodness of fit,
 * and the report of both.
 */
import type * as tf from '@tensorflow/tfjs';
import {boolean, object, refuseUnknownOptions, requireValue, text} from '../../lib/checks.js';
import {OptionError} from '../../lib/errors.js';
import type {Params, System, Trajectory} from '../../lib/index.js';
import type {AnySystem} from '../../lib/internal.js';
import {domainOf, type Domain} from '../data/extrapolation.js';
import type {MediaBundle} from '../report/displayed.js';
import {errorText, measuredText, numberText} from '../report/number-text.js';
import {renderFragment, page, writeReport, type Report, type ReportParameter} from '../report/report.js';
import {correlatedShare, goodnessOfFit} from '../report/residual-statistics.js';
import {isDensity} from './density.js';
import {objectiveOf} from './density-objective.js';
import {derived, type DerivedQuantity} from './derived.js';
import type {Fit, FittedSeries} from './fit.js';
import type {FitRecord} from './fit-record.js';
import type {LeastSquaresIteration, LeastSquaresStatus} from './least-squares-problem.js';
import type {LinearFit, NoiseFound, ResidualObjective} from './objective.js';
import type {Errors, Estimates, Parameters} from './parameters.js';
import type {MeasuredRecord} from './records.js';
import {detailed, reportDetails, TIME_STEP, type ReportDetails} from './report-details.js';
import {
  assumptionText,
  minimaChart,
  noiseNotes,
  otherErrors,
  otherErrorText,
  priorNotes,
  priorWarnings,
  type OtherError,
} from './report-notes.js';
import type {FitProblem} from './solve.js';
import {minimaOf, type Minimum} from './starts.js';
import {stepWarnings} from './step-error.js';
import {uncertainty, type Uncertainty} from './uncertainty.js';
import {simulateRecord, validate, type ValidateOptions, type Validation} from './validation.js';

/** The result of `identify` for the parameters T of the system S. */
export type Identification<T = Parameters, S extends AnySystem = System> = FitResult<
  Estimates<T>,
  Errors<T>,
  Trajectory<S>
>;

/** Tensors by the names of the estimates E. */
export type ParamsOfEstimates<E> = {readonly [K in keyof E as string extends K ? never : K]: tf.Tensor} & Params;

/** The result of `identify`: estimates E and their standard errors D by name, and trajectories R. */
export interface FitResult<E, D, R> {
  /**
   * Numbers for scalars, arrays (row-major) otherwise; including fixed parameters. Those of a single record are 'record
   * 1: name'.
   */
  readonly estimate: E;
  /** Like the estimate, without fixed parameters; infinite for parameters that the data do not determine. */
  readonly standardError: D;
  /**
   * The 95 % interval of each number, by the labels of `correlation`: as many standard errors to each side as
   * `uncertainty.quantile` says. That of a positive or a bounded parameter lies inside its domain and is not symmetric.
   */
  readonly interval: {readonly [label: string]: readonly [low: number, high: number]};
  /** Labels of the estimated numbers, and the matrix of their correlations, row-major. */
  readonly correlation: {readonly labels: readonly string[]; readonly values: Float64Array};
  /**
   * Root mean square of measured − simulated, unweighted, by series: 'q', 'y', or 'q[1]' if a sample has several
   * numbers, 'record 1: q' with several records.
   */
  readonly rmse: {readonly [series: string]: number};
  /** 1 − residual over total sum of squares, by series. */
  readonly r2: {readonly [series: string]: number};
  /**
   * The minimized cost: ½ Σ of the squared weighted residuals; with priors and noise that is not white (see `noise`),
   * sd² (Σ ρ + −ln prior), up to a constant.
   */
  readonly cost: number;
  /**
   * The minima that the starts reached, the lowest cost first; one entry with one start. Starts that did not converge
   * are not counted.
   */
  readonly minima: readonly Minimum<E>[];
  readonly noise: NoiseFound;
  /**
   * ln of the likelihood of the measurements at the estimate, by the noise's own density: white or autoregressive with
   * its most likely scale and correlations, or `noise.logDensity`. Undefined where there is none to compare: with
   * priors, with noise of outliers or rounding, and where the fit did not converge.
   */
  readonly logLikelihood?: number;
  /**
   * Akaike's information criterion, 2k − 2 ln L, of k estimated numbers, those of the noise included (IEEE TAC 19,
   * 1974): of models of the same measurements the one with the least predicts best. It believes the noise: where
   * residuals are correlated, compare models with `noise.autoregressive()`.
   */
  readonly aic?: number;
  /** The Bayesian information criterion, k ln n − 2 ln L of n measurements (Schwarz, Annals of Statistics 6, 1978). */
  readonly bic?: number;
  readonly history: readonly LeastSquaresIteration[];
  /** The trajectory of the first record at the estimate; states at the measured times. */
  readonly trajectory: R;
  /** The trajectories of all records. */
  readonly trajectories: readonly R[];
  /**
   * The assumption of the standard errors on the residuals, in a sentence: `residuals` of the problem. `String(fit)`
   * and the report give the error under the other assumption too where the two differ by more than a factor of 2.
   */
  readonly assumption: string;
  /** At a minimum: no small step of any parameter lowers the cost significantly, compared with the standard errors. */
  readonly converged: boolean;
  /** How the iteration ended; 'gradient', 'step', 'cost' and 'zero-residual' are convergence. */
  readonly status: LeastSquaresStatus;
  /** The status as a sentence, and what to do if it is not convergence. */
  readonly message: string;
  /** Warnings about the reliability of the numbers. */
  readonly warnings: readonly string[];
  readonly uncertainty: Uncertainty;
  /**
   * Simulates the model with the estimated parameters over another record's times, inputs and initial state;
   * measurements are not used. A missing initial state is that of the problem.
   */
  simulate(record: MeasuredRecord): R;
  /**
   * Tests the model on records that it was not fitted to: a free run of each, whose first `warmUp` samples determine
   * its initial state and are excluded; or predictions `horizon` samples ahead. The parameters remain at their
   * estimates. Records that go beyond the training records are warned of, with how far: an error there is that of
   * extrapolation. An error on a part of a record that was fitted elsewhere does not tell of another record.
   * @throws (rejects) OptionError, DataError; errors of `simulate` if a record cannot be simulated
   */
  validate(records: MeasuredRecord | readonly MeasuredRecord[], options?: ValidateOptions): Promise<Validation[]>;
  /**
   * A function of the parameters at the estimate, with its standard error: `fit.derived(({k, m}) => tf.sqrt(tf.div(k,
   * m)))`. It receives the parameters that all records share, as a force does, and is traced like one.
   * @throws TraceError, ShapeError if it cannot be traced; OptionError if it reads what is no parameter
   */
  derived(of: (params: ParamsOfEstimates<E>) => tf.Tensor): DerivedQuantity;
  /** Writes a self-contained HTML page. */
  report(path: string, details?: ReportDetails): Promise<void>;
  /** The page as text; with `fragment`, as a part of a page or a notebook cell, with its own style. */
  html(details?: ReportDetails & {readonly fragment?: boolean}): string;
  /** A summary, without series. */
  toJSON(): IdentificationSummary;
  /** One line per parameter, with its standard error. */
  toString(): string;
}

/** Numbers of one parameter that are shown; of more, as of a network's weights, their count. */
const SHOWN = 12;

/** A fit without its series, for JSON. */
export interface IdentificationSummary {
  /** By name: a number, a short list, or the number of values of a long one. */
  readonly estimate: {readonly [name: string]: number | readonly number[] | string};
  readonly standardError: {readonly [name: string]: number | readonly number[] | string};
  readonly assumption: string;
  readonly rmse: {readonly [series: string]: number};
  readonly r2: {readonly [series: string]: number};
  readonly converged: boolean;
  readonly status: LeastSquaresStatus;
  readonly message: string;
  readonly warnings: readonly string[];
}

type Numbers = Omit<Identification, 'simulate' | 'validate' | 'derived' | 'report' | 'html' | 'toJSON'>;

/** Where the numbers of a result come from: a fit knows its problem. */
export interface FitSource {
  readonly problem: FitProblem;
  readonly fit: Fit;
  readonly record: FitRecord;
  readonly objective: ResidualObjective;
  readonly linearFit: LinearFit;
  readonly series: readonly FittedSeries[];
  /** What the records visit. */
  readonly domain: Domain;
  readonly milliseconds: number;
}

/** The methods of a result, as its prototype: the numbers can then be copied (structuredClone) and printed. */
class Identified {
  readonly #found: Numbers;
  readonly #source: FitSource;

  constructor(found: Numbers, source: FitSource) {
    this.#found = found;
    this.#source = source;
  }

  static sourceOf(found: object): FitSource | undefined {
    return #source in found ? found.#source : undefined;
  }

  get report(): Identification['report'] {
    return async (path, details = {}) => {
      requireValue(path, text, 'report: the path of the file');
      await writeReport(path, this.#detailed(details, 'report'));
    };
  }

  get html(): Identification['html'] {
    return ({fragment = false, ...details} = {}) => {
      requireValue(fragment, boolean, 'html: fragment');
      const report = this.#detailed(details, 'html');
      return fragment ? renderFragment(report) : page(report);
    };
  }

  #detailed(details: ReportDetails, owner: string): Report {
    refuseUnknownOptions(details, reportDetails, owner);
    return detailed(reportOf(this.#found, this.#source, this.#otherErrors()), details);
  }

  get simulate(): Identification['simulate'] {
    return record => simulateRecord(this.#source.problem, this.#values(), record);
  }

  get validate(): Identification['validate'] {
    return (records, options) => validate(this.#source.problem, this.#values(), records, options, this.#source.domain);
  }

  get derived(): Identification['derived'] {
    const {fit, record} = this.#source;
    return of => derived(of as (params: Params) => tf.Tensor, fit, record.x, this.#found.uncertainty.covariance);
  }

  #values(): {[name: string]: Float64Array} {
    return this.#source.fit.space.values(this.#source.record.x);
  }

  /** By label, where the other assumption on residuals gives another error. */
  #otherErrors(): ReadonlyMap<string, OtherError> {
    const {problem, fit, record, objective, linearFit} = this.#source;
    const others = otherErrors(fit, record.x, linearFit, this.#found.uncertainty, {
      residuals: assumed(problem),
      variance: objective.knownVariance,
    });
    return new Map(others.flatMap((other, i) => (other === undefined ? [] : [[fit.space.labels[i], other] as const])));
  }

  toJSON(): IdentificationSummary {
    const {estimate, standardError, assumption, rmse, r2, converged, status, message, warnings} = this.#found;
    return {
      estimate: shown(estimate),
      standardError: shown(standardError),
      assumption,
      rmse,
      r2,
      converged,
      status,
      message,
      warnings,
    };
  }

  /** One line per parameter, with its standard error. */
  toString(): string {
    const {estimate, standardError, assumption, rmse, message, warnings} = this.#found;
    const errors = shown(standardError);
    const others = this.#otherErrors();
    const valueText = (name: string, value: number | readonly number[] | string): string => {
      const [error, other] = [errors[name], others.get(name)];
      if (typeof value === 'string') return value;
      if (typeof value !== 'number') return value.map(one => numberText(one, 6)).join(', ');
      if (typeof error !== 'number') return `${numberText(value, 6)} (fixed)`;
      const beside = other === undefined ? '' : ` (${otherErrorText(other)})`;
      return `${measuredText(value, error)} ± ${errorText(error)}${beside}`;
    };
    return [
      `Identification: ${message}`,
      ...Object.entries(shown(estimate)).map(([name, value]) => `${name} = ${valueText(name, value)}`),
      ...(Object.keys(errors).length === 0 ? [] : [`±: standard errors if ${assumption}`]),
      ...Object.entries(rmse).map(([name, value]) => `rmse of ${name}: ${numberText(value)}`),
      ...warnings.map(warning => `warning: ${warning}`),
    ].join('\n  ');
  }

  /** Shown by console.log on Node, Deno and Bun. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return String(this);
  }

  /** Shown by a notebook. */
  [Symbol.for('Jupyter.display')](): MediaBundle {
    return {'text/html': this.html({fragment: true}), 'text/plain': String(this)};
  }
}

function shown(values: {readonly [name: string]: number | Float64Array}): {
  [name: string]: number | readonly number[] | string;
} {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'number' ? value : value.length <= SHOWN ? Array.from(value) : `${value.length} numbers`,
    ]),
  );
}

/**
 * The problem of a fit, with its records and its end, for what is analysed of it.
 * @throws OptionError for anything else, and for copies
 */
export function sourceOf(found: object, owner: string): FitSource {
  const source = object.test(found) ? Identified.sourceOf(found) : undefined;
  if (source !== undefined) return source;
  throw new OptionError(
    'not-a-fit',
    `${owner} needs the result of identify: give it as it was returned, not a copy, its JSON or the problem.`,
  );
}

/** The assumption of the standard errors; a density of one's own is that of independent measurements. */
const assumed = ({residuals, noise}: FitProblem): FitProblem['residuals'] =>
  isDensity(noise) ? 'independent' : residuals;

/** How well a fit's end is determined. */
export function uncertaintyOf(
  problem: FitProblem,
  fit: Fit,
  record: FitRecord,
  objective = objectiveOf(fit, problem.noise, record.noise),
  linearFit = objective.linearFit(record),
): Uncertainty {
  return uncertainty(linearFit, {
    names: fit.space.labels,
    observations: fit.observations,
    priorRows: linearFit.priorRows,
    variance: objective.knownVariance,
    series: assumed(problem) === 'independent' ? undefined : fit.residualSeries(),
  });
}

/** A fit that converged is better than one that did not. */
const better = (a: FitRecord, b: FitRecord): FitRecord =>
  (a.converged === b.converged ? a.cost < b.cost : a.converged && !b.converged) ? a : b;

/**
 * The result of a fit, from the records of its starts; simulates every measured record once more, for the trajectories.
 * @param began when, by `performance.now`
 */
export function identificationOf(
  problem: FitProblem,
  fit: Fit,
  {records, warnings: ofStarts}: {readonly records: readonly FitRecord[]; readonly warnings: readonly string[]},
  began: number,
): Identification {
  const {space} = fit;
  const record = records.reduce((best, one) => better(one, best));
  const {x} = record;
  const objective = objectiveOf(fit, problem.noise, record.noise);
  const linearFit = objective.linearFit(record);
  const uncertain = uncertaintyOf(problem, fit, record, objective, linearFit);
  const trajectories = fit.trajectories(x);
  const series = fit.fittedSeries(trajectories);
  const domain = domainOf(fit.visits(x, trajectories));
  const goodness = series.map(({name, measured, simulated}) => [name, goodnessOfFit(measured, simulated)] as const);
  const lost = goodness.filter(([, {r2}]) => r2 < 0).map(([name, {r2}]) => `${name}: R² = ${r2.toPrecision(2)}`);
  const advice = adviceOf(problem, record, lost.length > 0);
  const message = `${record.message}${record.converged ? '' : advice}`;
  const warnings = [
    ...ofStarts,
    ...record.remarks,
    ...(record.converged || record.status === 'stopped-early' ? [] : [`The fit did not converge: ${message}`]),
    ...(lost.length === 0 ? [] : [`${lostWarning(lost)}${record.converged ? advice : ''}`]),
    ...uncertain.warnings,
    ...priorWarnings(space, x, uncertain),
    ...(assumed(problem) === 'independent' && objective.coefficients.length === 0 ? correlatedWarnings(series) : []),
    ...space.boundWarnings(x, uncertain.standardError),
    ...stepWarnings(fit, record, objective, linearFit, uncertain),
    ...fit.warnings,
  ];
  const results: Numbers = {
    estimate: space.estimates(x),
    cost: record.cost,
    minima: minimaOf(records).map(({best, count}) => ({cost: best.cost, estimate: space.estimates(best.x), count})),
    noise: noiseFound(objective, uncertain),
    ...(record.converged ? criteria(objective.likelihood(record), fit.observations) : {}),
    standardError: space.byName(space.naturalErrors(uncertain.standardError, x)),
    interval: intervalsOf(space, uncertain, x),
    correlation: {labels: space.labels, values: uncertain.correlation},
    rmse: Object.fromEntries(goodness.map(([name, {rmse}]) => [name, rmse])),
    r2: Object.fromEntries(goodness.map(([name, {r2}]) => [name, r2])),
    history: record.history,
    trajectory: trajectories[0],
    trajectories,
    converged: record.converged,
    status: record.status,
    message,
    assumption: assumptionText(assumed(problem), objective.noise.order),
    warnings,
    uncertainty: uncertain,
  };
  const milliseconds = performance.now() - began;
  return Object.assign(
    new Identified(results, {problem, fit, record, objective, linearFit, series, domain, milliseconds}),
    results,
  );
}

function criteria(
  found: ReturnType<ResidualObjective['likelihood']>,
  n: number,
): Pick<Numbers, 'logLikelihood' | 'aic' | 'bic'> {
  if (found === undefined) return {};
  const {logLikelihood, estimated: k} = found;
  return {logLikelihood, aic: 2 * k - 2 * logLikelihood, bic: k * Math.log(n) - 2 * logLikelihood};
}

/** Advice on a fit that did not converge, or that lost the data. */
function adviceOf({control, shooting}: FitProblem, {status}: FitRecord, lost: boolean): string {
  if (status === 'no-progress' && !lost && control?.kind === 'adaptive') return ` ${roughCost(control.rtol)}`;
  const single = (shooting?.segments ?? 1) === 1 && status !== 'bound' && status !== 'stopped-early';
  return single && (lost || status === 'no-progress') ? ` ${SEGMENTS}` : '';
}

/** White noise of a size that nothing had to know is what the residuals at the estimate tell. */
function noiseFound({noise, state, coefficients, weighed}: ResidualObjective, {variance}: Uncertainty): NoiseFound {
  return {...state, sd: weighed ? state.sd : Math.sqrt(variance), model: noise.name, coefficients};
}

/** Over a long record a small error of a parameter makes another motion: the cost is then full of minima. */
const SEGMENTS =
  'In a long record, a small error of a parameter makes one simulation of all of it lose the data: shooting: '
  + 'multiple({segments: 10}) fits shorter ones first.';

/** Another parameter gives other steps, and so another error within the tolerance: the cost is not smooth below it. */
const roughCost = (rtol: number): string =>
  'With adaptive steps the cost is only as smooth as their tolerance, and the search may have come as near as it '
  + `allows: start again from this estimate with an rtol below ${rtol}.`;

const lostWarning = (series: readonly string[]): string =>
  `The simulation is farther from the data than their mean is (${series.join(', ')}): this is not a fit, whatever its `
  + 'standard errors say. Check the guess, the model, the units and the initial state.';

/** A share of autocorrelations that an output's noise does not reach by chance, and that no smooth trace of it does. */
const PATTERN = 0.5;

/** Shorter series have too few lags for a share of them to be a pattern. */
const LONG = 100;

/** Residuals below this part of the data are rounding: the record is an exact one. */
const EXACT = 1e-8;

const rms = (values: Float64Array): number =>
  Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);

/** Standard errors of independent residuals are too small where the model misses something that lasts. */
function correlatedWarnings(series: readonly FittedSeries[]): string[] {
  return series
    .map(({name, measured, simulated}) => ({
      name,
      size: rms(measured),
      residuals: measured.map((value, i) => value - simulated[i]),
    }))
    .filter(({residuals, size}) => residuals.length >= LONG && rms(residuals) > EXACT * size)
    .filter(({residuals}) => correlatedShare(residuals) > PATTERN)
    .map(
      ({name, residuals}) =>
        `The residuals of ${name} are correlated in time (${Math.round(100 * correlatedShare(residuals))} % of their `
        + 'autocorrelations are beyond those of independent residuals), so the standard errors are too small. Take '
        + `residuals: 'correlated', and look for what the model misses.`,
    );
}

function reportOf(
  {uncertainty: uncertain, correlation, warnings, message, minima, noise, assumption, history, aic, bic}: Numbers,
  {problem: {scheme, dt, control, method, shooting}, fit, record: {x, evaluations}, series, milliseconds}: FitSource,
  others: ReadonlyMap<string, OtherError>,
): Report {
  const {bandwidth} = uncertain;
  return {
    title: 'Identified parameters',
    parameters: reportParameters(fit, x, uncertain).map(one => {
      const other = others.get(one.name);
      return other === undefined ? one : {...one, otherError: otherErrorText(other)};
    }),
    parameterNote: `Standard errors and intervals if ${assumption}.`,
    fits: series,
    history,
    correlation,
    statistics: [
      ...(fit.records > 1 ? [{name: 'records', value: fit.records}] : []),
      {name: 'samples', value: fit.samples},
      {name: 'scheme', value: scheme?.name ?? 'implicitMidpoint'},
      control?.kind === 'adaptive'
        ? {name: 'steps', value: `adaptive, rtol = ${control.rtol}`}
        : {name: TIME_STEP, value: dt},
      {name: 'method', value: method?.name ?? 'levenbergMarquardt'},
      ...(shooting === undefined || shooting.segments < 2
        ? []
        : [{name: 'segments of a record at first', value: shooting.segments}]),
      {name: 'iterations', value: history.length - 1},
      ...(evaluations.failed === 0 ? [] : [{name: 'simulations that failed', value: evaluations.failed}]),
      {name: 'variance of a weighted residual', value: uncertain.variance},
      ...(aic === undefined || bic === undefined
        ? []
        : [
            {name: 'AIC', value: aic},
            {name: 'BIC', value: bic},
          ]),
      {name: 'time taken', value: Number((milliseconds / 1000).toPrecision(2)), unit: 's'},
    ],
    warnings,
    charts: minimaChart(minima),
    notes: [
      message,
      ...(evaluations.failure === undefined
        ? []
        : [
            'Trials that could not be simulated were rejected and shortened; the last one because: '
              + evaluations.failure,
          ]),
      ...priorNotes(fit.space, x, uncertain.standardError),
      ...noiseNotes(noise),
      bandwidth > 0
        ? `The standard errors allow for residuals that are correlated over ${bandwidth} samples (Andrews & Monahan `
          + '1992): errors of a model persist, and carry less information than as many independent samples.'
        : 'The standard errors assume that the residuals are independent of each other, like measurement noise.',
    ],
  };
}

function intervalsOf(space: Fit['space'], uncertain: Uncertainty, x: Float64Array): Identification['interval'] {
  const {low, high} = space.intervals(uncertain, x);
  return Object.fromEntries(space.labels.map((label, i) => [label, [low[i], high[i]] as const]));
}

function reportParameters({space, parameters}: Fit, x: Float64Array, uncertain: Uncertainty): ReportParameter[] {
  const interval = intervalsOf(space, uncertain, x);
  const natural = space.natural(x);
  const errors = space.naturalErrors(uncertain.standardError, x);
  const fixed = Object.entries(parameters)
    .filter(([, {kind}]) => kind === 'fixed')
    .flatMap(([name, {guess}]) =>
      Array.from(guess, (estimate, i) => ({name: guess.length === 1 ? name : `${name}[${i}]`, estimate})),
    );
  return [
    ...space.labels.map((name, i) => ({
      name,
      estimate: natural[i],
      standardError: errors[i],
      interval: interval[name],
    })),
    ...fixed,
  ];
}
