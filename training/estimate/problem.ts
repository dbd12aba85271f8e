/** The problem of a Kalman filter: the system, the record, the start and the noise; checked once. */
import type * as tf from '@tensorflow/tfjs';
import type {
  Inputs,
  Newton,
  Numeric,
  NumericParams,
  ObservedAt,
  Scheme,
  SimulateOptions,
  System,
} from '../../lib/index.js';
import type {AnySystem, Bivariant, ParamsOf} from '../../lib/internal.js';
import {OptionError} from '../../lib/index.js';
import type {OptionSchema} from '../../lib/checks.js';
import {
  any,
  callable,
  input as isInput,
  object,
  positive,
  refuseUnknownOptions,
  requireValue,
} from '../../lib/checks.js';
import {comparedSeries} from '../identify/fit.js';
import type {CheckedRecord, MeasuredRecord, Start} from '../identify/records.js';
import {checkRecord} from '../identify/records.js';
import type {GaussianTransform} from './linearization.js';
import {extended} from './linearization.js';
import {StateTransition} from './motion.js';
import type {Covariance, CovarianceBlock} from './covariance.js';
import {covarianceMatrix, covarianceRoot, requireRoot} from './covariance.js';

/** Noise that drives the state: white in continuous time, or added before each sample. */
export type ProcessNoise =
  | {
      /** Q_c of dx = f dt + dw, E[dw dwᵀ] = Q_c dt: the square of the state's unit over time. */
      readonly density: Covariance;
      readonly covariance?: undefined;
    }
  | {
      /** Q of x(k+1) = f(x(k)) + w: what each interval between samples adds, however long. */
      readonly covariance: Covariance;
      readonly density?: undefined;
    };

/** A state to be estimated from a record. */
export interface EstimationProblem<S extends AnySystem = System, Q = ParamsOf<S>> {
  /** The system, made by `mechanics` or `ode`. */
  readonly system: S;
  /** The measurements: t, and some of q, v and y. NaN marks a missing measurement. */
  readonly data: MeasuredRecord;
  /**
   * The mean of the state at t, by default the time of the first sample; if omitted, that of the record. Omitted hidden
   * states have the system's initial values.
   */
  readonly initial?: Start & {readonly [state: string]: Numeric | undefined};
  /** The covariance of that state. */
  readonly initialCovariance: Covariance;
  readonly processNoise: ProcessNoise;
  /** Covariance of a sample's measurements, positive; by series {q, v, y}, or all of them in this order. */
  readonly measurementNoise: Covariance;
  /** Values of the system's `params`, as in `simulate`. */
  readonly params?: NumericParams;
  /**
   * Measured inputs: each is in the `params` of forces and of `observe` under its name, as its value at the current
   * time.
   */
  readonly inputs?: Inputs;
  /** Defines a record's y, if that is not the state of an ode: a function of the state, traced like a force. */
  readonly observe?: Bivariant<ObservedAt<Q>, tf.Tensor>;
  /**
   * The longest step of the simulation: intervals between samples are divided into equal steps of at most this length.
   */
  readonly dt: number;
  /** Default implicitMidpoint(). */
  readonly scheme?: Scheme;
  readonly newton?: Newton;
  readonly engine?: SimulateOptions['engine'];
  /** How a Gaussian is propagated through the nonlinear step: kalman.extended() (default) or kalman.unscented(). */
  readonly method?: GaussianTransform;
}

/** The options of a filter. */
export const filterChecks: OptionSchema = {
  system: any,
  data: any,
  initial: object,
  initialCovariance: any,
  processNoise: any,
  measurementNoise: any,
  params: object,
  inputs: object,
  observe: callable,
  dt: positive,
  scheme: any,
  newton: any,
  engine: any,
  method: object,
};

/** An `EstimationProblem` as a filter runs it. */
export interface CheckedProblem {
  readonly motion: StateTransition;
  readonly record: CheckedRecord;
  readonly begin: number;
  readonly mean: Float64Array;
  /** [states, states] */
  readonly root: Float64Array;
  readonly noise: Roots;
  /** [outputs, outputs] */
  readonly measurement: Float64Array;
  readonly transform: GaussianTransform;
}

/** A root of the process noise, [states, states]. */
export interface Roots {
  readonly kind: 'density' | 'covariance';
  readonly root: Float64Array;
}

/** @throws OptionError, ShapeError, DataError */
export function checkProblem(problem: EstimationProblem, owner: string): CheckedProblem {
  requireFilterOptions(problem, {...filterChecks, data: object, processNoise: object}, owner);
  const record = filteredRecord(problem.data, 0, problem);
  const start = {...problem.initial, ...record.initial};
  const motion = new StateTransition(
    {
      ...problem,
      params: problem.params ?? {},
      inputs: {...problem.inputs, ...record.inputs},
      observe: problem.observe,
    },
    start,
  );
  return {
    motion,
    record,
    begin: beginning(start, record),
    mean: motion.flat(start),
    root: covarianceRoot(problem.initialCovariance, motion.blocks, 'initialCovariance'),
    noise: noiseRoot(problem.processNoise, motion.blocks),
    measurement: measurementCovariance(problem.measurementNoise, record),
    transform: transformOf(problem.method, owner),
  };
}

/** @throws OptionError for unknown options, and for missing ones */
export function requireFilterOptions(problem: object, checks: OptionSchema, owner: string): void {
  refuseUnknownOptions(problem, checks, owner);
  const needed = ['system', 'data', 'parameters', 'initialCovariance', 'processNoise', 'measurementNoise', 'dt'];
  const missing = needed.find(
    name => name in checks && (problem as {readonly [name: string]: unknown})[name] === undefined,
  );
  if (missing !== undefined) throw new OptionError('missing-option', `${owner} needs '${missing}'.`, {option: missing});
}

/** @throws OptionError for what a filter has no place for */
export function filteredRecord(
  data: MeasuredRecord,
  index: number,
  {system, observe, inputs = {}}: Pick<EstimationProblem, 'system' | 'observe' | 'inputs'>,
): CheckedRecord {
  for (const [name, one] of Object.entries(inputs)) requireValue(one, isInput, `inputs.${name}`, 'not-a-signal', name);
  const record = checkRecord({missing: 'skip', ...data}, index, comparedSeries(system, observe !== undefined));
  if (data.weights !== undefined)
    throw new OptionError(
      'weights-in-filter',
      `${record.name} has weights, but a filter weighs measurements by measurementNoise: give their variances there, `
        + 'and NaN for what is missing.',
      {record: record.name},
    );
  if (Object.keys(record.parameters).length > 0)
    throw new OptionError(
      'parameters-in-filter',
      `${record.name} has parameters of its own, which a filter does not support: give them as params, or in a `
        + 'separate problem.',
      {record: record.name},
    );
  return record;
}

/** @throws OptionError where the record begins before the filter */
export function beginning(start: Start, {name, t}: CheckedRecord): number {
  const begin = start.t ?? t[0];
  if (begin > t[0])
    throw new OptionError(
      'before-start',
      `${name}: its first sample is at ${t[0]}, before the start at ${begin}. Omit t from the initial state to start `
        + 'at the first sample.',
      {record: name, t: begin},
    );
  return begin;
}

export function noiseRoot(noise: ProcessNoise, blocks: readonly CovarianceBlock[]): Roots {
  refuseUnknownOptions(noise, {density: any, covariance: any}, 'processNoise');
  if ((noise.density === undefined) === (noise.covariance === undefined))
    throw new OptionError(
      'bad-option',
      'processNoise needs one of density (of white noise in continuous time) and covariance (of the noise added in '
        + 'each interval between samples).',
    );
  const kind = noise.density === undefined ? 'covariance' : 'density';
  return {kind, root: covarianceRoot(noise[kind] as Covariance, blocks, `processNoise.${kind}`)};
}

/** @throws OptionError where it is singular: a measurement without noise leaves nothing to weigh it by */
export function measurementCovariance(given: Covariance, {channels}: CheckedRecord): Float64Array {
  let size = 0;
  const parts = channels.map(({name, outputs}) => {
    const part = {name, offset: size, size: outputs};
    size += outputs;
    return part;
  });
  const matrix = covarianceMatrix(given, parts, 'measurementNoise');
  const root = requireRoot(matrix, size, 'measurementNoise');
  for (let i = 0; i < size; i++)
    if (root[i * size + i] === 0)
      throw new OptionError(
        'not-a-covariance',
        `measurementNoise: the variance of measurement ${i} is `
          + `zero${matrix[i * size + i] === 0 ? '' : ' given the others'}. Give every measurement a positive one.`,
        {option: 'measurementNoise', index: i},
      );
  return matrix;
}

export function transformOf(method: GaussianTransform | undefined, owner: string): GaussianTransform {
  if (method !== undefined && typeof (method as Partial<GaussianTransform>).image !== 'function')
    throw new OptionError('bad-option', `${owner}: method must be made by kalman.extended() or kalman.unscented().`, {
      option: 'method',
    });
  return method ?? extended();
}
