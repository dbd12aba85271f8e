/**
 * The contract of an adjoint that users may implement: which states a run stores, and how its gradient goes back over
 * the steps. The gradient of each step is that of the implicit function.
 */
import type {Recomputation} from '../../adjoint/schedule.js';
import {OptionError} from '../../errors.js';
import type {Adjoint} from './adjoint.js';

/**
 * An adjoint of one's own: `adjoint` of `simulate`. It decides which states of a run are stored, and from which of them
 * steps are taken again for the gradient, which is that of `implicitAdjoint` to the bit.
 * @example
 * ```ts
 * import {ode, rk4, simulate, type AdjointMethod} from 'stiffgrad';
 *
 * // Every step from the start again: one stored state, n(n + 1)/2 steps.
 * const fromTheStart: AdjointMethod = {
 *   name: 'fromTheStart',
 *   begin() {
 *     let start: Float64Array = new Float64Array(0);
 *     return {
 *       before(n, snapshot) {
 *         if (n === 0) start = snapshot();
 *       },
 *       reverse(count, steps) {
 *         for (let n = count - 1; n >= 0; n--) {
 *           steps.restore(start);
 *           for (let k = 0; k < n; k++) steps.take(k);
 *           steps.pull(n);
 *         }
 *       },
 *     };
 *   },
 * };
 * const decay = ode(({y}) => y.neg());
 * const options = {scheme: rk4(), dt: 0.1, steps: 10, saveAt: 'end', adjoint: fromTheStart} as const;
 * console.log(simulate.vjp(decay, {y: 1}, options).pullback({y: [0, 1]}).initial.y[0]); // → 0.36788
 * ```
 */
export interface AdjointMethod extends Adjoint {
  /**
   * Called at the start of each run that will have a gradient.
   * @param run `steps`: how many it takes at most; absent with adaptive steps, events, or states saved between steps
   */
  begin(run: {readonly steps?: number}): StateRecorder;
}

/** An `AdjointMethod` in one run. Steps count from 0; a jump at an event counts as a step. */
export interface StateRecorder {
  /**
   * Before step n.
   * @param snapshot copies what the run goes on from: the state, and what Newton's method keeps from step to step
   */
  before(n: number, snapshot: () => Float64Array): void;
  /** Goes back over steps count − 1, …, 0, each of which has to be pulled once. */
  reverse(count: number, steps: StepReplay): void;
}

/** The steps of a run, taken again. */
export interface StepReplay {
  /** Goes to the step before which this was copied. @throws OptionError 'bad-adjoint' for another array */
  restore(snapshot: Float64Array): void;
  /** Copies what the next step depends on, as in `StateRecorder.before`. */
  snapshot(): Float64Array;
  /** Takes step n, the next one. @throws OptionError 'bad-adjoint' if it is not the next one */
  take(n: number): void;
  /** Takes step n, and goes back over it. @throws OptionError 'bad-adjoint' if it is not the next, or not its turn */
  pull(n: number): void;
}

const wrong = (message: string): OptionError => new OptionError('bad-adjoint', message);

/** Checks what a method does. */
export class CheckedReplay implements StepReplay {
  /** The next step; undefined before the first `restore`. */
  private next: number | undefined;
  /** The step to be pulled next. */
  private left: number;
  /** Steps taken, pulled ones included. */
  taken = 0;

  /** @param places the step before which each snapshot was copied */
  constructor(
    private readonly name: string,
    private readonly places: WeakMap<Float64Array, number>,
    private readonly count: number,
    private readonly again: Recomputation<Float64Array>,
  ) {
    this.left = count - 1;
  }

  restore(snapshot: Float64Array): void {
    const place = this.places.get(snapshot);
    if (place === undefined)
      throw wrong(`${this.name}: restore takes an array that snapshot() returned in this run, itself and not a copy.`);
    this.again.restore(snapshot);
    this.next = place;
  }

  snapshot(): Float64Array {
    const {next, again, places} = this;
    if (next === undefined) throw wrong(`${this.name}: restore a snapshot before taking another one.`);
    const kept = again.keep();
    places.set(kept, next);
    return kept;
  }

  take(n: number): void {
    this.advance(n, 'take');
    this.again.take(n);
  }

  pull(n: number): void {
    if (n !== this.left)
      throw wrong(
        `${this.name}: pull(${n}) comes out of turn; `
          + `${this.left < 0 ? 'all steps have been pulled' : `step ${this.left} is the next to pull`}.`,
      );
    this.advance(n, 'pull');
    this.again.reverse(n);
    this.left--;
  }

  /** All steps have been pulled. */
  finish(): void {
    if (this.left >= 0) throw wrong(`${this.name}: reverse has to pull every step; step ${this.left} is the next.`);
  }

  private advance(n: number, method: 'take' | 'pull'): void {
    const {name, next, count} = this;
    if (next === count)
      throw wrong(`${name}: ${method}(${n}) goes beyond the end of the run, after step ${count - 1}.`);
    if (n !== next)
      throw wrong(
        `${name}: ${method}(${n}) comes out of turn; `
          + `${next === undefined ? 'restore a snapshot first' : `step ${next} is the next one from here`}.`,
      );
    this.next = next + 1;
    this.taken++;
  }
}
