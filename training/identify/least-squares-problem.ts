/**
 * A nonlinear least-squares problem, min ½‖r(x)‖², as methods see it: residuals with their derivatives there, steps and
 * an end back. A method that was made here waits for the simulations behind an evaluation wherever they are made
 * (evaluation.ts).
 */
import {known, type Evaluation} from './evaluation.js';
import type {Factorization} from './row-qr.js';
import {RowQr} from './row-qr.js';

/** Residuals and their derivatives at one point. */
export interface ResidualLinearization {
  /** r, [m]. */
  readonly residuals: Float64Array;
  /** ∂r/∂x, [m, p] row-major. */
  readonly jacobian: Float64Array;
}

/** In place of it where the Jacobian is large and sparse: residuals, and the derivatives factorized. */
export interface Factorized {
  readonly residuals: Float64Array;
  readonly factor: Factorization;
}

/** Adds what is missing: the factor, or an empty Jacobian where only its factor is known. */
export function factorized(at: ResidualLinearization | Factorized, p: number): ResidualLinearization & Factorized {
  if ('factor' in at) return {...at, jacobian: new Float64Array()};
  return {...at, factor: new RowQr(p).append(at.jacobian, at.residuals)};
}

/** With the factor of its Jacobian. */
export const withFactor = (at: ResidualLinearization, p: number): ResidualLinearization & {readonly factor: RowQr} => ({
  ...at,
  factor: new RowQr(p).append(at.jacobian, at.residuals),
});

/** For a result: the factor of a Jacobian that was formed; of one that was not, a factor without columns. */
export const denseFactor = (factor: Factorization): RowQr => (factor instanceof RowQr ? factor : new RowQr(0));

/**
 * A least-squares problem. Returned arrays belong to the solver: return new ones. Undefined, a
 * value that is not finite, or an error of a run that has no answer (NewtonError, SingularMatrixError,
 * InconsistentStateError, GradientError, EventError) thrown on the way means that the residuals cannot be evaluated at
 * this x.
 */
export interface LeastSquaresProblem {
  linearize(x: Float64Array): ResidualLinearization | Factorized | undefined;
  /**
   * Only the residuals, to evaluate a trial step. Give it if it saves more than two thirds of `linearize`;
   * otherwise it costs more than it saves, because most steps are accepted and need the Jacobian as well.
   */
  residuals?(x: Float64Array): Float64Array | undefined;
  /** ½‖r‖² and its gradient Jᵀr, for methods that need only these; give it if it is cheaper than `linearize`. */
  gradient?(x: Float64Array): {readonly cost: number; readonly gradient: Float64Array} | undefined;
  /** ½‖data‖², if residuals are a model's values minus data: their rounding is proportional to it. */
  readonly magnitude?: number;
  /** A sentence where a coordinate has run off towards a bound, so that there is no minimum. */
  bound?(x: Float64Array): string | undefined;
}

/** Why the iteration ended. The first four are convergence. */
export type LeastSquaresStatus =
  'gradient' | 'step' | 'cost' | 'zero-residual' | 'no-progress' | 'bound' | 'max-iterations' | 'stopped-early';

/** How an iteration by itself ends; only held-out records stop one early. */
export type EndStatus = Exclude<LeastSquaresStatus, 'stopped-early'>;

/** The statuses that are convergence. */
export const isConverged = (status: LeastSquaresStatus): boolean =>
  status !== 'no-progress' && status !== 'bound' && status !== 'max-iterations' && status !== 'stopped-early';

/** State of an iteration after a step. */
export interface LeastSquaresIteration {
  /** 0 is the start; rejected steps are counted. */
  readonly iteration: number;
  /** ½‖r‖² at `x`. */
  readonly cost: number;
  /** The point after this step: the previous point, if the step was rejected. */
  readonly x: Float64Array;
  readonly accepted: boolean;
  /**
   * Largest cosine of the angle between the residuals and a column of the Jacobian, 0 at a minimum; for methods without
   * a Jacobian |gᵢ| max(|xᵢ|, 1) / cost.
   */
  readonly gradient: number;
  /** ‖Dδ‖ / ‖Dx‖ of the trial step. */
  readonly step: number;
  readonly damping: number;
  /** Actual over predicted reduction; NaN where the trial could not be evaluated. */
  readonly gainRatio: number;
  /** Why the trial could not be evaluated. */
  readonly failure?: string;
}

/** The result of an iteration. */
export interface LeastSquaresResult extends ResidualLinearization {
  readonly x: Float64Array;
  readonly cost: number;
  readonly status: LeastSquaresStatus;
  readonly converged: boolean;
  /** The status as a sentence. */
  readonly message: string;
  /** R of the final Jacobian and Qᵀr, for `uncertainty`; without columns if the problem gave a factor of its own. */
  readonly factor: RowQr;
  readonly history: readonly LeastSquaresIteration[];
  readonly evaluations: {
    readonly residuals: number;
    readonly jacobians: number;
    /** Trials that were rejected because they could not be evaluated. */
    readonly failed: number;
    /** Why the last one of them could not. */
    readonly failure?: string;
  };
}

/** Made by `levenbergMarquardt`, `lbfgs` or `adam`. */
export interface LeastSquaresMethod {
  readonly name: string;
  /** Options of the method, with defaults filled in. */
  readonly settings?: object;
  /** Runs the iteration to its end. */
  minimize(
    problem: LeastSquaresProblem,
    start: ArrayLike<number>,
    onIteration?: (iteration: LeastSquaresIteration) => void,
  ): LeastSquaresResult;
}

/** The iteration of a method as an evaluation: `identify` runs it, with simulations in this thread or in others. */
export type MethodSteps = (
  problem: EvaluatedProblem,
  start: ArrayLike<number>,
  report: ResidualReport,
) => Evaluation<LeastSquaresResult>;

/** Undefined for what is no method of this package. */
export const stepsOf = (method: LeastSquaresMethod): MethodSteps =>
  (method as LeastSquaresMethod & {readonly steps: MethodSteps}).steps;

/** A least-squares problem whose evaluations hand out their simulations (evaluation.ts). */
export interface EvaluatedProblem extends Pick<LeastSquaresProblem, 'magnitude' | 'bound'> {
  /** Whether the cost may have kinks, in which a search along its gradient stalls. */
  readonly kinked?: boolean;
  linearize(x: Float64Array): Evaluation<ResidualLinearization | Factorized | undefined>;
  residuals?(x: Float64Array): Evaluation<Float64Array | undefined>;
  gradient?(x: Float64Array): Evaluation<{readonly cost: number; readonly gradient: Float64Array} | undefined>;
}

/** Told of each iteration, the start included. It ends the iteration by throwing `Stopped`. */
export type ResidualReport = (iteration: LeastSquaresIteration) => Evaluation<void>;

/** Ends an iteration from its report; caught by whoever gave the report. */
export class Stopped extends Error {}

/** A report that tells nobody. */
export const silent: ResidualReport = () => known(undefined);
