/**
 * Parameters of a system together with those of its noise, by the likelihood of a Kalman filter's innovations (Schweppe
 * 1965; Kristensen, Madsen & Jørgensen, Parameter estimation in stochastic grey-box models, Automatica 40, 2004). The
 * iteration is Fisher's scoring with Levenberg's damping: the expected information of Gaussian innovations e ~ N(0, S)
 * is Σ ∂eᵀS⁻¹∂e + ½ tr(S⁻¹∂S S⁻¹∂S) (Mehra 1974). Derivatives of e and S are central differences of the filter, whose
 * own tangents are exact.
 */
import type {System} from '../../lib/index.js';
import type {AnySystem, ParamsOf} from '../../lib/internal.js';
import {OptionError} from '../../lib/index.js';
import type {OptionSchema} from '../../lib/checks.js';
import {abortSignal, callable, list, object, throwIfAborted, nonNegativeInteger} from '../../lib/checks.js';
import {isFailedSimulation, prefixed} from '../identify/failed-simulation.js';
import {nextDamping, predictedReduction, type Damping} from '../identify/least-squares.js';
import type {Errors, Estimates, Parameters} from '../identify/parameters.js';
import {ParameterSpace, requireParameters} from '../identify/parameters.js';
import {priorCost, priorRows} from '../identify/priors.js';
import type {CheckedRecord, MeasuredRecord, Start} from '../identify/records.js';
import {blocksOf, paramsOf, type Binding} from '../identify/record-model.js';
import {RowQr} from '../identify/row-qr.js';
import {informationBound} from '../identify/uncertainty.js';
import type {Filtered} from './kalman.js';
import {filteredOf} from './kalman.js';
import {StateTransition} from './motion.js';
import type {Covariance} from './covariance.js';
import {covarianceRoot} from './covariance.js';
import type {FilteredSample, Pass} from './pass.js';
import {forwardPass} from './pass.js';
import type {CheckedProblem, EstimationProblem, ProcessNoise} from './problem.js';
import {
  beginning,
  filterChecks,
  filteredRecord,
  measurementCovariance,
  noiseRoot,
  requireFilterOptions,
  transformOf,
} from './problem.js';
import {solveTransposed} from './roots.js';

/** A value, or a function of the parameters' values that returns it. */
export type FromEstimates<T extends Parameters, V> = V | ((values: Estimates<T>) => V);

/**
 * A problem of `kalman.identifyByInnovations`: parameters, and noise that depends on them, to be estimated from
 * records.
 */
export interface InnovationsProblem<
  T extends Parameters = Parameters,
  S extends AnySystem = System,
  Q = ParamsOf<S>,
> extends Omit<EstimationProblem<S, Q>, 'data' | 'params' | 'initialCovariance' | 'processNoise' | 'measurementNoise'> {
  /** One record, or several that share their parameters. */
  readonly data: MeasuredRecord | readonly MeasuredRecord[];
  /**
   * The parameters to estimate: by their name in `params`, 'initial.q' and similar for the mean of the initial state,
   * and any other name for parameters of the functions below.
   */
  readonly parameters: T;
  readonly initialCovariance: FromEstimates<T, Covariance>;
  /** As for a filter, or a function of the parameters' values: `({drift}) => ({density: {v: drift ** 2}})`. */
  readonly processNoise: FromEstimates<T, ProcessNoise>;
  /** As for a filter, or a function: `({noise}) => noise ** 2`. */
  readonly measurementNoise: FromEstimates<T, Covariance>;
  /** Number of trial steps, including rejected ones; default 100. */
  readonly maxIterations?: number;
  /** After the start and each step. */
  readonly onProgress?: (progress: InnovationsIteration) => void;
  /** Ends the fit with an AbortError between two steps. */
  readonly signal?: AbortSignal;
}

/** State of the iteration after a step. */
export interface InnovationsIteration {
  readonly iteration: number;
  /** With priors, including the logarithm of their density, up to a constant. */
  readonly logLikelihood: number;
  readonly accepted: boolean;
  /** Root mean square distance of the maximum of the quadratic model, in standard errors. */
  readonly offset: number;
  readonly damping: number;
  /** By name, row-major. */
  readonly values: {readonly [name: string]: Float64Array};
}

/** The result of `kalman.identifyByInnovations`. */
export interface InnovationsFit<T extends Parameters = Parameters> {
  readonly estimate: Estimates<T>;
  /** From the expected information; infinite for parameters that the data do not determine. */
  readonly standardError: Errors<T>;
  /** Labels of the estimated numbers, and the matrix of their correlations, row-major. */
  readonly correlation: {readonly labels: readonly string[]; readonly values: Float64Array};
  /** The largest value found; a likelihood-ratio test uses the difference between two models. */
  readonly logLikelihood: number;
  readonly converged: boolean;
  readonly message: string;
  readonly warnings: readonly string[];
  readonly history: readonly InnovationsIteration[];
  /** The filter at the estimate, for each record. */
  readonly filtered: readonly Filtered[];
}

const {params: _, ...ofFilter} = filterChecks;
const known: OptionSchema = {
  ...ofFilter,
  parameters: object,
  maxIterations: nonNegativeInteger,
  onProgress: callable,
  signal: abortSignal,
};

/** A tenth of what `identify` asks, because scoring converges linearly. */
const OFFSET = 1e-4;

/** Central differences err by h² and by ε/h: their optimum, the cube root of ε. */
const DIFFERENCE = Number.EPSILON ** (1 / 3);

/** As `levenbergMarquardt`'s: Nielsen's for a start not known to be good. */
const DAMPING = 1e-3;

/** Beyond this damping steps are shorter than rounding. */
const MOST_DAMPING = 1e12;

/**
 * Estimates the parameters of system and noise by maximum likelihood: each measurement is compared with the
 * filter's prediction; with priors, by the maximum of the posterior. Costs 2p + 1 passes of the filter per iteration.
 * @throws (rejects) as `kalman.filter`, and if the filter fails at the guess
 */
export async function identifyByInnovations<T extends Parameters, S extends AnySystem, Q = ParamsOf<S>>(
  problem: InnovationsProblem<T, S, Q>,
): Promise<InnovationsFit<T>>;
export async function identifyByInnovations(problem: InnovationsProblem): Promise<InnovationsFit> {
  const likelihood = new Likelihood(problem);
  const {space} = likelihood;
  const history: InnovationsIteration[] = [];
  const {maxIterations = 100, onProgress, signal} = problem;
  throwIfAborted(signal);
  let point = likelihood.first();
  let damping: Damping = {mu: DAMPING, nu: 2};
  let message = `Stopped after ${maxIterations} iterations.`;
  let converged = false;
  const note = async (accepted: boolean): Promise<void> => {
    const {value, offset, x} = point;
    history.push({
      iteration: history.length,
      logLikelihood: value,
      accepted,
      offset,
      damping: damping.mu,
      values: space.values(x),
    });
    onProgress?.(history[history.length - 1]);
    await new Promise(resolve => setTimeout(resolve, 0));
    throwIfAborted(signal);
  };
  await note(true);
  while (history.length <= maxIterations) {
    if (point.offset <= OFFSET) {
      [converged, message] = [
        true,
        'Converged: every parameter is within a ten-thousandth of a standard error of the maximum.',
      ];
      break;
    }
    const {factor} = point;
    const norms = factor.columnNorms().map(norm => norm || 1); // a column of zeros is held by any number
    const delta = factor.damped(norms, damping.mu);
    const next = likelihood.trial(point.x.map((value, i) => value + delta[i]));
    const predicted = predictedReduction(factor, norms, delta, damping.mu);
    const gain = next === undefined ? NaN : (next.value - point.value) / predicted;
    damping = nextDamping(damping, gain);
    if (gain > 0) point = next!.point();
    await note(gain > 0);
    if (damping.mu > MOST_DAMPING) {
      message =
        'Not converged: no step raises the likelihood. Check the guesses, and look for parameters that cannot be '
        + 'identified.';
      break;
    }
  }
  return likelihood.result(point, history, converged, message);
}

/** Innovations at one place. */
interface Point {
  readonly x: Float64Array;
  readonly value: number;
  readonly passes: readonly Pass[];
  /** JᵀJ is the information, and Jᵀr the gradient of −ln L: a step of scoring is one of Gauss and Newton. */
  readonly factor: RowQr;
  readonly offset: number;
}

interface Series {
  readonly record: CheckedRecord;
  readonly motion: StateTransition;
  readonly start: Start;
}

class Likelihood {
  readonly space: ParameterSpace;
  private readonly bindings: readonly Binding[];
  private readonly series: readonly Series[];

  constructor(private readonly problem: InnovationsProblem) {
    requireFilterOptions(problem, known, 'kalman.identify');
    const {data, parameters, inputs} = problem;
    requireParameters(parameters);
    this.bindings = Object.entries(parameters).map(([name, parameter]) => ({name, key: name, parameter}));
    this.space = new ParameterSpace(parameters);
    if (this.space.size === 0)
      throw new OptionError('no-parameters', 'kalman.identify: every parameter is fixed; use kalman.filter.');
    const records = list.test(data) ? (data as readonly MeasuredRecord[]) : [data as MeasuredRecord];
    const values = this.space.values(this.space.start);
    this.series = records.map((given, i) => {
      const record = filteredRecord(given, i, problem);
      const start = {...problem.initial, ...record.initial};
      const motion = new StateTransition(
        {...problem, params: paramsOf(this.bindings, values), inputs: {...inputs, ...record.inputs}},
        {...start, ...blocksOf(this.bindings, values)},
      );
      return {record, motion, start};
    });
  }

  /** @throws where the guess cannot be filtered */
  first(): Point {
    const {start} = this.space;
    try {
      return this.point(start, this.passes(start));
    } catch (error) {
      throw isFailedSimulation(error) ? prefixed(error, 'kalman.identify: the guess cannot be simulated') : error;
    }
  }

  /** Undefined where the filter cannot go through. */
  trial(x: Float64Array): {readonly value: number; point(): Point} | undefined {
    try {
      const passes = this.passes(x);
      const value = this.value(x, passes);
      return Number.isFinite(value) ? {value, point: () => this.point(x, passes)} : undefined;
    } catch (error) {
      if (isFailedSimulation(error)) return undefined;
      throw error;
    }
  }

  /** ln L, and the priors' density but for a constant. */
  private value(x: Float64Array, passes: readonly Pass[]): number {
    return total(passes) - priorCost(priorRows(this.space, x));
  }

  private passes(x: Float64Array): Pass[] {
    return this.problems(x).map(problem => forwardPass(problem, false));
  }

  private problems(x: Float64Array): CheckedProblem[] {
    const {initialCovariance, processNoise, measurementNoise, method} = this.problem;
    const values = this.space.values(x);
    const named = this.space.estimates(x);
    const of = <V>(given: FromEstimates<Parameters, V>): V =>
      typeof given === 'function' ? (given as (values: Estimates<Parameters>) => V)(named) : given;
    return this.series.map(({record, motion, start}) => {
      motion.setParams(paramsOf(this.bindings, values));
      return {
        motion,
        record,
        begin: beginning(start, record),
        mean: motion.flat({...start, ...blocksOf(this.bindings, values)}),
        root: covarianceRoot(of(initialCovariance), motion.blocks, 'initialCovariance'),
        noise: noiseRoot(of(processNoise), motion.blocks),
        measurement: measurementCovariance(of(measurementNoise), record),
        transform: transformOf(method, 'kalman.identify'),
      };
    });
  }

  private point(x: Float64Array, passes: readonly Pass[]): Point {
    const p = x.length;
    const samples = passes.flatMap(pass => pass.samples);
    const sides = Array.from(x, (value, j) => {
      const h = DIFFERENCE * Math.max(Math.abs(value), 1);
      const side = (sign: number): FilteredSample[] =>
        this.passes(x.map((one, i) => (i === j ? one + sign * h : one))).flatMap(pass => pass.samples);
      return {h, ahead: side(1), behind: side(-1)};
    });
    const factor = new RowQr(p);
    samples.forEach((sample, k) => {
      const m = sample.present.length;
      if (m === 0) return;
      const w = sample.standardized;
      const right = new Float64Array(m + m * m);
      right.set(w);
      for (let i = 0; i < m; i++)
        for (let l = 0; l < m; l++) right[m + i * m + l] = ((i === l ? 1 : 0) - w[i] * w[l]) / Math.SQRT2;
      const rows = new Float64Array(right.length * p);
      sides.forEach(({h, ahead, behind}, j) => {
        const {slope, spread} = whitened(sample, ahead[k], behind[k], 2 * h);
        slope.forEach((value, i) => (rows[i * p + j] = value));
        spread.forEach((value, i) => (rows[(m + i) * p + j] = value / Math.SQRT2));
      });
      factor.append(rows, right);
    });
    for (const {column, residual, derivative} of priorRows(this.space, x)) {
      const row = new Float64Array(p);
      row[column] = derivative;
      factor.append(row, Float64Array.of(residual));
    }
    const {inside} = factor.projected(factor.columnNorms());
    return {x, value: this.value(x, passes), passes, factor, offset: Math.sqrt(inside / p)};
  }

  result(
    {x, factor, passes}: Point,
    history: readonly InnovationsIteration[],
    converged: boolean,
    message: string,
  ): InnovationsFit {
    const {space} = this;
    const bound = informationBound(factor, space.labels, RANK);
    const filtered = this.problems(x).map((problem, i) => filteredOf(problem, passes[i]));
    return {
      estimate: space.estimates(x),
      standardError: space.byName(space.naturalErrors(bound.standardError, x)),
      correlation: {labels: space.labels, values: bound.correlation},
      logLikelihood: total(passes),
      converged,
      message,
      warnings: [
        ...(converged ? [] : [`The fit did not converge: ${message}`]),
        ...bound.warnings,
        ...space.boundWarnings(x, bound.standardError),
        ...this.series.flatMap(({record: {name}}, i) => coloured(name, filtered[i])),
      ],
      history,
      filtered,
    };
  }
}

/** Jacobians by differences are good to some 1e-7, and so is what they say of rank. */
const RANK = 1e-6;

/** The first autocorrelation of white innovations exceeds four deviations once in 16 000 records. */
const COLOURED = 4;

function coloured(record: string, {standardizedInnovations: w, predicted: {t}}: Filtered): string[] {
  const outputs = w.length / t.length;
  return Array.from({length: outputs}, (_, i) => {
    let [cross, square, count] = [0, 0, 0];
    for (let k = 0; k + 1 < t.length; k++) {
      const [a, b] = [w[k * outputs + i], w[(k + 1) * outputs + i]];
      if (Number.isNaN(a) || Number.isNaN(b)) continue;
      cross += a * b;
      square += a * a;
      count++;
    }
    const correlation = cross / square;
    return Math.abs(correlation) * Math.sqrt(count) > COLOURED
      ? `${record}: the innovations of output ${i} are not white (first autocorrelation ${correlation.toFixed(2)}): `
          + 'the model, or its noise, lacks something that persists from one sample to the next, and the standard '
          + 'errors are too small or too large.'
      : '';
  }).filter(text => text !== '');
}

function total(passes: readonly Pass[]): number {
  return passes.reduce((sum, {logLikelihood}) => sum + logLikelihood, 0);
}

/** U⁻ᵀ ∂e and U⁻ᵀ ∂S U⁻¹, by differences of width 2h. */
function whitened(
  {innovationRoot: u, present}: FilteredSample,
  ahead: FilteredSample,
  behind: FilteredSample,
  width: number,
): {slope: Float64Array; spread: Float64Array} {
  const m = present.length;
  const slope = ahead.innovation.map((value, i) => (value - behind.innovation[i]) / width);
  const spread = new Float64Array(m * m);
  for (const [{innovationRoot: root}, sign] of [
    [ahead, 1],
    [behind, -1],
  ] as const)
    for (let k = 0; k < m; k++)
      for (let i = 0; i < m; i++)
        for (let j = 0; j < m; j++) spread[i * m + j] += (sign * root[k * m + i] * root[k * m + j]) / width;
  const half = solveTransposed(u, spread, m);
  return {slope: solveTransposed(u, slope, m), spread: solveTransposed(u, transposed(half, m), m)};
}

const transposed = (a: Float64Array, n: number): Float64Array =>
  a.map((_, index) => a[(index % n) * n + Math.floor(index / n)]);
