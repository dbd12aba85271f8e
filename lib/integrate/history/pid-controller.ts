/**
 * The length of the next step from the errors of the last ones: a PID controller (Gustafsson 1991; Hairer & Wanner,
 * Solving ODEs II, §IV.2 and §IV.8; Söderlind 2002).
 */
import {OptionError} from '../../errors.js';
import type {StepSizeController, StepSizeRule} from './step-size-rule.js';

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

/** Gains of a PID controller of step lengths. */
export interface ControllerShares {
  /** Default 0. */
  readonly proportional?: number;
  readonly integral: number;
  /** Default 0. */
  readonly derivative?: number;
}

/** See `AdaptiveOptions`. */
export interface PidSettings {
  readonly safety: number;
  readonly growth: number;
  readonly shrinking: number;
  readonly shares: Required<ControllerShares>;
}

export const pidController = (settings: PidSettings): StepSizeController => ({
  begin: ({power, isImplicit}) => new PidRule(settings, power, isImplicit),
});

class PidRule implements StepSizeRule {
  private lastError: number | undefined;
  private olderError: number | undefined;
  private rejected = false;
  /** σ, see accept. */
  private readonly aimed: number;

  constructor(
    private readonly settings: PidSettings,
    private readonly power: number,
    private readonly isImplicit: boolean,
  ) {
    this.aimed = settings.safety ** power;
  }

  accept(h: number, error: number): number {
    const {
      aimed,
      power,
      lastError,
      olderError,
      settings: {growth, shrinking},
    } = this;
    const {proportional, integral, derivative} = this.settings.shares;
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
    const worthwhile = this.isImplicit && bounded >= 1 && bounded < minGrowth ? 1 : bounded;
    if (derivative !== 0) this.olderError = lastError;
    this.lastError = e;
    this.rejected = false;
    return h * worthwhile;
  }

  reject(h: number, error: number): number {
    const {
      settings: {safety, shrinking},
      power,
    } = this;
    this.rejected = true;
    return Number.isFinite(error)
      ? h * Math.max(shrinking, Math.min(safety, safety * pow(error, -1 / power)))
      : h * failureFactor;
  }

  restart(): void {
    this.lastError = undefined;
    this.olderError = undefined;
    this.rejected = false;
  }

  snapshot(): {[name: string]: number} {
    const {lastError, olderError, rejected} = this;
    return {
      rejected: Number(rejected),
      ...(lastError === undefined ? {} : {lastError}),
      ...(olderError === undefined ? {} : {olderError}),
    };
  }

  restore({lastError, olderError, rejected}: {readonly [name: string]: number | undefined}): void {
    for (const error of [lastError, olderError])
      if (error !== undefined && !(error > 0))
        throw new OptionError(
          'bad-initial',
          'The saved state is damaged: its pace is not what a run leaves. Pass it complete, as state() returns it.',
          {error},
        );
    this.lastError = lastError;
    this.olderError = olderError;
    this.rejected = rejected === 1;
  }
}
