/**
 * Nonlinear least squares, min ½‖r(x)‖², by the Levenberg–Marquardt method: steps from
 * min ‖Jδ + r‖² + μ‖Dδ‖² with Moré's scaling (The Levenberg–Marquardt algorithm, 1978: D holds the largest
 * norm each column of J has had, so units do not matter), solved by QR, and the damping μ led by the gain
 * ratio (Nielsen, Damping parameter in Marquardt's method, 1999). The tests of convergence are MINPACK's; those of
 * small steps count only at a minimum (convergence.ts), for damping makes any step small.
 * A point where the simulation fails is a rejected step, not an error: the next step is shorter.
 */
import {OptionError} from '../../lib/errors.js';
import {any, nonNegative, object, refuseUnknownOptions, whole} from '../../lib/checks.js';
import {GAUSS_NEWTON_OFFSET, isMinimum, isNegligible, offsetOf} from './convergence.js';
import type {Evaluation} from './evaluation.js';
import {isFailedSimulation} from './failed-simulation.js';
import {
  denseFactor,
  factorized,
  isConverged,
  methodOf,
  type EndStatus,
  type EvaluatedProblem,
  type Factorized,
  type LeastSquaresIteration,
  type LeastSquaresMethod,
  type LeastSquaresResult,
  type Linearization,
  type Report,
} from './least-squares-problem.js';
import type {Factorization} from './row-qr.js';

/** Options of `levenbergMarquardt`. */
export interface LevenbergMarquardtOptions {
  readonly tolerance?: {
    /**
     * Cosine between residuals and columns. In a fit of m residuals, cosine·√m is how many standard errors a
     * parameter still has to go: the default 1e-10 leaves 3e-8 of one at m = 1e5.
     */
    readonly gradient?: number;
    /** ‖Dδ‖ / ‖Dx‖; default 1e-10. */
    readonly step?: number;
    /** Predicted and actual reduction over the cost; default 1e-12: √(1e-12·m) is 3e-4 standard errors at m = 1e5. */
    readonly cost?: number;
  };
  /**
   * Number of trial steps, including rejected ones; default 200: the slowest of NIST's regressions in the tests needs
   * 142.
   */
  readonly maxIterations?: number;
  /**
   * Initial μ, relative to the scaled JᵀJ, whose diagonal is 1. Default 1e-3 (Nielsen: 1e-6 for a start known to be
   * good, 1 for a bad one).
   */
  readonly damping?: number;
}

/** A method for `identify`, or by itself: `levenbergMarquardt().minimize(problem, start)`. */
export function levenbergMarquardt(options: LevenbergMarquardtOptions = {}): LeastSquaresMethod {
  refuseUnknownOptions(options, {tolerance: object, maxIterations: whole, damping: any}, 'levenbergMarquardt');
  refuseUnknownOptions(options.tolerance ?? {}, {gradient: any, step: any, cost: any}, 'levenbergMarquardt: tolerance');
  const settings = settingsOf(options);
  return methodOf('levenbergMarquardt', settings, (problem, start, report) =>
    iterate(problem, start, settings, report),
  );
}

/** A point that has been evaluated: everything the next step needs. */
interface Point extends Linearization {
  readonly x: Float64Array;
  readonly cost: number;
  readonly factor: Factorization;
}

/** Nielsen's state: μ, and the factor ν by which the next failure raises it. */
export interface Damping {
  readonly mu: number;
  readonly nu: number;
}

interface Trial {
  readonly delta: Float64Array;
  /** ‖Dδ‖, and ‖Dδ‖ / ‖Dx‖. */
  readonly move: number;
  readonly step: number;
  /** Reductions of the cost: foreseen by the linear model, and found (NaN where the trial failed). */
  readonly predicted: number;
  readonly actual: number;
  readonly next?: Point;
  readonly failure?: string;
}

interface Settings {
  readonly gradient: number;
  readonly step: number;
  readonly cost: number;
  readonly maxIterations: number;
  readonly damping: number;
}

/** Below the square of roundoff, damping has no effect on a solution by QR; it is kept from underflowing. */
const LEAST_DAMPING = Number.EPSILON ** 2;

function* iterate(
  problem: EvaluatedProblem,
  start: ArrayLike<number>,
  settings: Settings,
  report: Report,
): Evaluation<LeastSquaresResult> {
  const evaluator = new Evaluator(problem);
  let point = yield* evaluator.start(Float64Array.from(start));
  let scale = largerNorms(new Float64Array(point.x.length), point.factor);
  let damping: Damping = {mu: settings.damping, nu: 2};
  const leastCost = Number.EPSILON ** 2 * point.cost; // residuals that are the start's roundoff
  const history: LeastSquaresIteration[] = [
    {
      iteration: 0,
      cost: point.cost,
      x: point.x,
      accepted: true,
      gradient: gradientCosine(point),
      step: 0,
      damping: damping.mu,
      gainRatio: NaN,
    },
  ];
  yield* report(history[0]);
  const reference = Math.max(point.cost, problem.magnitude ?? 0);
  /** Of a step that was short: whether that means anything. */
  const judged = (status: 'step' | 'cost'): EndStatus | undefined => {
    if (
      isMinimum(
        offsetOf(point.factor, point.residuals, point.x),
        {start: reference, end: point.cost},
        {offset: GAUSS_NEWTON_OFFSET, step: settings.step},
      )
    )
      return status;
    if (problem.bound?.(point.x) !== undefined) return 'bound';
    return status === 'step' ? 'no-progress' : undefined; // a cost that hardly falls may fall by longer steps again
  };
  /** Where a coordinate has run off, residuals do not depend on it any more, and a gradient of zero says nothing. */
  const statusAt = (): EndStatus | undefined => {
    const found = statusOfPoint(point, leastCost, settings);
    return found === 'gradient' && problem.bound?.(point.x) !== undefined ? 'bound' : found;
  };
  let status = problem.bound?.(point.x) === undefined ? statusAt() : 'bound';
  while (status === undefined && history.length <= settings.maxIterations) {
    const trial = yield* tryStep(evaluator, point, scale, damping.mu);
    const gainRatio = trial.actual / trial.predicted;
    const accepted = trial.next !== undefined && trial.actual > 0;
    const {mu} = damping;
    damping = nextDamping(damping, accepted ? gainRatio : NaN);
    if (accepted) {
      point = trial.next!;
      scale = largerNorms(scale, point.factor);
    }
    history.push({
      iteration: history.length,
      cost: point.cost,
      x: point.x,
      accepted,
      gradient: gradientCosine(point),
      step: trial.step,
      damping: mu,
      gainRatio,
      failure: trial.failure,
    });
    yield* report(history[history.length - 1]);
    const short = statusOfTrial(trial, point, reference, settings);
    status = statusAt() ?? (short === undefined ? undefined : judged(short));
  }
  return resultOf(point, status ?? 'max-iterations', history, evaluator, settings, problem.bound?.(point.x));
}

function* tryStep(evaluator: Evaluator, point: Point, scale: Float64Array, mu: number): Evaluation<Trial> {
  const delta = point.factor.damped(scale, mu);
  const move = scaledNorm(scale, delta);
  const step = move / scaledNorm(scale, point.x);
  const predicted = predictedReduction(point.factor, scale, delta, mu);
  const x = point.x.map((xi, i) => xi + delta[i]);
  const {value: next, failure} = yield* evaluator.at(x, residuals => reduction(point.residuals, residuals) > 0);
  if (next === undefined) return {delta, move, step, predicted, actual: NaN, failure};
  const actual = reduction(point.residuals, next.residuals);
  return {delta, move, step, predicted, actual, next: 'factor' in next ? next : undefined};
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

function statusOfPoint(point: Point, leastCost: number, {gradient}: Settings): EndStatus | undefined {
  if (point.cost <= leastCost) return 'zero-residual';
  return gradientCosine(point) <= gradient ? 'gradient' : undefined;
}

function statusOfTrial(
  {move, step, predicted, actual}: Trial,
  {cost}: Point,
  reference: number,
  settings: Settings,
): 'step' | 'cost' | undefined {
  if (step <= settings.step || isNegligible(move, {start: reference, end: cost}, settings.step)) return 'step';
  return predicted <= settings.cost * cost && Math.abs(actual) <= settings.cost * cost ? 'cost' : undefined;
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

/** Evaluates the problem, counts, and turns what a simulation may legitimately throw into a value. */
class Evaluator {
  residuals = 0;
  jacobians = 0;
  failed = 0;
  /** Why the last trial that failed did. */
  failure: string | undefined;

  constructor(private readonly problem: EvaluatedProblem) {}

  /** The start has to be evaluable: its failure is the caller's. */
  *start(x: Float64Array): Evaluation<Point> {
    const bad = x.findIndex(xi => !Number.isFinite(xi));
    if (bad >= 0)
      throw new OptionError('start-not-finite', `Entry ${bad} of the start is ${x[bad]}: give a finite guess.`, {x});
    this.jacobians++;
    const at = yield* this.problem.linearize(x);
    const failure = at === undefined ? 'the problem cannot be evaluated there' : notFinite(at);
    if (at === undefined || failure !== undefined) {
      throw new OptionError(
        'start-not-evaluable',
        `The least-squares problem has no value at its start: ${failure}. Choose another guess.`,
        {x},
      );
    }
    return pointOf(x, at);
  }

  /** The point at x; only its residuals where `problem.residuals` exists and they are not `worthwhile`. */
  *at(
    x: Float64Array,
    worthwhile: (residuals: Float64Array) => boolean,
  ): Evaluation<{value?: Point | {residuals: Float64Array}; failure?: string}> {
    try {
      if (this.problem.residuals !== undefined) {
        this.residuals++;
        const residuals = yield* this.problem.residuals(x);
        const failure = residuals === undefined ? 'the problem cannot be evaluated there' : notFinite({residuals});
        if (residuals === undefined || failure !== undefined) return this.fail(failure);
        if (!worthwhile(residuals)) return {value: {residuals}};
      }
      this.jacobians++;
      const at = yield* this.problem.linearize(x);
      const failure = at === undefined ? 'the problem cannot be evaluated there' : notFinite(at);
      return at === undefined || failure !== undefined ? this.fail(failure) : {value: pointOf(x, at)};
    } catch (error) {
      if (isFailedSimulation(error)) return this.fail(error.message);
      throw error;
    }
  }

  private fail(failure = 'unknown'): {failure: string} {
    this.failed++;
    this.failure = failure;
    return {failure};
  }
}

function notFinite({
  residuals,
  jacobian = new Float64Array(),
  factor,
}: {
  residuals: Float64Array;
  jacobian?: Float64Array;
  factor?: Factorization;
}): string | undefined {
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

function pointOf(x: Float64Array, at: Linearization | Factorized): Point {
  const {residuals} = at;
  if ('jacobian' in at && at.jacobian.length !== residuals.length * x.length) {
    throw new OptionError(
      'jacobian-shape',
      `${residuals.length} residuals of ${x.length} parameters need a Jacobian of ${residuals.length * x.length} `
        + `entries, not ${at.jacobian.length}.`,
    );
  }
  let cost = 0;
  for (const value of residuals) cost += value * value;
  return {x, ...factorized(at, x.length), cost: cost / 2};
}

function resultOf(
  point: Point,
  status: EndStatus,
  history: readonly LeastSquaresIteration[],
  {residuals, jacobians, failed, failure: lastFailure}: Evaluator,
  settings: Settings,
  bound: string | undefined,
): LeastSquaresResult {
  const failure = history[history.length - 1].failure;
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
    'no-progress': `Not converged: the steps became smaller than ${settings.step} of the parameters and still ${because}.`,
    bound: boundMessage(bound),
    'max-iterations': `Not converged after ${settings.maxIterations} steps: start nearer, or allow more, method: levenbergMarquardt({maxIterations: ${2 * settings.maxIterations}}). If the cost hardly fell in the last ones (history), the data do not determine all parameters: give them priors.`,
  };
  return {
    ...point,
    factor: denseFactor(point.factor),
    status,
    converged: isConverged(status),
    message: sentences[status],
    history,
    evaluations: {residuals, jacobians, failed, failure: lastFailure},
  };
}

export const boundMessage = (bound = 'a coordinate diverges to infinity'): string =>
  `Not converged: there is no minimum within the bounds, because ${bound}.`;

function settingsOf({tolerance = {}, maxIterations = 200, damping = 1e-3}: LevenbergMarquardtOptions): Settings {
  const settings = {
    gradient: tolerance.gradient ?? 1e-10,
    step: tolerance.step ?? 1e-10,
    cost: tolerance.cost ?? 1e-12,
    maxIterations,
    damping,
  };
  for (const [name, value] of Object.entries(settings)) {
    const least = name === 'damping' ? 'positive' : 'not negative';
    if (!nonNegative.test(value) || (name === 'damping' && value === 0)) {
      throw new OptionError(
        'least-squares-option',
        `levenbergMarquardt: ${name} is ${value}, but must be finite and ${least}.`,
        {
          name,
          value,
        },
      );
    }
  }
  return settings;
}
