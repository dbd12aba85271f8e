/** Tries steps until one is accepted; rejected ones are counted by cause. */
import type {Counters, Failure, Status} from '../counters.js';
import type {StepSizeController} from './step-size-controller.js';

/** A step that was taken, and its error as a share of the tolerance: 0 where none is estimated. */
export interface TrialStep {
  readonly error: number;
}

export interface AcceptedStep<Step extends TrialStep> {
  readonly step: Step;
  readonly h: number;
  readonly end: number;
}

export interface FailedAttempt {
  readonly failed: Failure;
  readonly h: number;
}

/** Takes a step, or says why it failed. */
export interface Trial<Step extends TrialStep> {
  /**
   * @param end the time that the step ends at, which t + h may round
   * @param isFirst there is no step before: the start, or what follows an event
   * @param isUncertain so it is, or the attempt before was rejected
   */
  attempt(t: number, h: number, end: number, isFirst: boolean, isUncertain: boolean): Step | Status;
}

export class AttemptLoop<Step extends TrialStep> {
  constructor(
    private readonly controller: StepSizeController,
    private readonly counters: Counters,
    private readonly trial: Trial<Step>,
  ) {}

  /** The next step from time t. */
  next(t: number): AcceptedStep<Step> | FailedAttempt {
    const {controller, counters, trial} = this;
    for (let isUncertain = controller.first; ; isUncertain = true) {
      const proposal = controller.propose(t);
      if (proposal === undefined) return {failed: 'step-too-small', h: controller.length};
      const {h, end} = proposal;
      const step = trial.attempt(t, h, end, controller.first, isUncertain);
      if (typeof step !== 'string' && step.error <= 1) return {step, h, end};
      const [cause, error] = typeof step === 'string' ? [step as Failure, Infinity] : (['error', step.error] as const);
      counters.failures[cause] = (counters.failures[cause] ?? 0) + 1;
      const failed = controller.reject(t, h, error, cause);
      if (failed !== undefined) return {failed, h};
      counters.rejectedSteps++;
    }
  }
}
