/**
 * The number of steps per call if something checks a run between calls (progress, a signal of another thread): it is
 * adjusted so that a call takes some milliseconds, whatever the time of a step.
 */
const longest = 4;

export class Pace {
  most = 1;

  /** @param watched nothing looks otherwise, and there is no limit */
  constructor(private readonly watched: boolean) {
    if (!watched) this.most = Infinity;
  }

  /** Measures a call that takes up to `most` steps, and says how many. */
  time(call: () => number): number {
    if (!this.watched) return call();
    const begin = performance.now();
    const steps = call();
    const milliseconds = performance.now() - begin;
    if (milliseconds > longest) this.most = Math.max(1, Math.floor((this.most * longest) / milliseconds));
    else if (steps === this.most && milliseconds < longest / 2) this.most *= 2;
    return steps;
  }
}
