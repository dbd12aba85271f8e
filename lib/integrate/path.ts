/** The result of a run: its saved states, how it ended, and what it stored for the backward pass. */
import type {Directions} from '../adjoint/directions.js';
import type {Gradient} from '../adjoint/gradient.js';
import type {TransitionWatch} from '../adjoint/not-finite.js';
import type {SerializedRecord, StepRecord} from '../adjoint/record.js';
import type {SavedStates, StepHistory} from '../adjoint/step-history.js';
import type {RunCotangents} from '../adjoint/sweep-back.js';
import type {Sensitivities} from '../adjoint/sweep-forward.js';
import type {StiffgradError} from '../errors.js';
import type {PivotStates} from '../step/matrices.js';
import type {TimeDirection} from '../step/time-direction.js';
import {toUserTime, toUserTimes} from '../step/time-direction.js';
import type {Redundancy} from '../step/context.js';
import type {StoragePolicy} from '../step/stored-for-backward.js';
import type {Counters, Status} from './counters.js';
import type {EventRecord} from './history/records.js';
import type {ResumeState} from './run-state.js';
import type {RunContext, SolverFacts} from './run-context.js';

/** What is stored of a run for a derivative. */
export interface BackwardPolicy {
  /** How steps are recorded (step/stored-for-backward.ts). */
  storagePolicy?(prepared: RunContext): StoragePolicy | undefined;
  /** Newton's iterations are recorded too. */
  readonly iterations?: boolean;
  /** @throws MemoryError where what will be kept has no room */
  requireMemory?(prepared: RunContext): void;
  /**
   * Made when a run begins, and made again where the run is.
   * @param start the step that began it
   * @param saved what it saves; known beforehand where steps lie on the grid
   * @param history of a run whose steps do not; it grows with the run
   */
  begin(prepared: RunContext, start: StepRecord, saved: SavedStates, history?: StepHistory): BackwardRecorder;
}

/** Records a run for a derivative. */
export interface BackwardRecorder {
  /** The record that transitions are written to, if any. */
  readonly record: StepRecord | undefined;
  /** Steps of a grid may not depend on those before them but through the state. */
  readonly independentSteps: boolean;
  /**
   * Transition n is about to be taken, from this state; what was saved up to here is noted.
   * @param place a copy of what a step of a grid goes on from: the state, and what Newton's iteration keeps
   */
  reach(n: number, state: Float64Array, place?: () => Float64Array): void;
  /** How many transitions may be taken from n on without being told of those between; absent where of each. */
  batchFrom?(n: number): number;
  /** The run has ended after n transitions, in this state. */
  finish(n: number, state: Float64Array): BackwardTape | undefined;
}

/** What was stored of a run for its derivatives. */
export interface BackwardTape {
  /** The gradient for cotangents of what was saved. */
  pull(prepared: RunContext, path: Path, cotangents: RunCotangents, watch?: TransitionWatch): Gradient;
  /** Tangents of what was saved; where every step was kept. */
  push?(prepared: RunContext, path: Path, directions: Directions): Sensitivities;
  /** Its gradient is that of no steps: of a continuous adjoint. */
  readonly isApproximate?: true;
  /** Memory that may serve another run once the gradient has been taken. */
  readonly record?: StepRecord;
  /** Plain values for another thread, of which its adjoint makes this again; absent where it stays in its own. */
  serialize?(): SerializedTape;
}

/** A backward tape in a message; its memory may be moved. */
export interface SerializedTape {
  readonly storage?: StoragePolicy | undefined;
  readonly record?: SerializedRecord;
  readonly states?: ReadonlyMap<number, Float64Array>;
  readonly capacity?: number;
  readonly sensitivities?: Sensitivities;
}

/** What the way back needs of a run. */
export interface Path {
  /** Saved states, one after another. */
  readonly states: Float64Array;
  /** Times of the saved states, the user's; those of `events` too. */
  readonly times: Float64Array;
  /** Steps of the grid that were completed. */
  readonly completed: number;
  /** The step that began the run. */
  readonly start: StepRecord;
  /** The state that another run can resume from. */
  readonly resumeState?: ResumeState;
  readonly redundancy: Redundancy;
  readonly events?: readonly EventRecord[];
  /** Present if a derivative was asked for. */
  readonly tape?: BackwardTape;
  /** What the linear solver had learned at the end (see Analysis.history): the way back starts with it. */
  readonly pivotStates?: PivotStates;
}

/** What loops tell by their clock, as users see it. */
export const inUserTime = (
  direction: TimeDirection,
  {times, events}: Pick<Path, 'times' | 'events'>,
): Pick<Path, 'times' | 'events'> => ({
  times: toUserTimes(direction, times),
  events: direction.backwards === true ? events?.map(event => ({...event, t: toUserTime(direction, event.t)})) : events,
});

export interface Run extends Path {
  readonly status: Status;
  readonly error?: StiffgradError;
  /** See `Trajectory.warnings`. A gradient may add one. */
  readonly warnings: string[];
  readonly counters: Counters;
  readonly milliseconds: number;
  /** Its tolerances are those that were asked for over this, so that its tangents are right, too. */
  readonly tightened?: number;
  /** Present if a worker thread computed the run. */
  readonly workerFacts?: SolverFacts & {readonly compileTime: number};
}
