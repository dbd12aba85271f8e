/** Shared by methods that descend along gradients: the records of their steps, and how their end is judged. */
import {OptionError} from '../../lib/errors.js';
import {DESCENT_OFFSET, isMinimum, offsetOf} from './convergence.js';
import type {Evaluation} from './evaluation.js';
import {boundMessage, type CostPoint, type Ending, type Evaluator, type Point} from './iteration.js';
import {isConverged, type EvaluatedProblem, type LeastSquaresIteration} from './least-squares-problem.js';

/**
 * The end of a descent: one Jacobian there, for the uncertainty, and to see whether it is a minimum. A gradient in
 * coordinates vanishes also where a coordinate runs off to infinity, and a cost falls slowly also along a valley.
 */
export function* endOfDescent(
  evaluator: Evaluator,
  {x, cost}: CostPoint,
  ended: Omit<Ending, 'point'>,
  first: number,
): Evaluation<Ending> {
  const found = yield* evaluator.point(x);
  if (typeof found === 'string')
    throw new OptionError(
      'start-not-evaluable',
      `The least-squares problem has no Jacobian where the iteration ended: ${found}.`,
      {x},
    );
  const point = {...found, cost};
  return {...judged(evaluator.problem, point, ended, first), point};
}

/** In a kink one of n scores may be of either sign; beside √n of all it is that many standard errors. */
const kinkOf = (residuals: Float64Array): number => 2 / Math.sqrt(residuals.reduce((n, r) => n + (r === 0 ? 0 : 1), 0));

function judged(
  problem: EvaluatedProblem,
  {x, cost, factor, residuals}: Point,
  ended: Omit<Ending, 'point'>,
  first: number,
): Omit<Ending, 'point'> {
  const {kinked = false, magnitude = 0} = problem;
  if (!isConverged(ended.status) || cost === 0) return ended;
  const offset = offsetOf(factor, residuals, x);
  // With as many parameters as residuals there is no offset, and the gradient is all that can be asked.
  if (offset.offset === Infinity && ended.status === 'gradient') return ended;
  const tolerance = {offset: DESCENT_OFFSET + (kinked ? kinkOf(residuals) : 0), step: SMALL_STEP};
  if (isMinimum(offset, {start: Math.max(first, magnitude), end: cost}, tolerance)) return ended;
  const bound = problem.bound?.(x);
  if (bound !== undefined) return {status: 'bound', message: boundMessage(bound)};
  const left = Number.isFinite(offset.offset)
    ? `the minimum of the linear model is ${offset.offset.toPrecision(2)} standard errors away`
    : 'the residuals could still be lowered';
  return {
    status: 'no-progress',
    message:
      `Not converged: the cost hardly decreases any more, but ${left}. `
      + `${kinked ? 'Start' : 'Use levenbergMarquardt(), or start'} nearer.`,
  };
}

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

/** A step of a descent, for the history. */
export const descentStep = (
  point: CostPoint,
  step: number,
): Omit<LeastSquaresIteration, 'iteration' | 'cost' | 'x'> => ({
  accepted: true,
  gradient: relativeGradient(point),
  step,
  damping: 0,
  gainRatio: NaN,
});

export const dot = (a: Float64Array, b: Float64Array): number => a.reduce((sum, value, i) => sum + value * b[i], 0);

export const along = (x: Float64Array, factor: number, direction: Float64Array): Float64Array =>
  x.map((value, i) => value + factor * direction[i]);

/** ‖δ‖ / ‖x‖ */
export function relativeStep(from: Float64Array, to: Float64Array): number {
  const difference = along(to, -1, from);
  return Math.sqrt(dot(difference, difference)) / (Math.sqrt(dot(to, to)) || 1);
}
