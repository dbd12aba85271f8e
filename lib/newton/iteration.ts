/**
 * Newton's method for a residual in typed arrays. An iteration solves for the correction,
 * goes along it as far as the strategy says, and then solves once more, with the factor at hand, for
 * the *next* correction: its size is the error that is left, its share of the last one is the rate of
 * convergence, and as the last correction it is still applied (Deuflhard, Newton Methods for Nonlinear
 * Problems, §2.1). So an iteration costs one residual and one triangular solve beyond its Jacobian and
 * factorization, and nothing is allocated.
 *
 * Two scales judge convergence, never one alone (equations.md §3): that error against the tolerance,
 * and the residual against what a correction of the tolerance would leave under the step's *first*
 * Jacobian: where the model grows without bound the corrections shrink beside it, and only the residual
 * tells. What is judged is always the whole correction: a damped step that came to a stop does not
 * count. Where rounding forbids the tolerance, the rounding is measured, and only a residual no larger
 * than that is accepted.
 */
import type {Vectors} from '../engine/vectors.js';
import {plainVectors} from '../engine/vectors.js';
import type {StiffgradError} from '../errors.js';
import type {Factor, LinearSolver} from '../linear/index.js';
import {dot} from '../linear/index.js';
import {VectorCallees, hostFunction} from '../routine/callees.js';
import type {Callee, Value} from '../routine/routine.js';
import {element, RoutineBuilder} from '../routine/routine.js';
import type {Host, RoutineCall, SharedRoutine} from '../routine/shared.js';
import {RoutineCache} from '../routine/shared.js';
import {linearFailure} from './linear-failure.js';
import {nextForcing} from './forcing.js';
import {norm, minStepLength} from './norms.js';
import type {Newton} from './options.js';
import {JacobianSelector, energyLineSearch} from './approximate-jacobian.js';
import type {NonlinearSystem, workVectors} from './system.js';
import type {NewtonOperations, NewtonSettings} from './emit-newton.js';
import {frameSize, NewtonEmitter, newtonStatuses, frameSlots, normCapacity} from './emit-newton.js';
import {effectiveTolerance, Tolerances} from './tolerances.js';

export type NewtonStatus = 'converged' | 'newton-diverged' | 'singular' | 'not-finite';

/** Totals of a run, reported in the statistics. */
export interface NewtonCounters {
  newtonIterations: number;
  residualEvaluations: number;
  jacobianEvaluations: number;
  factorizations: number;
  linearIterations: number;
}

/** What the unrolled adjoint needs of an iteration: where it started, the correction, and the length taken. */
export type IterationObserver = (z: Float64Array, delta: Float64Array, length: number, first: boolean) => void;

export function resolveJacobianUse(
  options: Newton,
  system: Pick<NonlinearSystem, 'expensiveJacobian'>,
): 'fresh' | 'chord' | 'auto' {
  // Damped steps start far from the root, truncated ones are counted in Jacobians.
  const keep = system.expensiveJacobian === true && options.iterations === undefined && options.step.isFull === true;
  return options.jacobian !== 'by-cost' ? options.jacobian : keep ? 'auto' : 'fresh';
}

/** Full steps with a new Jacobian in every iteration: no decision falls between a residual and the next correction. */
export const isPlainNewton = (options: Newton, system: NonlinearSystem): boolean =>
  resolveJacobianUse(options, system) === 'fresh'
  && options.iterations === undefined
  && options.step.isFull === true
  && options.forcing === undefined;

/**
 * Sets what a search begins with: iterations on one executable share the array.
 * @param keepsFactor a factor of an earlier search is at hand
 */
export function beginSolve(
  frame: Float64Array,
  {jacobianChecked}: Pick<NonlinearSystem, 'jacobianChecked'>,
  keepsFactor: boolean,
): void {
  frame[frameSlots.hasFactor] = keepsFactor ? 1 : 0;
  frame[frameSlots.mayFactorCompiled] = jacobianChecked === true ? 1 : 0;
}

/** Adds the counts of Newton solves since the last call to a run's counters, and clears them. */
export function addCounts(frame: Float64Array, counters: NewtonCounters): void {
  counters.newtonIterations += frame[frameSlots.iterations];
  counters.residualEvaluations += frame[frameSlots.residuals];
  counters.jacobianEvaluations += frame[frameSlots.factorizations];
  counters.factorizations += frame[frameSlots.factorizations];
  frame.fill(0, frameSlots.iterations, frameSlots.factorizations + 1);
}

/** All that a routine with the iteration depends on beside its arrays: a solver's factor has kernels of its own. */
export type NewtonRoutineSettings = NewtonSettings & {readonly linear: LinearSolver};

/**
 * The constants of an iteration's routine.
 * @param observed an observer is told of every iteration
 */
export function newtonSettings(
  options: Newton,
  system: NonlinearSystem,
  linearizedGuess: boolean,
  observed: boolean,
): NewtonRoutineSettings {
  const {absolute, relative} = effectiveTolerance(options.tolerance, system.epsilon);
  return {
    iterationLimit: options.iterations ?? options.maxIterations,
    truncated: options.iterations !== undefined,
    jacobian: resolveJacobianUse(options, system),
    damped: options.step.isFull !== true,
    inexact: options.forcing !== undefined,
    hasFirstResidual: system.evaluateFirstResidual !== undefined,
    linearizedGuess,
    hasApproximateJacobian: system.hasApproximateJacobian,
    matrixFree: system.matrixFree,
    usesRoundoffFloor: options.tolerance.absolute === 0 && system.emitTypicalSizes !== undefined,
    epsilon: system.epsilon,
    observed,
    absolute,
    relative,
    linear: options.linear,
  };
}

/** Solves by themselves, outside a routine of a step. */
const newtonRoutines = new RoutineCache<NewtonIteration, readonly [NewtonRoutineSettings]>({
  emit(iteration, host) {
    const b = new RoutineBuilder();
    b.return(iteration.emit(b, host));
    return b.routine;
  },
  interpretedCalls: Infinity,
});

export class NewtonIteration {
  /** The error that caused the last failure, if there was one. */
  cause: StiffgradError | undefined;
  private readonly delta: Float64Array;
  /** Estimate of the next correction, by the present factor. */
  private readonly nextDelta: Float64Array;
  private readonly base: Float64Array;
  private readonly tolerances: Tolerances;
  private readonly frame: Float64Array;
  private readonly norms: Float64Array;
  private readonly extraNorms: number[] = [];
  private factor: Factor | undefined;
  /** ‖R‖₂ at the last inexact solve; 0 before the first. */
  private forcingNorm = 0;
  private readonly selector: JacobianSelector;
  private readonly vectors: Vectors;
  private readonly jacobian: 'fresh' | 'chord' | 'auto';
  private routine: SharedRoutine<NewtonIteration, readonly [NewtonRoutineSettings]> | undefined;

  /**
   * @param linearizedGuess the first iteration belongs to the guess and is not counted
   * @param observe told of every iteration; the last correction is then a full iteration too, so that
   *   what is told is all that was done
   */
  constructor(
    private readonly options: Newton,
    private readonly system: NonlinearSystem,
    private readonly counters: NewtonCounters,
    private readonly linearizedGuess = false,
    private readonly observe?: IterationObserver,
  ) {
    const n = system.z.length;
    const {compiled} = system;
    this.vectors = compiled?.vectors ?? plainVectors;
    this.jacobian = resolveJacobianUse(options, system);
    const work = (name: (typeof workVectors)[number]): Float64Array => compiled?.work(name) ?? new Float64Array(n);
    this.delta = work('delta');
    this.nextDelta = work('nextDelta');
    this.base = work('base');
    this.frame = compiled?.frame ?? new Float64Array(frameSize);
    this.norms = this.frame.subarray(frameSlots.normCount + 1);
    const flags = {
      frame: this.frame,
      hasRowScales: frameSlots.hasRowScales,
      hasRoundoffFloor: frameSlots.hasRoundoffFloor,
    };
    const vectors = {weights: work('weights'), rowScale: work('rowScale'), typicalSizes: work('typicalSizes')};
    this.tolerances = new Tolerances(system, options.tolerance, this.vectors, vectors, flags, () =>
      this.evaluateResidual(),
    );
    this.selector = new JacobianSelector(system.hasApproximateJacobian, system.matrixFree);
  }

  /** ‖R‖₂ at the start of every iteration of the last Newton solve. */
  get history(): number[] {
    const {frame, norms, extraNorms} = this;
    const recorded = frame[frameSlots.normCount];
    return [...norms.subarray(0, recorded), ...(recorded > norms.length ? extraNorms : [])];
  }

  /** Keeps a norm for which the frame has no room. */
  private recordNorm(iteration: number, norm: number): void {
    if (iteration === normCapacity) this.extraNorms.length = 0;
    this.extraNorms.push(norm);
  }

  /** Discards the factor, as the step length or the problem has changed. */
  discardFactor(): void {
    this.factor = undefined;
  }

  /** The next step may begin with the factor of this one's last matrix. */
  get keepsFactor(): boolean {
    return this.jacobian === 'auto' && this.factor !== undefined;
  }

  /** Adopts the factor that another iteration kept. */
  resume(factor: Factor): void {
    this.factor = factor;
  }

  /** Solves for the root, from the guess in z; the root is left in z. A linear problem takes one iteration. */
  solve(): NewtonStatus {
    this.routine ??= newtonRoutines.of(this.system.executable, [this.settings]);
    return newtonStatuses[this.run(this.routine.bind(this))];
  }

  /**
   * Runs a routine that contains this iteration, with two numbers.
   * @returns the routine's result, or the number of a status if a factorization or a linear solve failed
   */
  run(routine: RoutineCall, a = 0, b = 0): number {
    const {frame} = this;
    this.cause = undefined;
    beginSolve(frame, this.system, this.factor !== undefined);
    try {
      const found = routine(a, b);
      if (frame[frameSlots.hasFactor] === 0) this.factor = undefined;
      return found;
    } catch (error) {
      return this.statusOfError(error);
    } finally {
      addCounts(frame, this.counters);
    }
  }

  /** The number of the status for an error of a factorization or a linear solve. @throws any other error */
  statusOfError(error: unknown): number {
    const {status, cause} = linearFailure(error);
    this.cause = cause;
    this.discardFactor();
    return newtonStatuses.indexOf(status);
  }

  /**
   * Emits the iteration from the guess in z to the root in z.
   * @param host has the iteration whose JavaScript functions are called: a routine outlives an iteration, and serves
   *   others on the same arrays
   * @returns a variable with the number of its status
   */
  emit(b: RoutineBuilder, host: Host<NewtonIteration> = {owner: this}): Value {
    return new NewtonEmitter(b, this.operations(host), this.settings).emit();
  }

  private get settings(): NewtonRoutineSettings {
    return newtonSettings(this.options, this.system, this.linearizedGuess, this.observe !== undefined);
  }

  private operations(host: Host<NewtonIteration>): NewtonOperations {
    const {system, vectors, frame, delta, nextDelta, base} = this;
    const {z, residual, compiledFactorization} = system;
    const {weights, rowScale, typicalSizes} = this.tolerances.arrays;
    const operations = new VectorCallees(vectors, () => system.compiled?.kernels());
    const flag = (run: () => boolean): Callee => hostFunction(() => (run() ? 1 : 0));
    const factor: Callee = {run: first => host.owner.refactor(first === 1)};
    const scaleRows: Callee = {run: (size, first) => host.owner.tolerances.scaleRows(size, first)};
    const [solveDelta, solveNext] = [delta, nextDelta].map((x): Callee => ({run: () => host.owner.solveLinear(x)}));
    const [mayFactorCompiled, factoredInJs] = [
      element(frame, frameSlots.mayFactorCompiled),
      element(frame, frameSlots.factoredInJs),
    ];
    const count = element(frame, frameSlots.factorizations);
    const compiledFactor = this.isPlainNewton
      ? compiledFactorization?.(mayFactorCompiled, factoredInJs, count)
      : undefined;
    return {
      frame,
      residual: system.residualCallee ?? {run: () => host.owner.system.evaluateResidual()},
      firstResidual: {run: () => host.owner.system.evaluateFirstResidual?.()},
      factor: compiledFactor?.factor(factor) ?? factor,
      solveDelta: compiledFactor?.solve(solveDelta, delta) ?? solveDelta,
      solveNext: compiledFactor?.solve(solveNext, nextDelta) ?? solveNext,
      norm: hostFunction(() => norm(vectors, residual)),
      sumOfSquares: operations.sumOfSquares(residual),
      largestResidual: operations.largest(residual),
      largestUnknown: operations.largest(z),
      computeWeights: operations.computeWeights(weights, z, base, delta),
      addRoundoffFloor: operations.axpy(weights, weights, typicalSizes),
      emitTypicalSizes: b => system.emitTypicalSizes?.(b, typicalSizes, () => host.owner.system),
      deltaRatio: operations.largestRatio(delta, weights),
      nextRatio: operations.largestRatio(nextDelta, weights),
      scaledResidual: operations.largestRatio(residual, rowScale),
      saveAndStep: operations.saveAndStep(z, base, delta),
      applyNext: operations.axpy(z, z, nextDelta),
      restoreBase: operations.copy(z, base),
      shiftCorrection: operations.copy(delta, nextDelta),
      scaleRows: compiledFactor?.scaleRows(scaleRows, weights, rowScale) ?? scaleRows,
      resetRowScales: {run: () => host.owner.tolerances.resetRowScales()},
      isDeltaRoundoff: flag(() => host.owner.isRoundoff(delta)),
      isNextRoundoff: flag(() => host.owner.isRoundoff(nextDelta)),
      restart: {run: () => host.owner.restart()},
      lineSearch: hostFunction((first, last) => host.owner.lineSearch(first === 1, last === 1)),
      observe: {run: (first, length) => host.owner.observe?.(base, delta, length, first === 1)},
      recordNorm: {run: (iteration, distance) => host.owner.recordNorm(iteration, distance)},
      checkDescent: flag(() => host.owner.checkDescent()),
      trySwitchToJacobian: flag(() => host.owner.trySwitchToJacobian()),
      revertToApproximation: flag(() => host.owner.revertToApproximation()),
    };
  }

  /** Whether full steps are taken with a new Jacobian in every iteration, and nobody observes them. */
  private get isPlainNewton(): boolean {
    return isPlainNewton(this.options, this.system) && this.observe === undefined;
  }

  private updateSelector(decide: () => boolean): boolean {
    const decided = decide();
    this.frame[frameSlots.approximate] = this.selector.approximate ? 1 : 0;
    return decided;
  }

  private checkDescent(): boolean {
    return this.updateSelector(() => this.selector.checkDescent(dot(this.delta, this.system.residual)));
  }

  private trySwitchToJacobian(): boolean {
    const {selector, vectors, nextDelta, tolerances} = this;
    return this.updateSelector(() =>
      selector.trySwitchToJacobian(vectors.largest(nextDelta) / tolerances.sizeOfUnknown()),
    );
  }

  private revertToApproximation(): boolean {
    return this.updateSelector(() => this.selector.revertToApproximation());
  }

  private isRoundoff(correction: Float64Array): boolean {
    this.frame[frameSlots.noiseMeasured] = 1;
    return this.tolerances.atRoundoff(correction);
  }

  /** Resets all that was learned of the residual, as another one is to be solved. */
  private restart(): void {
    this.forcingNorm = 0;
    this.frame[frameSlots.eta] = 0;
    this.selector.restart();
    this.updateSelector(() => true);
    this.tolerances.forgetNoise();
    this.frame[frameSlots.noiseMeasured] = 0;
  }

  /**
   * Moves to z − sΔ with s by the line search. Full steps are taken along a correction from the guess's own residual,
   * which no other residual can be compared with; one within the tolerance, where a line search would only find
   * rounding; and one that is not finite, so that the residual shows it.
   */
  private lineSearch(first: boolean, last: boolean): number {
    const {options, system, delta, base, vectors} = this;
    const {z, epsilon} = system;
    const length = first ? NaN : norm(vectors, delta);
    if (!first) vectors.copy(base, z);
    if (!(length < Infinity) || this.tolerances.computeWeights(base, delta) <= 1) {
      vectors.saveAndStep(z, base, delta);
      if (!last) this.evaluateResidual();
      return 1;
    }
    const minLength = minStepLength(base, delta, epsilon);
    if (this.selector.approximate) return energyLineSearch(s => this.relativeWork(s), minLength);
    // The merit ½‖R‖² in units of the iteration's first, which keeps it from overflow.
    const scale = Math.max(norm(vectors, base), z.length);
    return options.step.choose(s => this.merit(s), 0.5, length, scale, minLength);
  }

  private relativeWork(s: number): number {
    this.moveTo(s);
    return dot(this.delta, this.system.residual) / this.selector.work;
  }

  private merit(s: number): number {
    this.moveTo(s);
    const ratio = this.frame[frameSlots.residualNorm] / this.frame[frameSlots.startNorm];
    return Number.isFinite(ratio) ? (ratio * ratio) / 2 : Infinity;
  }

  /** Moves to z − sΔ, with z as the iteration began, and evaluates the residual there. */
  private moveTo(s: number): void {
    this.vectors.axpy(this.system.z, this.base, this.delta, s);
    this.evaluateResidual();
  }

  private evaluateResidual(): void {
    const {system, vectors, frame} = this;
    system.evaluateResidual();
    frame[frameSlots.residuals]++;
    frame[frameSlots.residualNorm] = norm(vectors, system.residual);
  }

  private refactor(first: boolean): void {
    const {system, frame} = this;
    this.factor = undefined;
    const factor = system.factor(first, this.selector.approximate);
    if ((!system.matrixFree || first) && system.reusedFactor !== true) frame[frameSlots.factorizations]++;
    this.factor = factor;
    frame[frameSlots.factoredInJs] = 1;
    frame[frameSlots.mayFactorCompiled] = system.jacobianChecked === true ? 1 : 0;
  }

  /** Sets the forcing term η of the coming linear solve; without forcing the solver's own tolerance stays. */
  private applyForcing(factor: Factor): void {
    const {
      options: {forcing},
      frame,
    } = this;
    if (forcing === undefined || factor.relax === undefined) return;
    const size = frame[frameSlots.residualNorm];
    const eta =
      this.forcingNorm === 0 ? forcing.first : nextForcing(forcing, size / this.forcingNorm, frame[frameSlots.eta]);
    this.forcingNorm = size;
    frame[frameSlots.eta] = eta;
    factor.relax(eta);
  }

  private solveLinear(x: Float64Array): void {
    const {factor} = this;
    if (factor === undefined) throw new Error('there is no factor to solve with');
    this.applyForcing(factor);
    factor.solve(this.system.residual, x);
    this.counters.linearIterations += factor.linearIterations;
  }

  /** Rows with the largest scaled residual, worst first; those that are not finite before all others. */
  worstRows(count: number): {row: number; residual: number; scaled: number}[] {
    return this.tolerances.worstRows(count);
  }
}
