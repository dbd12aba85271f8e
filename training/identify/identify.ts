/**
 * Parameters of a system from measured records, by least squares on forward sensitivities: each
 * iteration simulates every record once, with the tangents of all parameters (equations.md §5), and
 * Levenberg–Marquardt does the rest. The result carries its uncertainty and can write a report.
 */
import type * as tf from '@tensorflow/tfjs';
import type {Event, ObservedAt, Params, System} from '../../lib/index.js';
import type {AnySystem, Bivariant, ParamsOf, StatesOf} from '../../lib/internal.js';
import {OptionError} from '../../lib/index.js';
import {checkEarlyStopping} from './early-stopping.js';
import {checkRecords, Fit} from './fit.js';
import type {Identification} from './identification.js';
import {sweepAll, sweepCheck} from './part.js';
import {identificationOf} from './identification.js';
import type {OptionSchema} from '../../lib/checks.js';
import {
  abortSignal,
  any,
  callable,
  positiveInteger,
  object,
  oneOf,
  refuseUnknownOptions,
  requireValue,
  nonNegativeInteger,
} from '../../lib/checks.js';
import {modelChecks} from './model.js';
import {isDensity, requireDensity, type NoiseDensity} from './density.js';
import {requireNoise, white} from './noise.js';
import type {Parameter, Parameters} from './parameters.js';
import {startChecks} from './records.js';
import {solveAll, type FitProblem} from './solve.js';
import {drawStarts} from './starts.js';

export type {Identification} from './identification.js';
export type {IdentificationProgress} from './solve.js';

/** The argument of `identify`. T are its parameters, S is the system, Q the parameters that `observe` reads. */
export interface IdentificationProblem<
  T extends Parameters = Parameters,
  S extends AnySystem = System,
  Q = ParamsOf<S>,
> extends Omit<FitProblem, 'system' | 'parameters' | 'observe' | 'events'> {
  /** The system, made by `mechanics` or `ode`. */
  readonly system: S;
  /**
   * The parameters, by their name in `params`: 'spring.stiffness' is params.spring.stiffness. 'initial.q' and similar
   * are the initial state.
   */
  readonly parameters: T & Named<T, ParamsOf<S> & Q>;
  /** Defines a record's y, if that is not the state of an ode: a function of the state, traced like a force. */
  readonly observe?: Bivariant<ObservedAt<Q, StatesOf<S>>, tf.Tensor>;
  /**
   * Zero crossings at which the state jumps, or that are recorded, as in `simulate`; derivatives include the times of
   * the jumps. A trial in which an event stops the run before the record ends is rejected.
   */
  readonly events?: readonly Event<ParamsOf<S>, StatesOf<S>>[];
}

/** Where system and `observe` say that they read P, a parameter of another name is refused by the compiler. */
export type Named<T, P> = [P] extends [never]
  ? unknown
  : Params extends P
    ? unknown
    : {
        readonly [K in keyof T]: K extends NameIn<P>
          ? Parameter
          : `'${K & string}' is no parameter that the system reads`;
      };
type NameIn<P> = string extends keyof P
  ? string
  : (keyof P & string) | `${keyof P & string}.${string}` | `initial.${string}` | `noise.${string}`;

const known: OptionSchema = {
  ...modelChecks,
  data: any,
  method: any,
  shooting: object,
  residuals: oneOf('correlated', 'independent'),
  noise: any,
  earlyStopping: object,
  starts: positiveInteger,
  seed: nonNegativeInteger,
  workers: nonNegativeInteger,
  sweep: sweepCheck,
  onProgress: callable,
  signal: abortSignal,
};

/**
 * Estimates the parameters for which the simulated system is nearest to the records: it minimizes Σ (weight ·
 * (simulated − measured))². A trial that cannot be simulated is a rejected step.
 * @returns a result whose `trajectories` hold tensors; their `dispose` frees them
 * @throws OptionError, ShapeError, DataError for a problem that is not well posed; TraceError for a model that
 *   cannot be traced; NewtonError, SingularMatrixError or InconsistentStateError if the guess cannot
 *   be simulated
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {ode, rk4} from 'stiffgrad';
 * import {identify, positive} from 'stiffgrad/training';
 *
 * const decay = ode(({y, params}) => tf.neg(tf.mul(params.k as tf.Tensor, y)));
 * const t = Float64Array.from({length: 21}, (_, i) => i / 20);
 * const fit = await identify({
 *   system: decay,
 *   initial: {y: 1},
 *   data: {t, y: t.map(time => Math.exp(-2 * time))},
 *   parameters: {k: positive(1)},
 *   scheme: rk4(),
 *   dt: 0.05,
 * });
 * console.log(fit.estimate.k); // → 2.000
 * ```
 */
export async function identify<T extends Parameters, S extends AnySystem, Q = ParamsOf<S>>(
  problem: IdentificationProblem<T, S, Q>,
): Promise<Identification<T, S>>;
export async function identify(problem: IdentificationProblem): Promise<Identification> {
  return identifyWith(problem);
}

/** `identify` without its types. */
export async function identifyWith(problem: FitProblem): Promise<Identification> {
  check(problem);
  return identifyFit(problem, new Fit(problem, checkRecords(problem, problem.data)));
}

/** @param fit of records that are read already */
export async function identifyFit(problem: FitProblem, fit: Fit): Promise<Identification> {
  const began = performance.now();
  const {starts = 1, seed = 1, sweep} = problem;
  const points = starts === 1 ? [fit.space.start] : drawStarts(fit.space, starts, seed);
  const fits = sweep === undefined ? await solveAll(problem, fit, points) : await sweepAll(problem, fit, points, sweep);
  return identificationOf(problem, fit, fits, began);
}

/** @throws OptionError for options that need a sum of squares */
function checkDensity({method, shooting, residuals, earlyStopping}: FitProblem, noise: NoiseDensity): void {
  requireDensity(noise);
  const refuse = (option: string, what: string): never => {
    throw new OptionError('bad-option', `identify: noise.logDensity does not go with ${what}.`, {option});
  };
  if (method?.name === 'levenbergMarquardt')
    refuse(
      'method',
      'levenbergMarquardt(), which minimizes a sum of squares: use lbfgs(), the default, or adam({...})',
    );
  if ((shooting?.segments ?? 1) > 1)
    refuse('shooting', 'multiple({segments}): fit with noise.white() first, and start from its estimate');
  if (residuals === 'correlated')
    refuse('residuals', "residuals: 'correlated': it is the likelihood of independent measurements");
  if (earlyStopping !== undefined) refuse('earlyStopping', 'earlyStopping, which judges by a sum of squares');
}

/** @throws OptionError */
function check(problem: FitProblem): void {
  refuseUnknownOptions(problem, known, 'identify');
  for (const required of ['system', 'data', 'parameters', 'dt'] as const) {
    if (problem[required] === undefined)
      throw new OptionError('missing-option', `identify needs '${required}'.`, {option: required});
  }
  if (isDensity(problem.noise)) checkDensity(problem, problem.noise);
  else requireNoise(problem.noise ?? white());
  if (problem.earlyStopping !== undefined) checkEarlyStopping(problem.earlyStopping);
  refuseUnknownOptions(problem.initial ?? {}, startChecks(problem.system), 'identify: initial', 'bad-initial');
  const method = problem.method as {readonly steps?: unknown} | null | undefined;
  if (method !== undefined && typeof method?.steps !== 'function') {
    const given = typeof method === 'string' ? `'${String(method)}'` : typeof method;
    throw new OptionError(
      'bad-option',
      `identify: method must be made by levenbergMarquardt(), lbfgs() or adam({...}), not ${given}.`,
      {option: 'method'},
    );
  }
  if (problem.shooting !== undefined)
    requireValue(
      (problem.shooting as {readonly segments?: unknown}).segments,
      positiveInteger,
      'identify: shooting must be made by single() or multiple({segments}); its segments',
      'bad-option',
      'shooting',
    );
  if (problem.system.kind === 'ode' && problem.system.delays !== undefined && (problem.shooting?.segments ?? 1) > 1)
    throw new OptionError(
      'bad-option',
      'identify: a dde needs its past, which a segment of multiple shooting does not have: use shooting: single().',
      {option: 'shooting'},
    );
}
