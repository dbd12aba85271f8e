/**
 * Emits Newton's iteration as a routine, which runs as WebAssembly and as JavaScript (lib/routine): the decisions
 * between one evaluation of the residual and the next. Rare decisions are JavaScript functions, which it calls
 * (iteration.ts):
 *
 *   R ← residual(z); factor the Jacobian; solve J Δ = R
 *   repeat
 *     z ← z − sΔ, s by the line search; R ← residual(z)
 *     solve J Δ' = R with the same factor; rate ← ‖Δ'‖ / ‖Δ‖
 *     if R and Δ' are within both scales: z ← z − Δ', converged
 *     if the factor is old and the rate at least 1: z ← z + sΔ, factor the Jacobian, solve J Δ = R
 *     else if the factor may be kept: Δ ← Δ'
 *     else: factor the Jacobian, solve J Δ = R
 */
import type {Condition, RoutineLocal, Callee, RoutineBuilder, Value, Variable} from '../routine/routine.js';
import {
  add,
  and,
  asFlag,
  atLeast,
  atMost,
  choose,
  div,
  element,
  equal,
  greater,
  isSet,
  less,
  max,
  mul,
  not,
  or,
  sqrt,
  sub,
} from '../routine/routine.js';
import {minReliableSquare} from './norms.js';
import {roundoffFactor} from './tolerances.js';

/**
 * The rate above which corrections are said to stagnate: full Newton squares its error near a root, so with a new
 * Jacobian this is rounding or a lost iteration, and with an old one it is time for a new one.
 */
export const stagnation = 0.5;

/**
 * The estimated error may be this share of the tolerance: errors of many steps add up, and a finite
 * difference taken through them sees every one (κ of Hairer & Wanner, Solving ODEs II, §IV.8, 0.01 to 0.1).
 */
export const newtonKappa = 0.01;

/**
 * With 'auto', an old Jacobian is kept while it promises convergence within this many more iterations.
 * Counted and timed on chains, single oscillators, stiff odes and dense networks, interpreted and
 * compiled: 1 and 2 are never slower than fresh Jacobians, 2 is the faster where a factorization is
 * expensive (3.6 times faster than fresh with 60 dense unknowns); from 3 on single oscillators lose.
 */
const maxExtraIterations = 2;

/** Slots of the frame: the variables that the routine and its JavaScript functions share, in one array. */
export const frameSlots = {
  /** Iterations, evaluations of the residual, and factorizations since the last count. */
  iterations: 0,
  residuals: 1,
  factorizations: 2,
  /** There is a factor to solve with. */
  hasFactor: 3,
  /** ‖R‖₂ of the present residual, and where the iteration began. */
  residualNorm: 4,
  startNorm: 5,
  /** Flag: corrections are made with the approximate Jacobian. */
  approximate: 6,
  /** The last forcing term, the share of the residual that its correction may leave; 0 without forcing. */
  eta: 7,
  /** Flags: the row scales are known; roundoff is part of the tolerances; the residual's noise has been measured. */
  hasRowScales: 8,
  hasRoundoffFloor: 9,
  noiseMeasured: 10,
  /**
   * Flags: compiled kernels may factor, as the Jacobian has been checked; the present factor was made in JavaScript.
   */
  mayFactorCompiled: 11,
  factoredInJs: 12,
  /** Number of iterations begun in this solve; the residual norms at their starts follow. */
  normCount: 13,
} as const;

/**
 * Residual norms that the frame has room for, as many as the usual limit of iterations; JavaScript keeps the others.
 */
export const normCapacity = 50;

/** Length of the frame. */
export const frameSize = frameSlots.normCount + 1 + normCapacity;

/** Results of a Newton solve; routines return the index. */
export const newtonStatuses = ['converged', 'newton-diverged', 'singular', 'not-finite'] as const;
const [converged, diverged, , notFinite] = [0, 1, 2, 3];

/** Constants of the emitted routine. */
export interface NewtonSettings {
  readonly iterationLimit: number;
  readonly truncated: boolean;
  readonly jacobian: 'fresh' | 'chord' | 'auto';
  readonly damped: boolean;
  readonly inexact: boolean;
  /** The guess has a residual of its own, which says nothing of convergence. */
  readonly hasFirstResidual: boolean;
  readonly linearizedGuess: boolean;
  readonly hasApproximateJacobian: boolean;
  readonly matrixFree: boolean;
  /** Roundoff becomes part of the tolerances if they are not met without. */
  readonly usesRoundoffFloor: boolean;
  readonly epsilon: number;
  readonly observed: boolean;
  readonly absolute: number;
  readonly relative: number;
}

/** What the emitted routine calls; `frame` is the array of `frameSlots`. */
export interface NewtonOperations {
  readonly frame: Float64Array;
  readonly residual: Callee;
  readonly firstResidual: Callee;
  /** Arguments: whether it is the first iteration. */
  readonly factor: Callee;
  readonly solveDelta: Callee;
  readonly solveNext: Callee;
  readonly norm: Callee;
  readonly sumOfSquares: Callee;
  readonly largestResidual: Callee;
  readonly largestUnknown: Callee;
  /** Arguments: absolute and relative tolerance. Returns the correction's size in units of the weights. */
  readonly computeWeights: Callee;
  /** Argument: −s. Adds s times the typical sizes to the weights. */
  readonly addRoundoffFloor: Callee;
  emitTypicalSizes(b: RoutineBuilder): void;
  readonly deltaRatio: Callee;
  readonly nextRatio: Callee;
  readonly scaledResidual: Callee;
  readonly saveAndStep: Callee;
  readonly applyNext: Callee;
  readonly restoreBase: Callee;
  readonly shiftCorrection: Callee;
  /** Arguments: the correction's size, and the norm of the first residual. */
  readonly scaleRows: Callee;
  readonly resetRowScales: Callee;
  readonly isDeltaRoundoff: Callee;
  readonly isNextRoundoff: Callee;
  readonly restart: Callee;
  /** Arguments: whether it is the first iteration, and the last. Returns the step length. */
  readonly lineSearch: Callee;
  readonly observe: Callee;
  /** Arguments: the iteration, and the residual norm at its start. */
  readonly recordNorm: Callee;
  readonly checkDescent: Callee;
  readonly trySwitchToJacobian: Callee;
  readonly revertToApproximation: Callee;
}

/** Emits the iteration into a routine. */
export class NewtonEmitter {
  private readonly status: RoutineLocal;
  private readonly iteration: RoutineLocal;
  private readonly isFirst: RoutineLocal;
  private readonly accepted: RoutineLocal;
  private readonly normCount: RoutineLocal;
  /** ‖R‖₂ of the present residual; in the frame if JavaScript functions read it or change it. */
  private readonly residualNorm: Variable;
  /** Every iteration factors the Jacobian at its start. */
  private readonly alwaysRefactors: boolean;
  /** Flags: the factor is that of the Jacobian at the present z; `delta` already is the next iteration's correction. */
  private readonly flags = {} as {fresh?: RoutineLocal; deltaReady?: RoutineLocal};
  /** s of the step taken: the line search's, or 1. */
  private readonly stepLength: Value;
  /** Sizes of the correction and of the next one in units of the tolerances, their ratio, and the ratio before. */
  private readonly deltaSize: RoutineLocal;
  private readonly nextSize: RoutineLocal;
  private readonly rate: RoutineLocal;
  private readonly previousRate: RoutineLocal;
  private readonly slots: {readonly [place in keyof typeof frameSlots]: Variable};

  constructor(
    private readonly b: RoutineBuilder,
    private readonly operations: NewtonOperations,
    private readonly settings: NewtonSettings,
  ) {
    [this.status, this.iteration, this.isFirst, this.accepted] = Array.from({length: 4}, () => b.local());
    this.alwaysRefactors = settings.jacobian === 'fresh' && !settings.matrixFree;
    if (!this.alwaysRefactors) [this.flags.fresh, this.flags.deltaReady] = [b.local(), b.local()];
    [this.deltaSize, this.nextSize, this.rate, this.previousRate] = Array.from({length: 4}, () => b.local());
    this.stepLength = settings.damped ? b.local() : 1;
    this.normCount = b.local();
    this.slots = Object.fromEntries(
      Object.entries(frameSlots).map(([name, place]) => [name, element(operations.frame, place)]),
    ) as unknown as typeof this.slots;
    this.residualNorm = settings.damped || settings.inexact ? this.slots.residualNorm : b.local();
  }

  private get isFresh(): Condition {
    const {fresh} = this.flags;
    return fresh === undefined ? true : isSet(fresh);
  }

  private setFlags(ready: number, fresh?: number): void {
    const {b, flags} = this;
    if (flags.deltaReady !== undefined) b.set(flags.deltaReady, ready);
    if (flags.fresh !== undefined && fresh !== undefined) b.set(flags.fresh, fresh);
  }

  emit(): Value {
    const {b, slots, operations, settings, iteration, isFirst, normCount} = this;
    const {truncated, hasFirstResidual, hasApproximateJacobian, linearizedGuess, damped, iterationLimit} = settings;
    this.emitStart();
    b.loop(() => {
      b.if(atLeast(iteration, iterationLimit), () => this.exitWith(truncated ? converged : diverged));
      if (damped) b.set(slots.startNorm, this.residualNorm);
      b.if(
        less(normCount, normCapacity),
        () => b.set(element(operations.frame, add(normCount, frameSlots.normCount + 1)), this.residualNorm),
        () => b.call(operations.recordNorm, [normCount, this.residualNorm]),
      );
      b.increment(normCount);
      b.set(slots.normCount, normCount);
      b.unless(less(this.residualNorm, Infinity), () => this.exitWith(notFinite));
      if (!truncated)
        b.if(and(equal(this.residualNorm, 0), hasFirstResidual ? not(isSet(isFirst)) : true), () =>
          this.exitWith(converged),
        );
      const {deltaReady} = this.flags;
      b.unless(deltaReady === undefined ? false : isSet(slots.hasFactor), () =>
        this.factorJacobian(hasFirstResidual ? isFirst : 0),
      );
      b.unless(deltaReady === undefined ? false : isSet(deltaReady), () => b.call(operations.solveDelta));
      if (hasApproximateJacobian)
        b.unless(isSet(b.result(operations.checkDescent)), () => {
          this.factorJacobian(isFirst);
          b.call(operations.solveDelta);
          b.call(operations.checkDescent);
        });
      b.unless(hasFirstResidual && linearizedGuess ? isSet(isFirst) : false, () => {
        b.increment(slots.iterations);
        b.increment(iteration);
      });
      this.applyCorrection();
      if (hasFirstResidual) b.set(isFirst, 0);
      if (truncated) this.endTruncated();
      this.handleNonFinite();
      this.estimateNextCorrection();
      this.acceptOrContinue();
    });
    return this.status;
  }

  private emitStart(): void {
    const {b, slots, operations, settings} = this;
    const {hasFirstResidual, jacobian, hasApproximateJacobian, inexact} = settings;
    b.set(this.status, converged);
    b.set(this.iteration, 0);
    b.set(this.isFirst, hasFirstResidual ? 1 : 0);
    for (const variable of [this.previousRate, this.normCount, slots.hasRowScales, slots.hasRoundoffFloor])
      b.set(variable, 0);
    this.setFlags(0, 0);
    if (jacobian !== 'auto' || hasFirstResidual) b.set(slots.hasFactor, 0);
    b.if(hasApproximateJacobian || inexact ? true : isSet(slots.noiseMeasured), () => b.call(operations.restart));
    if (hasFirstResidual) {
      b.call(operations.firstResidual);
      b.increment(slots.residuals);
      b.call(operations.norm, [], this.residualNorm);
    } else {
      this.evaluateResidual();
    }
  }

  private exitWith(status: number): void {
    this.b.set(this.status, status);
    this.b.break();
  }

  /** Evaluates the residual and its norm; squares that underflow or overflow are summed again in JavaScript. */
  private evaluateResidual(): void {
    const {b, slots, operations} = this;
    b.call(operations.residual);
    b.increment(slots.residuals);
    const square = b.result(operations.sumOfSquares);
    const isPlain = and(greater(square, minReliableSquare), less(square, Infinity));
    b.if(
      isPlain,
      () => b.set(this.residualNorm, sqrt(square)),
      () => b.call(operations.norm, [], this.residualNorm),
    );
  }

  private factorJacobian(first: Value): void {
    const {b, slots, operations} = this;
    if (!this.alwaysRefactors) b.set(slots.hasFactor, 0);
    b.call(operations.factor, [first]);
    if (this.alwaysRefactors) return;
    b.set(slots.hasFactor, 1);
    if (this.flags.fresh !== undefined) b.set(this.flags.fresh, 1);
  }

  private applyCorrection(): void {
    const {b, operations, settings, iteration, isFirst} = this;
    const {damped, truncated, iterationLimit, observed} = settings;
    const isLast: Condition = truncated ? atLeast(iteration, iterationLimit) : false;
    if (damped) {
      b.call(operations.lineSearch, [isFirst, asFlag(isLast)], this.stepLength as RoutineLocal);
    } else {
      b.call(operations.saveAndStep);
      b.unless(isLast, () => this.evaluateResidual());
    }
    if (observed) b.call(operations.observe, [isFirst, this.stepLength]);
  }

  private endTruncated(): void {
    const {b, operations, iteration, settings} = this;
    b.if(atLeast(iteration, settings.iterationLimit), () => {
      const isFinite = less(b.result(operations.largestUnknown), Infinity);
      b.set(this.status, choose(isFinite, converged, notFinite));
      b.break();
    });
  }

  private handleNonFinite(): void {
    const {b, operations, settings} = this;
    const {truncated, hasApproximateJacobian, damped} = settings;
    const stepIsZero: Condition = damped ? equal(this.stepLength, 0) : false;
    b.if(or(stepIsZero, not(less(this.residualNorm, Infinity))), () => {
      const mayOverflow = b.local(0);
      b.unless(stepIsZero, () => b.call(operations.largestResidual, [], mayOverflow));
      b.if(or(stepIsZero, not(less(mayOverflow, Infinity))), () => {
        this.computeWeights();
        b.call(operations.resetRowScales);
        if (damped)
          b.if(stepIsZero, () => {
            if (truncated) this.exitWith(converged);
            else b.if(isSet(b.result(operations.isDeltaRoundoff)), () => this.exitWith(converged));
          });
        b.if(this.isFresh, () => {
          const exit = (): void => {
            b.set(this.status, choose(stepIsZero, diverged, notFinite));
            b.break();
          };
          if (hasApproximateJacobian) b.unless(isSet(b.result(operations.revertToApproximation)), exit);
          else exit();
        });
        this.restoreIterate();
      });
    });
  }

  /** Undoes a step with an old factor that led astray, and begins the iteration anew with a new factor. */
  private restoreIterate(): void {
    const {b, operations} = this;
    b.call(operations.restoreBase);
    this.evaluateResidual();
    this.discardFactor();
    b.continue();
  }

  private discardFactor(): void {
    const {b, slots} = this;
    if (this.alwaysRefactors) return;
    b.set(slots.hasFactor, 0);
    this.setFlags(0);
  }

  private computeWeights(): void {
    const {b, slots, operations, settings} = this;
    b.call(operations.computeWeights, [settings.absolute, settings.relative], this.deltaSize);
    if (settings.usesRoundoffFloor)
      b.if(isSet(slots.hasRoundoffFloor), () => {
        b.call(operations.addRoundoffFloor, [-roundoffFactor * settings.epsilon]);
        b.call(operations.deltaRatio, [], this.deltaSize);
      });
  }

  /** Solves for the next correction, with the factor at hand, and compares it with the one that was taken. */
  private estimateNextCorrection(): void {
    const {b, operations, settings} = this;
    const {truncated, jacobian, matrixFree} = settings;
    if (truncated && jacobian === 'fresh') {
      this.discardFactor();
      b.continue();
      return;
    }
    this.computeWeights();
    if (truncated) this.scaleRows();
    if (matrixFree && jacobian === 'fresh') this.factorJacobian(0);
    b.call(operations.solveNext);
    this.updateRate();
  }

  private updateRate(): void {
    const {b, operations, settings} = this;
    b.call(operations.nextRatio, [], this.nextSize);
    const ratio = choose(equal(this.nextSize, 0), 0, div(this.nextSize, this.deltaSize));
    // The rate of a damped step is not known: it counts as a half. A guess's own residual can only make it look worse.
    b.set(this.rate, settings.damped ? choose(less(this.stepLength, 1), stagnation, ratio) : ratio);
  }

  private scaleRows(): void {
    const {b, slots, operations} = this;
    b.unless(isSet(slots.hasRowScales), () => {
      b.call(operations.scaleRows, [this.deltaSize, element(operations.frame, frameSlots.normCount + 1)]);
      b.set(slots.hasRowScales, 1);
    });
  }

  private acceptOrContinue(): void {
    const {b, slots, operations, settings, accepted} = this;
    const {truncated, usesRoundoffFloor, hasApproximateJacobian, damped, jacobian, matrixFree} = settings;
    const isFullStep: Condition = damped ? equal(this.stepLength, 1) : true;
    if (!truncated) {
      this.testConvergence();
      if (usesRoundoffFloor)
        b.if(and(not(isSet(accepted)), not(isSet(slots.hasRoundoffFloor))), () => {
          operations.emitTypicalSizes(b);
          b.set(slots.hasRoundoffFloor, 1);
          b.set(slots.hasRowScales, 0);
          this.computeWeights();
          this.updateRate();
          this.testConvergence();
        });
      b.if(isSet(accepted), () => {
        this.applyFinalCorrection();
        this.exitWith(converged);
      });
      // A stalled line search may have reached rounding level.
      const stalled: Condition = damped
        ? and(less(this.stepLength, 1), greater(this.residualNorm, mul(stagnation, slots.startNorm)))
        : false;
      const isSlow = greater(this.rate, stagnation);
      b.if(and(this.isFresh, or(isSlow, stalled)), () =>
        b.if(isSet(b.result(operations.isNextRoundoff)), () => this.exitWith(converged)),
      );
      b.if(and(not(this.isFresh), atLeast(this.rate, 1)), () => this.restoreIterate());
      if (hasApproximateJacobian)
        b.if(isSlow, () => b.if(isSet(b.result(operations.revertToApproximation)), () => this.restoreIterate()));
    }
    if (hasApproximateJacobian)
      b.if(isFullStep, () =>
        b.if(isSet(b.result(operations.trySwitchToJacobian)), () => {
          this.discardFactor();
          b.continue();
        }),
      );
    if (matrixFree && jacobian === 'fresh') return this.shiftCorrection(1);
    if (jacobian === 'fresh') return this.discardFactor();
    // Is the factor good for another iteration?
    let error: Value = this.nextSize;
    for (let i = 0; i < maxExtraIterations; i++) error = mul(error, this.rate);
    const promisesConvergence = atMost(error, 1);
    const keepsFactor = and(
      isFullStep,
      atMost(this.rate, stagnation),
      jacobian === 'chord' ? true : promisesConvergence,
    );
    b.if(
      keepsFactor,
      () => this.shiftCorrection(0),
      () => this.discardFactor(),
    );
  }

  /** Makes the next correction the coming one, with the factor at hand. */
  private shiftCorrection(fresh: number): void {
    const {b, operations} = this;
    b.call(operations.shiftCorrection);
    this.setFlags(1, fresh);
  }

  private applyFinalCorrection(): void {
    const {b, slots, operations, settings} = this;
    if (!settings.observed) return b.call(operations.applyNext, [1]);
    this.factorJacobian(0);
    b.call(operations.solveDelta);
    b.increment(slots.iterations);
    if (settings.damped) b.call(operations.lineSearch, [0, 1], this.stepLength as RoutineLocal);
    else b.call(operations.saveAndStep);
    b.call(operations.observe, [0, this.stepLength]);
  }

  /**
   * Tests convergence. While corrections shrink, with rate Θ, the error left after the next one is at most 2Θ of it:
   * with the Jacobian at z₀ kept, errors contract by L‖z − z₀‖ ≈ L‖Δ₀‖, of which Θ = ½L‖Δ₀‖ is the first observation
   * (Newton–Kantorovich). Corrections that do not shrink must themselves be below the tolerance.
   *
   * In the first iteration the residual is J times the next correction, J the very matrix that scales it:
   * its scaled size is at most that of the correction, and the second scale has nothing to add.
   */
  private testConvergence(): void {
    const {b, slots, operations, settings, accepted} = this;
    const {inexact, hasApproximateJacobian, matrixFree} = settings;
    // What the coming correction leaves of itself: by Newton's theory, and of a solve that was not exact.
    const share = b.local(inexact ? add(mul(2, this.rate), slots.eta) : mul(2, this.rate));
    const contracts = atMost(this.rate, stagnation);
    b.set(accepted, asFlag(and(contracts, atMost(mul(share, this.nextSize), newtonKappa))));
    const isUnscaled: Condition = matrixFree ? false : not(isSet(slots.hasRowScales));
    const byApproximation: Condition = hasApproximateJacobian ? isSet(slots.approximate) : false;
    b.unless(and(isSet(accepted), isUnscaled, not(byApproximation)), () => {
      this.scaleRows();
      const worst = b.result(operations.scaledResidual);
      const testJacobian = (): void => {
        const isSmall = and(isSet(accepted), atMost(mul(share, worst), 1));
        const isAtRest = and(not(contracts), this.isFresh, atMost(this.nextSize, 1), atMost(worst, 1));
        b.set(accepted, asFlag(or(isSmall, isAtRest)));
      };
      b.if(byApproximation, () => this.testApproximateConvergence(worst), testJacobian);
    });
  }

  /**
   * Tests convergence with an approximate Jacobian A. Errors contract by the same factor ‖I − A⁻¹J‖ again and again, of
   * which every rate is a lower bound, as corrections turn into its slowest direction. With Θ the larger of the last
   * two rates, the error left after the next correction is Θ + Θ² + … = Θ/(1 − Θ) of it (Hairer & Wanner, Solving ODEs
   * II, §IV.8); the test is never weaker than that for the Jacobian itself.
   */
  private testApproximateConvergence(worst: Value): void {
    const {b, accepted} = this;
    const theta = b.local(max(this.rate, this.previousRate));
    b.set(this.previousRate, this.rate);
    const share = b.local(max(mul(2, theta), div(theta, sub(1, theta))));
    const isSmall = and(atMost(mul(share, this.nextSize), newtonKappa), atMost(mul(share, worst), 1));
    b.set(accepted, asFlag(or(and(less(theta, 1), isSmall), and(not(less(theta, 1)), equal(this.nextSize, 0)))));
  }
}
