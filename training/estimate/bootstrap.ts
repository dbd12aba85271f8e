/**
 * The bootstrap (Efron & Tibshirani, An Introduction to the Bootstrap, 1993): records made anew from the fit, by its
 * noise model or with its own residuals in blocks (Künsch, Annals of Statistics 17, 1989), each fitted again. The
 * spread of their estimates needs no linearization, and is that of the data alone, for priors stay as they are; and as
 * their truth is known, they tell how often the standard errors' intervals hold it.
 */
import {OptionError} from '../../lib/errors.js';
import {positiveInteger, oneOf, optional, readOptions, nonNegativeInteger, type Options} from '../../lib/checks.js';
import {Random} from '../train/random.js';
import {evaluate} from '../identify/evaluation.js';
import {Fit} from '../identify/fit.js';
import {sourceOf, uncertaintyOf, type FitResult} from '../identify/identification.js';
import {isDensity, modelOf} from '../identify/density.js';
import {isRobust, type Noise} from '../identify/noise.js';
import {computed, heldProblem, sweepCheck, type HeldProblem} from '../identify/part.js';
import {quantile} from '../identify/quantiles.js';
import {eachChannel, widthOf, type Channel, type CheckedRecord} from '../identify/records.js';
import {chainSeeds} from './sample-density.js';
import {attempt, type FitProblem} from '../identify/solve.js';

const bootstrapOptions = {
  /**
   * Number of resampled records, or of sets of records; default 200: the relative error of a standard deviation is then
   * a twentieth.
   */
  replicates: optional(positiveInteger, 200),
  /** Default 1. */
  seed: optional(nonNegativeInteger, 1),
  /**
   * The source of a replicate's errors: 'model' draws them from the fitted noise model, 'residuals' joins blocks
   * of the fit's residuals. Default 'model' if the noise is quantized, autoregressive, or `residuals` is 'independent',
   * and not one of outliers.
   */
  errors: optional(oneOf('model', 'residuals')),
  /** Samples in a block of residuals; default 1 if they are assumed independent, otherwise n^(1/3) of n samples. */
  block: optional(positiveInteger),
  /** Engine that computes the replicates: made by `fitSweep` of stiffgrad/sweep. */
  sweep: optional(sweepCheck),
};

/** Options of `bootstrap`. @interface */
export type BootstrapOptions = Options<typeof bootstrapOptions>;

/** Values by parameter, as in `correlation.labels`. */
export interface Labelled<T> {
  readonly [label: string]: T;
}

/** The result of `bootstrap`. */
export interface Bootstrap {
  readonly labels: readonly string[];
  /** Number of successful fits. */
  readonly replicates: number;
  /** Replicates that could not be fitted, and are excluded. */
  readonly failed: number;
  /** Their estimates, in the order of the replicates. */
  readonly draws: Labelled<Float64Array>;
  /** Standard deviation of the estimates. */
  readonly sd: Labelled<number>;
  /** Their mean minus the estimate that they were generated from. */
  readonly bias: Labelled<number>;
  /** From the 2.5th to the 97.5th percentile. */
  readonly interval: Labelled<readonly [number, number]>;
  /**
   * Fraction of the replicates whose own 95 % interval, from their standard errors, contains the estimate that they
   * were generated from.
   */
  readonly coverage: Labelled<number>;
  readonly warnings: readonly string[];
}

/** One replicate, as plain data. */
export interface ReplicateData {
  readonly number: number;
  readonly seed: number;
  readonly errors: 'model' | 'residuals';
  /** 0: by the number of samples. */
  readonly block: number;
  /** Coordinates of the estimate. */
  readonly x: Float64Array;
  /** Scale of a weighted residual's innovation, and by output the autoregression's coefficients. */
  readonly sd: number;
  readonly coefficients: readonly Float64Array[];
}

/** A replicate's estimates with their 95 % intervals, or why there are none. */
export type Replicate =
  | {readonly estimate: Float64Array; readonly low: Float64Array; readonly high: Float64Array}
  | {readonly failure: string};

/**
 * Refits records that are generated from a fit.
 * @param found the result of `identify`
 * @throws OptionError; errors of `simulate` at the estimate
 */
export async function bootstrap(
  found: FitResult<unknown, unknown, unknown>,
  options: BootstrapOptions = {},
): Promise<Bootstrap> {
  const {problem, fit, record} = sourceOf(found, 'bootstrap');
  const {replicates, seed, sweep, ...given} = readOptions(options, bootstrapOptions, 'bootstrap');
  if (isDensity(problem.noise))
    throw new OptionError(
      'bad-option',
      'bootstrap: a density of your own says how likely errors are, but not how to draw them: use likelihoodProfile '
        + 'or posterior.',
      {option: 'noise'},
    );
  const {errors = usualErrors(problem), block = problem.residuals === 'independent' ? 1 : 0} = given;
  if (errors === 'model' && modelOf(problem.noise).name === 'huber')
    throw new OptionError(
      'bad-option',
      'bootstrap: noise.huber() bounds what outliers do and does not say how they are distributed, so there is '
        + 'no model to '
        + "draw errors from: use errors: 'residuals'.",
      {option: 'errors'},
    );
  const {noise, uncertainty} = found;
  const shared = {
    ...{errors, block},
    x: record.x,
    sd: Number.isFinite(noise.sd) ? noise.sd : Math.sqrt(uncertainty.variance),
    coefficients: noise.coefficients,
  };
  const parts = chainSeeds(replicates, seed).map((own, number): ReplicateData => ({...shared, number, seed: own}));
  const held = heldProblem(problem, fit);
  return bootstrapOf(fit, record.x, await computed(sweep, 'replicate', held, parts, replicate));
}

function usualErrors(problem: FitProblem): 'model' | 'residuals' {
  const {residuals} = problem;
  const noise = modelOf(problem.noise);
  if (noise.name === 'quantized') return 'model';
  return !isRobust(noise) && (noise.order > 0 || residuals === 'independent') ? 'model' : 'residuals';
}

function bootstrapOf({space}: Fit, x: Float64Array, all: readonly Replicate[]): Bootstrap {
  const kept = all.filter(one => 'estimate' in one);
  const failures = all.flatMap(one => ('failure' in one ? [one.failure] : []));
  if (kept.length < 2)
    throw new OptionError(
      'start-not-evaluable',
      `bootstrap: ${failures.length} of ${all.length} replicates could not be fitted, the first because: `
        + `${failures[0]}`,
    );
  const {labels} = space;
  const truth = space.natural(x);
  const column = (i: number): Float64Array => Float64Array.from(kept, one => one.estimate[i]);
  const byLabel = <T>(of: (i: number) => T): {[label: string]: T} =>
    Object.fromEntries(labels.map((label, i) => [label, of(i)]));
  const mean = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    labels,
    replicates: kept.length,
    failed: failures.length,
    draws: byLabel(column),
    sd: byLabel(i => {
      const [values, middle] = [column(i), mean(column(i))];
      return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1));
    }),
    bias: byLabel(i => mean(column(i)) - truth[i]),
    interval: byLabel(i => {
      const sorted = column(i).sort();
      return [quantile(sorted, 0.025), quantile(sorted, 0.975)] as const;
    }),
    coverage: byLabel(
      i => kept.filter(({low, high}) => low[i] <= truth[i] && truth[i] <= high[i]).length / kept.length,
    ),
    warnings:
      failures.length === 0
        ? []
        : [`${failures.length} of ${all.length} replicates could not be fitted, the first because: ${failures[0]}`],
  };
}

/** One replicate, wherever it is computed. */
export async function replicate({problem, fit}: HeldProblem, data: ReplicateData): Promise<Replicate> {
  const {space} = fit;
  const {number, x} = data;
  const again = new Fit(problem, remade(problem, fit, data), fit);
  const start = space.released(x);
  const found = await attempt({...problem, shooting: undefined, onProgress: undefined}, again, start, {
    number,
    only: false,
  });
  if ('failure' in found) return found;
  const uncertain = uncertaintyOf(problem, again, found);
  return {estimate: space.natural(found.x), ...space.intervals(uncertain, found.x)};
}

/** The records with what the fit would have measured. */
function remade(problem: FitProblem, fit: Fit, data: ReplicateData): CheckedRecord[] {
  const {x} = data;
  const noise = modelOf(problem.noise);
  const step = data.errors === 'model' && noise.name === 'quantized' ? noise.shape : undefined;
  const random = new Random(data.seed);
  const residuals = evaluate(fit.residuals(x));
  const trajectories = fit.trajectories(x);
  // As many degrees of freedom as the fit took from its residuals are put back (Davison & Hinkley 1997, §6.2).
  const {observations} = fit;
  const widened = Math.sqrt(observations / Math.max(observations - x.length, 1));
  let first = 0;
  return fit.measured.map((record, r) => {
    const width = widthOf(record.channels);
    const rows = record.t.length * width;
    const errors =
      data.errors === 'model'
        ? drawn(random, record.t.length, width, noise, data)
        : shuffled(random, residuals.subarray(first, first + rows), record, width, data.block).map(e => widened * e);
    first += rows;
    const channels: Channel[] = [];
    eachChannel(record.channels, (channel, rowOf) => {
      const {simulated, weights} = channel;
      const exact = trajectories[r].values(simulated);
      const measured = channel.measured.map((value, i) => {
        if (weights[i] === 0) return value;
        const read = exact[i] + errors[rowOf(i)] / weights[i];
        if (step === undefined) return read;
        // The converter's levels are those that it read.
        return value + (step * Math.round(((read - value) * weights[i]) / step)) / weights[i];
      });
      channels.push({...channel, measured});
    });
    trajectories[r].dispose();
    return {...record, channels};
  });
}

/** Samples after which an autoregression that began at rest is taken to have forgotten it: φ = 0.99 leaves 4e-5. */
const FORGOTTEN = 1000;

/** Errors of the noise model, [samples, width], of weight 1. */
function drawn(
  random: Random,
  samples: number,
  width: number,
  noise: Noise,
  {sd, coefficients}: ReplicateData,
): Float64Array {
  const errors = new Float64Array(samples * width);
  const draw = noise.name === 'studentT' ? () => studentDraw(random, noise.shape) : () => random.normal();
  for (let k = 0; k < width; k++) {
    const phi = coefficients[k] ?? new Float64Array(0);
    const past = new Array<number>(phi.length).fill(0);
    for (let n = phi.length === 0 ? 0 : -FORGOTTEN; n < samples; n++) {
      const error = phi.reduce((sum, value, lag) => sum + value * past[lag], sd * draw());
      past.unshift(error);
      past.pop();
      if (n >= 0) errors[n * width + k] = error;
    }
  }
  return errors;
}

/** Student's t of ν degrees (Bailey, Mathematics of Computation 62, 1994). */
function studentDraw(random: Random, degrees: number): number {
  for (;;) {
    const [u, v] = [2 * random.uniform() - 1, 2 * random.uniform() - 1];
    const w = u * u + v * v;
    if (w > 0 && w <= 1) return u * Math.sqrt((degrees * (w ** (-2 / degrees) - 1)) / w);
  }
}

/** Blocks of the record's own errors, [samples, width]: centred, of samples that were measured whole. */
function shuffled(
  random: Random,
  residuals: Float64Array,
  {t, channels, name}: CheckedRecord,
  width: number,
  given: number,
): Float64Array {
  const whole = Array.from(t.keys()).filter(i =>
    channels.every(({weights, outputs}) =>
      weights.subarray(i * outputs, (i + 1) * outputs).every(weight => weight !== 0),
    ),
  );
  if (whole.length < 2)
    throw new OptionError(
      'no-data',
      `bootstrap: ${name} has ${whole.length} samples in which everything was measured, too few to draw residuals `
        + `from. Use errors: 'model'.`,
      {record: name},
    );
  // Long enough for what lasts, short enough for many: the error of the deviation is least at this rate (Hall, Horowitz
  // & Jing 1995).
  const block = Math.min(given === 0 ? Math.ceil(whole.length ** (1 / 3)) : given, whole.length);
  const means = Array.from(
    {length: width},
    (_, k) => whole.reduce((sum, i) => sum + residuals[i * width + k], 0) / whole.length,
  );
  const errors = new Float64Array(t.length * width);
  for (let i = 0; i < t.length; i += block) {
    const from = random.below(whole.length - block + 1);
    for (let j = 0; j < block && i + j < t.length; j++)
      // Residuals are simulated less measured.
      for (let k = 0; k < width; k++) errors[(i + j) * width + k] = means[k] - residuals[whole[from + j] * width + k];
  }
  return errors;
}
