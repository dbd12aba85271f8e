/**
 * The length of the next step from the errors of the last ones: a PI controller (Gustafsson 1991; Hairer &
 * Wanner, Solving ODEs II, §IV.2 and §IV.8).
 */
import type {StepControl} from '../control.js';

const {pow} = Math;

/** An estimate below this, as a share of the tolerance, is rounding, and no longer says how much a step may grow. */
const minError = 1e-10;

/**
 * Growth below this is not worth a new factorization, and left out for implicit schemes (Hairer & Wanner, §IV.8: 1 to
 * 1.2).
 */
const minGrowth = 1.2;
/** A failed Newton iteration says nothing of how much shorter the step should be: half (Hairer & Wanner, §IV.8). */
const failureFactor = 0.5;

/** The length of the next step, from the errors of the last ones. */
export class PidController {
  private lastError: number | undefined;
  private olderError: number | undefined;
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
    const {
      aimed,
      power,
      lastError,
      olderError,
      control: {growth, shrinking},
    } = this;
    const {proportional, integral, derivative} = this.control.controller;
    const e = Math.max(error, minError);
    // A PID controller, (σ/e)^(I/k) (e₋/e)^(P/k) (e₋²/(e e₌))^(D/k), keeps e at σ = safetyᵏ; without a last step the
    // integral part alone.
    const aim = aimed / e;
    const factor =
      lastError === undefined
        ? pow(aim, 1 / power)
        : pow(aim, integral / power)
          * pow(lastError / e, proportional / power)
          * (olderError === undefined || derivative === 0
            ? 1
            : pow((lastError / e) * (lastError / olderError), derivative / power));
    // After a rejection a step may not grow at once (Hairer, Nørsett & Wanner, Solving ODEs I, §II.4).
    const bounded = Math.min(Math.max(factor, shrinking), this.rejected ? 1 : growth);
    const worthwhile = this.implicit && bounded >= 1 && bounded < minGrowth ? 1 : bounded;
    if (derivative !== 0) this.olderError = lastError;
    this.lastError = e;
    this.rejected = false;
    this.next = this.limit(h * worthwhile);
  }

  /** After a step of length h whose error was too large, or that failed (Infinity). */
  reject(h: number, error: number): void {
    const {
      control: {safety, shrinking},
      power,
    } = this;
    this.rejected = true;
    this.next = this.limit(
      Number.isFinite(error)
        ? h * Math.max(shrinking, Math.min(safety, safety * pow(error, -1 / power)))
        : h * failureFactor,
    );
  }

  /** Forgets the errors of the steps before: the motion goes on from another state. */
  restart(): void {
    this.lastError = undefined;
    this.olderError = undefined;
    this.rejected = false;
  }

  /** What a resumed run needs to go on alike. */
  get state(): ControllerState {
    const {next, lastError, olderError, rejected} = this;
    return olderError === undefined ? {next, lastError, rejected} : {next, lastError, olderError, rejected};
  }

  set state({next, lastError, olderError, rejected}: ControllerState) {
    this.next = next;
    this.lastError = lastError;
    this.olderError = olderError;
    this.rejected = rejected;
  }

  private limit(h: number): number {
    return Math.min(h, this.control.max);
  }
}

/** What the choice of the next step's length knows of the steps before. */
export interface ControllerState {
  readonly next: number;
  /** None at a start, and after an event. */
  readonly lastError?: number;
  /** The error before `lastError`, if the controller has a derivative part. */
  readonly olderError?: number;
  readonly rejected: boolean;
  /** Ends of rejected steps of an sde that later steps must meet, descending. */
  readonly refused?: readonly number[];
}
