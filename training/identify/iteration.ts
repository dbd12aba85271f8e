/**
 * The loop of every method. A method is a `Search`: a state to begin with, a step to the next state, and what the last
 * state means. States are data. Where a simulation fails there is no point: the step is rejected, and counted.
 */
import {OptionError} from '../../lib/errors.js';
import {evaluate, known, type Evaluation} from './evaluation.js';
import {isFailedSimulation} from './failed-simulation.js';
import {
  denseFactor,
  factorized,
  isConverged,
  type EndStatus,
  type EvaluatedProblem,
  type Factorized,
  type LeastSquaresIteration,
  type LeastSquaresMethod,
  type LeastSquaresProblem,
  type LeastSquaresResult,
  type ResidualLinearization,
  type MethodSteps,
  type ResidualReport,
} from './least-squares-problem.js';
import type {Factorization} from './row-qr.js';

/** A point with its residuals, and the factor of their Jacobian. */
export interface Point extends ResidualLinearization {
  readonly x: Float64Array;
  readonly cost: number;
  readonly factor: Factorization;
}

/** A point with the gradient of its cost. */
export interface CostPoint {
  readonly x: Float64Array;
  readonly cost: number;
  readonly gradient: Float64Array;
}

/** State of a search after a step. */
export interface SearchState {
  readonly point: {readonly x: Float64Array; readonly cost: number};
  /** The step, for the history; undefined where the point stayed without a trial. */
  readonly taken?: Omit<LeastSquaresIteration, 'iteration' | 'cost' | 'x'>;
  /** Set where the search ends. */
  readonly status?: EndStatus;
}

/** A method with its settings. */
export interface Search<S extends SearchState> {
  readonly maxSteps: number;
  /** @throws OptionError where the start cannot be evaluated, and what the simulation throws there */
  init(evaluator: Evaluator, x: Float64Array): Evaluation<S>;
  step(evaluator: Evaluator, state: S): Evaluation<S>;
  end(evaluator: Evaluator, state: S, history: readonly LeastSquaresIteration[]): Evaluation<Ending>;
}

/** End of a search, and its reason. */
export interface Ending {
  readonly point: Point;
  readonly status: EndStatus;
  readonly message: string;
}

function* iterate<S extends SearchState>(
  search: Search<S>,
  problem: EvaluatedProblem,
  start: ArrayLike<number>,
  report: ResidualReport,
): Evaluation<LeastSquaresResult> {
  const evaluator = new Evaluator(problem);
  const history: LeastSquaresIteration[] = [];
  let state = yield* search.init(evaluator, Float64Array.from(start));
  for (;;) {
    const {point, taken, status} = state;
    if (taken !== undefined) {
      history.push({iteration: history.length, cost: point.cost, x: point.x, ...taken});
      yield* report(history[history.length - 1]);
    }
    if (status !== undefined || history.length > search.maxSteps) break;
    state = yield* search.step(evaluator, state);
  }
  const {point, status, message} = yield* search.end(evaluator, state, history);
  const {residuals, jacobians, failed, failure} = evaluator;
  return {
    ...point,
    factor: denseFactor(point.factor),
    status,
    converged: isConverged(status),
    message,
    history,
    evaluations: {residuals, jacobians, failed, failure},
  };
}

/** A method for users and for `identify`. */
export function methodOf<S extends SearchState>(name: string, settings: object, search: Search<S>): LeastSquaresMethod {
  const steps: MethodSteps = (problem, start, report) => iterate(search, problem, start, report);
  const method: LeastSquaresMethod & {readonly steps: MethodSteps} = {
    name,
    settings,
    steps,
    minimize: (problem, start, onIteration) =>
      evaluate(steps(evaluated(problem), start, iteration => known(onIteration?.(iteration)))),
  };
  return method;
}

function evaluated(problem: LeastSquaresProblem): EvaluatedProblem {
  const {residuals, gradient} = problem;
  return {
    magnitude: problem.magnitude,
    bound: x => problem.bound?.(x),
    linearize: x => known(problem.linearize(x)),
    ...(residuals === undefined ? {} : {residuals: x => known(residuals.call(problem, x))}),
    ...(gradient === undefined ? {} : {gradient: x => known(gradient.call(problem, x))}),
  };
}

/** Evaluates a problem and counts. Where there is no value, a text says why. */
export class Evaluator {
  /** Evaluations of residuals, or of the cost with its gradient. */
  residuals = 0;
  jacobians = 0;
  failed = 0;
  /** Why the last trial that failed did. */
  failure: string | undefined;

  constructor(readonly problem: EvaluatedProblem) {}

  /** The start has to be evaluable: its failure is the caller's. */
  *start<P>(x: Float64Array, work: Evaluation<P | string>): Evaluation<P> {
    const bad = x.findIndex(value => !Number.isFinite(value));
    if (bad >= 0)
      throw new OptionError('start-not-finite', `Entry ${bad} of the start is ${x[bad]}: give a finite guess.`, {x});
    const point = yield* work;
    if (typeof point === 'string')
      throw new OptionError(
        'start-not-evaluable',
        `The least-squares problem has no value at its start: ${point}. Choose another guess.`,
        {x},
      );
    return point;
  }

  /** Undefined where the simulation fails, or a number is not finite. */
  *trial<P>(work: Evaluation<P | string>): Evaluation<P | undefined> {
    try {
      const point = yield* work;
      if (typeof point !== 'string') return point;
      this.failure = point;
    } catch (error) {
      if (!isFailedSimulation(error)) throw error;
      this.failure = error.message;
    }
    this.failed++;
    return undefined;
  }

  *point(x: Float64Array): Evaluation<Point | string> {
    this.jacobians++;
    const at = yield* this.problem.linearize(x);
    if (at === undefined) return notEvaluable;
    const {residuals} = at;
    if ('jacobian' in at && at.jacobian.length !== residuals.length * x.length)
      throw new OptionError(
        'jacobian-shape',
        `${residuals.length} residuals of ${x.length} parameters need a Jacobian of ${residuals.length * x.length} `
          + `entries, not ${at.jacobian.length}.`,
      );
    return notFinite(at) ?? {x, ...factorized(at, x.length), cost: halfSquares(residuals)};
  }

  /** Undefined where the problem has no residuals apart from their derivatives. */
  *residualsAt(x: Float64Array): Evaluation<Float64Array | string | undefined> {
    if (this.problem.residuals === undefined) return undefined;
    this.residuals++;
    const residuals = yield* this.problem.residuals(x);
    return residuals === undefined ? notEvaluable : (notFinite({residuals}) ?? residuals);
  }

  /** One sweep back where the problem has a gradient, else a whole Jacobian. */
  *costPoint(x: Float64Array): Evaluation<CostPoint | string> {
    this.residuals++;
    const {problem} = this;
    const given = problem.gradient === undefined ? undefined : yield* problem.gradient(x);
    const found = given ?? gradientOf(yield* problem.linearize(x), x.length);
    if (found === undefined || !Number.isFinite(found.cost) || !found.gradient.every(Number.isFinite))
      return 'the cost or its gradient is not finite';
    return {x, ...found};
  }
}

const notEvaluable = 'the problem cannot be evaluated there';

const halfSquares = (residuals: Float64Array): number => residuals.reduce((sum, r) => sum + r * r, 0) / 2;

function gradientOf(
  at: ResidualLinearization | Factorized | undefined,
  p: number,
): {readonly cost: number; readonly gradient: Float64Array} | undefined {
  if (at === undefined) return undefined;
  const cost = halfSquares(at.residuals);
  if ('factor' in at) return {cost, gradient: at.factor.gradient()};
  const gradient = new Float64Array(p);
  at.residuals.forEach((r, i) => {
    for (let j = 0; j < p; j++) gradient[j] += at.jacobian[i * p + j] * r;
  });
  return {cost, gradient};
}

function notFinite(at: {
  readonly residuals: Float64Array;
  readonly jacobian?: Float64Array;
  readonly factor?: Factorization;
}): string | undefined {
  const {residuals, jacobian = new Float64Array(), factor} = at;
  const row = residuals.findIndex(value => !Number.isFinite(value));
  if (row >= 0) return `residual ${row} is ${residuals[row]}`;
  const column = factor?.columnNorms().findIndex(value => !Number.isFinite(value)) ?? -1;
  if (column >= 0) return `a derivative with respect to parameter ${column} is not finite`;
  const entry = jacobian.findIndex(value => !Number.isFinite(value));
  if (entry < 0) return undefined;
  const p = jacobian.length / residuals.length;
  return (
    `the derivative of residual ${Math.floor(entry / p)} with respect to parameter ${entry % p} is `
    + `${jacobian[entry]}`
  );
}

export const boundMessage = (bound = 'a coordinate diverges to infinity'): string =>
  `Not converged: there is no minimum within the bounds, because ${bound}.`;
