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
import {linearFailure} from './failure.js';
import type {NewtonCounters, NewtonStatus} from './iteration.js';

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
  begin(k: number): void;
  evaluateResidual(): void;
  /** Called when the present block is solved. */
  end(k: number): void;
  /** Newton's matrix for all blocks, at the guess of the first. */
  factor(): Factor;
  /** The cost of a Jacobian and its factorization, in iterations. */
  readonly matrixWork: number;
}

export interface SimplifiedOptions {
  /** The error that may remain after the iteration, as a share of the tolerance. */
  readonly kappa: number;
  /** What is left where corrections no longer shrink, or iterations are used up, may be this much; at least κ. */
  readonly coarsest: number;
  /** The same with a matrix that is not an older step's: what holds corrections up may then be rounding, which a shorter step does not lessen. */
  readonly stalled: number;
  /** Nothing is reused from one step to the next. */
  readonly repeatable: boolean;
  readonly maxIterations: number;
}

/**
 * Iterations that may be expected before a step is rather made shorter (RADAU5: 7). With tolerances near rounding, as
 * many as Newton's options allow.
 */
export const fewIterations = 7;

export class SimplifiedNewton {
  cause: StiffgradError | undefined;
  private kept: Factor | undefined;
  /** The matrix is that of the present step. */
  private fresh = false;
  /** The largest Θ of the step, and of the one before if it is known. */
  private slowest = 0;
  private before: number | undefined;

  constructor(
    private readonly system: SequentialSystem,
    private readonly options: SimplifiedOptions,
    private readonly counters: NewtonCounters,
  ) {}

  /** The rate of convergence, which the next step reuses with the matrix. */
  get rate(): number {
    return this.slowest;
  }

  /** There is a matrix for the next step. */
  get keeps(): boolean {
    return this.kept !== undefined;
  }

  /** Goes on as another iteration would have: from its rate, and its matrix where it had one. */
  resume(rate: number, factor: Factor | undefined): void {
    this.slowest = rate;
    this.kept = factor;
  }

  /** Discards the matrix, as the step length has changed. */
  forget(): void {
    this.kept = undefined;
  }

  /** Solves all blocks in turn. */
  find(): NewtonStatus {
    const {options} = this;
    this.cause = undefined;
    if (options.repeatable || this.wearsOut()) this.kept = undefined;
    this.fresh = false;
    try {
      const status = this.attempt();
      if (status === 'converged' || this.fresh) return status;
      this.kept = undefined;
      return this.attempt();
    } catch (error) {
      const {status, cause} = linearFailure(error);
      this.cause = cause;
      this.kept = undefined;
      return status;
    }
  }

  /** Whether a new matrix saves more iterations than it costs. */
  private wearsOut(): boolean {
    return this.slowest > keptRate(this.system.matrixWork);
  }

  private attempt(): NewtonStatus {
    const {system, options} = this;
    this.before = options.repeatable || this.slowest === 0 ? undefined : this.slowest;
    this.slowest = 0;
    system.beginStep();
    for (let k = 0; k < system.blocks; k++) {
      system.begin(k);
      const status = this.solve(this.kept ?? this.renew());
      if (status !== 'converged') return status;
      system.end(k);
    }
    return 'converged';
  }

  private renew(): Factor {
    const {counters} = this;
    const factor = this.system.factor();
    counters.jacobianEvaluations++;
    counters.factorizations++;
    this.kept = factor;
    this.fresh = true;
    return factor;
  }

  /**
   * Θ/(1 − Θ) of a block that no rate is known of yet: by the slowest of all blocks, as they lie at different
   * places, of which the matrix' own contracts best; of another step less sharply (RADAU5's exponent).
   */
  private expected(): number {
    if (this.before === undefined) return 1;
    const rate = Math.max(this.before ** 0.8, this.slowest);
    return rate < 1 ? rate / (1 - rate) : Infinity;
  }

  /** The present block, from its guess. */
  private solve(factor: Factor): NewtonStatus {
    const {
      system,
      options: {kappa, coarsest, stalled, maxIterations},
      counters,
    } = this;
    const {z, residual, delta, weights, vectors} = system;
    // With the matrix of this very step there is none that would do better.
    const least = this.fresh ? Math.max(coarsest, stalled) : coarsest;
    let last = 0;
    let left = this.expected();
    for (let done = 1; done <= maxIterations; done++) {
      system.evaluateResidual();
      counters.residualEvaluations++;
      counters.newtonIterations++;
      factor.solve(residual, delta);
      counters.linearIterations += factor.linearIterations;
      vectors.advance(z, z, delta, 1);
      const size = vectors.largestRatio(delta, weights);
      if (!(size < Infinity)) return 'not-finite';
      if (size === 0) return 'converged';
      if (done > 1) {
        const rate = size / last;
        if (rate >= 1) return last <= least ? 'converged' : 'newton-diverged';
        this.slowest = Math.max(this.slowest, rate);
        left = rate / (1 - rate);
        // The error that would remain after the iterations that are left.
        if (left * size * rate ** (maxIterations - done) > coarsest && size > least) return 'newton-diverged';
      }
      if (left * size <= kappa) return 'converged';
      last = size;
    }
    return left * last <= coarsest || last <= least ? 'converged' : 'newton-diverged';
  }
}

/**
 * A matrix is kept while corrections shrink by this: then it costs no iteration more (RADAU5 takes 0.001 as a rule,
 * more where Jacobians are dear).
 */
function keptRate(work: number): number {
  return work <= 1 ? 0 : Math.min(0.3, 0.001 * work * work);
}
