/** Options of a Newton iteration: a plain value, checked when it is made. */
import {OptionError} from '../errors.js';
import type {OptionSchema} from '../checks.js';
import {any, positiveInteger, oneOf, positive, refuseUnknownOptions} from '../checks.js';
import type {LinearSolver} from '../linear/index.js';
import {auto} from '../linear/index.js';
import type {Forcing} from './forcing.js';
import type {StepLength} from './step-length.js';
import {full} from './step-length.js';

/** When Newton's matrix is recomputed. */
export type JacobianUse = 'by-cost' | 'fresh' | 'chord' | 'auto';

/** Options of `newton`. */
export interface NewtonOptions {
  /**
   * The error left in z, by components: absolute + relative·|z|. Defaults 0 and 1e-12: no unit is preferred, and
   * what is so small that rounding hides it is found by the rounding measured there. `absolute` is in the unknown's
   * own unit. The estimate is held a hundred times below, so that gradients and differences between runs see the
   * exact step. Adaptive steps of Runge–Kutta methods are solved as far as their own tolerance asks where none is
   * given here: see docs/time-and-events.md.
   */
  readonly tolerance?: {readonly absolute?: number; readonly relative?: number};
  /** Default 50: full Newton needs 2–6; damped steps on a hard problem tens. */
  readonly maxIterations?: number;
  /** Truncated: exactly this many iterations, converged or not. */
  readonly iterations?: number;
  /**
   * 'fresh': a Jacobian an iteration. 'chord': one a step. 'auto': kept while corrections shrink fast
   * enough, across iterations and steps. 'by-cost' (default): 'auto' where the Jacobian is so much more
   * work than a residual that this pays (a force made by a network), else 'fresh'; and where a gradient is
   * wanted no step takes over another's, so that the gradient is the same under every budget of memory.
   */
  readonly jacobian?: JacobianUse;
  readonly step?: StepLength;
  /** How exactly a Krylov method solves for each correction: eisenstatWalker(). Default: to its own tolerance. */
  readonly forcing?: Forcing;
  readonly linear?: LinearSolver;
  /** 'halve': a step that fails is retried as two half steps, down to h/1024. Default 'throw'. */
  readonly onFailure?: 'throw' | 'halve';
}

/** How the equations of a step are solved; made by `newton`. */
export interface Newton {
  /** Whether the caller gave the tolerance. */
  readonly hasTolerance: boolean;
  readonly tolerance: {readonly absolute: number; readonly relative: number};
  readonly maxIterations: number;
  readonly iterations?: number;
  readonly jacobian: JacobianUse;
  readonly step: StepLength;
  readonly forcing?: Forcing;
  readonly linear: LinearSolver;
  readonly onFailure: 'throw' | 'halve';
}

const newtonOptions: OptionSchema = {
  tolerance: any,
  maxIterations: positiveInteger,
  iterations: positiveInteger,
  jacobian: oneOf('by-cost', 'fresh', 'chord', 'auto'),
  step: any,
  forcing: any,
  linear: any,
  onFailure: oneOf('throw', 'halve'),
};

function checkLineSearch(step: StepLength): StepLength {
  if (typeof (step as StepLength | undefined)?.choose !== 'function')
    throw new OptionError('bad-newton', 'newton: step must be full(), subSteps(fraction) or backtracking().');
  return step;
}

function checkForcing(forcing: Forcing): Forcing {
  if (typeof (forcing as Forcing | undefined)?.gamma !== 'number')
    throw new OptionError('bad-newton', 'newton: forcing must be eisenstatWalker({...}).');
  return forcing;
}

function checkLinearSolver(linear: LinearSolver): LinearSolver {
  if (typeof (linear as LinearSolver | undefined)?.analyze !== 'function')
    throw new OptionError(
      'bad-newton',
      'newton: linear must be a linear solver, called: auto(), lu(), cholesky(), gmres(), …',
    );
  return linear;
}

/**
 * Newton's method for the equations of a step.
 * @throws OptionError 'bad-newton'
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs';
 * import {mechanics, newton, simulate, sparseLu} from 'stiffgrad';
 *
 * const system = mechanics({mass: [1, 1], forces: ({q}) => tf.neg(tf.sinh(q))});
 * const path = simulate(system, {q: [1, 0], v: [0, 0]}, {
 *   dt: 0.01,
 *   steps: 10,
 *   newton: newton({tolerance: {relative: 1e-12}, linear: sparseLu()}),
 * });
 * console.log(path.status); // → completed
 * ```
 */
export function newton(options: NewtonOptions = {}): Newton {
  refuseUnknownOptions(options, newtonOptions, 'newton', 'bad-newton');
  const {
    tolerance = {},
    maxIterations = 50,
    iterations,
    jacobian = 'by-cost',
    step = full(),
    forcing,
    linear = auto(),
    onFailure = 'throw',
  } = options;
  refuseUnknownOptions(tolerance, {absolute: positive, relative: positive}, 'newton: tolerance', 'bad-newton');
  return {
    hasTolerance: options.tolerance !== undefined,
    tolerance: {absolute: tolerance.absolute ?? 0, relative: tolerance.relative ?? 1e-12},
    maxIterations,
    iterations,
    jacobian,
    step: checkLineSearch(step),
    forcing: forcing === undefined ? undefined : checkForcing(forcing),
    linear: checkLinearSolver(linear),
    onFailure,
  };
}
