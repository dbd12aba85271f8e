/**
 * Parameters of a system together with those of its noise, by the likelihood of a Kalman filter's innovations (Schweppe
 * 1965; Kristensen, Madsen & Jørgensen, Parameter estimation in stochastic grey-box models, Automatica 40, 2004). The
 * iteration is Fisher's scoring with Levenberg's damping: the expected information of Gaussian innovations e ~ N(0, S)
 * is Σ ∂eᵀS⁻¹∂e + ½ tr(S⁻¹∂S S⁻¹∂S) (Mehra 1974). Derivatives of e and S are central differences of the filter, whose
 * own tangents are exact.
 */
import type {NumericParams, System} from '../../lib/index.js';
import type {AnySystem, ParamsOf} from '../../lib/internal.js';
import {OptionError} from '../../lib/index.js';
import type {Checks} from '../../lib/checks.js';
import {
  abortSignal,
  any,
  callable,
  list,
  object,
  positive,
  refuseUnknownOptions,
  throwIfAborted,
  whole,
} from '../../lib/checks.js';
import {isFailedSimulation, prefixed} from '../identify/failed-simulation.js';
import {nestedNumbers, withLeaf} from '../identify/nested.js';
import type {Errors, Estimates, Parameter, Parameters} from '../identify/parameters.js';
import {ParameterSpace, requireParameters} from '../identify/parameters.js';
import {priorCost, priorRows} from '../identify/priors.js';
import type {CheckedRecord, MeasuredRecord, Start} from '../identify/records.js';
import {RowQr} from '../identify/row-qr.js';
import {uncertainty} from '../identify/uncertainty.js';
import type {Filtered} from './kalman.js';
import {filteredOf} from './kalman.js';
import {Motion} from './motion.js';
import type {Covariance} from './covariance.js';
import {covarianceRoot} from './covariance.js';
import type {FilteredSample, Pass} from './pass.js';
import {forwardPass} from './pass.js';
import type {CheckedProblem, EstimationProblem, ProcessNoise} from './problem.js';
import {beginning, filteredRecord, measurementCovariance, noiseRoot, transformOf} from './problem.js';
import {solveTransposed} from './roots.js';

/** A value, or a function of the parameters' values that returns it. */
export type FromEstimates<T extends Parameters, V> = V | ((values: Estimates<T>) => V);

/** A problem of `identifyByInnovations`: parameters, and noise that depends on them, to be estimated from records. */
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

/** The result of `identifyByInnovations`. */
export interface InnovationsFit<T extends Parameters = Parameters> {
  readonly estimate: Estimates<T>;
  /** From the expected information; infinite for parameters that the data do not determine. */
  readonly standardError: Errors<T>;
  /** Of the estimated parameters: labels, and their matrix, row-major. */
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

const known: Checks = {
  system: any,
  data: any,
  parameters: object,
  initial: object,
  initialCovariance: any,
  processNoise: any,
  measurementNoise: any,
  inputs: object,
  observe: callable,
  dt: positive,
  scheme: any,
  newton: any,
  engine: any,
  method: object,
  maxIterations: whole,
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
 * @throws (rejects) as `kalmanFilter`, and if the filter fails at the guess
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
  let [mu, nu] = [DAMPING, 2];
  let message = `Stopped after ${maxIterations} iterations.`;
  let converged = false;
  const note = async (accepted: boolean): Promise<void> => {
    const {value, offset, x} = point;
    history.push({
      iteration: history.length,
      logLikelihood: value,
      accepted,
      offset,
      damping: mu,
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
    const {delta, predicted} = dampedStep(point, mu);
    const next = likelihood.trial(point.x.map((value, i) => value + delta[i]));
    const gain = next === undefined ? NaN : (next.value() - point.value) / predicted;
    if (gain > 0) {
      point = next!.point();
      [mu, nu] = [mu * Math.max(1 / 3, 1 - (2 * gain - 1) ** 3), 2];
    } else [mu, nu] = [mu * nu, nu * 2];
    await note(gain > 0);
    if (mu > MOST_DAMPING) {
      message =
        'Not converged: no step raises the likelihood. Check the guesses, and look for parameters that cannot be '
        + 'identified.';
      break;
    }
  }
  return likelihood.result(point, history, converged, message);
}

/** Innovations at one place, with the gradient of ln L and the rows of its information. */
interface Point {
  readonly x: Float64Array;
  readonly value: number;
  readonly passes: readonly Pass[];
  /** Of −ln L. */
  readonly gradient: Float64Array;
  readonly information: RowQr;
  readonly offset: number;
}

interface Series {
  readonly record: CheckedRecord;
  readonly motion: Motion;
  readonly start: Start;
}

class Likelihood {
  readonly space: ParameterSpace;
  private readonly series: readonly Series[];

  constructor(private readonly problem: InnovationsProblem) {
    refuseUnknownOptions(problem, known, 'identifyByInnovations');
    for (const required of [
      'system',
      'data',
      'parameters',
      'initialCovariance',
      'processNoise',
      'measurementNoise',
      'dt',
    ] as const)
      if (problem[required] === undefined)
        throw new OptionError('missing-option', `identifyByInnovations needs '${required}'.`, {option: required});
    const {system, data, parameters, inputs, observe} = problem;
    requireParameters(parameters);
    this.space = new ParameterSpace(parameters);
    if (this.space.size === 0)
      throw new OptionError('no-parameters', 'identifyByInnovations: every parameter is fixed; use kalmanFilter.');
    const records = list.test(data) ? (data as readonly MeasuredRecord[]) : [data as MeasuredRecord];
    const values = this.space.values(this.space.start);
    this.series = records.map((given, i) => {
      const record = filteredRecord(given, i, problem);
      const start = {...problem.initial, ...record.initial};
      const motion = new Motion(
        {
          ...problem,
          system,
          params: paramsOf(parameters, values),
          inputs: {...inputs, ...record.inputs},
          observe: observe,
        },
        {...start, ...startOf(parameters, values)},
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
      throw isFailedSimulation(error) ? prefixed(error, 'identifyByInnovations: the guess cannot be simulated') : error;
    }
  }

  /** Undefined where the filter cannot go through. */
  trial(x: Float64Array): {value(): number; point(): Point} | undefined {
    try {
      const passes = this.passes(x);
      const value = this.value(x, passes);
      return Number.isFinite(value) ? {value: () => value, point: () => this.point(x, passes)} : undefined;
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
    const {parameters, initialCovariance, processNoise, measurementNoise, method} = this.problem;
    const values = this.space.values(x);
    const named = estimates(parameters, values);
    const of = <V>(given: FromEstimates<Parameters, V>): V =>
      typeof given === 'function' ? (given as (values: Estimates<Parameters>) => V)(named) : given;
    return this.series.map(({record, motion, start}) => {
      motion.setParams(paramsOf(parameters, values));
      return {
        motion,
        record,
        begin: beginning(start, record),
        mean: motion.flat({...start, ...startOf(parameters, values)}),
        root: covarianceRoot(of(initialCovariance), motion.blocks, 'initialCovariance'),
        noise: noiseRoot(of(processNoise), motion.blocks),
        measurement: measurementCovariance(of(measurementNoise), record),
        transform: transformOf(method, 'identifyByInnovations'),
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
    const gradient = new Float64Array(p);
    const information = new RowQr(p);
    samples.forEach((sample, k) => {
      const m = sample.present.length;
      if (m === 0) return;
      const rows = new Float64Array((m + m * m) * p);
      sides.forEach(({h, ahead, behind}, j) => {
        const {slope, spread} = whitened(sample, ahead[k], behind[k], 2 * h);
        const w = sample.standardized;
        for (let i = 0; i < m; i++) {
          rows[i * p + j] = slope[i];
          gradient[j] += w[i] * slope[i] + spread[i * m + i] / 2;
          for (let l = 0; l < m; l++) {
            rows[(m + i * m + l) * p + j] = spread[i * m + l] / Math.SQRT2;
            gradient[j] -= (w[i] * spread[i * m + l] * w[l]) / 2;
          }
        }
      });
      information.append(rows, new Float64Array(m + m * m));
    });
    for (const {column, residual, derivative} of priorRows(this.space, x)) {
      const row = new Float64Array(p);
      row[column] = derivative;
      information.append(row, new Float64Array(1));
      gradient[column] += residual * derivative;
    }
    const norms = information.columnNorms();
    // A parameter without influence has no offset.
    const newton = damped(information, norms, gradient, Number.EPSILON);
    const decrement = newton.reduce((sum, d, i) => sum - d * gradient[i], 0);
    return {
      x,
      value: this.value(x, passes),
      passes,
      gradient,
      information,
      offset: Math.sqrt(Math.max(decrement, 0) / p),
    };
  }

  result(
    {x, information, passes}: Point,
    history: readonly InnovationsIteration[],
    converged: boolean,
    message: string,
  ): InnovationsFit {
    const {space} = this;
    const {parameters} = this.problem;
    const p = space.size;
    // The information is that of Gaussian residuals of unit variance: `uncertainty` of such a fit has its inverse.
    const judged = uncertainty(
      {factor: information, residuals: new Float64Array(0), jacobian: new Float64Array(0), cost: p},
      {names: space.labels, observations: 3 * p, rankTolerance: RANK},
    );
    const scale = Math.sqrt(judged.variance);
    const errors = judged.standardError.map(error => error / scale);
    const filtered = this.problems(x).map((problem, i) => filteredOf(problem, passes[i]));
    const values = space.values(x);
    const naturalErrors = space.naturalErrors(errors, x);
    let offset = 0;
    const moving = Object.entries(parameters).filter(([, {kind}]) => kind !== 'fixed');
    return {
      estimate: estimates(parameters, values),
      standardError: Object.fromEntries(
        moving.map(([name, parameter]) => {
          const from = offset;
          offset += parameter.guess.length;
          return [name, plain(naturalErrors.slice(from, offset), parameter)];
        }),
      ),
      correlation: {labels: space.labels, values: judged.correlation},
      logLikelihood: total(passes),
      converged,
      message,
      warnings: [
        ...(converged ? [] : [`The fit did not converge: ${message}`]),
        ...judged.warnings,
        ...space.boundWarnings(x, errors),
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
          + 'the model, or its noise, lacks something that persists from one sample to the next, and the standard errors '
          + 'are too small or too large.'
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

/** δ of (JᵀJ + μD²) δ = −g, D the columns' norms. */
function damped(information: RowQr, norms: Float64Array, gradient: Float64Array, mu: number): Float64Array {
  const p = norms.length;
  const rows = new Float64Array(p * p);
  // A column of zeros is held by any number.
  for (let j = 0; j < p; j++) rows[j * p + j] = Math.sqrt(mu) * (norms[j] || 1);
  const factor = information.copy().append(rows, new Float64Array(p));
  factor.c.set(
    solveTransposed(
      factor.r,
      gradient.map(g => -g),
      p,
    ),
  );
  return factor.solve();
}

function dampedStep({information, gradient}: Point, mu: number): {delta: Float64Array; predicted: number} {
  const norms = information.columnNorms();
  const delta = damped(information, norms, gradient, mu);
  return {
    delta,
    predicted: delta.reduce((sum, d, j) => sum + (d * (mu * norms[j] ** 2 * d - gradient[j])) / 2, 0),
  };
}

const initialPrefix = 'initial.';

function shaped(values: Float64Array, {shape}: Parameter): number | Float64Array | ReturnType<typeof nestedNumbers> {
  if (shape.length === 0) return values[0];
  return shape.length === 1 ? values : nestedNumbers(Array.from(values), shape);
}

const plain = (values: Float64Array, {shape}: Parameter): number | Float64Array =>
  shape.length === 0 ? values[0] : values;

function paramsOf(parameters: Parameters, values: {readonly [name: string]: Float64Array}): NumericParams {
  return Object.entries(parameters)
    .filter(([name]) => !name.startsWith(initialPrefix))
    .reduce<NumericParams>((tree, [name, parameter]) => withLeaf(tree, name, shaped(values[name], parameter)), {});
}

function startOf(parameters: Parameters, values: {readonly [name: string]: Float64Array}): Start {
  return Object.fromEntries(
    Object.entries(parameters)
      .filter(([name]) => name.startsWith(initialPrefix))
      .map(([name, parameter]) => [name.slice(initialPrefix.length), shaped(values[name], parameter)]),
  );
}

function estimates(parameters: Parameters, values: {readonly [name: string]: Float64Array}): Estimates<Parameters> {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, parameter]) => [name, plain(values[name], parameter)]),
  );
}
