/** What a run leaves: its saved states, how it ended, and what it kept for the way back. */
import type {StepHistory} from '../adjoint/step-history.js';
import type {Sensitivities} from '../adjoint/forward.js';
import type {StepRecord} from '../adjoint/record.js';
import type {StiffgradError} from '../errors.js';
import type {Learned} from '../step/compiled.js';
import type {Redundancy} from '../step/context.js';
import type {Counters, Status} from './counters.js';
import type {Checkpointer} from './history/checkpointer.js';
import type {EventRecord} from './history/records.js';
import type {Standing} from './run-state.js';
import type {SolverFacts} from './runnable.js';

/** What a run keeps for its gradient. */
export type Keep =
  /** Every step. */
  | {readonly record: StepRecord}
  /** States at some steps, from which the others are reached again; `room` of them at most. */
  | {readonly states: Map<number, Float64Array>; readonly room: number}
  /** The step history of a run that is not a grid of steps, and the state at its end. */
  | {readonly history: StepHistory; readonly checkpointer: Checkpointer; readonly end: Float64Array}
  /** The tangents of what was saved (forwardSensitivity). */
  | {readonly sensitivities: Sensitivities}
  /** Nothing but the saved states (backsolveAdjoint). What the way back finds is told in the run's warnings. */
  | {readonly warnings: string[]};

/** What a run is to keep: steps, within so many bytes; or the tangents of what is saved. */
export type Keeping = {readonly memory: number} | 'tangents' | undefined;

/** What the way back needs of a run. */
export interface Path {
  /** Saved states, one after another. */
  readonly states: Float64Array;
  /** Times of the saved states. */
  readonly times: Float64Array;
  /** Steps of the grid that were completed. */
  readonly completed: number;
  /** The step that began the run. */
  readonly start: StepRecord;
  /** Where it ended. */
  readonly standing?: Standing;
  readonly redundancy: Redundancy;
  readonly events?: readonly EventRecord[];
  /** There where a gradient was asked for. */
  readonly kept?: Keep;
  /** What the linear solver had learned at the end (see Analysis.history): the way back starts with it. */
  readonly history?: Learned;
}

export interface Run extends Path {
  readonly status: Status;
  readonly error?: StiffgradError;
  /** See `Trajectory.warnings`. */
  readonly warnings: readonly string[];
  readonly counters: Counters;
  readonly milliseconds: number;
  /** There where a worker thread ran it. */
  readonly elsewhere?: SolverFacts & {readonly compileTime: number};
}
