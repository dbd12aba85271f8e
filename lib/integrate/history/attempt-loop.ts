/** Tries steps until one is accepted; rejected ones are counted by cause. */
import type {Counters, Failure, Status} from '../counters.js';
import type {ErrorEstimate, EstimatedSteps} from './error-estimate.js';
import type {Integrator} from './integrator.js';
import type {StepSizeController} from './step-size-controller.js';

/** A step as one or two that were taken, of length h together. */
export interface AcceptedSteps extends EstimatedSteps {
  readonly h: number;
}

export interface FailedAttempt {
  readonly failed: Failure;
  readonly h: number;
}

export class AttemptLoop {
  /**
   * @param estimate of adaptive steps; without it a step that succeeds is good
   * @param startAgain the present state, where it is a start that was made for a longer first step
   */
  constructor(
    private readonly integrator: Integrator,
    private readonly pace: StepSizeController,
    private readonly estimate: ErrorEstimate | undefined,
    private readonly counters: Counters,
    private readonly startAgain: (t: number, h: number) => Float64Array | undefined,
  ) {}

  /** From the present state x, at time t; it is put back where no step is good. */
  next(t: number, from: Float64Array): AcceptedSteps | FailedAttempt {
    const {pace, integrator, counters} = this;
    let x = from;
    let rejected = false;
    for (let isUncertain = pace.first; ; isUncertain = true) {
      const proposal = pace.propose(t);
      if (proposal === undefined) {
        integrator.state.set(x);
        return {failed: 'step-too-small', h: pace.length};
      }
      const {h, end} = proposal;
      if (rejected && this.estimate !== undefined) x = this.startAgain(t, h) ?? x;
      rejected = true;
      const attempt = this.attempt(x, t, h, end, pace.first, isUncertain);
      if (typeof attempt !== 'string' && attempt.error <= 1) return {steps: attempt.steps, error: attempt.error, h};
      const cause = typeof attempt === 'string' ? attempt : 'error';
      counters.failures[cause] = (counters.failures[cause] ?? 0) + 1;
      if (!pace.reject(t, h, typeof attempt === 'string' ? Infinity : attempt.error)) {
        integrator.state.set(x);
        return {failed: cause as Failure, h};
      }
      counters.rejectedSteps++;
    }
  }

  private attempt(
    x: Float64Array,
    t: number,
    h: number,
    end: number,
    first: boolean,
    unsure: boolean,
  ): Status | EstimatedSteps {
    if (this.estimate !== undefined) return this.estimate.attempt(x, t, h, end, first, unsure);
    const status = this.integrator.take(x, t, h);
    return status === 'completed' ? {steps: [this.integrator.completedStep(x, t, h, end)], error: 0} : status;
  }
}
