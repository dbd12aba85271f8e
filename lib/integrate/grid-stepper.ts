/** Steps of a grid, one by one. A step that fails is taken in parts, where Newton's options say so. */
import type {Failure, Status} from './counters.js';
import {AttemptLoop, type Trial, type AttemptedStep} from './history/attempt-loop.js';
import {GridController} from './history/step-size-controller.js';
import type {RunContext} from './run-context.js';
import type {Stepper} from './stepper.js';

/** A step whose length is the grid's has no error that would be judged. */
const taken: AttemptedStep = {error: 0};

export class GridStepper {
  private readonly controller: GridController;
  private readonly attempts: AttemptLoop;
  private readonly trial: Trial<AttemptedStep>;

  constructor(
    private readonly prepared: RunContext,
    private readonly stepper: Stepper,
  ) {
    this.controller = GridController.of(prepared);
    this.trial = {
      attempt(t, h) {
        const status = stepper.attempt(t, h);
        return status === 'completed' ? taken : status;
      },
    };
    this.attempts = new AttemptLoop(this.controller, stepper.counters);
  }

  /** Step n, from the stepper's state. The sentence of a failure is the stepper's `error`. */
  take(n: number): Status {
    const {controller, attempts, stepper, trial} = this;
    const {grid} = this.prepared.options;
    controller.moveTo(n);
    for (let t = grid.time(n); ;) {
      const tried = attempts.next(t, trial);
      if ('failed' in tried) return this.fail(tried.failed as Failure, n);
      t = tried.end;
      if (controller.accept()) return 'completed';
      const {record} = stepper.recorder;
      record?.within.add(record.count - 1);
    }
  }

  private fail(status: Failure, n: number): Status {
    this.stepper.describeFailure(status, n);
    return status;
  }
}
