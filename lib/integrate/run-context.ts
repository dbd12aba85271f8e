/**
 * Everything that the computation of a run needs: a compiled step, numbers, and options that are plain values.
 * Nothing here is a tensor, so a worker thread runs it without tfjs (workers/).
 */
import type {Engine} from '../engine/engine.js';
import type {Newton} from '../newton/index.js';
import type {StepContext} from '../step/context.js';
import {isMatrixFree} from '../step/solvers.js';
import type {Plan} from './history/plan.js';
import type {Grid, Progress} from './grid.js';

export interface ExecutionOptions {
  readonly grid: Grid;
  /** Step numbers that are saved, ascending; 0 is the start. */
  readonly saved: Float64Array;
  /**
   * For runs that are not a grid of steps: adaptive, with events, or saved between steps. Then nothing is in `saved`.
   */
  readonly plan?: Plan;
  readonly newton: Newton;
  /** The scheme is the default one: its order was not chosen to suit the tolerance. */
  readonly isDefaultScheme?: boolean;
  /** Every iteration of Newton's method has a Jacobian of its own, whatever that costs. */
  readonly freshJacobians?: boolean;
  /** A start that breaks its constraints is refused, or was moved. */
  readonly consistent: 'check' | 'project';
  readonly onProgress?: (progress: Progress) => void;
  /** Looked at where a callback has run. */
  readonly signal?: AbortSignal;
  /** Called by a worker thread every step, or every few milliseconds; throws if the run is no longer wanted. */
  readonly poll?: () => void;
}

export interface RunContext extends StepContext {
  readonly options: ExecutionOptions;
  readonly engine: Engine;
  /** Numbers in q, or in y. */
  readonly coordinates: number;
}

/** How linear systems are solved, for the statistics. */
export interface SolverFacts {
  readonly nonzeros: number;
  /** 'none' for an explicit scheme. */
  readonly linear: string;
  readonly engine: Engine['name'];
}

export function solverOf({compiled, options}: RunContext): SolverFacts {
  if (!compiled.implicit) return {nonzeros: 0, linear: 'none', engine: compiled.engine.name};
  const {linear} = options.newton;
  const {nonzeros = 0, kind = 'none'} = compiled.matrices.currentAnalysis ?? {};
  return {engine: compiled.engine.name, nonzeros, linear: isMatrixFree(linear) ? linear.name : kind};
}
