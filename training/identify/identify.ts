/**
 * Parameters of a system from measured records, by least squares on forward sensitivities: each
 * iteration simulates every record once, with the tangents of all parameters (equations.md §5), and
 * Levenberg–Marquardt does the rest. The result carries its uncertainty and can write a report.
 */
import {OptionError} from '../../lib/index.js';
import {Fit, isFailedSimulation, prefixed} from './fit.js';
import type {Identification} from './identification.js';
import {identificationOf} from './identification.js';
import type {LeastSquaresIteration, LeastSquaresMethod, LeastSquaresResult} from './least-squares.js';
import {levenbergMarquardt} from './least-squares.js';
import {nearestName} from '../data/nearest-name.js';
import type {Model} from './record-model.js';
import type {MeasuredRecord} from './records.js';

export type {Identification} from './identification.js';

export interface IdentificationProgress extends LeastSquaresIteration {
  /** Where the iteration stands, by name, row-major; the fixed parameters too. */
  readonly values: {readonly [name: string]: Float64Array};
}

export interface IdentificationProblem extends Model {
  /** One record, or several that share their parameters. */
  readonly data: MeasuredRecord | readonly MeasuredRecord[];
  /** Default levenbergMarquardt(). */
  readonly method?: LeastSquaresMethod;
  /**
   * How the residuals are taken to be related in time: 'correlated' (default) for what a model misses,
   * which lasts many samples (Newey & West 1987); 'independent' for pure measurement noise. On white noise
   * the default's errors come out a little small for short records: by a tenth at fifty samples, a sixth at twenty.
   */
  readonly residuals?: 'correlated' | 'independent';
  /** After the start and each step. */
  readonly onProgress?: (progress: IdentificationProgress) => void;
}

const known = ['system', 'initial', 'data', 'observe', 'inputs', 'parameters', 'scheme', 'dt', 'newton', 'engine', 'method', 'residuals', 'onProgress'];

/**
 * Finds the parameters with which the system, simulated, comes nearest to the records: least Σ (weight ·
 * (simulated − measured))². A trial that cannot be simulated is a rejected step.
 * @returns with open `trajectories`: their `dispose` frees what tensors the result holds
 * @throws OptionError, ShapeError, DataError for a problem that is not well posed; TraceError for a model that
 *   cannot be traced; NewtonError, SingularMatrixError or InconsistentStateError where the guess itself cannot
 *   be simulated
 */
export async function identify(problem: IdentificationProblem): Promise<Identification> {
  check(problem);
  const began = performance.now();
  const fit = new Fit(problem, problem.data);
  const iterations = (problem.method ?? levenbergMarquardt()).iterate(fit, fit.space.start);
  let {done, value} = first(iterations);
  while (done !== true) {
    problem.onProgress?.({...value, values: fit.space.values(value.x)} as IdentificationProgress);
    // Lets the page draw, or the terminal print, between iterations.
    await new Promise(resolve => setTimeout(resolve, 0));
    ({done, value} = iterations.next());
  }
  return identificationOf(problem, fit, value as LeastSquaresResult, performance.now() - began);
}

type Iterations = ReturnType<LeastSquaresMethod['iterate']>;

function first(iterations: Iterations): ReturnType<Iterations['next']> {
  try {
    return iterations.next();
  } catch (error) {
    throw isFailedSimulation(error) ? prefixed(error, 'identify: the guess cannot be simulated') : error;
  }
}

function check(problem: IdentificationProblem): void {
  const unknown = Object.keys(problem).find(key => !known.includes(key));
  if (unknown !== undefined) {
    const nearest = nearestName(unknown, known);
    throw new OptionError('unknown-option', `identify has no option '${unknown}'${nearest === undefined ? `; it has ${known.join(', ')}.` : `: did you mean '${nearest}'?`}`, {option: unknown});
  }
  for (const required of ['system', 'data', 'parameters', 'dt'] as const) {
    if (problem[required] === undefined) throw new OptionError('missing-option', `identify needs '${required}'.`, {option: required});
  }
  if (!['correlated', 'independent', undefined].includes(problem.residuals)) {
    throw new OptionError('bad-option', `identify: residuals are 'correlated' or 'independent', not '${String(problem.residuals)}'.`, {residuals: problem.residuals});
  }
}
