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
import {refused} from '../engine/engine.js';
import type {Vectors} from '../engine/vectors.js';
import {plainVectors} from '../engine/vectors.js';
import type {StiffgradError} from '../errors.js';
import type {Factor} from '../linear/index.js';
import {dot} from '../linear/index.js';
import {linearFailure} from './failure.js';
import {nextForcing} from './forcing.js';
import {norm, rootOf, smallestLength} from './norms.js';
import type {Newton} from './options.js';
import type {Trial} from './step-length.js';
import type {Work} from './descent.js';
import {MatrixChoice, searchByWork} from './descent.js';
import type {NonlinearSystem, workVectors} from './system.js';
import {Tolerances} from './tolerances.js';

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

/**
 * Corrections that do not even halve: full Newton squares its error near a root, so with a new Jacobian
 * this is rounding or a lost iteration, and with an old one it is time for a new one.
 */
export const stagnation = 0.5;

/**
 * The estimated error may be this share of the tolerance: errors of many steps add up, and a finite
 * difference taken through them sees every one (κ of Hairer & Wanner, Solving ODEs II, §IV.8, 0.01 to 0.1).
 */
export const margin = 0.01;

/**
 * With 'auto', an old Jacobian is kept while it promises convergence within this many more iterations.
 * Counted and timed on chains, single oscillators, stiff odes and dense networks, interpreted and
 * compiled: 1 and 2 are never slower than fresh Jacobians, 2 is the faster where a factorization is
 * dear (3.6 times faster than fresh with 60 dense unknowns); from 3 on single oscillators lose.
 */
const patience = 2;

/** Of a damped step the rate is not known: as if it halved. A chosen force can only make it look worse. */
const rateOf = (length: number, left: number, size: number): number =>
  length < 1 ? stagnation : left === 0 ? 0 : left / size;

export function jacobiansOf(options: Newton, system: Pick<NonlinearSystem, 'dear'>): 'fresh' | 'chord' | 'auto' {
  // Damped steps start far from the root, truncated ones are counted in Jacobians.
  const keep = system.dear === true && options.iterations === undefined && options.step.name === 'full';
  return options.jacobian !== 'by-cost' ? options.jacobian : keep ? 'auto' : 'fresh';
}

/** Nothing is decided between a residual and the size of the correction after the next. */
export const isStraight = (options: Newton, system: NonlinearSystem): boolean =>
  jacobiansOf(options, system) === 'fresh'
  && options.iterations === undefined
  && options.step.name === 'full'
  && options.forcing === undefined;

export class NewtonIteration {
  /** The error that caused the last failure, if there was one. */
  cause: StiffgradError | undefined;
  private delta: Float64Array;
  /** Estimate of the next correction, by the present factor. */
  private next: Float64Array;
  private readonly base: Float64Array;
  private readonly tolerances: Tolerances;
  private readonly norms: Float64Array;
  private recorded = 0;
  private factored: Factor | undefined;
  /** The factor is that of the Jacobian at the present z. */
  private fresh = false;
  /** `delta` already contains the correction of the next iteration. */
  private ready = false;
  /** left/size of the iteration before, for a model of the Jacobian. */
  private lastRate = 0;
  /** Share of the last residual that its correction may have left, by forcing; 0 where none is forced. */
  private eta = 0;
  /** ‖R‖₂ of that residual. */
  private forcedAt = 0;
  private readonly trial: Trial;
  private readonly work: Work;
  private readonly choice: MatrixChoice;
  private readonly vectors: Vectors;
  private readonly jacobian: 'fresh' | 'chord' | 'auto';
  private readonly straight: boolean;
  /** The correction that `once` took, in tolerances. */
  private size = 0;
  /** ‖R‖₂ of the current residual; −1 if it has not been computed. */
  private residualNorm = -1;

  constructor(
    private readonly options: Newton,
    private readonly system: NonlinearSystem,
    private readonly counters: NewtonCounters,
  ) {
    const n = system.z.length;
    const {compiled} = system;
    this.vectors = compiled?.vectors ?? plainVectors;
    this.jacobian = jacobiansOf(options, system);
    this.straight = isStraight(options, system);
    const work = (name: (typeof workVectors)[number]): Float64Array => compiled?.work(name) ?? new Float64Array(n);
    this.delta = work('delta');
    this.next = work('nextDelta');
    this.base = work('base');
    this.tolerances = new Tolerances(system, options.tolerance, this.vectors, work('weights'), work('rowScale'), () =>
      this.evaluateResidual(),
    );
    this.norms = new Float64Array((options.iterations ?? options.maxIterations) + 2);
    this.choice = new MatrixChoice(system.modelled, system.matrixFree);
    this.work = (s: number): number => {
      this.go(s);
      return dot(this.delta, system.residual) / this.choice.work;
    };
    this.trial = (s: number): number => {
      this.go(s);
      const share = this.distance() / this.norms[this.recorded - 1];
      return Number.isFinite(share) ? (share * share) / 2 : Infinity;
    };
  }

  /** To z − sΔ from where the iteration began. */
  private go(s: number): void {
    this.vectors.advance(this.system.z, this.base, this.delta, s);
    this.evaluateResidual();
  }

  /** ‖R‖₂ at the start of every iteration of the last `find`. */
  get history(): number[] {
    return Array.from(this.norms.subarray(0, this.recorded));
  }

  /** Drops the kept factor: the step length or the problem has changed. */
  forget(): void {
    this.factored = undefined;
  }

  /** The next step may begin with the factor of this one's last matrix. */
  get keepsFactor(): boolean {
    return this.jacobian === 'auto' && this.factored !== undefined;
  }

  /** Goes on with the factor of a matrix that an iteration kept. */
  resume(factor: Factor): void {
    this.factored = factor;
  }

  /**
   * From the guess in z to the root in z. A linear problem takes one iteration and its test.
   * @param linearized the first iteration belongs to the guess and is not counted
   * @param observe told of every iteration; the last correction is then a full iteration too, so that
   *   what is told is all that was done
   */
  find(linearized: boolean, observe?: IterationObserver): NewtonStatus {
    this.recorded = 0;
    this.cause = undefined;
    this.ready = false;
    this.lastRate = 0;
    this.eta = 0;
    this.forcedAt = 0;
    this.choice.restart();
    this.tolerances.restart();
    const special = this.system.evaluateFirstResidual !== undefined;
    if (this.jacobian !== 'auto' || special) this.factored = undefined;
    this.fresh = false;
    try {
      return this.iterate(special, special && linearized, observe);
    } catch (error) {
      const {status, cause} = linearFailure(error);
      this.cause = cause;
      this.factored = undefined;
      return status;
    }
  }

  /**
   * @param first the first residual is one of its own: it says nothing of convergence
   * @param free the first iteration is not counted
   */
  private iterate(first: boolean, free: boolean, observe?: IterationObserver): NewtonStatus {
    const {options, system, counters, tolerances} = this;
    const truncated = options.iterations !== undefined;
    const budget = options.iterations ?? options.maxIterations;
    if (first) this.evaluateFirstResidual();
    else this.evaluateResidual();
    for (let done = 0; done < budget; first = false, free = false) {
      const distance = (this.norms[this.recorded++] = this.distance());
      if (!Number.isFinite(distance)) return 'not-finite';
      if (distance === 0 && !first && !truncated) return 'converged';
      // −1 where the iteration was not made by one call.
      const share = first || observe !== undefined ? refused : this.once();
      const whole = share !== refused;
      const factor = whole ? undefined : this.correct(first);
      if (!free) {
        counters.newtonIterations++;
        done++;
      }
      const length = whole ? 1 : this.advance(first, truncated && done === budget, observe);
      if (truncated && done === budget) return this.vectors.largest(system.z) < Infinity ? 'converged' : 'not-finite';
      if (length === 0 || !this.isFinite()) {
        tolerances.weigh(this.base, this.delta);
        tolerances.withoutScale();
        if (length === 0 && (truncated || tolerances.atRoundoff(this.delta))) return 'converged';
        if (this.fresh && !this.choice.failed()) return length === 0 ? 'newton-diverged' : 'not-finite';
        this.retreat();
        continue;
      }
      if (truncated && this.jacobian === 'fresh') {
        this.discard();
        continue;
      }
      let size = whole ? this.size : tolerances.weigh(this.base, this.delta);
      if (truncated) tolerances.scaleRows(size, this.norms[0]);
      const renewed = system.matrixFree && this.jacobian === 'fresh';
      if (factor !== undefined) this.solve(renewed ? this.refactor(false) : factor, this.next);
      let left = whole ? share : tolerances.sizeOf(this.next);
      let rate = rateOf(length, left, size);
      if (!truncated) {
        if (this.accepts(rate, left, size)) return this.finish(observe);
        if (tolerances.floor()) {
          size = tolerances.weigh(this.base, this.delta);
          left = tolerances.sizeOf(this.next);
          rate = rateOf(length, left, size);
          if (this.accepts(rate, left, size)) return this.finish(observe);
        }
        // A search that hardly finds a way down may be among rounding, too.
        const stalled = length < 1 && this.distance() > stagnation * distance;
        if (this.fresh && (rate > stagnation || stalled) && tolerances.atRoundoff(this.next)) return 'converged';
        if ((!this.fresh && rate >= 1) || (rate > stagnation && this.choice.failed())) {
          this.retreat();
          continue;
        }
      }
      if (
        system.modelled
        && length === 1
        && this.choice.approached(this.vectors.largest(this.next) / tolerances.extent())
      )
        this.discard();
      else if (renewed) this.hand(true);
      else if (length === 1 && this.keeps(rate, left)) this.hand(false);
      else this.discard();
    }
    return truncated ? 'converged' : 'newton-diverged';
  }

  /**
   * While corrections shrink, with rate Θ, the error left after the next one is at most 2Θ of it: with
   * the Jacobian at z₀ kept, errors contract by L‖z − z₀‖ ≈ L‖Δ₀‖, of which Θ = ½L‖Δ₀‖ is the first
   * observation (Newton–Kantorovich). Corrections that do not shrink must themselves be below the tolerance.
   *
   * In the first iteration the residual is J times the next correction, J the very matrix that scales it:
   * its scaled size is at most that of the correction, and the second scale has nothing to add.
   */
  private accepts(rate: number, left: number, size: number): boolean {
    // What the coming correction leaves of itself: by Newton's theory, and of a solve that was not exact.
    const share = 2 * rate + this.eta;
    const small = rate <= stagnation && share * left <= margin;
    if (small && !this.tolerances.scaled && !this.choice.model && !this.system.matrixFree) return true;
    this.tolerances.scaleRows(size, this.norms[0]);
    if (this.choice.model) return this.acceptsLinear(rate, left);
    if (rate > stagnation) return this.fresh && left <= 1 && this.tolerances.scaledResidual() <= 1;
    return small && share * this.tolerances.scaledResidual() <= 1;
  }

  /**
   * With a model of the Jacobian errors contract by the same factor again and again, ‖I − A⁻¹J‖, of which
   * every rate is an observation from below: corrections turn into its slowest direction by and by. By the
   * larger of the last two, the error left after the next correction is Θ + Θ² + … = Θ/(1 − Θ) of it
   * (Hairer & Wanner, Solving ODEs II, §IV.8), and never is less said than for the Jacobian itself.
   */
  private acceptsLinear(rate: number, left: number): boolean {
    const theta = Math.max(rate, this.lastRate);
    this.lastRate = rate;
    if (!(theta < 1)) return left === 0;
    const share = Math.max(2 * theta, theta / (1 - theta));
    return share * left <= margin && share * this.tolerances.scaledResidual() <= 1;
  }

  /** Is the factor good for another iteration? */
  private keeps(rate: number, left: number): boolean {
    const {jacobian} = this;
    if (jacobian === 'fresh' || rate > stagnation) return false;
    return jacobian === 'chord' || left * rate ** patience <= 1;
  }

  private finish(observe?: IterationObserver): NewtonStatus {
    const {z} = this.system;
    if (observe === undefined) {
      this.vectors.advance(z, z, this.next, 1);
      return 'converged';
    }
    this.solve(this.refactor(false), this.delta);
    this.counters.newtonIterations++;
    this.advance(false, true, observe);
    return 'converged';
  }

  /** The next correction becomes the coming one, with the factor at hand. */
  private hand(fresh: boolean): void {
    const {delta} = this;
    this.delta = this.next;
    this.next = delta;
    this.ready = true;
    this.fresh = fresh;
  }

  private discard(): void {
    this.factored = undefined;
    this.ready = false;
  }

  /** An old factor led astray: back to where the iteration began, for a new one there. */
  private retreat(): void {
    this.vectors.copy(this.system.z, this.base);
    this.evaluateResidual();
    this.discard();
  }

  /**
   * z − sΔ with the strategy's s. Taken whole are a correction from a chosen force, which no residual can
   * be compared with; one within the tolerance, where a search would only find rounding; and one that is
   * not finite, so that it is seen in the residual.
   */
  private advance(first: boolean, last: boolean, observe?: IterationObserver): number {
    const {options, system, delta, base, vectors} = this;
    const {z} = system;
    let length = 1;
    const whole = first || options.step.name === 'full';
    const size = whole ? NaN : norm(this.vectors, delta);
    if (!whole) vectors.copy(base, z);
    if (whole || !Number.isFinite(size) || this.tolerances.weigh(base, delta) <= 1) {
      vectors.depart(z, base, delta);
      if (!last) this.evaluateResidual();
    } else if (this.choice.model) {
      length = searchByWork(this.work, smallestLength(base, delta, system.epsilon));
    } else {
      // The merit ½‖R‖² in units of the iteration's first, which keeps it from overflow.
      length = options.step.choose(
        this.trial,
        0.5,
        size,
        Math.max(norm(this.vectors, base), z.length),
        smallestLength(base, delta, system.epsilon),
      );
    }
    observe?.(base, delta, length, first);
    return length;
  }

  /**
   * A whole iteration as one call: the correction of a new Jacobian taken, and the next one. Its share of the
   * tolerance, that of the correction itself being `size`; or `refused`, and nothing has been done.
   */
  private once(): number {
    const {
      straight,
      counters,
      tolerances: {plain},
      system: {calls, residual},
    } = this;
    if (!straight || plain === undefined || calls === undefined) return refused;
    const share = calls.correct(plain.absolute, plain.relative);
    if (share === refused) return refused;
    counters.jacobianEvaluations++;
    counters.factorizations++;
    counters.residualEvaluations++;
    this.factored = undefined;
    this.fresh = true;
    this.size = calls.found[1];
    this.residualNorm = rootOf(calls.found[0], residual);
    return share;
  }

  /** Δ of the coming iteration. */
  private correct(first: boolean): Factor {
    const {
      delta,
      system: {residual, modelled},
    } = this;
    let factor = this.factored ?? this.refactor(first);
    if (!this.ready) this.solve(factor, delta);
    if (modelled && !this.choice.goesDown(dot(delta, residual))) {
      factor = this.refactor(first);
      this.solve(factor, delta);
      this.choice.goesDown(dot(delta, residual));
    }
    return factor;
  }

  private refactor(first: boolean): Factor {
    const {system, counters} = this;
    const factor = system.factor(first, this.choice.model);
    if ((!system.matrixFree || first) && system.wasKept !== true) {
      counters.jacobianEvaluations++;
      counters.factorizations++;
    }
    this.factored = factor;
    this.fresh = true;
    return factor;
  }

  /** η of the coming solve, by Newton's own progress; the linear solver's tolerance where nothing is forced. */
  private force(factor: Factor): void {
    const {forcing} = this.options;
    if (forcing === undefined || factor.relax === undefined) return;
    const size = this.distance();
    this.eta = this.forcedAt === 0 ? forcing.first : nextForcing(forcing, size / this.forcedAt, this.eta);
    this.forcedAt = size;
    factor.relax(this.eta);
  }

  private solve(factor: Factor, x: Float64Array): void {
    this.force(factor);
    factor.solve(this.system.residual, x);
    this.counters.linearIterations += factor.linearIterations;
  }

  private evaluateResidual(): void {
    const {calls, residual} = this.system;
    if (calls === undefined) {
      this.system.evaluateResidual();
      this.residualNorm = -1;
    } else {
      this.residualNorm = rootOf(calls.residual(), residual);
    }
    this.counters.residualEvaluations++;
  }

  private evaluateFirstResidual(): void {
    this.system.evaluateFirstResidual?.();
    this.residualNorm = -1;
    this.counters.residualEvaluations++;
  }

  /** ‖R‖₂ */
  private distance(): number {
    if (this.residualNorm === -1) this.residualNorm = norm(this.vectors, this.system.residual);
    return this.residualNorm;
  }

  private isFinite(): boolean {
    return Number.isFinite(this.distance()) || this.vectors.largest(this.system.residual) < Infinity;
  }

  /** Rows with the largest scaled residual, worst first; those that are not finite before all others. */
  worstRows(count: number): {row: number; residual: number; scaled: number}[] {
    return this.tolerances.worstRows(count);
  }
}
