/**
 * The information of an experiment before it is made: Fisher's, from the exact sensitivities of the simulated outputs
 * along a record, the errors that it bounds (Cramér & Rao), and the criteria by which experiments
 * are compared (Atkinson, Donev & Tobias, Optimum Experimental Designs, 2007). Its rank at generic values of the
 * parameters says which of them no measurement of these outputs could tell apart (Walter & Pronzato, Identification of
 * Parametric Models, 1997, ch. 2; Stigter & Molenaar, Automatica 58, 2015).
 */
import type * as tf from '@tensorflow/tfjs';
import {uniformFloat64} from 'pure-rand/distribution/uniformFloat64';
import {type Numeric, type ObservedAt, type System, OptionError, ShapeError} from '../../lib/index.js';
import {type AnySystem, type Bivariant, type ParamsOf, readNumeric} from '../../lib/internal.js';
import {
  any,
  finite,
  list,
  object,
  oneOf,
  optional,
  positive,
  readOptions,
  refuseUnknownOptions,
  requireValue,
  typed,
  nonNegativeInteger,
  type OptionSchema,
  type Options,
} from '../../lib/checks.js';
import {seeded} from '../../lib/random.js';
import {checkRecords, comparedSeries, Fit} from '../identify/fit.js';
import {type Parameters, requireParameters} from '../identify/parameters.js';
import {modelChecks, type Model} from '../identify/model.js';
import {seriesNames, type MeasuredRecord} from '../identify/records.js';
import {nested} from '../identify/nested.js';
import {evaluate} from '../identify/evaluation.js';
import {RowQr, singularValues} from '../identify/row-qr.js';
import {gram, informationBound, scaledColumns} from '../identify/uncertainty.js';
import {simulateRecord} from '../identify/validation.js';

/** A model, and its planned measurements. */
export interface ExperimentProblem<
  T extends Parameters = Parameters,
  S extends AnySystem = System,
  Q = ParamsOf<S>,
> extends Omit<Model, 'system' | 'parameters' | 'observe' | 'noise'> {
  readonly system: S;
  /** The parameters to estimate, at assumed values, on which the information depends. Priors are ignored. */
  readonly parameters: T;
  readonly observe?: Bivariant<ObservedAt<Q>, tf.Tensor>;
  /**
   * Which series are measured, and their noise: the standard deviation of a sample, one for all outputs of a series or
   * one per output.
   */
  readonly noise: {readonly q?: Numeric; readonly v?: Numeric; readonly y?: Numeric};
}

/** A possible record: its times, inputs and initial state, without measurements. */
export type Experiment = Pick<MeasuredRecord, 't' | 'inputs' | 'initial' | 'name'>;

/**
 * Fisher information of the free parameters, for relative changes: divided by the value, or absolute if that is zero.
 */
export interface FisherInformation {
  readonly labels: readonly string[];
  /** [p, p] row-major, relative. */
  readonly matrix: Float64Array;
  /** Lower bounds of unbiased estimates' errors by label, in the parameters' units; infinite without information. */
  readonly standardError: {readonly [label: string]: number};
  /** [p, p], of estimates with these errors. */
  readonly correlation: Float64Array;
  readonly rank: number;
  /**
   * ln det of the matrix, which D-optimal experiments maximize: the volume of the confidence ellipsoid. −∞ if the
   * matrix is singular.
   */
  readonly logDeterminant: number;
  /** Mean of the relative variances, which A-optimal experiments minimize. */
  readonly meanVariance: number;
  /** Smallest eigenvalue of the matrix, which E-optimal experiments maximize: the least known direction. */
  readonly leastEigenvalue: number;
  readonly warnings: readonly string[];
}

const problemChecks: OptionSchema = {...modelChecks, noise: object};

/**
 * The information that one experiment, or several together, would give about the parameters at their guesses.
 * @throws OptionError, ShapeError; errors of `simulate` if an experiment cannot be simulated
 */
export function fisherInformation<T extends Parameters, S extends AnySystem, Q = ParamsOf<S>>(
  problem: ExperimentProblem<T, S, Q>,
  experiments: Experiment | readonly Experiment[],
): FisherInformation;
export function fisherInformation(
  problem: ExperimentProblem,
  experiments: Experiment | readonly Experiment[],
): FisherInformation {
  const sensitivities = new Sensitivities(problem, listed(experiments), 'fisherInformation');
  return informationOf(sensitivities.at(sensitivities.guess));
}

/** A candidate experiment, with its information. */
export interface RankedExperiment {
  readonly name: string;
  /** The value of the criterion: larger is better, except for 'A', a variance. */
  readonly value: number;
  readonly information: FisherInformation;
}

const rankOptions = {
  /** 'D' (default): determinant; 'A': mean variance; 'E': the worst direction. All of relative errors. */
  criterion: optional(oneOf('D', 'A', 'E'), 'D'),
  /** Experiments that are carried out anyway; candidates add to them. */
  beside: optional(typed<readonly Experiment[]>(list), []),
};

/** Options of `experiments.rank`. @interface */
export type RankOptions = Options<typeof rankOptions>;

/**
 * Ranks candidate experiments by their information about the parameters, the best first.
 * @param candidates by name
 * @throws as `fisherInformation`
 */
export function rank<T extends Parameters, S extends AnySystem, Q = ParamsOf<S>>(
  problem: ExperimentProblem<T, S, Q>,
  candidates: {readonly [name: string]: Experiment},
  options?: RankOptions,
): RankedExperiment[];
export function rank(
  problem: ExperimentProblem,
  candidates: {readonly [name: string]: Experiment},
  options: RankOptions = {},
): RankedExperiment[] {
  requireValue(candidates, object, 'experiments.rank: candidates');
  const {criterion, beside} = readOptions(options, rankOptions, 'experiments.rank');
  const value = {
    D: ({logDeterminant}: FisherInformation) => logDeterminant,
    A: ({meanVariance}: FisherInformation) => meanVariance,
    E: ({leastEigenvalue}: FisherInformation) => leastEigenvalue,
  }[criterion];
  const ranked = Object.entries(candidates).map(([name, candidate]) => {
    const sensitivities = new Sensitivities(problem, [...beside, {name, ...candidate}], 'experiments.rank');
    const information = informationOf(sensitivities.at(sensitivities.guess));
    return {name, value: value(information), information};
  });
  const better = criterion === 'A' ? 1 : -1;
  // Infinities are equal to each other, and not NaN apart.
  return ranked.sort((a, b) => (a.value === b.value ? 0 : better * (a.value - b.value)));
}

/** A direction in parameter space along which no measurement changes. */
export interface UnidentifiableCombination {
  /** Direction by label: the change of each parameter relative to its value; the largest is 1. */
  readonly direction: {readonly [label: string]: number};
  /** The direction as a sentence. */
  readonly sentence: string;
}

/** Whether the noise-free outputs of an experiment determine the parameters. */
export interface Identifiability {
  readonly identifiable: boolean;
  /** Generic rank of the sensitivities: the largest one found. */
  readonly rank: number;
  /** Rank at the guess; below `rank` if the guess is singular, for example a damping of zero. */
  readonly rankAtGuess: number;
  readonly combinations: readonly UnidentifiableCombination[];
  /** Those of the sensitivities at the guess, with columns of unit length, descending: a clear gap is a clear rank. */
  readonly singularValues: Float64Array;
}

const rankTestOptions = {
  /**
   * Number of points, in addition to the guess, at which the rank is computed; default 3. A random point has the
   * generic rank with probability one.
   */
  points: optional(nonNegativeInteger, 3),
  /** Relative distance of these points from the guess; default 0.2. */
  spread: optional(positive, 0.2),
  /** Seed of the random points; default 1. */
  seed: optional(finite, 1),
  /**
   * Singular values below this fraction of the largest count as zero; default 1e-8, the accuracy of sensitivities of a
   * converged simulation.
   */
  rankTolerance: optional(positive, 1e-8),
};

/** Options of `identifiability`. @interface */
export type IdentifiabilityOptions = Options<typeof rankTestOptions>;

/**
 * Structural identifiability by the rank of the sensitivities along the experiment, at the guess and at points around
 * it. Identifiability is local, for these inputs and times.
 * @throws as `fisherInformation`
 */
export function identifiability<T extends Parameters, S extends AnySystem, Q = ParamsOf<S>>(
  problem: ExperimentProblem<T, S, Q>,
  experiments: Experiment | readonly Experiment[],
  options?: IdentifiabilityOptions,
): Identifiability;
export function identifiability(
  problem: ExperimentProblem,
  experiments: Experiment | readonly Experiment[],
  options: IdentifiabilityOptions = {},
): Identifiability {
  const {points, spread, seed, rankTolerance} = readOptions(options, rankTestOptions, 'identifiability');
  const sensitivities = new Sensitivities(problem, listed(experiments), 'identifiability');
  const {guess} = sensitivities;
  const generator = seeded(seed);
  const around = Array.from({length: points}, () =>
    // Coordinates of positive parameters are logarithms: the same number is a relative change there.
    guess.map((value, i) => {
      const change = spread * (2 * uniformFloat64(generator) - 1);
      return sensitivities.logarithmic[i] ? value + change : value + change * (Math.abs(value) || 1);
    }),
  );
  const {labels} = sensitivities;
  const {factor} = sensitivities.at(guess);
  const here = informationBound(factor, labels, rankTolerance);
  const all = [here, ...around.map(x => informationBound(sensitivities.at(x).factor, labels, rankTolerance))];
  const generic = all.reduce((best, one) => (one.rank > best.rank ? one : best));
  return {
    identifiable: generic.rank === labels.length,
    rank: generic.rank,
    rankAtGuess: here.rank,
    combinations: generic.unidentified.map(({parameters, direction}) => {
      const moves = parameters.map((i): [string, number] => [labels[i], direction[i]]);
      return {direction: Object.fromEntries(moves), sentence: sentenceOf(moves)};
    }),
    singularValues: singularValues(scaledColumns(factor, factor.columnNorms()), labels.length).values,
  };
}

function sentenceOf(moves: readonly (readonly [string, number])[]): string {
  if (moves.length === 1) return `No measurement depends on ${moves[0][0]}.`;
  const changes = moves.map(([label, move]) => `${label} by ${move < 0 ? '−' : '+'}${Math.abs(move).toPrecision(3)} %`);
  return (
    `A joint change of ${changes.slice(0, -1).join(', ')} and ${changes[changes.length - 1]} leaves all `
    + 'measurements unchanged: only combinations that stay constant along this direction can be identified. Fix one '
    + 'of them, or measure something that they affect differently.'
  );
}

/** Sensitivities at one place, their columns for relative changes. */
interface Relative {
  readonly labels: readonly string[];
  readonly factor: RowQr;
  /** A relative change of one in the parameters' own units. */
  readonly scale: Float64Array;
}

class Sensitivities {
  readonly labels: readonly string[];
  /** In coordinates. */
  readonly guess: Float64Array;
  readonly logarithmic: readonly boolean[];
  private readonly fit: Fit;

  constructor({noise, ...model}: ExperimentProblem, experiments: readonly Experiment[], owner: string) {
    refuseUnknownOptions({noise, ...model}, problemChecks, owner);
    for (const [name, value] of Object.entries({...model, noise}))
      if (value === null || value === undefined)
        throw new OptionError('missing-option', `${owner} needs '${name}'.`, {option: name});
    requireParameters(model.parameters);
    const values = Object.fromEntries(Object.entries(model.parameters).map(([name, {guess}]) => [name, guess]));
    const records = experiments.map(experiment => {
      refuseUnknownOptions(experiment, {t: any, inputs: object, initial: object, name: any}, `${owner}: an experiment`);
      return imagined(model, values, experiment, noise);
    });
    this.fit = new Fit(model, checkRecords(model, records));
    const {space} = this.fit;
    if (space.size === 0) throw new OptionError('no-parameters', `${owner}: every parameter is fixed.`);
    this.labels = space.labels;
    this.guess = space.start;
    this.logarithmic = space.moving.map(({kind}) => kind === 'positive');
  }

  at(x: Float64Array): Relative {
    const {space} = this.fit;
    const p = space.size;
    const {jacobian} = evaluate(this.fit.linearize(x));
    const scale = space.natural(x).map(value => Math.abs(value) || 1);
    const slope = space.derivative(x);
    for (let i = 0; i < jacobian.length; i++) jacobian[i] *= scale[i % p] / slope[i % p];
    const rows = jacobian.length / p;
    return {labels: this.labels, factor: new RowQr(p).append(jacobian, new Float64Array(rows)), scale};
  }
}

const listed = (experiments: Experiment | readonly Experiment[]): readonly Experiment[] =>
  Array.isArray(experiments) ? (experiments as readonly Experiment[]) : [experiments as Experiment];

/** The experiment with what the model itself would measure, weighed by its noise. */
function imagined(
  model: Model,
  values: {readonly [name: string]: Float64Array},
  experiment: Experiment,
  noise: ExperimentProblem['noise'],
): MeasuredRecord {
  refuseUnknownOptions(noise, seriesNames, 'noise');
  const series = comparedSeries(model.system, model.observe !== undefined);
  const asked = seriesNames.filter(name => noise[name] !== undefined);
  const unknown = asked.find(name => series[name] === undefined);
  if (asked.length === 0 || unknown !== undefined)
    throw new OptionError(
      'no-data',
      'noise defines which series are measured: give the standard deviation of '
        + `${Object.keys(series).join(' or ')}${unknown === undefined ? '' : `, not of ${unknown}`}.`,
      {series: unknown},
    );
  const trajectory = simulateRecord(model, values, experiment);
  try {
    const samples = trajectory.values('t').length;
    const found = asked.map(name => [name, trajectory.values(series[name] as 'q')] as const);
    return {
      ...experiment,
      ...Object.fromEntries(
        found.map(([name, values]) => [name, nested(values, [samples, values.length / samples])] as const),
      ),
      weights: Object.fromEntries(
        found.map(([name, values]) => [name, weightsOf(noise[name] as Numeric, name, samples, values.length)] as const),
      ),
    };
  } finally {
    trajectory.dispose();
  }
}

function weightsOf(deviation: Numeric, name: string, samples: number, size: number): Numeric {
  const {values} = readNumeric(deviation, `noise.${name}`);
  const outputs = size / samples;
  const bad = values.find(value => !(value > 0 && value < Infinity));
  if (bad !== undefined)
    throw new OptionError('bad-option', `noise.${name}: a standard deviation is ${bad}, but must be positive.`, {name});
  if (values.length !== 1 && values.length !== outputs)
    throw new ShapeError(
      'weights-shape',
      `noise.${name} has ${values.length} numbers: give one, or ${outputs}, one per output.`,
    );
  return Array.from({length: samples}, () => Array.from({length: outputs}, (_, i) => 1 / values[i % values.length]));
}

function informationOf(relative: Relative): FisherInformation {
  const {labels, factor, scale} = relative;
  const {p, r} = factor;
  const found = informationBound(factor, labels);
  const whole = found.rank === p;
  const errors = found.standardError;
  const spectrum = singularValues(r, p).values;
  return {
    labels,
    matrix: gram(r, p),
    standardError: Object.fromEntries(labels.map((label, i) => [label, errors[i] * scale[i]])),
    correlation: found.correlation,
    rank: found.rank,
    logDeterminant: whole ? 2 * spectrum.reduce((sum, value) => sum + Math.log(value), 0) : -Infinity,
    meanVariance: whole ? errors.reduce((sum, error) => sum + error ** 2, 0) / p : Infinity,
    leastEigenvalue: whole ? spectrum[p - 1] ** 2 : 0,
    warnings: found.warnings,
  };
}
