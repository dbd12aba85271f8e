/** What an identification found: the estimates with their uncertainty, how good the fit is, and the report of both. */
import type * as tf from '@tensorflow/tfjs';
import type {AnySystem, Params, System, Trajectory} from '../../lib/index.js';
import type {Fit, FittedSeries} from './fit.js';
import type {LeastSquaresIteration, LeastSquaresResult, LeastSquaresStatus} from './least-squares-problem.js';
import {boolean, refuseUnknownOptions, requireValue, text} from '../../lib/checks.js';
import {derived, type Derived} from './derived.js';
import type {Errors, Estimates, Parameter, Parameters} from './parameters.js';
import type {Model} from './model.js';
import type {Report, ReportParameter} from '../report/report.js';
import {renderFragment, renderReport, writeReport} from '../report/report.js';
import type {MediaBundle} from '../report/displayed.js';
import {errorText, measuredText, numberText} from '../report/number-text.js';
import {correlatedShare, goodnessOfFit} from '../report/residual-statistics.js';
import type {MeasuredRecord} from './records.js';
import type {NoiseFound, Objective} from './objective.js';
import {detailed, reportDetails, TIME_STEP, type ReportDetails} from './report-details.js';
import {noiseNotes, priorNotes, priorWarnings, minimaChart} from './report-notes.js';
import type {Fitted} from './rounds.js';
import type {Minimum} from './starts.js';
import {assumptionText, otherErrors, otherErrorText, type OtherError} from './error-assumption.js';
import {stepWarnings} from './step-error.js';
import type {Uncertainty} from './uncertainty.js';
import {uncertainty} from './uncertainty.js';
import type {ValidateOptions, Validation} from './validation.js';
import {simulateRecord, validate} from './validation.js';

/** The result of `identify` for the parameters T of the system S. */
export type Identification<T = Parameters, S extends AnySystem = System> = Found<
  Estimates<T>,
  Errors<T>,
  Trajectory<S>
>;

/** Tensors by the names of the estimates E. */
export type ParamsOfEstimates<E> = {readonly [K in keyof E as string extends K ? never : K]: tf.Tensor} & Params;

/** The result of `identify`: estimates E and their standard errors D by name, and trajectories R. */
export interface Found<E, D, R> {
  /**
   * Numbers for scalars, arrays (row-major) otherwise; including fixed parameters. Those of a single record are 'record
   * 1: name'.
   */
  readonly estimate: E;
  /** Like the estimate, without fixed parameters; infinite for parameters that the data do not determine. */
  readonly standardError: D;
  /**
   * The 95 % interval of each number, by the labels of `correlation`: as many standard errors to each side as `uncertainty.quantile`
   * says. That of a positive or a bounded parameter lies inside its domain and is not symmetric.
   */
  readonly interval: {readonly [label: string]: readonly [low: number, high: number]};
  /** Of the parameters that move: labels, and their matrix, row-major. */
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
  readonly history: readonly LeastSquaresIteration[];
  /** The trajectory of the first record at the estimate; states at the measured times. */
  readonly trajectory: R;
  /** The trajectories of all records. */
  readonly trajectories: readonly R[];
  /**
   * What the standard errors assume of the residuals, in a sentence: `residuals` of the problem. `String(fit)` and the
   * report give the error under the other assumption too where the two differ by more than a factor of 2.
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
   * estimates.
   * @throws (rejects) OptionError, DataError; errors of `simulate` if a record cannot be simulated
   */
  validate(records: MeasuredRecord | readonly MeasuredRecord[], options?: ValidateOptions): Promise<Validation[]>;
  /**
   * A function of the parameters at the estimate, with its standard error: `fit.derived(({k, m}) => tf.sqrt(tf.div(k, m)))`.
   * It receives the parameters that all records share, as a force does, and is traced like one.
   * @throws TraceError, ShapeError if it cannot be traced; OptionError if it reads what is no parameter
   */
  derived(of: (params: ParamsOfEstimates<E>) => tf.Tensor): Derived;
  /** Writes a self-contained HTML page. */
  report(path: string, details?: ReportDetails): Promise<void>;
  /** The page as text; with `fragment`, as a part of a page or a notebook cell, with its own style. */
  html(details?: ReportDetails & {readonly fragment?: boolean}): string;
  /** A summary, without series. */
  toJSON(): IdentificationSummary;
  /** One line per parameter, with its standard error. */
  toString(): string;
}

/** A fit's end, with the objective that it made small. */
export interface Solved extends Fitted {
  readonly objective: Objective;
}

/** What the fit from all starts tells beside its best end. */
interface Around {
  readonly milliseconds: number;
  readonly minima: readonly {readonly best: Pick<Solved, 'cost' | 'x'>; readonly count: number}[];
  readonly warnings: readonly string[];
}

export interface Judged extends Model {
  readonly method?: {readonly name: string};
  readonly shooting?: {readonly segments: number};
  readonly residuals?: 'correlated' | 'independent';
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

type Actions = Pick<Identification, 'simulate' | 'validate' | 'derived'> & {
  readonly page: (details: ReportDetails) => Report;
  /** By label, where the other assumption on residuals gives another error. */
  readonly otherErrors: () => ReadonlyMap<string, OtherError>;
};
type Numbers = Omit<Identification, 'simulate' | 'validate' | 'derived' | 'report' | 'html' | 'toJSON'>;

/** What a fit can do, as its prototype: what was found can then be copied (structuredClone) and printed. */
class Identified {
  readonly #found: Numbers;
  readonly #actions: Actions;

  constructor(found: Numbers, actions: Actions) {
    this.#found = found;
    this.#actions = actions;
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
      return fragment ? renderFragment(report) : renderReport(report);
    };
  }

  #detailed(details: ReportDetails, owner: string): Report {
    refuseUnknownOptions(details, reportDetails, owner);
    return this.#actions.page(details);
  }

  get simulate(): Identification['simulate'] {
    return this.#actions.simulate;
  }

  get validate(): Identification['validate'] {
    return this.#actions.validate;
  }

  get derived(): Identification['derived'] {
    return this.#actions.derived;
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
    const others = this.#actions.otherErrors();
    const lines = Object.entries(shown(estimate)).map(([name, value]) => {
      const error = errors[name];
      const other = others.get(name);
      if (typeof value === 'number' && typeof error === 'number')
        return `${name} = ${measuredText(value, error)} ± ${errorText(error)}${other === undefined ? '' : ` (${otherErrorText(other)})`}`;
      return `${name} = ${typeof value === 'number' ? `${numberText(value, 6)} (fixed)` : typeof value === 'string' ? value : value.map(one => numberText(one, 6)).join(', ')}`;
    });
    return [
      `Identification: ${message}`,
      ...lines,
      ...(Object.keys(errors).length === 0 ? [] : [`±: standard errors if ${assumption}`]),
      ...Object.entries(rmse).map(([name, value]) => `rmse of ${name}: ${numberText(value)}`),
      ...warnings.map(warning => `warning: ${warning}`),
    ].join('\n  ');
  }

  /** What console.log shows on Node, Deno and Bun. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return String(this);
  }

  /** What a notebook shows. */
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

/** How well a fit's end is determined. */
export function uncertaintyOf(
  {residuals}: Pick<Judged, 'residuals'>,
  fit: Fit,
  found: Solved,
  judgeable = found.objective.judged(found),
): Uncertainty {
  const {objective} = found;
  return uncertainty(judgeable, {
    names: fit.space.labels,
    observations: fit.observations,
    priorRows: judgeable.priorRows,
    variance: objective.knownVariance,
    series: residuals === 'independent' ? undefined : fit.residualSeries(),
  });
}

/** The result of a fit; simulates every record once more, for their trajectories. */
export function identificationOf(problem: Judged, fit: Fit, found: Solved, around: Around): Identification {
  const {space, parameters} = fit;
  const {objective} = found;
  const judgeable = objective.judged(found);
  const judged = uncertaintyOf(problem, fit, found, judgeable);
  const values = space.values(found.x);
  const trajectories = fit.trajectories(found.x);
  const series = fit.fittedSeries(trajectories);
  const goodness = series.map(({name, measured, simulated}) => [name, goodnessOfFit(measured, simulated)] as const);
  const lost = goodness.filter(([, {r2}]) => r2 < 0);
  const {control} = problem;
  const rough = found.status === 'no-progress' && lost.length === 0 && control?.kind === 'adaptive';
  const shorter =
    !rough
    && (problem.shooting?.segments ?? 1) === 1
    && found.status !== 'bound'
    && found.status !== 'stopped-early'
    && (lost.length > 0 || found.status === 'no-progress')
      ? ` ${SEGMENTS}`
      : '';
  const message = `${found.message}${rough ? ` ${roughCost(control.rtol)}` : found.converged ? '' : shorter}`;
  const warnings = [
    ...around.warnings,
    ...found.remarks,
    ...(found.converged || found.status === 'stopped-early' ? [] : [`The fit did not converge: ${message}`]),
    ...(lost.length === 0
      ? []
      : [
          `${lostWarning(lost.map(([name, {r2}]) => `${name}: R² = ${r2.toPrecision(2)}`))}${found.converged ? shorter : ''}`,
        ]),
    ...judged.warnings,
    ...priorWarnings(space, found.x, judged),
    ...(problem.residuals === 'independent' && objective.coefficients.length === 0 ? correlatedWarnings(series) : []),
    ...space.boundWarnings(found.x, judged.standardError),
    ...stepWarnings(fit, found, judgeable, judged),
    ...fit.warnings,
  ];
  const estimateAt = (x: Float64Array): {[name: string]: number | Float64Array} => {
    const all = space.values(x);
    return Object.fromEntries(
      Object.entries(parameters).map(([name, parameter]) => [name, plain(all[name], parameter)]),
    );
  };
  const results = {
    estimate: estimateAt(found.x),
    cost: found.cost,
    minima: around.minima.map(({best, count}) => ({cost: best.cost, estimate: estimateAt(best.x), count})),
    noise: noiseFound(objective, judged),
    standardError: byName(space.naturalErrors(judged.standardError, found.x), parameters),
    interval: intervalsOf(space, judged, found.x),
    correlation: {labels: space.labels, values: judged.correlation},
    rmse: Object.fromEntries(goodness.map(([name, {rmse}]) => [name, rmse])),
    r2: Object.fromEntries(goodness.map(([name, {r2}]) => [name, r2])),
    history: found.history,
    trajectory: trajectories[0],
    trajectories,
    converged: found.converged,
    status: found.status,
    message,
    assumption: assumptionText(problem.residuals, objective.noise.order),
    warnings,
    uncertainty: judged,
  };
  const otherErrorsOf = (): ReadonlyMap<string, OtherError> =>
    new Map(
      otherErrors(fit, found.x, judgeable, judged, {
        residuals: problem.residuals,
        variance: objective.knownVariance,
      }).flatMap((other, i) => (other === undefined ? [] : [[space.labels[i], other] as const])),
    );
  const identification: Identification = Object.assign(
    new Identified(results, {
      simulate: record => simulateRecord(problem, values, record),
      validate: (records, options) => validate(problem, values, records, options),
      derived: of =>
        derived(of as (params: Params) => tf.Tensor, {
          parameters,
          values,
          covariance: judged.covariance,
          size: space.size,
          toCoordinates: jacobian => space.toCoordinates(jacobian, found.x),
        }),
      otherErrors: otherErrorsOf,
      page: details =>
        detailed(
          reportOf(problem, fit, found, identification, series, {
            milliseconds: around.milliseconds,
            others: otherErrorsOf(),
          }),
          details,
        ),
    }),
    results,
  );
  return identification;
}

/** White noise of a size that nothing had to know is what the residuals at the estimate tell. */
function noiseFound({noise, state, coefficients, weighed}: Objective, {variance}: Uncertainty): NoiseFound {
  return {...state, sd: weighed ? state.sd : Math.sqrt(variance), model: noise.name, coefficients};
}

/** Over a long record a small error of a parameter makes another motion, of a chaotic system or of many periods: the cost is then full of minima. */
const SEGMENTS =
  'In a long record, a small error of a parameter makes one simulation of all of it lose the data: shooting: multiple({segments: 10}) fits shorter ones first.';

/** Another parameter gives other steps, and so another error within the tolerance: the cost is not smooth below it. */
const roughCost = (rtol: number): string =>
  `With adaptive steps the cost is only as smooth as their tolerance, and the search may have come as near as it allows: start again from this estimate with an rtol below ${rtol}.`;

const lostWarning = (series: readonly string[]): string =>
  `The simulation is farther from the data than their mean is (${series.join(', ')}): this is not a fit, whatever its standard errors say. Check the guess, the model, the units and the initial state.`;

/** A share of autocorrelations that an output's noise does not reach by chance, and that no smooth trace of it does. */
const PATTERN = 0.5;

/** Shorter series have too few lags for a share of them to be a pattern. */
const LONG = 100;

/** Residuals below this part of what was measured are those of Newton's tolerance and of rounding: the record is an exact one. */
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
        `The residuals of ${name} are correlated in time (${Math.round(100 * correlatedShare(residuals))} % of their autocorrelations are beyond those of independent residuals), so the standard errors are too small. Take residuals: 'correlated', and look for what the model misses.`,
    );
}

function plain(values: Float64Array, {shape}: Parameter): number | Float64Array {
  return shape.length === 0 ? values[0] : values;
}

/** The numbers that move, in order, back under their names. */
function byName(flat: Float64Array, parameters: Parameters): {[name: string]: number | Float64Array} {
  let offset = 0;
  return Object.fromEntries(
    Object.entries(parameters)
      .filter(([, {kind}]) => kind !== 'fixed')
      .map(([name, parameter]) => {
        const from = offset;
        offset += parameter.guess.length;
        return [name, plain(flat.slice(from, offset), parameter)];
      }),
  );
}

function reportOf(
  {scheme, dt, control, method, shooting}: Judged,
  fit: Fit,
  found: Solved,
  identification: Identification,
  fits: readonly FittedSeries[],
  {milliseconds, others}: {readonly milliseconds: number; readonly others: ReadonlyMap<string, OtherError>},
): Report {
  const {history, evaluations} = found;
  const {uncertainty: judged, correlation, warnings, message, minima, noise, assumption} = identification;
  return {
    title: 'Identified parameters',
    parameters: reportParameters(fit, found, judged).map(one => {
      const other = others.get(one.name);
      return other === undefined ? one : {...one, otherError: otherErrorText(other)};
    }),
    parameterNote: `Standard errors and intervals if ${assumption}.`,
    fits,
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
      {name: 'simulations that failed', value: evaluations.failed},
      {name: 'variance of a weighted residual', value: judged.variance},
      {name: 'time taken', value: Number((milliseconds / 1000).toPrecision(2)), unit: 's'},
    ].filter(({name, value}) => name !== 'simulations that failed' || value !== 0),
    warnings,
    charts: minimaChart(minima),
    notes: [
      message,
      ...(evaluations.failure === undefined
        ? []
        : [
            `Trials that could not be simulated were rejected and shortened; the last one because: ${evaluations.failure}`,
          ]),
      ...priorNotes(fit.space, found.x, judged.standardError),
      ...noiseNotes(noise),
      judged.bandwidth > 0
        ? `The standard errors allow for residuals that are correlated over ${judged.bandwidth} samples (Andrews & Monahan 1992): errors of a model persist, and carry less information than as many independent samples.`
        : 'The standard errors assume that the residuals are independent of each other, like measurement noise.',
    ],
  };
}

function intervalsOf(space: Fit['space'], uncertain: Uncertainty, x: Float64Array): Identification['interval'] {
  const {low, high} = space.intervals(uncertain, x);
  return Object.fromEntries(space.labels.map((label, i) => [label, [low[i], high[i]] as const]));
}

function reportParameters(
  {space, parameters}: Fit,
  {x}: LeastSquaresResult,
  uncertain: Uncertainty,
): ReportParameter[] {
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
