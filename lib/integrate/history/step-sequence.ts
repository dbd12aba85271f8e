/**
 * The accepted steps of a run, and what is done with each, in this order: the states within it are saved, the
 * controller is told, and its end is saved if `saveAt` counts it. Runs by themselves, blocks of steps and lanes go
 * through here.
 */
import type {DenseOutput, SavedStep, Saver} from './saver.js';
import type {RunController} from './step-size-controller.js';

/** What is special about a step's end. */
export interface StepEnd {
  /** The event whose time is that of the end. */
  readonly eventTime?: number;
  /** It is saved with the step that follows. */
  readonly later: boolean;
}

export class StepSequence {
  /** Ends of steps that `saveAt` counts. */
  acceptedSteps = 0;

  /**
   * @param t the present time, by the clock
   * @param endOf looks at the present time, where events can be; without it nothing is special about any
   */
  constructor(
    private readonly controller: RunController,
    private readonly saver: Saver,
    public t: number,
    private readonly endOf?: () => StepEnd,
  ) {}

  /**
   * A step is part of the run from now on.
   * @param after transitions that were begun, this one included
   */
  append<Step extends SavedStep>(
    step: Step,
    interpolation: DenseOutput<Step>,
    after: number,
    eventAtEnd = false,
  ): void {
    this.saver.within(step, interpolation, after, eventAtEnd);
    this.t = step.end;
  }

  /** Steps of the grid that nothing is saved of. @param t where they end */
  skip(count: number, t: number): void {
    this.acceptedSteps += count;
    this.t = t;
  }

  /** The attempt that ends with the step appended last was accepted. @param state at its end */
  accept(h: number, error: number, state: Float64Array, after: number): void {
    if (this.controller.accept(h, error)) this.countEnd(state, after);
  }

  /** An event has ended the step appended last. @param state after the event */
  interrupt(state: Float64Array, after: number): void {
    if (this.controller.interrupt(this.t)) this.countEnd(state, after);
  }

  private countEnd(state: Float64Array, after: number): void {
    const {saver, t, endOf} = this;
    this.acceptedSteps++;
    if (endOf === undefined) {
      saver.boundary(this.acceptedSteps, t, state, after);
      return;
    }
    const {eventTime, later} = endOf();
    saver.boundary(this.acceptedSteps, t, state, after, eventTime, later);
  }
}
