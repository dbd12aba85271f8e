/**
 * Newton's method with one matrix for many iterations, as the steps of an adaptive run want it: solved for as
 * far as the step's own tolerance asks, with a matrix that is kept as long as it contracts (Hairer & Wanner,
 * Solving ODEs II, §IV.8). Corrections are measured in that tolerance; their rate Θ tells what is left after
 * the last, Θ/(1 − Θ) of it, and how many more there would be.
 *
 * For runs without a gradient κ, the share of the tolerance that may be left, is RADAU5's. For the others it is
 * rounding, as near as corrections come to it: a gradient by the implicit function's theorem is that of the
 * exact root, and what is left of the residual is an error of both alike.
 */
import type {Vectors} from '../engine/vectors.js';
import type {StiffgradError} from '../errors.js';
import type {Factor} from '../linear/index.js';
import {linearFailure} from './linear-failure.js';
import type {NewtonCounters, NewtonStatus} from './iteration.js';
import {noiseFactor} from './tolerances.js';

/** Equations that are solved block by block; all arrays stay the same objects. */
export interface SequentialSystem {
  readonly blocks: number;
  /** The present block, its residual, an array for the correction, and the tolerances. */
  readonly z: Float64Array;
  readonly residual: Float64Array;
  readonly delta: Float64Array;
  readonly weights: Float64Array;
  readonly vectors: Vectors;
  /** Prepares a step: the weights, and values that are computed once per step. */
  beginStep(): void;
  /** Prepares block k, with an initial guess. */
  beginBlock(k: number): void;
  evaluateResidual(): void;
  /** Called when the present block is solved. */
  endBlock(k: number): void;
  /** Newton's matrix for all blocks, at the guess of the first. */
  factor(): Factor;
  /** The correction at the present z, and one that is made of the rounding of its residual, in the tolerance. */
  roundoff(factor: Factor): {readonly size: number; readonly rounding: number};
  /** The cost of a Jacobian and its factorization, in iterations. */
  readonly jacobianCost: number;
}

export interface SimplifiedOptions {
  /** The error that may remain after the iteration, as a share of the tolerance. */
  readonly kappa: number;
  /** The error that is accepted if corrections no longer shrink or iterations are used up; at least κ. */
  readonly acceptOnStall: number;
  /** The error that is accepted then with a matrix of this very step. */
  readonly acceptOnStallFresh: number;
  /** Nothing is reused from one step to the next. */
  readonly repeatable: boolean;
  readonly maxIterations: number;
}

/**
 * Iterations that may be expected before a step is rather made shorter (RADAU5: 7). With tolerances near rounding, as
 * many as Newton's options allow.
 */
export const simplifiedMaxIterations = 7;

export class SimplifiedNewton {
  cause: StiffgradError | undefined;
  /** The largest correction that was accepted as rounding, in the tolerance; 0 where none was. */
  roundoff = 0;
  private factor: Factor | undefined;
  /** The matrix is that of the present step. */
  private fresh = false;
  /** The largest Θ of the step, and of the one before if it is known. */
  private maxRate = 0;
  private previousRate: number | undefined;

  constructor(
    private readonly system: SequentialSystem,
    private readonly options: SimplifiedOptions,
    private readonly counters: NewtonCounters,
  ) {}

  /** The rate of convergence, which the next step reuses with the matrix. */
  get rate(): number {
    return this.maxRate;
  }

  /** There is a matrix for the next step. */
  get hasFactor(): boolean {
    return this.factor !== undefined;
  }

  /** Takes over another iteration's rate, and its factor if it had one. */
  resume(rate: number, factor: Factor | undefined): void {
    this.maxRate = rate;
    this.factor = factor;
  }

  /** Discards the matrix, as the step length has changed. */
  discardFactor(): void {
    this.factor = undefined;
  }

  /** Solves all blocks in turn. */
  solve(): NewtonStatus {
    const {options} = this;
    this.cause = undefined;
    if (options.repeatable || this.shouldRefactor()) this.factor = undefined;
    this.fresh = false;
    try {
      const status = this.solveBlocks();
      if (status === 'converged' || this.fresh) return status;
      this.factor = undefined;
      return this.solveBlocks();
    } catch (error) {
      const {status, cause} = linearFailure(error);
      this.cause = cause;
      this.factor = undefined;
      return status;
    }
  }

  /** Whether a new matrix saves more iterations than it costs. */
  private shouldRefactor(): boolean {
    return this.maxRate > maxReuseRate(this.system.jacobianCost);
  }

  private solveBlocks(): NewtonStatus {
    const {system, options} = this;
    this.previousRate = options.repeatable || this.maxRate === 0 ? undefined : this.maxRate;
    this.maxRate = 0;
    system.beginStep();
    for (let k = 0; k < system.blocks; k++) {
      system.beginBlock(k);
      const status = this.solveBlock(this.factor ?? this.refactor());
      if (status !== 'converged') return status;
      system.endBlock(k);
    }
    return 'converged';
  }

  private refactor(): Factor {
    const {counters} = this;
    const factor = this.system.factor();
    counters.jacobianEvaluations++;
    counters.factorizations++;
    this.factor = factor;
    this.fresh = true;
    return factor;
  }

  /**
   * Θ/(1 − Θ) for a block without a rate yet, from the largest Θ of all blocks, as the matrix contracts best at its own
   * stage. Another step's Θ counts less sharply (RADAU5's exponent).
   */
  private expectedRemainder(): number {
    if (this.previousRate === undefined) return 1;
    const rate = Math.max(this.previousRate ** 0.8, this.maxRate);
    return rate < 1 ? rate / (1 - rate) : Infinity;
  }

  /**
   * Solves for the present block, from its guess. Corrections that no longer shrink though the matrix is that of this
   * very step may be the residual's rounding. A shorter step does not lessen it, and where the mass is singular
   * enlarges it by 1/h: the block is then as near to its root as it can be computed.
   */
  private solveBlock(factor: Factor): NewtonStatus {
    const status = this.iterate(factor);
    if (status !== 'newton-diverged' || !this.fresh) return status;
    const {size, rounding} = this.system.roundoff(factor);
    if (!(size <= noiseFactor * rounding)) return status;
    this.roundoff = Math.max(this.roundoff, size);
    return 'converged';
  }

  private iterate(factor: Factor): NewtonStatus {
    const {
      system,
      options: {kappa, acceptOnStall, acceptOnStallFresh, maxIterations},
      counters,
    } = this;
    const {z, residual, delta, weights, vectors} = system;
    // With the matrix of this very step there is none that would do better.
    const stallTolerance = this.fresh ? Math.max(acceptOnStall, acceptOnStallFresh) : acceptOnStall;
    let previousSize = 0;
    let remainder = this.expectedRemainder();
    for (let iteration = 1; iteration <= maxIterations; iteration++) {
      system.evaluateResidual();
      counters.residualEvaluations++;
      counters.newtonIterations++;
      factor.solve(residual, delta);
      counters.linearIterations += factor.linearIterations;
      vectors.axpy(z, z, delta, 1);
      const size = vectors.largestRatio(delta, weights);
      if (!(size < Infinity)) return 'not-finite';
      if (size === 0) return 'converged';
      if (iteration > 1) {
        const rate = size / previousSize;
        if (rate >= 1) return previousSize <= stallTolerance ? 'converged' : 'newton-diverged';
        this.maxRate = Math.max(this.maxRate, rate);
        remainder = rate / (1 - rate);
        // The error that would remain after the iterations that are left.
        if (remainder * size * rate ** (maxIterations - iteration) > acceptOnStall && size > stallTolerance)
          return 'newton-diverged';
      }
      if (remainder * size <= kappa) return 'converged';
      previousSize = size;
    }
    const accepted = remainder * previousSize <= acceptOnStall || previousSize <= stallTolerance;
    return accepted ? 'converged' : 'newton-diverged';
  }
}

/**
 * The largest rate with which a matrix is kept: below it no iteration more is needed (RADAU5 takes 0.001 as a rule,
 * more if Jacobians are expensive).
 */
function maxReuseRate(work: number): number {
  return work <= 1 ? 0 : Math.min(0.3, 0.001 * work * work);
}
