/**
 * Fits from one start or many. A start is an evaluation by itself (evaluation.ts): in this thread one runs after the other;
 * with worker threads several are under way at once, each waiting for its own simulations.
 */
import {throwIfAborted} from '../../lib/checks.js';
import {OptionError} from '../../lib/errors.js';
import {parallelism} from '../../lib/builtin.js';
import {methodOf, objectiveOf} from './density-objective.js';
import {HeldOut, type EarlyStopping} from './early-stopping.js';
import {advanced, stepped, steppedThere, type Evaluation, type Steps, type Threads} from './evaluation.js';
import {isFailedSimulation, prefixed} from './failed-simulation.js';
import type {Fit} from './fit.js';
import type {Solved} from './identification.js';
import {type LeastSquaresIteration, type LeastSquaresMethod} from './least-squares-problem.js';
import type {Objective} from './objective.js';
import {guessing, type ParameterSpace} from './parameters.js';
import type {Model} from './model.js';
import {rounds} from './rounds.js';
import {MultipleShooting, shoot, single, type Shooting} from './shooting.js';
import type {NoiseState} from './weighing.js';

/** State of an identification after a step. */
export interface IdentificationProgress extends LeastSquaresIteration {
  /** Current values of the parameters by name, row-major; including fixed ones. */
  readonly values: {readonly [name: string]: Float64Array};
  /** Index of the start, from 0. */
  readonly start: number;
}

/** A problem as far as a fit from a start asks for it. */
export interface Solvable extends Model {
  readonly method?: LeastSquaresMethod;
  readonly shooting?: Shooting;
  readonly earlyStopping?: EarlyStopping;
  readonly workers?: number;
  readonly onProgress?: (progress: IdentificationProgress) => void;
  readonly signal?: AbortSignal;
}

/** What the starts came to. */
export interface AllSolved<S = Solved> {
  /** In the order of the starts; those that could not be simulated are left out. */
  readonly solved: readonly S[];
  readonly warnings: readonly string[];
}

/** A fit's end, or why there was none. */
export type Attempt<S = Solved> = {readonly solved: S} | {readonly failure: string};

/** @throws OptionError where none can be simulated */
export function gathered<S>(attempts: readonly Attempt<S>[]): AllSolved<S> {
  const solved = attempts.flatMap(one => ('solved' in one ? [one.solved] : []));
  const failures = attempts.flatMap(one => ('failure' in one ? [one.failure] : []));
  if (solved.length === 0)
    throw new OptionError(
      'start-not-evaluable',
      `identify: none of the ${attempts.length} starts can be simulated; the first one: ${failures[0]}`,
    );
  return {
    solved,
    warnings:
      failures.length === 0
        ? []
        : [`${failures.length} of ${attempts.length} starts could not be simulated, the first because: ${failures[0]}`],
  };
}

/**
 * @param points coordinates of the starts
 * @param held the noise of an earlier fit, taken as it was found there
 * @throws OptionError where none can be simulated; of a single start what it throws
 */
export async function solveAll(
  problem: Solvable,
  fit: Fit,
  points: readonly Float64Array[],
  held?: NoiseState,
): Promise<AllSolved> {
  const {solved, warnings} = gathered(await attemptAll(problem, fit, points, held));
  return {
    solved,
    warnings: [
      ...warnings,
      ...((problem.workers ?? 0) > 1 && !fit.elsewhere
        ? [
            'The simulations ran in the calling thread: worker threads could not be started, or the problem cannot be sent to them, because it has a function of your own, uneven times or an engine of tensors.',
          ]
        : []),
    ],
  };
}

/** Two a thread, so that none waits while the other one's residuals are made here. */
const UNDER_WAY = 2;

async function attemptAll(
  problem: Solvable,
  fit: Fit,
  points: readonly Float64Array[],
  held: NoiseState | undefined,
): Promise<Attempt[]> {
  const attempts: Attempt[] = [];
  const one = async (number: number, threads?: Threads): Promise<void> => {
    attempts[number] = await attempt(problem, fit, points[number], {number, held, threads, only: points.length === 1});
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
  return attempts;
}

/**
 * Milliseconds until new threads answer, compile and are warm: 340 to 950 were measured for two where six programs shared
 * each core (simulate/ensemble.ts). It decides whether threads are tried, and changes no result.
 */
const THREAD_START = 500;

/** Whether the starts that are left take longer than threads take to begin. */
function worthThreads(count: number, done: number, milliseconds: number): boolean {
  if (done === 0) return false;
  return ((milliseconds / done) * (count - done) * (parallelism() - 1)) / parallelism() > THREAD_START;
}

/** Tasks first … count − 1, so many at a time; after one that throws no more begin, and the first one's error is told. */
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
  readonly held?: NoiseState;
  readonly threads?: Threads;
  /** The only start: its failure is the fit's. */
  readonly only: boolean;
}

/** A fit from one start; where the model has no answer, why. @throws what else goes wrong */
export async function attempt(
  problem: Solvable,
  fit: Fit,
  x: Float64Array,
  {number, held, threads, only}: AttemptOptions,
): Promise<Attempt> {
  try {
    return {solved: await watched(fitSteps(problem, fit, x, held), {...problem, start: number}, threads)};
  } catch (error) {
    if (only || !(isFailedSimulation(error) || isUnevaluable(error))) throw error;
    return {failure: error.message};
  }
}

const isUnevaluable = (error: unknown): error is OptionError =>
  error instanceof OptionError && error.code === 'start-not-evaluable';

/** A step, in the coordinates of its own space: those of segments have more. */
interface Step {
  readonly iteration: LeastSquaresIteration;
  readonly space: ParameterSpace;
}

/** One fit from one start, step by step. */
function* fitSteps(problem: Solvable, fit: Fit, x: Float64Array, held: NoiseState | undefined): Steps<Step, Solved> {
  const objective = objectiveOf(fit, problem.noise, held);
  const method = methodOf(problem);
  const {segments} = problem.shooting ?? single();
  const {start, open} =
    segments > 1 ? yield* bySegments(objective, method, x, segments, held) : {start: x, open: false};
  const iterations = rounds(objective, method, start);
  if (problem.earlyStopping === undefined) {
    const found = yield* told(iterations, fit.space);
    return {...found, remarks: [...found.remarks, ...(open && !found.converged ? [OPEN] : [])], objective};
  }
  const heldOut = new HeldOut(problem, problem.earlyStopping, objective);
  const history: LeastSquaresIteration[] = [];
  const last = yield* toldWhile(iterations, fit.space, iteration => {
    history.push(iteration);
    return heldOut.judge(iteration);
  });
  return {...heldOut.result(history, last), objective};
}

const OPEN =
  'Multiple shooting could not join its segments to one motion. Use more segments, a better guess, or other starts.';

/**
 * Where single shooting starts from: what the segments found, but where they are no one motion, or it cannot be simulated,
 * the guess if that is nearer to the data.
 */
function* bySegments(
  objective: Objective,
  method: LeastSquaresMethod,
  x: Float64Array,
  segments: number,
  held: NoiseState | undefined,
): Steps<Step, {readonly start: Float64Array; readonly open: boolean}> {
  const {fit, noise} = objective;
  const guess = guessing(fit.parameters, fit.space.values(x));
  const shooting = new MultipleShooting(fit.wholes(x, noise.order), guess, segments, noise, held);
  const {values, closed} = yield* told(shoot(shooting, method), shooting.space);
  const found = fit.space.coordinates(values);
  const cost = yield* costAt(objective, found);
  const open = !closed || cost === Infinity;
  return {start: open && (yield* costAt(objective, x)) < cost ? x : found, open};
}

/** Infinite where it cannot be simulated. */
function* costAt(objective: Objective, x: Float64Array): Evaluation<number> {
  try {
    const {cost} = yield* objective.gradient(x);
    return Number.isFinite(cost) ? cost : Infinity;
  } catch (error) {
    if (!isFailedSimulation(error)) throw error;
    return Infinity;
  }
}

/** The steps of an iteration, in the coordinates of a space. */
export function* told<R>(iterations: Steps<LeastSquaresIteration, R>, space: ParameterSpace): Steps<Step, R> {
  let next = yield* begun(iterations);
  while (next.done !== true) {
    yield {iteration: next.value, space};
    next = yield* advanced(iterations);
  }
  return next.value;
}

/** @returns undefined where `goOn` ended it */
function* toldWhile<R>(
  iterations: Steps<LeastSquaresIteration, R>,
  space: ParameterSpace,
  goOn: (iteration: LeastSquaresIteration) => Evaluation<boolean>,
): Steps<Step, R | undefined> {
  let next = yield* begun(iterations);
  while (next.done !== true) {
    yield {iteration: next.value, space};
    if (!(yield* goOn(next.value))) return undefined;
    next = yield* advanced(iterations);
  }
  return next.value;
}

/** The first iteration stands at the guess. */
function* begun<R>(iterations: Steps<LeastSquaresIteration, R>): Evaluation<IteratorResult<LeastSquaresIteration, R>> {
  try {
    return yield* advanced(iterations);
  } catch (error) {
    throw isFailedSimulation(error) ? prefixed(error, 'identify: the guess cannot be simulated') : error;
  }
}

interface Watch extends Pick<Solvable, 'onProgress' | 'signal'> {
  readonly start: number;
}

/** To the end, with a pause after each step, in which the page draws or the terminal prints. */
export async function watched<R>(
  steps: Steps<Step, R>,
  {onProgress, signal, start}: Watch,
  threads: Threads | undefined,
): Promise<R> {
  const next = async (): Promise<IteratorResult<Step, R>> =>
    threads === undefined ? stepped(steps) : steppedThere(steps, threads);
  throwIfAborted(signal);
  for (let step = await next(); ; step = await next()) {
    if (step.done === true) return step.value;
    const {iteration, space} = step.value;
    onProgress?.({...iteration, values: space.values(iteration.x), start});
    await new Promise(resolve => setTimeout(resolve, 0));
    throwIfAborted(signal);
  }
}
