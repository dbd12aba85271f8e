/**
 * How a step finds its unknown, and what it leaves to the next step. The scheme and the options of Newton's method
 * choose one of four: Newton's iteration for all of the unknown (newton-solver.ts), with its contact forces by the
 * proximal point method (contact-solver.ts), a simplified iteration for stage after stage (sequential-solver.ts), or
 * none, where a scheme is explicit (explicit-solver.ts).
 */
import type {IterationRecord} from '../adjoint/record.js';
import type {StiffgradError} from '../errors.js';
import type {Value, RoutineBuilder} from '../routine/routine.js';
import type {Host, RoutineCall} from '../routine/shared.js';

/** What the next step takes over from the last, beside the state. */
export interface SolverSnapshot {
  /** The length that the matrix is for. */
  readonly h?: number;
  /** The matrix that the next step may start with. */
  readonly matrix?: Float64Array;
}

/** What is known of an attempt that failed. */
export interface SolverFailure {
  readonly cause?: StiffgradError | undefined;
  /** ‖R‖₂ at the start of every iteration. */
  readonly history: readonly number[];
  /** Rows of the unknown with the largest scaled residual, worst first; undefined where no residual is known. */
  readonly worstRows?: readonly {readonly row: number; readonly residual: number}[] | undefined;
}

export interface StageSolver {
  /** The unknown of the last step; of an explicit scheme what is kept beside its state, if anything. */
  readonly z: Float64Array | undefined;
  /** Blocks that are solved one by one; 1 where the unknown is solved as a whole. */
  readonly blocks: number;
  /** All steps are alike: each is one update, or Newton's iterations with full steps and fresh Jacobians. */
  readonly isBatchable: boolean;
  /** What `emit` depends on beside the executable. */
  readonly settings: object;
  /** Newton's iterations of the last attempt, where they are recorded. */
  readonly iterations?: readonly IterationRecord[];
  /**
   * Emits the solution for the unknown, its guess included. Absent: there is none.
   * @param host has the solver whose JavaScript functions are called
   * @returns the number of a status of Newton's method
   */
  emit?(b: RoutineBuilder, host: Host<StageSolver>): Value;
  /** Runs the routine of an attempt. @returns the number of a status */
  solve(attempt: RoutineCall, t: number, h: number): number;
  /** Runs a routine of several steps, where `isBatchable`. @returns the number of a status */
  solveSeveral(steps: RoutineCall, count: number, keepEnds: number): number;
  /**
   * After an update whose step will be differentiated: moves the unknown to where derivatives are taken. The step's end
   * stays. Absent: they are taken at the unknown that was found.
   * @param narrow what is recorded of the step is computed anew
   */
  linearize?(narrow: boolean): void;
  /** What the next step takes over; its arrays may change with the next step. What is not in it is discarded here. */
  takeSnapshot(): SolverSnapshot | undefined;
  /** The next step takes over this, and nothing else. */
  restore(snapshot: SolverSnapshot | undefined): void;
  failure(): SolverFailure;
}
