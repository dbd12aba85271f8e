/**
 * Fits from one start or many. A fit is an evaluation (evaluation.ts): in this thread one runs after the other; with
 * worker threads several are under way at once, each waiting for its own simulations. Parameters and what is not known
 * of the noise are estimated in turns, until neither moves; in one turn where the noise is known or does not matter.
 */
import {parallelism} from '../../lib/builtin.js';
import {throwIfAborted} from '../../lib/checks.js';
import {OptionError} from '../../lib/errors.js';
import {methodOf, objectiveOf} from './density-objective.js';
import {HeldOut, type EarlyStopping} from './early-stopping.js';
import {evaluateAsync, type Evaluation, type EvaluationThreads} from './evaluation.js';
import {isFailedSimulation, prefixed} from './failed-simulation.js';
import type {Fit} from './fit.js';
import {recordOf, type Attempt, type FitRecord} from './fit-record.js';
import {
  stepsOf,
  type EvaluatedProblem,
  type LeastSquaresIteration,
  type LeastSquaresMethod,
  type LeastSquaresResult,
  type ResidualReport,
} from './least-squares-problem.js';
import type {Model} from './model.js';
import type {ResidualObjective} from './objective.js';
import {guessing, type ParameterSpace} from './parameters.js';
import type {MeasuredRecord} from './records.js';
import {MultipleShooting, shoot, single, type Shooting} from './shooting.js';
import type {NoiseState} from './weighing.js';

/** State of an identification after a step. */
export interface IdentificationProgress extends LeastSquaresIteration {
  /** Current values of the parameters by name, row-major; including fixed ones. */
  readonly values: {readonly [name: string]: Float64Array};
  /** Index of the start, from 0. */
  readonly start: number;
}

/** One part of an analysis: its kind, its problem, and its data. */
export interface PartCase {
  readonly part: string;
  /** The identity of the problem, by the contents of its options: a task with another problem refuses the part. */
  readonly of: string;
  readonly [name: string]: unknown;
}

/** Where parts are computed; made by `fitSweep` of stiffgrad/sweep. */
export interface PartSweep {
  /** The parts' results in their order. @throws (rejects) if one has none */
  compute(parts: readonly PartCase[], signal?: AbortSignal): Promise<readonly unknown[]>;
}

/** The problem of `identify`, without its types. */
export interface FitProblem extends Model {
  /** One record, or several that share their parameters. */
  readonly data: MeasuredRecord | readonly MeasuredRecord[];
  /** Default levenbergMarquardt(); or lbfgs(), adam({...}). */
  readonly method?: LeastSquaresMethod;
  /** Default single(); multiple({segments}) converges from worse guesses, and for chaotic motion. */
  readonly shooting?: Shooting;
  /**
   * The assumption about correlation of the residuals in time: 'correlated' (default) for errors of the model,
   * which persist over many samples (Andrews & Monahan 1992); 'independent' for pure measurement noise. Errors of short
   * records are widened for the small number of samples (MacKinnon & White 1985; Bell & McCaffrey 2002).
   */
  readonly residuals?: 'correlated' | 'independent';
  /** Held-out records; the fit stops when they are not fitted better any more. */
  readonly earlyStopping?: EarlyStopping;
  /**
   * Fits from this many guesses, the given one first; the result is that of the lowest cost, and `minima` lists what
   * the others found. Default 1.
   */
  readonly starts?: number;
  /** Seed of the random starts; default 1. */
  readonly seed?: number;
  /**
   * Worker threads for the simulations of the starts, several at once. Default: as many as the machine runs,
   * if the first start shows that they gain more than they cost; 0: none, all in this thread. The results do not depend
   * on it, to the last bit. If given with a single start, its simulations leave this thread free.
   */
  readonly workers?: number;
  /**
   * Where the starts are computed: made by `fitSweep` of stiffgrad/sweep, with processes, cluster jobs or a queue, and
   * a store of results. The results are the same to the last bit. `onProgress` is then that of the sweep.
   */
  readonly sweep?: PartSweep;
  /** After the start and each step. */
  readonly onProgress?: (progress: IdentificationProgress) => void;
  /** Ends the fit with an AbortError between two of its steps. */
  readonly signal?: AbortSignal;
}

/** The fits from the starts, in their order; those that could not be simulated are left out. */
export interface Fits {
  readonly records: readonly FitRecord[];
  readonly warnings: readonly string[];
}

/** @throws OptionError where none can be simulated */
export function gathered(attempts: readonly Attempt[]): Fits {
  const records = attempts.flatMap(one => ('failure' in one ? [] : [one]));
  const failures = attempts.flatMap(one => ('failure' in one ? [one.failure] : []));
  if (records.length === 0)
    throw new OptionError(
      'start-not-evaluable',
      `identify: none of the ${attempts.length} starts can be simulated; the first one: ${failures[0]}`,
    );
  const some = `${failures.length} of ${attempts.length} starts could not be simulated, the first because`;
  return {records, warnings: failures.length === 0 ? [] : [`${some}: ${failures[0]}`]};
}

const IN_THIS_THREAD =
  'The simulations ran in the calling thread: worker threads could not be started, or the problem cannot be sent to '
  + 'them, because it has a function of your own, uneven times or an engine of tensors.';

/** Two a thread, so that none waits while the other one's residuals are made here. */
const UNDER_WAY = 2;

/**
 * @param points coordinates of the starts
 * @throws OptionError where none can be simulated; of a single start what it throws
 */
export async function solveAll(problem: FitProblem, fit: Fit, points: readonly Float64Array[]): Promise<Fits> {
  const attempts: Attempt[] = [];
  const one = async (number: number, threads?: EvaluationThreads): Promise<void> => {
    attempts[number] = await attempt(problem, fit, points[number], {number, threads, only: points.length === 1});
  };
  const {workers} = problem;
  let first = 0;
  const began = performance.now();
  for (; first < points.length; first++) {
    if (workers !== undefined ? workers > 0 : worthThreads(points.length, first, performance.now() - began)) break;
    await one(first);
  }
  await inOrder(points.length, first, UNDER_WAY * Math.max(workers ?? parallelism(), 1), number =>
    one(number, {workers}),
  );
  const {records, warnings} = gathered(attempts);
  return {records, warnings: [...warnings, ...((workers ?? 0) > 1 && !fit.elsewhere ? [IN_THIS_THREAD] : [])]};
}

/**
 * Milliseconds until new threads answer, compile and are warm: 340 to 950 were measured for two where six programs
 * shared each core (simulate/ensemble.ts). It decides whether threads are tried, and changes no result.
 */
const THREAD_START = 500;

/** Whether the starts that are left take longer than threads take to begin. */
function worthThreads(count: number, done: number, milliseconds: number): boolean {
  if (done === 0) return false;
  return ((milliseconds / done) * (count - done) * (parallelism() - 1)) / parallelism() > THREAD_START;
}

/** Tasks first … count − 1, so many at a time; after an error no more begin, and the first one's is thrown. */
export async function inOrder(
  count: number,
  first: number,
  most: number,
  task: (number: number) => Promise<void>,
): Promise<void> {
  let next = first;
  const errors: {readonly number: number; readonly error: unknown}[] = [];
  const lane = async (): Promise<void> => {
    while (next < count && errors.length === 0) {
      const number = next++;
      try {
        await task(number);
      } catch (error) {
        errors.push({number, error});
      }
    }
  };
  await Promise.all(Array.from({length: Math.min(most, count - first)}, lane));
  if (errors.length > 0) throw errors.reduce((least, one) => (one.number < least.number ? one : least)).error;
}

interface AttemptOptions {
  readonly number: number;
  readonly threads?: EvaluationThreads;
  /** The only start: its failure is the fit's. */
  readonly only: boolean;
}

/** A fit from one start; where the model has no answer, why. @throws what else goes wrong */
export async function attempt(
  problem: FitProblem,
  fit: Fit,
  x: Float64Array,
  {number, threads, only}: AttemptOptions,
): Promise<Attempt> {
  throwIfAborted(problem.signal);
  try {
    return await evaluateAsync(fitFrom(problem, fit, x, number), threads);
  } catch (error) {
    if (only || !(isFailedSimulation(error) || isUnevaluable(error))) throw error;
    return {failure: error.message};
  }
}

const isUnevaluable = (error: unknown): error is OptionError =>
  error instanceof OptionError && error.code === 'start-not-evaluable';

/** A fit from one start. */
function* fitFrom(problem: FitProblem, fit: Fit, x: Float64Array, start: number): Evaluation<FitRecord> {
  const objective = objectiveOf(fit, problem.noise);
  const method = methodOf(problem);
  const {segments} = problem.shooting ?? single();
  let begun = false;
  const toldIn = (space: ParameterSpace): ResidualReport =>
    function* (iteration) {
      begun = true;
      problem.onProgress?.({...iteration, values: space.values(iteration.x), start});
      yield* pause(problem.signal);
    };
  try {
    const from = segments > 1 ? yield* bySegments(objective, method, x, segments, toldIn) : {start: x, open: false};
    const told = toldIn(fit.space);
    const found =
      problem.earlyStopping === undefined
        ? yield* rounds(objective, method, from.start, told)
        : yield* new HeldOut(problem, problem.earlyStopping, objective).fit(told, report =>
            rounds(objective, method, from.start, report),
          );
    const isOpen = problem.earlyStopping === undefined && from.open && !found.converged;
    return {...found, remarks: [...found.remarks, ...(isOpen ? [OPEN] : []), ...fit.derivativeWarnings]};
  } catch (error) {
    throw !begun && isFailedSimulation(error) ? prefixed(error, 'identify: the guess cannot be simulated') : error;
  }
}

/** Between two iterations: the page draws, the terminal prints. @throws AbortError */
export function* pause(signal?: AbortSignal): Evaluation<void> {
  const there = async (): Promise<void> => {
    await new Promise(resolve => setTimeout(resolve, 0));
    throwIfAborted(signal);
  };
  yield {here: () => throwIfAborted(signal), there, waits: true};
}

const OPEN =
  'Multiple shooting could not join its segments to one motion. Use more segments, a better guess, or other starts.';

/**
 * Where single shooting starts from: what the segments found, but where they are no one motion, or it cannot be
 * simulated, the guess if that is nearer to the data.
 */
function* bySegments(
  objective: ResidualObjective,
  method: LeastSquaresMethod,
  x: Float64Array,
  segments: number,
  toldIn: (space: ParameterSpace) => ResidualReport,
): Evaluation<{readonly start: Float64Array; readonly open: boolean}> {
  const {fit, noise} = objective;
  const guess = guessing(fit.parameters, fit.space.values(x));
  const shooting = new MultipleShooting(fit.uncut(x), guess, segments, noise);
  const {values, closed} = yield* shoot(shooting, method, toldIn(shooting.space));
  const found = fit.space.coordinates(values);
  const cost = yield* costAt(objective, found);
  const open = !closed || cost === Infinity;
  return {start: open && (yield* costAt(objective, x)) < cost ? x : found, open};
}

/** Infinite where it cannot be simulated. */
function* costAt(objective: ResidualObjective, x: Float64Array): Evaluation<number> {
  try {
    const {cost} = yield* objective.gradient(x);
    return Number.isFinite(cost) ? cost : Infinity;
  } catch (error) {
    if (!isFailedSimulation(error)) throw error;
    return Infinity;
  }
}

/** Change of the noise's scale (relative) and correlations that a fit's own tolerances leave. */
const SETTLED = 1e-7;

/** Rounds of a method that ends without convergence, as Adam does: at the guess's noise, and at its own. */
const UNCONVERGED = 2;

/** Turns converge by a few digits each; a noise that has not settled by then is reported. */
const ROUNDS = 50;

/** A problem whose noise is estimated between rounds. */
export interface NoisyProblem extends EvaluatedProblem {
  /** The noise as it is taken now. */
  readonly state: NoiseState;
  /** The noise anew from the end of a round. @returns by how much it changed */
  update(found: LeastSquaresResult): Evaluation<number>;
}

/**
 * @param report told of each iteration, numbered on from the rounds before; a round begins where the last one ended,
 *   which is not told twice
 * @returns the last round's end, with the history and the evaluations of all
 */
export function* rounds(
  problem: NoisyProblem,
  method: LeastSquaresMethod,
  start: Float64Array,
  report: ResidualReport,
): Evaluation<FitRecord> {
  const history: LeastSquaresIteration[] = [];
  let x = start;
  let evaluations: LeastSquaresResult['evaluations'] = {residuals: 0, jacobians: 0, failed: 0};
  for (let round = 1; ; round++) {
    const found = yield* stepsOf(method)(problem, x, function* (iteration) {
      if (history.length > 0 && iteration.iteration === 0) return;
      const next = {...iteration, iteration: history.length};
      history.push(next);
      yield* report(next);
    });
    const {residuals, jacobians, failed, failure = evaluations.failure} = found.evaluations;
    evaluations = {
      residuals: evaluations.residuals + residuals,
      jacobians: evaluations.jacobians + jacobians,
      failed: evaluations.failed + failed,
      failure,
    };
    const change = yield* problem.update(found);
    const settled = change <= SETTLED || (!found.converged && round >= UNCONVERGED);
    if (settled || round === ROUNDS)
      return recordOf({...found, history, evaluations}, problem.state, settled ? [] : [unsettled(change)]);
    x = found.x;
  }
}

const unsettled = (change: number): string =>
  `The noise was estimated ${ROUNDS} times and still changes by ${change.toPrecision(2)}: use a simpler model of the `
  + 'noise, or a known sd.';
