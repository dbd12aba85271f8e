/**
 * Newton's method on a residual that lives in typed arrays. It judges convergence on two scaled
 * quantities together, the next correction and the residual, and never mistakes a stalled iteration
 * for a converged one: where neither can fall further, the residual's own rounding is measured, and
 * only a residual at that level is accepted (equations.md §3).
 */
import {SingularMatrixError, StiffgradError} from '../errors.js';
import type {Factor} from '../linear/index.js';
import type {Newton} from './options.js';
import type {Trial} from './step-length.js';

/** The equations of one step, or of an equilibrium. All arrays stay the same objects. */
export interface NonlinearSystem {
  readonly z: Float64Array;
  readonly residual: Float64Array;
  evaluateResidual(): void;
  /** The residual of the first iteration, where the guess asks for one of its own. */
  readonly evaluateFirstResidual?: () => void;
  /** The Jacobian at z, factored. May throw SingularMatrixError. */
  factor(first: boolean): Factor;
  /** Σ_j |J_ij| w_j of the Jacobian last factored; false where it is not at hand (matrix-free). */
  scaleRows(weights: Float64Array, scale: Float64Array): boolean;
  /** |R(perturbed data) − R| by rows, for a relative perturbation of one unit roundoff: the rounding in R. */
  measureNoise(noise: Float64Array): void;
  /** Unit roundoff of the arithmetic in use. */
  readonly epsilon: number;
}

export type NewtonStatus = 'converged' | 'newton-diverged' | 'singular' | 'not-finite';

/** Sums over a run; the statistics report them. */
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
 * A correction that shrinks less than this from one iteration to the next, with an old Jacobian, is
 * not worth another iteration with it: at 0.2 a chord iteration still gains 0.7 digits for the cost
 * of one residual and solve, about a third of what a new factorization costs.
 */
const worthwhileContraction = 0.2;

/** A correction no smaller than this share of the last one, with a new Jacobian, is stagnation: full
 * Newton near a root squares its error, so one that does not halve is at the level of rounding or lost. */
const stagnation = 0.5;

/** The measured rounding of one perturbation underestimates that of a whole evaluation by a few; 32 covers
 * sums of some hundred terms, and is still far below any residual of consequence. */
const noiseFactor = 32;

export class NewtonIteration {
  readonly history: number[] = [];
  /** The reason of the last failure, where an error stands behind it. */
  cause: StiffgradError | undefined;
  private readonly delta: Float64Array;
  private readonly test: Float64Array;
  private readonly base: Float64Array;
  private readonly weights: Float64Array;
  private readonly rowScale: Float64Array;
  private readonly noise: Float64Array;
  private factored: Factor | undefined;
  private readonly trial: Trial;

  constructor(private readonly options: Newton, private readonly system: NonlinearSystem, private readonly counters: NewtonCounters, private readonly direct: boolean) {
    const n = system.z.length;
    this.delta = new Float64Array(n);
    this.test = new Float64Array(n);
    this.base = new Float64Array(n);
    this.weights = new Float64Array(n);
    this.rowScale = new Float64Array(n);
    this.noise = new Float64Array(n);
    this.trial = (s: number): number => {
      const {base, delta} = this;
      const {z} = system;
      for (let i = 0; i < n; i++) z[i] = base[i] - s * delta[i];
      this.evaluateResidual();
      const merit = this.merit();
      return Number.isFinite(merit) ? merit : Infinity;
    };
  }

  /** Drops the kept factor: the step length or the problem has changed. */
  forget(): void {
    this.factored = undefined;
  }

  /**
   * From the guess in z to the root in z. A linear problem takes one iteration and its test.
   * @param linearized the first iteration belongs to the guess and is not counted
   */
  find(linearized: boolean, observe?: IterationObserver): NewtonStatus {
    this.history.length = 0;
    this.cause = undefined;
    try {
      return this.iterate(linearized, observe);
    } catch (error) {
      // A failed factorization or linear solve is a result of the iteration, with its reason kept.
      if (!(error instanceof StiffgradError)) throw error;
      this.cause = error;
      this.factored = undefined;
      if (error instanceof SingularMatrixError) return 'singular';
      return error.code === 'not-finite' ? 'not-finite' : 'newton-diverged';
    }
  }

  private iterate(linearized: boolean, observe?: IterationObserver): NewtonStatus {
    const {options, system, counters, delta, test} = this;
    const {z, residual} = system;
    const special = system.evaluateFirstResidual !== undefined;
    if (options.jacobian !== 'auto' || special) this.factored = undefined;
    if (system.evaluateFirstResidual !== undefined) {
      system.evaluateFirstResidual();
      counters.residualEvaluations++;
    } else {
      this.evaluateResidual();
    }
    let fresh = false;
    let haveTest = false;
    let lastSize = Infinity;
    const budget = options.iterations ?? options.maxIterations;
    for (let k = 0, done = 0; done < budget; k++) {
      const first = k === 0 && special;
      this.history.push(Math.sqrt(2 * this.merit()));
      if (!allFinite(residual)) return 'not-finite';
      let factor = this.factored;
      if (factor === undefined) {
        factor = this.refactor(first);
        fresh = true;
        haveTest = false;
      }
      if (haveTest) delta.set(test);
      else this.solve(factor, residual, delta);
      const size = this.scaledSize(delta);
      const length = this.advance(first, observe);
      if (!(first && linearized)) {
        counters.newtonIterations++;
        done++;
      }
      if (length === 0) return this.atRoundoff() ? 'converged' : 'newton-diverged';
      if (done === options.iterations) return allFinite(z) ? 'converged' : 'not-finite';
      if (first) this.evaluateResidual();
      if (!allFinite(residual)) return 'not-finite';

      // The next correction, estimated with the factor at hand, is the error left in z.
      const quick = this.direct && (options.iterations === undefined || options.jacobian !== 'fresh');
      if (quick) this.solve(factor, residual, test);
      const left = quick ? this.scaledSize(test) : size;
      const small = this.scaledResidual() <= 1;
      if (options.iterations === undefined && !first && left <= 1 && small) {
        if (quick) for (let i = 0; i < z.length; i++) z[i] -= test[i];
        return 'converged';
      }
      const contraction = left / size;
      if (options.iterations === undefined && k > 0 && fresh && left > stagnation * lastSize && this.atRoundoff()) return 'converged';
      lastSize = left;
      // Keep the Jacobian, or take a new one at the new z.
      const keep = options.jacobian === 'chord' || (options.jacobian === 'auto' && contraction <= worthwhileContraction);
      haveTest = quick && keep;
      fresh = !keep;
      if (!keep) this.factored = undefined;
    }
    if (options.iterations !== undefined) return 'converged';
    return this.atRoundoff() ? 'converged' : 'newton-diverged';
  }

  /** z − sΔ with the strategy's s. The first correction from a chosen force has no residual to compare with: it is taken whole. */
  private advance(first: boolean, observe?: IterationObserver): number {
    const {options, system, delta, base} = this;
    const {z} = system;
    base.set(z);
    let length = 1;
    if (first || (options.step.name === 'full' && options.iterations === 1)) {
      for (let i = 0; i < z.length; i++) z[i] -= delta[i];
    } else {
      const size = norm(delta);
      if (size === 0) this.trial(0);
      else length = options.step.choose(this.trial, this.merit(), size, Math.max(norm(base), z.length), smallestLength(base, delta, system.epsilon));
    }
    observe?.(base, delta, length, first);
    return length;
  }

  private refactor(first: boolean): Factor {
    const {system, counters, options} = this;
    const factor = system.factor(first);
    counters.jacobianEvaluations++;
    counters.factorizations++;
    this.factored = factor;
    const {absolute, relative} = options.tolerance;
    // A tolerance below the arithmetic's own roundoff cannot be met.
    const share = Math.max(relative, 4 * system.epsilon);
    for (let i = 0; i < this.weights.length; i++) this.weights[i] = absolute + share * Math.abs(system.z[i]);
    if (!system.scaleRows(this.weights, this.rowScale)) this.rowScale.fill(this.plainScale(share));
    return factor;
  }

  /** Without the matrix: a residual below the tolerance's share of the first one. */
  private plainScale(share: number): number {
    return Math.max(this.history[0] * share, this.options.tolerance.absolute * share);
  }

  private solve(factor: Factor, b: Float64Array, x: Float64Array): void {
    factor.solve(b, x);
    this.counters.linearIterations += factor.linearIterations;
  }

  private evaluateResidual(): void {
    this.system.evaluateResidual();
    this.counters.residualEvaluations++;
  }

  private merit(): number {
    const {residual} = this.system;
    let sum = 0;
    for (let i = 0; i < residual.length; i++) sum += residual[i] * residual[i];
    return sum / 2;
  }

  /** The largest component of a correction in units of the tolerance, with z as it is now. */
  private scaledSize(delta: Float64Array): number {
    let worst = 0;
    for (let i = 0; i < delta.length; i++) {
      const scaled = Math.abs(delta[i]) / this.weights[i];
      if (!(scaled <= worst)) worst = scaled;
    }
    return worst;
  }

  private scaledResidual(): number {
    const {residual} = this.system;
    let worst = 0;
    for (let i = 0; i < residual.length; i++) {
      const scaled = residual[i] === 0 ? 0 : Math.abs(residual[i]) / this.rowScale[i];
      if (!(scaled <= worst)) worst = scaled;
    }
    return worst;
  }

  /** The residual is no larger than the rounding in it. */
  private atRoundoff(): boolean {
    const {system, noise, counters} = this;
    if (!allFinite(system.residual)) return false;
    system.measureNoise(noise);
    counters.residualEvaluations += 2;
    let floor = 0;
    let worst = 0;
    for (let i = 0; i < noise.length; i++) {
      const scale = this.rowScale[i] > 0 ? this.rowScale[i] : 1;
      floor = Math.max(floor, noise[i] / scale);
      worst = Math.max(worst, Math.abs(system.residual[i]) / scale);
    }
    return worst <= noiseFactor * floor;
  }

  /** Rows with the largest scaled residual, worst first. */
  worstRows(count: number): {row: number; residual: number; scaled: number}[] {
    const {residual} = this.system;
    return Array.from(residual, (value, row) => ({row, residual: value, scaled: Math.abs(value) / (this.rowScale[row] || 1)}))
      .sort((a, b) => (Number.isNaN(b.scaled) ? Infinity : b.scaled) - (Number.isNaN(a.scaled) ? Infinity : a.scaled))
      .slice(0, count);
  }
}

/** The s below which z − sΔ is z. */
function smallestLength(z: Float64Array, delta: Float64Array, epsilon: number): number {
  let largest = 0;
  for (let i = 0; i < z.length; i++) largest = Math.max(largest, Math.abs(delta[i]) / Math.max(Math.abs(z[i]), 1e-12));
  return largest === 0 ? 1 : epsilon / largest;
}

function allFinite(x: Float64Array): boolean {
  for (let i = 0; i < x.length; i++) if (!Number.isFinite(x[i])) return false;
  return true;
}

function norm(x: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * x[i];
  return Math.sqrt(sum);
}
