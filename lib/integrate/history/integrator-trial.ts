/** Attempts at a step of a step history: judged by an error estimate, if there is one. */
import type {Status} from '../counters.js';
import type {Trial} from './attempt-loop.js';
import type {ErrorEstimate, EstimatedSteps} from './error-estimate.js';
import type {Integrator} from './integrator.js';

export class IntegratorTrial implements Trial<EstimatedSteps> {
  /** The present state, in an array that stays unchanged. */
  private x: Float64Array = new Float64Array(0);
  private isRepeated = false;

  /**
   * @param estimate of adaptive steps; without it a step that succeeds is good
   * @param startAgain the present state, where it is a start that was made for a longer first step
   */
  constructor(
    private readonly integrator: Integrator,
    private readonly estimate: ErrorEstimate | undefined,
    private readonly startAgain: (t: number, h: number) => Float64Array | undefined,
  ) {}

  /** Before the attempts at the next step, from x. */
  begin(x: Float64Array): void {
    this.x = x;
    this.isRepeated = false;
  }

  attempt(t: number, h: number, end: number, isFirst: boolean, isUncertain: boolean): EstimatedSteps | Status {
    const {integrator, estimate} = this;
    if (estimate === undefined) {
      const status = integrator.take(this.x, t, h);
      return status === 'completed' ? {steps: [integrator.completedStep(this.x, t, h, end)], error: 0} : status;
    }
    if (this.isRepeated) this.x = this.startAgain(t, h) ?? this.x;
    this.isRepeated = true;
    return estimate.attempt(this.x, t, h, end, isFirst, isUncertain);
  }

  /** After attempts of which none was good: the state is that before them. */
  restore(): void {
    this.integrator.state.set(this.x);
  }
}
