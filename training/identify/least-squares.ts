/**
 * Nonlinear least squares, min ½‖r(x)‖², by the Levenberg–Marquardt method: steps from
 * min ‖Jδ + r‖² + μ‖Dδ‖² with Moré's scaling (The Levenberg–Marquardt algorithm, 1978: D holds the largest
 * norm each column of J has had, so units do not matter), solved by QR, and the damping μ led by the gain
 * ratio (Nielsen, Damping parameter in Marquardt's method, 1999). The tests of convergence are MINPACK's; those of
 * small steps count only at a minimum (convergence.ts), for damping makes any step small.
 * A point where the simulation fails is a rejected step, not an error: the next step is shorter.
 */
import {
  nonNegative,
  optional,
  positive,
  readBy,
  readOptions,
  nonNegativeInteger,
  type Options,
} from '../../lib/checks.js';
import {GAUSS_NEWTON_OFFSET, isMinimum, isNegligible, offsetOf} from './convergence.js';
import type {Evaluation} from './evaluation.js';
import {boundMessage, methodOf, type Ending, type Evaluator, type Point, type Search} from './iteration.js';
import type {EndStatus, LeastSquaresIteration, LeastSquaresMethod} from './least-squares-problem.js';
import type {Factorization} from './row-qr.js';

const tolerances = {
  /**
   * Cosine between residuals and columns. In a fit of m residuals, cosine·√m is how many standard errors a
   * parameter still has to go: the default 1e-10 leaves 3e-8 of one at m = 1e5.
   */
  gradient: optional(nonNegative, 1e-10),
  /** ‖Dδ‖ / ‖Dx‖; default 1e-10. */
  step: optional(nonNegative, 1e-10),
  /** Predicted and actual reduction over the cost; default 1e-12: √(1e-12·m) is 3e-4 standard errors at m = 1e5. */
  cost: optional(nonNegative, 1e-12),
};

const methodOptions = {
  tolerance: optional(
    readBy((given: Options<typeof tolerances>, name) => readOptions(given, tolerances, name)),
    {},
  ),
  /**
   * Number of trial steps, including rejected ones; default 200: the slowest of NIST's regressions in the tests needs
   * 142.
   */
  maxIterations: optional(nonNegativeInteger, 200),
  /**
   * Initial μ, relative to the scaled JᵀJ, whose diagonal is 1. Default 1e-3 (Nielsen: 1e-6 for a start known to be
   * good, 1 for a bad one).
   */
  damping: optional(positive, 1e-3),
};

/** Options of `levenbergMarquardt`. @interface */
export type LevenbergMarquardtOptions = Options<typeof methodOptions>;

/** A method for `identify`, or by itself: `levenbergMarquardt().minimize(problem, start)`. */
export function levenbergMarquardt(options: LevenbergMarquardtOptions = {}): LeastSquaresMethod {
  const {tolerance, maxIterations, damping} = readOptions(options, methodOptions, 'levenbergMarquardt');
  const settings: Settings = {...tolerance, maxIterations, damping};
  return methodOf('levenbergMarquardt', settings, searchBy(settings));
}

interface Settings {
  readonly gradient: number;
  readonly step: number;
  readonly cost: number;
  readonly maxIterations: number;
  readonly damping: number;
}

/** State after a step. */
interface State {
  readonly point: Point;
  /** Moré's D. */
  readonly scale: Float64Array;
  readonly damping: Damping;
  /** The cost at the start, by which costs are judged. */
  readonly first: number;
  readonly taken: Omit<LeastSquaresIteration, 'iteration' | 'cost' | 'x'>;
  readonly status?: EndStatus;
}

/** Nielsen's state: μ, and the factor ν by which the next failure raises it. */
export interface Damping {
  readonly mu: number;
  readonly nu: number;
}

interface Trial {
  /** ‖Dδ‖, and ‖Dδ‖ / ‖Dx‖. */
  readonly move: number;
  readonly step: number;
  /** Reductions of the cost: foreseen by the linear model, and found (NaN where the trial failed). */
  readonly predicted: number;
  readonly actual: number;
  readonly next?: Point;
  readonly failure?: string;
}

/** Below the square of roundoff, damping has no effect on a solution by QR; it is kept from underflowing. */
const LEAST_DAMPING = Number.EPSILON ** 2;

const searchBy = (settings: Settings): Search<State> => ({
  maxSteps: settings.maxIterations,

  *init(evaluator, x) {
    const point = yield* evaluator.start(x, evaluator.point(x));
    const damping = {mu: settings.damping, nu: 2};
    const bound = evaluator.problem.bound?.(x);
    return {
      point,
      scale: largerNorms(new Float64Array(x.length), point.factor),
      damping,
      first: point.cost,
      taken: {accepted: true, gradient: gradientCosine(point), step: 0, damping: damping.mu, gainRatio: NaN},
      status: bound === undefined ? statusAt(evaluator, point, point.cost, settings) : 'bound',
    };
  },

  *step(evaluator, {point: from, scale, damping, first}) {
    const trial = yield* tryStep(evaluator, from, scale, damping.mu);
    const gainRatio = trial.actual / trial.predicted;
    const accepted = trial.next !== undefined && trial.actual > 0;
    const point = accepted ? trial.next : from;
    return {
      point,
      scale: accepted ? largerNorms(scale, point.factor) : scale,
      damping: nextDamping(damping, accepted ? gainRatio : NaN),
      first,
      taken: {
        accepted,
        gradient: gradientCosine(point),
        step: trial.step,
        damping: damping.mu,
        gainRatio,
        failure: trial.failure,
      },
      status: statusAt(evaluator, point, first, settings) ?? statusOfTrial(evaluator, trial, point, first, settings),
    };
  },

  *end({problem}, {point, status = 'max-iterations', taken}): Evaluation<Ending> {
    return {point, status, message: messageOf(status, settings, taken.failure, problem.bound?.(point.x))};
  },
});

function* tryStep(evaluator: Evaluator, point: Point, scale: Float64Array, mu: number): Evaluation<Trial> {
  const delta = point.factor.damped(scale, mu);
  const move = scaledNorm(scale, delta);
  const step = move / scaledNorm(scale, point.x);
  const predicted = predictedReduction(point.factor, scale, delta, mu);
  const x = point.x.map((xi, i) => xi + delta[i]);
  const next = yield* evaluator.trial(worthwhile(evaluator, point, x));
  if (next === undefined) return {move, step, predicted, actual: NaN, failure: evaluator.failure};
  if (next instanceof Float64Array) return {move, step, predicted, actual: reduction(point.residuals, next)};
  return {move, step, predicted, actual: reduction(point.residuals, next.residuals), next};
}

/** The point at x; only its residuals where these can be had alone and are not smaller. */
function* worthwhile(evaluator: Evaluator, from: Point, x: Float64Array): Evaluation<Point | Float64Array | string> {
  const residuals = yield* evaluator.residualsAt(x);
  if (typeof residuals === 'string') return residuals;
  if (residuals !== undefined && !(reduction(from.residuals, residuals) > 0)) return residuals;
  return yield* evaluator.point(x);
}

/** ½‖r‖² − ½‖r + Jδ‖² = ½ δᵀ(μD²δ − Jᵀr), for δ solves (JᵀJ + μD²)δ = −Jᵀr; both terms are positive. */
export function predictedReduction(
  factor: Factorization,
  scale: Float64Array,
  delta: Float64Array,
  mu: number,
): number {
  const g = factor.gradient();
  let sum = 0;
  for (let j = 0; j < delta.length; j++) sum += delta[j] * (mu * scale[j] ** 2 * delta[j] - g[j]);
  return sum / 2;
}

/** ½‖r‖² − ½‖s‖² as a sum of products, which keeps its digits when the two are nearly equal. */
function reduction(r: Float64Array, s: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < r.length; i++) sum += (r[i] - s[i]) * (r[i] + s[i]);
  return sum / 2;
}

/** Nielsen's rule; NaN stands for a rejected step. */
export function nextDamping({mu, nu}: Damping, gainRatio: number): Damping {
  if (!(gainRatio > 0)) return {mu: mu * nu, nu: 2 * nu};
  return {mu: Math.max(mu * Math.max(1 / 3, 1 - (2 * gainRatio - 1) ** 3), LEAST_DAMPING), nu: 2};
}

/** Where a coordinate has run off, residuals do not depend on it any more, and a gradient of zero says nothing. */
function statusAt({problem}: Evaluator, point: Point, first: number, {gradient}: Settings): EndStatus | undefined {
  if (point.cost <= Number.EPSILON ** 2 * first) return 'zero-residual'; // residuals that are the start's roundoff
  if (!(gradientCosine(point) <= gradient)) return undefined;
  return problem.bound?.(point.x) === undefined ? 'gradient' : 'bound';
}

/** Whether a short step means that the search ends. */
function statusOfTrial(
  {problem}: Evaluator,
  {move, step, predicted, actual}: Trial,
  {factor, residuals, x, cost}: Point,
  first: number,
  settings: Settings,
): EndStatus | undefined {
  const costs = {start: Math.max(first, problem.magnitude ?? 0), end: cost};
  const short = step <= settings.step || isNegligible(move, costs, settings.step);
  if (!short && !(predicted <= settings.cost * cost && Math.abs(actual) <= settings.cost * cost)) return undefined;
  const tolerance = {offset: GAUSS_NEWTON_OFFSET, step: settings.step};
  if (isMinimum(offsetOf(factor, residuals, x), costs, tolerance)) return short ? 'step' : 'cost';
  if (problem.bound?.(x) !== undefined) return 'bound';
  return short ? 'no-progress' : undefined; // a cost that hardly falls may fall by longer steps again
}

/** Greatest |J_jᵀr| / (‖J_j‖‖r‖); a column of zeros, a parameter without influence, is orthogonal to everything. */
function gradientCosine({factor, cost}: Point): number {
  const norm = Math.sqrt(2 * cost);
  const norms = factor.columnNorms();
  return factor
    .gradient()
    .reduce((greatest, g, j) => (g === 0 ? greatest : Math.max(greatest, Math.abs(g) / norms[j] / norm)), 0);
}

/** Moré's D: never smaller than before; 1 for a column that has always been zero. */
function largerNorms(scale: Float64Array, factor: Factorization): Float64Array {
  return factor.columnNorms().map((norm, j) => Math.max(norm, scale[j]) || 1);
}

function scaledNorm(scale: Float64Array, x: Float64Array): number {
  return x.reduce((norm, xi, i) => Math.hypot(norm, scale[i] * xi), 0);
}

function messageOf(status: EndStatus, settings: Settings, failure?: string, bound?: string): string {
  const because =
    failure === undefined
      ? 'did not lower the cost, though its gradient is not zero'
      : `could not be evaluated (${failure})`;
  const sentences: Record<EndStatus, string> = {
    gradient:
      `Converged: no parameter lowers the cost any more (the residuals' cosine with the Jacobian's columns is `
      + `at most ${settings.gradient}).`,
    step: `Converged: the last step was smaller than ${settings.step} of the parameters.`,
    cost: `Converged: the last step could lower the cost by at most ${settings.cost} of its value.`,
    'zero-residual': 'Converged: the model fits the data to roundoff.',
    'no-progress':
      `Not converged: the steps became smaller than ${settings.step} of the parameters and still ` + `${because}.`,
    bound: boundMessage(bound),
    'max-iterations':
      `Not converged after ${settings.maxIterations} steps: start nearer, or allow more, method: `
      + `levenbergMarquardt({maxIterations: ${2 * settings.maxIterations}}). If the cost hardly fell in the last ones `
      + '(history), the data do not determine all parameters: give them priors.',
  };
  return sentences[status];
}
