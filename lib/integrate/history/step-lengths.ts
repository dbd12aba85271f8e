/**
 * The length of the next step from the errors of the last ones: a PI controller (Gustafsson 1991; Hairer &
 * Wanner, Solving ODEs II, §IV.2 and §IV.8).
 */
import type {StepControl} from '../control.js';

/** A step grows and shrinks by no more than this at once (Hairer & Wanner, §IV.8, take 8 and 5). */
const largestGrowth = 5;
const largestShrinking = 0.2;
/** Growth below this is not worth a new factorization, and left out for implicit schemes (Hairer & Wanner, §IV.8: 1 to 1.2). */
const worthwhileGrowth = 1.2;
/** A failed Newton iteration says nothing of how much shorter the step should be: half (Hairer & Wanner, §IV.8). */
const shorterAfterFailure = 0.5;

/** The length of the next step, from the errors of the last ones. */
export class StepLengths {
  private lastError: number | undefined;
  private rejected = false;
  /** σ, see accept. */
  private readonly aimed: number;

  /**
   * @param power the power of h that the error estimate falls with
   * @param implicit growth that is too small is left out
   */
  constructor(
    private readonly control: StepControl,
    private readonly power: number,
    private readonly implicit: boolean,
    public next: number,
  ) {
    this.aimed = control.safety ** power;
  }

  /** After a step of length h with this error, as a share of the tolerance. */
  accept(h: number, error: number): void {
    const {aimed, power, lastError} = this;
    // Below this the estimate is rounding, and no longer says how much the step may grow.
    const e = Math.max(error, smallestError);
    // Gustafsson's PI, (σ/e)^(0.3/k) (e₋/e)^(0.4/k), keeps e at σ = safetyᵏ; without a last step the integral part alone.
    const aim = aimed / e;
    const factor =
      lastError === undefined ? aim ** (1 / power) : aim ** (0.3 / power) * (lastError / e) ** (0.4 / power);
    // After a rejection a step may not grow at once (Hairer, Nørsett & Wanner, Solving ODEs I, §II.4).
    const bounded = Math.min(Math.max(factor, largestShrinking), this.rejected ? 1 : largestGrowth);
    const worthwhile = this.implicit && bounded >= 1 && bounded < worthwhileGrowth ? 1 : bounded;
    this.lastError = e;
    this.rejected = false;
    this.next = this.limited(h * worthwhile);
  }

  /** After a step of length h whose error was too large, or that failed (Infinity). */
  reject(h: number, error: number): void {
    const {
      control: {safety},
      power,
    } = this;
    this.rejected = true;
    this.next = this.limited(
      Number.isFinite(error)
        ? h * Math.max(largestShrinking, Math.min(safety, safety * error ** (-1 / power)))
        : h * shorterAfterFailure,
    );
  }

  /** Forgets the errors of the steps before: the motion goes on from another state. */
  restart(): void {
    this.lastError = undefined;
    this.rejected = false;
  }

  /** What a resumed run needs to go on alike. */
  get memory(): StepMemory {
    return {next: this.next, lastError: this.lastError, rejected: this.rejected};
  }

  set memory({next, lastError, rejected}: StepMemory) {
    this.next = next;
    this.lastError = lastError;
    this.rejected = rejected;
  }

  private limited(h: number): number {
    return Math.min(h, this.control.max);
  }
}

/** What the choice of the next step's length knows of the steps before. */
export interface StepMemory {
  readonly next: number;
  /** None at a start, and after an event. */
  readonly lastError?: number;
  readonly rejected: boolean;
}

const smallestError = 1e-10;
