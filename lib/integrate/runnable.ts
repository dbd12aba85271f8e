/**
 * A run as far as the arithmetic knows it: a compiled step, numbers, and options that are plain values.
 * Nothing here is a tensor, so a worker thread runs it without tfjs (workers/).
 */
import type {Gradient} from '../adjoint/gradient.js';
import type {Adjoint} from '../adjoint/index.js';
import type {Engine} from '../engine/engine.js';
import type {Newton} from '../newton/index.js';
import type {StepContext} from '../step/context.js';
import {isMatrixFree} from '../step/solvers.js';
import type {Plan} from './history/plan.js';
import type {Grid, Progress} from './grid.js';

export interface Arithmetic {
  readonly grid: Grid;
  /** Step numbers that are saved, ascending; 0 is the start. */
  readonly saved: Float64Array;
  /** For runs that are not a grid of steps: adaptive, with events, or saved between steps. Then nothing is in `saved`. */
  readonly plan?: Plan;
  readonly newton: Newton;
  readonly adjoint: Adjoint;
  /** A start that breaks its constraints is refused, or was moved. */
  readonly consistent: 'check' | 'project';
  readonly onProgress?: (progress: Progress) => void;
  /** Looked at where a callback has run. */
  readonly signal?: AbortSignal;
  /** Of a worker thread, asked before every step: throws where the run is no longer wanted. */
  readonly poll?: () => void;
}

export interface Runnable extends StepContext {
  readonly options: Arithmetic;
  readonly engine: Engine;
  /** Steps are recorded by what the adjoint needs of them (step/kept.ts). */
  readonly narrow?: boolean;
  /** Numbers in q, or in y. */
  readonly coordinates: number;
  /** Of backsolveAdjoint, in the thread that traced the run. */
  readonly backsolve?: Backsolve;
}

/** What the continuous adjoint goes back along: the saved states one after another, and their times; what it finds is told in `warnings`. */
export interface SavedStates {
  readonly states: Float64Array;
  readonly times: Float64Array;
  readonly warnings?: string[];
}

/** The gradient for cotangents of the saved states. */
export type Backsolve = (runnable: Runnable, saved: SavedStates, cotangents: Float64Array) => Gradient;

/** How linear systems are solved, for the statistics. */
export interface SolverFacts {
  readonly nonzeros: number;
  /** 'none' for an explicit scheme. */
  readonly linear: string;
  readonly engine: Engine['name'];
}

export function solverOf({compiled, options}: Runnable): SolverFacts {
  if (!compiled.implicit) return {nonzeros: 0, linear: 'none', engine: compiled.engine.name};
  const {linear} = options.newton;
  const {nonzeros = 0, kind = 'none'} = compiled.currentAnalysis ?? {};
  return {engine: compiled.engine.name, nonzeros, linear: isMatrixFree(linear) ? linear.name : kind};
}
