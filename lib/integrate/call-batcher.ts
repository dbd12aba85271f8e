/**
 * The number of steps per call if something checks a run between calls (progress, a signal of another thread): it is
 * adjusted so that a call takes some milliseconds, whatever the time of a step.
 */
const targetMilliseconds = 4;

export class CallBatcher {
  maxSteps = 1;

  /** @param watched nothing looks otherwise, and there is no limit */
  constructor(private readonly watched: boolean) {
    if (!watched) this.maxSteps = Infinity;
  }

  /** Measures a call that takes up to `most` steps, and says how many. */
  time(call: () => number): number {
    if (!this.watched) return call();
    const begin = performance.now();
    const steps = call();
    const milliseconds = performance.now() - begin;
    if (milliseconds > targetMilliseconds)
      this.maxSteps = Math.max(1, Math.floor((this.maxSteps * targetMilliseconds) / milliseconds));
    else if (steps === this.maxSteps && milliseconds < targetMilliseconds / 2) this.maxSteps *= 2;
    return steps;
  }
}
