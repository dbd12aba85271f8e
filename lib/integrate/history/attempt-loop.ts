/**
 * Attempts at the steps of a run: proposed by its controller, and counted by cause where they are rejected. A run by
 * itself tries until an attempt is accepted (`next`); blocks of steps and lanes propose and reject one at a time.
 */
import type {Counters, Failure, Status} from '../counters.js';
import {isReached, type Proposal, type RunController} from './step-size-controller.js';

/** Why there is no further attempt: the end is reached, or it cannot be. */
export type Ended = 'completed' | 'too-many-steps' | 'step-too-small';

/** A step that was taken, and its error as a share of the tolerance: 0 where none is estimated. */
export interface AttemptedStep {
  readonly error: number;
}

export interface AcceptedAttempt<Step extends AttemptedStep> extends Proposal {
  readonly step: Step;
}

/** None of the attempts from here was accepted, or there was none. */
export interface FailedAttempt {
  readonly failed: Failure | Ended;
  readonly h: number;
}

/** Takes a step, or says why it failed. */
export interface Trial<Step extends AttemptedStep> {
  /**
   * @param end the time that the step ends at, which t + h may round
   * @param isFirst there is no step before: the start, or what follows an event
   * @param isUncertain so it is, or the attempt before was rejected
   */
  attempt(t: number, h: number, end: number, isFirst: boolean, isUncertain: boolean): Step | Status;
}

export class AttemptLoop {
  constructor(
    private readonly controller: RunController,
    private readonly counters: Counters,
  ) {}

  /** A step ends where something is known to happen. */
  endsAtStop({end}: Proposal): boolean {
    return isReached(this.controller.stop, end);
  }

  /** The next step to try from time t, or why there is none. */
  propose(t: number): Proposal | Ended {
    const {controller} = this;
    if (controller.done(t)) return 'completed';
    if (controller.exhausted) return 'too-many-steps';
    return controller.propose(t) ?? 'step-too-small';
  }

  /**
   * Counts a rejected attempt.
   * @param error Infinity where the step failed
   * @returns the status that ends the run; undefined where another attempt follows
   */
  reject(t: number, h: number, error: number, cause: Failure | 'error'): Failure | undefined {
    const {controller, counters} = this;
    counters.failures[cause] = (counters.failures[cause] ?? 0) + 1;
    const failed = controller.reject(t, h, error, cause);
    if (failed === undefined) counters.rejectedSteps++;
    return failed;
  }

  /** Tries steps from time t until one is accepted. */
  next<Step extends AttemptedStep>(t: number, trial: Trial<Step>): AcceptedAttempt<Step> | FailedAttempt {
    const {controller} = this;
    for (let isUncertain = controller.first; ; isUncertain = true) {
      const proposal = this.propose(t);
      if (typeof proposal === 'string') return {failed: proposal, h: controller.length};
      const {h, end} = proposal;
      const step = trial.attempt(t, h, end, controller.first, isUncertain);
      if (typeof step !== 'string' && step.error <= 1) return {step, h, end};
      const failed =
        typeof step === 'string'
          ? this.reject(t, h, Infinity, step as Failure)
          : this.reject(t, h, step.error, 'error');
      if (failed !== undefined) return {failed, h};
    }
  }
}
