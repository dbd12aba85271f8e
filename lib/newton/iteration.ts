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
import type {Factor} from '../linear/index.js';
import {dot} from '../linear/index.js';
import {interpret} from '../routine/interpret.js';
import {VectorParts, valuePart} from '../routine/parts.js';
import type {Part, Value} from '../routine/routine.js';
import {element, RoutineBuilder} from '../routine/routine.js';
import {linearFailure} from './failure.js';
import {nextForcing} from './forcing.js';
import {norm, smallestLength} from './norms.js';
import type {Newton} from './options.js';
import {MatrixChoice, searchByWork} from './descent.js';
import type {NonlinearSystem, SearchText, workVectors} from './system.js';
import type {Parts, Settings} from './iteration-text.js';
import {frameSize, IterationText, newtonStatuses, places, roomForNorms} from './iteration-text.js';
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

/**
 * Sets what a search begins with: iterations on one executable share the array.
 * @param keepsFactor a factor of an earlier search is at hand
 */
export function beginSearch(
  frame: Float64Array,
  {isChecked}: Pick<NonlinearSystem, 'isChecked'>,
  keepsFactor: boolean,
): void {
  frame[places.factored] = keepsFactor ? 1 : 0;
  frame[places.direct] = isChecked === true ? 1 : 0;
}

/** Adds what searches did to the counters. */
export function countSearch(frame: Float64Array, counters: NewtonCounters): void {
  counters.newtonIterations += frame[places.iterations];
  counters.residualEvaluations += frame[places.residuals];
  counters.jacobianEvaluations += frame[places.factorizations];
  counters.factorizations += frame[places.factorizations];
  frame.fill(0, places.iterations, places.factorizations + 1);
}

/** The iteration whose functions in JavaScript a text calls. */
export interface Host {
  readonly iteration: NewtonIteration;
}

export class NewtonIteration {
  /** The error that caused the last failure, if there was one. */
  cause: StiffgradError | undefined;
  private readonly delta: Float64Array;
  /** Estimate of the next correction, by the present factor. */
  private readonly next: Float64Array;
  private readonly base: Float64Array;
  private readonly tolerances: Tolerances;
  private readonly frame: Float64Array;
  private readonly norms: Float64Array;
  private readonly moreNorms: number[] = [];
  private factored: Factor | undefined;
  /** ‖R‖₂ of the residual that the last correction was forced at. */
  private forcedAt = 0;
  private readonly choice: MatrixChoice;
  private readonly vectors: Vectors;
  private readonly jacobian: 'fresh' | 'chord' | 'auto';
  private text: SearchText | undefined;

  /**
   * @param linearized the first iteration belongs to the guess and is not counted
   * @param observe told of every iteration; the last correction is then a full iteration too, so that
   *   what is told is all that was done
   */
  constructor(
    private readonly options: Newton,
    private readonly system: NonlinearSystem,
    private readonly counters: NewtonCounters,
    private readonly linearized = false,
    private readonly observe?: IterationObserver,
  ) {
    const n = system.z.length;
    const {compiled} = system;
    this.vectors = compiled?.vectors ?? plainVectors;
    this.jacobian = jacobiansOf(options, system);
    const work = (name: (typeof workVectors)[number]): Float64Array => compiled?.work(name) ?? new Float64Array(n);
    this.delta = work('delta');
    this.next = work('nextDelta');
    this.base = work('base');
    this.frame = compiled?.frame ?? new Float64Array(frameSize);
    this.norms = this.frame.subarray(places.recorded + 1);
    const flags = {frame: this.frame, scaled: places.scaled, floored: places.floored};
    const vectors = {weights: work('weights'), rowScale: work('rowScale'), extents: work('extents')};
    this.tolerances = new Tolerances(system, options.tolerance, this.vectors, vectors, flags, () => this.evaluate());
    this.choice = new MatrixChoice(system.modelled, system.matrixFree);
  }

  /** ‖R‖₂ at the start of every iteration of the last search. */
  get history(): number[] {
    const {frame, norms, moreNorms} = this;
    const recorded = frame[places.recorded];
    return [...norms.subarray(0, recorded), ...(recorded > norms.length ? moreNorms : [])];
  }

  /** Norms for which the array has no room. */
  private note(iteration: number, norm: number): void {
    if (iteration === roomForNorms) this.moreNorms.length = 0;
    this.moreNorms.push(norm);
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

  /** From the guess in z to the root in z. A linear problem takes one iteration and its test. */
  find(): NewtonStatus {
    const text = (this.text ??= this.ownText());
    text.host.iteration = this;
    return newtonStatuses[this.run(text.search)];
  }

  private ownText(): SearchText {
    const {texts = new Map<string, SearchText>()} = this.system;
    const key = JSON.stringify(this.settings);
    let text = texts.get(key);
    if (text === undefined) {
      const [b, host] = [new RoutineBuilder(), {iteration: this as NewtonIteration}];
      b.return(this.write(b, host));
      texts.set(key, (text = {host, search: interpret(b.routine)}));
    }
    return text;
  }

  /** Runs a routine that contains the text. @returns what it returns, or the number of a status where a factorization or a solve failed */
  run(search: () => number): number {
    const {frame} = this;
    this.cause = undefined;
    beginSearch(frame, this.system, this.factored !== undefined);
    try {
      const found = search();
      if (frame[places.factored] === 0) this.factored = undefined;
      return found;
    } catch (error) {
      return this.failedBy(error);
    } finally {
      countSearch(frame, this.counters);
    }
  }

  /** The number of the status of a search that a factorization or a solve ended. @throws any other error */
  failedBy(error: unknown): number {
    const {status, cause} = linearFailure(error);
    this.cause = cause;
    this.forget();
    return newtonStatuses.indexOf(status);
  }

  /**
   * Writes the search from the guess in z to the root in z.
   * @param host whose functions in JavaScript it calls: a text outlives an iteration, and serves others on the same arrays
   * @returns a variable with the number of its status
   */
  write(b: RoutineBuilder, host: Host = {iteration: this}): Value {
    return new IterationText(b, this.parts(host), this.settings).search();
  }

  /** What its text depends on beside its programs. */
  get settings(): Settings {
    const {options, system} = this;
    return {
      budget: options.iterations ?? options.maxIterations,
      truncated: options.iterations !== undefined,
      jacobian: this.jacobian,
      damped: options.step.name !== 'full',
      forced: options.forcing !== undefined,
      special: system.evaluateFirstResidual !== undefined,
      linearized: this.linearized,
      modelled: system.modelled,
      matrixFree: system.matrixFree,
      floors: options.tolerance.absolute === 0 && system.writeExtents !== undefined,
      epsilon: system.epsilon,
      observed: this.observe !== undefined,
      ...this.tolerances.unit,
    };
  }

  private parts(host: Host): Parts {
    const {system, vectors, frame, delta, next, base} = this;
    const {z, residual, direct} = system;
    const {weights, rowScale, extents} = this.tolerances.arrays;
    const all = new VectorParts(vectors, () => system.compiled?.kernels());
    const flag = (run: () => boolean): Part => valuePart(() => (run() ? 1 : 0));
    const factor: Part = {run: first => host.iteration.refactor(first === 1)};
    const scaleRows: Part = {run: (size, first) => host.iteration.tolerances.scaleRows(size, first)};
    const [solveDelta, solveNext] = [delta, next].map((x): Part => ({run: () => host.iteration.solve(x)}));
    const [tries, general] = [element(frame, places.direct), element(frame, places.general)];
    const count = element(frame, places.factorizations);
    const inline = this.isStraight ? direct?.(tries, general, count) : undefined;
    return {
      frame,
      residual: system.residualPart ?? {run: () => system.evaluateResidual()},
      firstResidual: {run: () => system.evaluateFirstResidual?.()},
      factor: inline?.factor(factor) ?? factor,
      solveDelta: inline?.solve(solveDelta, delta) ?? solveDelta,
      solveNext: inline?.solve(solveNext, next) ?? solveNext,
      norm: valuePart(() => norm(vectors, residual)),
      sumOfSquares: all.sumOfSquares(residual),
      largestResidual: all.largest(residual),
      largestUnknown: all.largest(z),
      weigh: all.weigh(weights, z, base, delta),
      addFloors: all.advance(weights, weights, extents),
      writeExtents: b => system.writeExtents?.(b, extents, () => host.iteration.system),
      shareOfDelta: all.largestRatio(delta, weights),
      shareOfNext: all.largestRatio(next, weights),
      scaledResidual: all.largestRatio(residual, rowScale),
      depart: all.depart(z, base, delta),
      takeNext: all.advance(z, z, next),
      retreat: all.copy(z, base),
      handOn: all.copy(delta, next),
      scaleRows: inline?.scaleRows(scaleRows, weights, rowScale) ?? scaleRows,
      withoutScale: {run: () => host.iteration.tolerances.withoutScale()},
      isDeltaRounding: flag(() => host.iteration.isRounding(delta)),
      isNextRounding: flag(() => host.iteration.isRounding(next)),
      restart: {run: () => host.iteration.restart()},
      step: valuePart((first, last) => host.iteration.step(first === 1, last === 1)),
      observe: {run: (first, length) => host.iteration.observe?.(base, delta, length, first === 1)},
      note: {run: (iteration, distance) => host.iteration.note(iteration, distance)},
      goesDown: flag(() => host.iteration.goesDown()),
      approached: flag(() => host.iteration.approached()),
      failed: flag(() => host.iteration.failed()),
    };
  }

  /** Whether nothing is decided between a residual and the size of the correction after the next. */
  private get isStraight(): boolean {
    return isStraight(this.options, this.system) && this.observe === undefined;
  }

  private choose(decide: () => boolean): boolean {
    const decided = decide();
    this.frame[places.model] = this.choice.model ? 1 : 0;
    return decided;
  }

  private goesDown(): boolean {
    return this.choose(() => this.choice.goesDown(dot(this.delta, this.system.residual)));
  }

  private approached(): boolean {
    const {choice, vectors, next, tolerances} = this;
    return this.choose(() => choice.approached(vectors.largest(next) / tolerances.extent()));
  }

  private failed(): boolean {
    return this.choose(() => this.choice.failed());
  }

  private isRounding(correction: Float64Array): boolean {
    this.frame[places.measured] = 1;
    return this.tolerances.atRoundoff(correction);
  }

  /** For another residual. */
  private restart(): void {
    this.forcedAt = 0;
    this.frame[places.eta] = 0;
    this.choice.restart();
    this.choose(() => true);
    this.tolerances.forgetNoise();
    this.frame[places.measured] = 0;
  }

  /**
   * z − sΔ with the strategy's s. Taken whole are a correction from a chosen force, which no residual can
   * be compared with; one within the tolerance, where a search would only find rounding; and one that is
   * not finite, so that it is seen in the residual.
   */
  private step(first: boolean, last: boolean): number {
    const {options, system, delta, base, vectors} = this;
    const {z, epsilon} = system;
    const size = first ? NaN : norm(vectors, delta);
    if (!first) vectors.copy(base, z);
    if (!(size < Infinity) || this.tolerances.weigh(base, delta) <= 1) {
      vectors.depart(z, base, delta);
      if (!last) this.evaluate();
      return 1;
    }
    const smallest = smallestLength(base, delta, epsilon);
    if (this.choice.model) return searchByWork(s => this.work(s), smallest);
    // The merit ½‖R‖² in units of the iteration's first, which keeps it from overflow.
    const scale = Math.max(norm(vectors, base), z.length);
    return options.step.choose(s => this.trial(s), 0.5, size, scale, smallest);
  }

  private work(s: number): number {
    this.go(s);
    return dot(this.delta, this.system.residual) / this.choice.work;
  }

  private trial(s: number): number {
    this.go(s);
    const share = this.frame[places.distance] / this.frame[places.began];
    return Number.isFinite(share) ? (share * share) / 2 : Infinity;
  }

  /** To z − sΔ from where the iteration began. */
  private go(s: number): void {
    this.vectors.advance(this.system.z, this.base, this.delta, s);
    this.evaluate();
  }

  private evaluate(): void {
    const {system, vectors, frame} = this;
    system.evaluateResidual();
    frame[places.residuals]++;
    frame[places.distance] = norm(vectors, system.residual);
  }

  private refactor(first: boolean): void {
    const {system, frame} = this;
    this.factored = undefined;
    const factor = system.factor(first, this.choice.model);
    if ((!system.matrixFree || first) && system.wasKept !== true) frame[places.factorizations]++;
    this.factored = factor;
    frame[places.general] = 1;
    frame[places.direct] = system.isChecked === true ? 1 : 0;
  }

  /** η of the coming solve, by Newton's own progress; the linear solver's tolerance where nothing is forced. */
  private force(factor: Factor): void {
    const {
      options: {forcing},
      frame,
    } = this;
    if (forcing === undefined || factor.relax === undefined) return;
    const size = frame[places.distance];
    const eta = this.forcedAt === 0 ? forcing.first : nextForcing(forcing, size / this.forcedAt, frame[places.eta]);
    this.forcedAt = size;
    frame[places.eta] = eta;
    factor.relax(eta);
  }

  private solve(x: Float64Array): void {
    const {factored} = this;
    if (factored === undefined) throw new Error('there is no factor to solve with');
    this.force(factored);
    factored.solve(this.system.residual, x);
    this.counters.linearIterations += factored.linearIterations;
  }

  /** Rows with the largest scaled residual, worst first; those that are not finite before all others. */
  worstRows(count: number): {row: number; residual: number; scaled: number}[] {
    return this.tolerances.worstRows(count);
  }
}
