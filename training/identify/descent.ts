/** What gradient methods share: a cost ½‖r‖² with its gradient, and a result like that of least squares. */
import {OptionError} from '../../lib/errors.js';
import {DESCENT_OFFSET, isMinimum, offsetOf} from './convergence.js';
import type {
  EvaluatedProblem,
  LeastSquaresIteration,
  LeastSquaresResult,
  LeastSquaresStatus,
} from './least-squares-problem.js';
import type {Evaluation} from './evaluation.js';
import {isFailedSimulation} from './failed-simulation.js';
import {boundMessage} from './least-squares.js';
import {denseFactor, factorized, isConverged} from './least-squares-problem.js';
import type {Factorization} from './row-qr.js';

export interface CostPoint {
  readonly x: Float64Array;
  readonly cost: number;
  readonly gradient: Float64Array;
}

/** The problem as a cost. Its gradient is one sweep where the problem has one, else a whole Jacobian. */
export class Cost {
  evaluations = 0;
  failed = 0;
  /** Why the last trial that failed did. */
  failure: string | undefined;

  constructor(private readonly problem: EvaluatedProblem) {}

  /** @throws OptionError where the start cannot be evaluated, and what the simulation throws there */
  *start(x: Float64Array): Evaluation<CostPoint> {
    const bad = x.findIndex(value => !Number.isFinite(value));
    if (bad >= 0)
      throw new OptionError('start-not-finite', `Entry ${bad} of the start is ${x[bad]}: give a finite guess.`, {x});
    const point = yield* this.evaluate(x);
    if (point === undefined)
      throw new OptionError(
        'start-not-evaluable',
        'The least-squares problem has no value at its start. Choose another guess.',
        {x},
      );
    return point;
  }

  /** Undefined where the simulation fails or a number is not finite. */
  *at(x: Float64Array): Evaluation<CostPoint | undefined> {
    try {
      const point = yield* this.evaluate(x);
      if (point !== undefined) return point;
      this.failure = notFinite;
    } catch (error) {
      if (!isFailedSimulation(error)) throw error;
      this.failure = error.message;
    }
    this.failed++;
    return undefined;
  }

  private *evaluate(x: Float64Array): Evaluation<CostPoint | undefined> {
    this.evaluations++;
    const {problem} = this;
    const given = problem.gradient === undefined ? undefined : yield* problem.gradient(x);
    const found = given ?? (yield* this.byJacobian(x));
    if (found === undefined || !Number.isFinite(found.cost) || !found.gradient.every(Number.isFinite)) return undefined;
    return {x, ...found};
  }

  private *byJacobian(x: Float64Array): Evaluation<{cost: number; gradient: Float64Array} | undefined> {
    const at = yield* this.problem.linearize(x);
    if (at === undefined) return undefined;
    const cost = at.residuals.reduce((sum, r) => sum + (r * r) / 2, 0);
    if ('factor' in at) return {cost, gradient: at.factor.gradient()};
    const gradient = new Float64Array(x.length);
    at.residuals.forEach((r, i) => {
      for (let j = 0; j < x.length; j++) gradient[j] += at.jacobian[i * x.length + j] * r;
    });
    return {cost, gradient};
  }

  /**
   * The end of an iteration: one Jacobian there, for the uncertainty, and to see whether it is a minimum. A gradient in
   * coordinates vanishes also where a coordinate runs off to infinity, and a cost falls slowly also along a valley.
   */
  *result(
    point: CostPoint,
    ended: {readonly status: LeastSquaresStatus; readonly message: string},
    history: readonly LeastSquaresIteration[],
  ): Evaluation<LeastSquaresResult> {
    const at = yield* this.problem.linearize(point.x);
    if (at === undefined)
      throw new OptionError(
        'start-not-evaluable',
        'The least-squares problem has no Jacobian where the iteration ended.',
        {x: point.x},
      );
    const {residuals, jacobian, factor} = factorized(at, point.x.length);
    return {
      residuals,
      jacobian,
      x: point.x,
      cost: point.cost,
      ...this.judged(ended, factor, residuals, point, history[0].cost),
      history,
      factor: denseFactor(factor),
      evaluations: {residuals: this.evaluations, jacobians: 1, failed: this.failed, failure: this.failure},
    };
  }

  /** In a kink one of n scores may be of either sign; beside √n of all it is that many standard errors. */
  private kink(residuals: Float64Array): number {
    return this.problem.kinked === true ? 2 / Math.sqrt(residuals.reduce((n, r) => n + (r === 0 ? 0 : 1), 0)) : 0;
  }

  private judged(
    ended: {readonly status: LeastSquaresStatus; readonly message: string},
    factor: Factorization,
    residuals: Float64Array,
    {x, cost}: CostPoint,
    start: number,
  ): Pick<LeastSquaresResult, 'status' | 'message' | 'converged'> {
    const {status} = ended;
    const told = {...ended, converged: isConverged(status)};
    if (!told.converged || cost === 0) return told;
    const offset = offsetOf(factor, residuals, x);
    // With as many parameters as residuals there is no offset, and the gradient is all that can be asked.
    if (offset.offset === Infinity && status === 'gradient') return told;
    if (
      isMinimum(
        offset,
        {start: Math.max(start, this.problem.magnitude ?? 0), end: cost},
        {offset: DESCENT_OFFSET + this.kink(residuals), step: SMALL_STEP},
      )
    )
      return told;
    const bound = this.problem.bound?.(x);
    if (bound !== undefined) return {status: 'bound', message: boundMessage(bound), converged: false};
    const left = Number.isFinite(offset.offset)
      ? `the minimum of the linear model is ${offset.offset.toPrecision(2)} standard errors away`
      : 'the residuals could still be lowered';
    return {
      status: 'no-progress',
      message:
        `Not converged: the cost hardly decreases any more, but ${left}. `
        + `${this.problem.kinked === true ? 'Start' : 'Use levenbergMarquardt(), or start'} nearer.`,
      converged: false,
    };
  }
}

const notFinite = 'the cost or its gradient is not finite';

/** Relative step of Gauss–Newton where the data are met but for rounding: √ε. */
const SMALL_STEP = 1.5e-8;

/**
 * The largest relative change of the cost that a relative change of one coordinate would make to first order,
 * |gᵢ| max(|xᵢ|, 1) / cost (Dennis & Schnabel, Numerical Methods for Unconstrained Optimization, §7.2).
 */
export function relativeGradient({x, cost, gradient}: CostPoint): number {
  if (cost === 0) return 0;
  return gradient.reduce(
    (most, g, i) => Math.max(most, (Math.abs(g) * Math.max(Math.abs(x[i]), 1)) / Math.abs(cost)),
    0,
  );
}

export function descentIteration(
  iteration: number,
  point: CostPoint,
  step: number,
  over: Partial<LeastSquaresIteration> = {},
): LeastSquaresIteration {
  return {
    iteration,
    cost: point.cost,
    x: point.x,
    accepted: true,
    gradient: relativeGradient(point),
    step,
    damping: 0,
    gainRatio: NaN,
    ...over,
  };
}

export const dot = (a: Float64Array, b: Float64Array): number => a.reduce((sum, value, i) => sum + value * b[i], 0);

export const along = (x: Float64Array, factor: number, direction: Float64Array): Float64Array =>
  x.map((value, i) => value + factor * direction[i]);

/** ‖δ‖ / ‖x‖ */
export function relativeStep(from: Float64Array, to: Float64Array): number {
  const difference = along(to, -1, from);
  return Math.sqrt(dot(difference, difference)) / (Math.sqrt(dot(to, to)) || 1);
}
