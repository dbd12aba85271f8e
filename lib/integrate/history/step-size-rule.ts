/** The contract of a controller of step lengths, which users may implement. */

/**
 * Chooses the lengths of adaptive steps: `adaptive({controller})`. What it returns is shortened where a step has to end
 * earlier: at the end of the run, where a function of time is not smooth, or at `max`.
 * @example
 * ```ts
 * import {adaptive, ode, simulate, tsit5, type StepSizeController} from 'stiffgrad';
 *
 * const integral: StepSizeController = {
 *   begin: ({power}) => ({
 *     accept: (h, error) => h * Math.min(4, 0.9 * error ** (-1 / power)),
 *     reject: h => h / 2,
 *   }),
 * };
 * const decay = ode(({y}) => y.neg());
 * const control = adaptive({rtol: 1e-8, controller: integral});
 * const path = simulate(decay, {y: 1}, {scheme: tsit5(), control, dt: 0.1, t1: 1, saveAt: 'end'});
 * console.log(path.values('y')[1].toFixed(6)); // → 0.367879
 * ```
 */
export interface StepSizeController {
  /**
   * Called at the start of each run.
   * @param run `power`: the power of h that the estimated error falls with; `isImplicit`: steps solve equations, and a
   *   step of another length may need a new factorization
   */
  begin(run: {readonly power: number; readonly isImplicit: boolean}): StepSizeRule;
}

/** A `StepSizeController` in one run. Lengths are positive and in units of time; errors are shares of the tolerance. */
export interface StepSizeRule {
  /** The length of the next step, after one of length h whose error is at most 1. */
  accept(h: number, error: number): number;
  /** A length below h, after a step of length h whose error was above 1, or that failed (Infinity). */
  reject(h: number, error: number): number;
  /** After an event: the steps before say nothing of those to come. */
  restart?(): void;
  /** Finite numbers, by which `restore` goes on in another run as in this one; default none. */
  snapshot?(): {readonly [name: string]: number};
  /** @param left what `snapshot` returned, possibly that of another controller */
  restore?(left: {readonly [name: string]: number | undefined}): void;
}
