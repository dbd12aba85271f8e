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
import type {Condition, Local, Part, Value, Variable} from '../routine/routine.js';
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
  RoutineBuilder,
  sqrt,
  sub,
} from '../routine/routine.js';
import {linearFailure} from './failure.js';
import {nextForcing} from './forcing.js';
import {norm, smallestLength, smallestSquare} from './norms.js';
import type {Newton} from './options.js';
import {MatrixChoice, searchByWork} from './descent.js';
import type {NonlinearSystem, SearchText, workVectors} from './system.js';
import {roundings, Tolerances} from './tolerances.js';

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

/** What the text of the iteration and its functions in JavaScript share: places in one array. */
const places = {
  /** Iterations, evaluations of the residual, and factorizations since the last count. */
  iterations: 0,
  residuals: 1,
  factorizations: 2,
  /** There is a factor to solve with. */
  factored: 3,
  /** ‖R‖₂ of the present residual, and where the iteration began. */
  distance: 4,
  began: 5,
  /** Corrections are made with the model of the Jacobian. */
  model: 6,
  /** Share of the last residual that its correction may have left, by forcing; 0 where none is forced. */
  eta: 7,
  /** The scales of rows are known; roundings are part of the tolerances; the noise has been measured. */
  scaled: 8,
  floored: 9,
  measured: 10,
  /** Whether a compiled factor may be tried, once the Jacobian has been checked; the present factor is one in JavaScript. */
  direct: 11,
  general: 12,
  /** Iterations begun in this search, of which the first norms follow. */
  recorded: 13,
} as const;

/** Norms of the residual that are told when an iteration fails: more say nothing more. */
const toldNorms = 60;

/** Numbers in the array that an iteration shares with its text. */
export const frameSize = places.recorded + 1 + toldNorms;

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

/** The results of a search, by number. */
export const newtonStatuses = ['converged', 'newton-diverged', 'singular', 'not-finite'] as const;
const [converged, diverged, , notFinite] = [0, 1, 2, 3];

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

  /** ‖R‖₂ at the start of the first iterations of the last search. */
  get history(): number[] {
    return Array.from(this.norms.subarray(0, this.frame[places.recorded]));
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
    const {texts} = this.system;
    const key = texts && JSON.stringify(this.settings);
    let text = key && texts?.get(key);
    if (text === undefined || text === '') {
      const [b, host] = [new RoutineBuilder(), {iteration: this as NewtonIteration}];
      b.return(this.write(b, host));
      text = {host, search: interpret(b.routine)};
      if (key !== undefined) texts?.set(key, text);
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

/** The iteration whose functions in JavaScript a text calls. */
export interface Host {
  readonly iteration: NewtonIteration;
}

/** What a search depends on and knows before it runs. */
interface Settings {
  readonly budget: number;
  readonly truncated: boolean;
  readonly jacobian: 'fresh' | 'chord' | 'auto';
  readonly damped: boolean;
  readonly forced: boolean;
  /** The first residual is one of its own: it says nothing of convergence. */
  readonly special: boolean;
  readonly linearized: boolean;
  readonly modelled: boolean;
  readonly matrixFree: boolean;
  /** Roundings become part of the tolerances where these are not met without. */
  readonly floors: boolean;
  readonly epsilon: number;
  readonly observed: boolean;
  readonly absolute: number;
  readonly relative: number;
}

/** What the text calls; `frame` is the array of `places`. */
interface Parts {
  readonly frame: Float64Array;
  readonly residual: Part;
  readonly firstResidual: Part;
  /** Of (first). */
  readonly factor: Part;
  readonly solveDelta: Part;
  readonly solveNext: Part;
  readonly norm: Part;
  readonly sumOfSquares: Part;
  readonly largestResidual: Part;
  readonly largestUnknown: Part;
  /** Of (absolute, relative). */
  readonly weigh: Part;
  /** Of (s): adds −s of what unknowns are computed from to the tolerances. */
  readonly addFloors: Part;
  writeExtents(b: RoutineBuilder): void;
  readonly shareOfDelta: Part;
  readonly shareOfNext: Part;
  readonly scaledResidual: Part;
  readonly depart: Part;
  readonly takeNext: Part;
  readonly retreat: Part;
  readonly handOn: Part;
  /** Of (size of the correction, norm of the first residual). */
  readonly scaleRows: Part;
  readonly withoutScale: Part;
  readonly isDeltaRounding: Part;
  readonly isNextRounding: Part;
  readonly restart: Part;
  /** Of (first, last). */
  readonly step: Part;
  readonly observe: Part;
  readonly goesDown: Part;
  readonly approached: Part;
  readonly failed: Part;
}

/** Writes the search. */
class IterationText {
  private readonly status: Local;
  private readonly done: Local;
  private readonly first: Local;
  private readonly ok: Local;
  private readonly recorded: Local;
  /** ‖R‖₂ of the present residual; in the array where functions in JavaScript read it or change it. */
  private readonly distance: Variable;
  /** Every iteration has a factor of its own, which is that of the Jacobian where it begins. */
  private readonly renews: boolean;
  /** Flags: the factor is that of the Jacobian at the present z; `delta` is already the correction of the next iteration. */
  private readonly flags = {} as {fresh?: Local; ready?: Local};
  /** The length of the step taken: a damped one's, or 1. */
  private readonly length: Value;
  /** The largest share of the correction in its tolerances, of the next one, the rate of the two, and the rate before. */
  private readonly size: Local;
  private readonly left: Local;
  private readonly rate: Local;
  private readonly lastRate: Local;
  private readonly at: {readonly [place in keyof typeof places]: Variable};

  constructor(
    private readonly b: RoutineBuilder,
    private readonly parts: Parts,
    private readonly settings: Settings,
  ) {
    [this.status, this.done, this.first, this.ok] = Array.from({length: 4}, () => b.local());
    this.renews = settings.jacobian === 'fresh' && !settings.matrixFree;
    if (!this.renews) [this.flags.fresh, this.flags.ready] = [b.local(), b.local()];
    [this.size, this.left, this.rate, this.lastRate] = Array.from({length: 4}, () => b.local());
    this.length = settings.damped ? b.local() : 1;
    this.recorded = b.local();
    this.at = Object.fromEntries(
      Object.entries(places).map(([name, place]) => [name, element(parts.frame, place)]),
    ) as unknown as typeof this.at;
    this.distance = settings.damped || settings.forced ? this.at.distance : b.local();
  }

  private get isFresh(): Condition {
    const {fresh} = this.flags;
    return fresh === undefined ? true : isSet(fresh);
  }

  private setFlags(ready: number, fresh?: number): void {
    const {b, flags} = this;
    if (flags.ready !== undefined) b.set(flags.ready, ready);
    if (flags.fresh !== undefined && fresh !== undefined) b.set(flags.fresh, fresh);
  }

  search(): Value {
    const {b, at, parts, settings, done, first, recorded} = this;
    const {truncated, special, modelled, linearized, damped, budget} = settings;
    this.begin();
    b.loop(() => {
      b.if(atLeast(done, budget), () => this.end(truncated ? converged : diverged));
      if (damped) b.set(at.began, this.distance);
      b.if(less(recorded, toldNorms), () => {
        b.set(element(parts.frame, add(recorded, places.recorded + 1)), this.distance);
        b.increment(recorded);
        b.set(at.recorded, recorded);
      });
      b.unless(less(this.distance, Infinity), () => this.end(notFinite));
      if (!truncated) b.if(and(equal(this.distance, 0), special ? not(isSet(first)) : true), () => this.end(converged));
      const {ready} = this.flags;
      b.unless(ready === undefined ? false : isSet(at.factored), () => this.factor(special ? first : 0));
      b.unless(ready === undefined ? false : isSet(ready), () => b.call(parts.solveDelta));
      if (modelled)
        b.unless(isSet(b.result(parts.goesDown)), () => {
          this.factor(first);
          b.call(parts.solveDelta);
          b.call(parts.goesDown);
        });
      b.unless(special && linearized ? isSet(first) : false, () => {
        b.increment(at.iterations);
        b.increment(done);
      });
      this.move();
      if (special) b.set(first, 0);
      if (truncated) this.endTruncated();
      this.leaveWhatIsNotFinite();
      this.compare();
      this.decide();
    });
    return this.status;
  }

  private begin(): void {
    const {b, at, parts, settings} = this;
    const {special, jacobian, modelled, forced} = settings;
    b.set(this.status, converged);
    b.set(this.done, 0);
    b.set(this.first, special ? 1 : 0);
    for (const variable of [this.lastRate, this.recorded, at.scaled, at.floored]) b.set(variable, 0);
    this.setFlags(0, 0);
    if (jacobian !== 'auto' || special) b.set(at.factored, 0);
    b.if(modelled || forced ? true : isSet(at.measured), () => b.call(parts.restart));
    if (special) {
      b.call(parts.firstResidual);
      b.increment(at.residuals);
      b.call(parts.norm, [], this.distance);
    } else {
      this.evaluate();
    }
  }

  private end(status: number): void {
    this.b.set(this.status, status);
    this.b.break();
  }

  /** Squares that have lost digits, or that overflow, are taken again in JavaScript. */
  private evaluate(): void {
    const {b, at, parts} = this;
    b.call(parts.residual);
    b.increment(at.residuals);
    const square = b.result(parts.sumOfSquares);
    const isPlain = and(greater(square, smallestSquare), less(square, Infinity));
    b.if(
      isPlain,
      () => b.set(this.distance, sqrt(square)),
      () => b.call(parts.norm, [], this.distance),
    );
  }

  private factor(first: Value): void {
    const {b, at, parts} = this;
    if (!this.renews) b.set(at.factored, 0);
    b.call(parts.factor, [first]);
    if (this.renews) return;
    b.set(at.factored, 1);
    if (this.flags.fresh !== undefined) b.set(this.flags.fresh, 1);
  }

  private move(): void {
    const {b, parts, settings, done, first} = this;
    const {damped, truncated, budget, observed} = settings;
    const isLast: Condition = truncated ? atLeast(done, budget) : false;
    if (damped) {
      b.call(parts.step, [first, asFlag(isLast)], this.length as Local);
    } else {
      b.call(parts.depart);
      b.unless(isLast, () => this.evaluate());
    }
    if (observed) b.call(parts.observe, [first, this.length]);
  }

  private endTruncated(): void {
    const {b, parts, done, settings} = this;
    b.if(atLeast(done, settings.budget), () => {
      const isFinite = less(b.result(parts.largestUnknown), Infinity);
      b.set(this.status, choose(isFinite, converged, notFinite));
      b.break();
    });
  }

  private leaveWhatIsNotFinite(): void {
    const {b, parts, settings} = this;
    const {truncated, modelled, damped} = settings;
    const stands: Condition = damped ? equal(this.length, 0) : false;
    b.if(or(stands, not(less(this.distance, Infinity))), () => {
      const mayOverflow = b.local(0);
      b.unless(stands, () => b.call(parts.largestResidual, [], mayOverflow));
      b.if(or(stands, not(less(mayOverflow, Infinity))), () => {
        this.weigh();
        b.call(parts.withoutScale);
        if (damped)
          b.if(stands, () => {
            if (truncated) this.end(converged);
            else b.if(isSet(b.result(parts.isDeltaRounding)), () => this.end(converged));
          });
        b.if(this.isFresh, () => {
          const leave = (): void => {
            b.set(this.status, choose(stands, diverged, notFinite));
            b.break();
          };
          if (modelled) b.unless(isSet(b.result(parts.failed)), leave);
          else leave();
        });
        this.retreat();
      });
    });
  }

  /** An old factor led astray: back to where the iteration began, for a new one there. */
  private retreat(): void {
    const {b, parts} = this;
    b.call(parts.retreat);
    this.evaluate();
    this.discard();
    b.continue();
  }

  private discard(): void {
    const {b, at} = this;
    if (this.renews) return;
    b.set(at.factored, 0);
    this.setFlags(0);
  }

  private weigh(): void {
    const {b, at, parts, settings} = this;
    b.call(parts.weigh, [settings.absolute, settings.relative], this.size);
    if (settings.floors)
      b.if(isSet(at.floored), () => {
        b.call(parts.addFloors, [-roundings * settings.epsilon]);
        b.call(parts.shareOfDelta, [], this.size);
      });
  }

  /** The correction that was taken beside the next one, by the factor at hand. */
  private compare(): void {
    const {b, parts, settings} = this;
    const {truncated, jacobian, matrixFree} = settings;
    if (truncated && jacobian === 'fresh') {
      this.discard();
      b.continue();
      return;
    }
    this.weigh();
    if (truncated) this.scaleRows();
    if (matrixFree && jacobian === 'fresh') this.factor(0);
    b.call(parts.solveNext);
    this.observeRate();
  }

  private observeRate(): void {
    const {b, parts, settings} = this;
    b.call(parts.shareOfNext, [], this.left);
    const ratio = choose(equal(this.left, 0), 0, div(this.left, this.size));
    // Of a damped step the rate is not known: as if it halved. A chosen force can only make it look worse.
    b.set(this.rate, settings.damped ? choose(less(this.length, 1), stagnation, ratio) : ratio);
  }

  private scaleRows(): void {
    const {b, at, parts} = this;
    b.unless(isSet(at.scaled), () => {
      b.call(parts.scaleRows, [this.size, element(parts.frame, places.recorded + 1)]);
      b.set(at.scaled, 1);
    });
  }

  private decide(): void {
    const {b, at, parts, settings, ok} = this;
    const {truncated, floors, modelled, damped, jacobian, matrixFree} = settings;
    const isWhole: Condition = damped ? equal(this.length, 1) : true;
    if (!truncated) {
      this.judge();
      if (floors)
        b.if(and(not(isSet(ok)), not(isSet(at.floored))), () => {
          parts.writeExtents(b);
          b.set(at.floored, 1);
          b.set(at.scaled, 0);
          this.weigh();
          this.observeRate();
          this.judge();
        });
      b.if(isSet(ok), () => {
        this.takeLast();
        this.end(converged);
      });
      // A stalled line search may have reached rounding level.
      const stalled: Condition = damped
        ? and(less(this.length, 1), greater(this.distance, mul(stagnation, at.began)))
        : false;
      const slow = greater(this.rate, stagnation);
      b.if(and(this.isFresh, or(slow, stalled)), () =>
        b.if(isSet(b.result(parts.isNextRounding)), () => this.end(converged)),
      );
      b.if(and(not(this.isFresh), atLeast(this.rate, 1)), () => this.retreat());
      if (modelled) b.if(slow, () => b.if(isSet(b.result(parts.failed)), () => this.retreat()));
    }
    if (modelled)
      b.if(isWhole, () =>
        b.if(isSet(b.result(parts.approached)), () => {
          this.discard();
          b.continue();
        }),
      );
    if (matrixFree && jacobian === 'fresh') return this.handOn(1);
    if (jacobian === 'fresh') return this.discard();
    // Is the factor good for another iteration?
    let error: Value = this.left;
    for (let i = 0; i < patience; i++) error = mul(error, this.rate);
    const lasts = atMost(error, 1);
    const keeps = and(isWhole, atMost(this.rate, stagnation), jacobian === 'chord' ? true : lasts);
    b.if(
      keeps,
      () => this.handOn(0),
      () => this.discard(),
    );
  }

  /** The next correction becomes the coming one, with the factor at hand. */
  private handOn(fresh: number): void {
    const {b, parts} = this;
    b.call(parts.handOn);
    this.setFlags(1, fresh);
  }

  private takeLast(): void {
    const {b, at, parts, settings} = this;
    if (!settings.observed) return b.call(parts.takeNext, [1]);
    this.factor(0);
    b.call(parts.solveDelta);
    b.increment(at.iterations);
    if (settings.damped) b.call(parts.step, [0, 1], this.length as Local);
    else b.call(parts.depart);
    b.call(parts.observe, [0, this.length]);
  }

  /**
   * While corrections shrink, with rate Θ, the error left after the next one is at most 2Θ of it: with
   * the Jacobian at z₀ kept, errors contract by L‖z − z₀‖ ≈ L‖Δ₀‖, of which Θ = ½L‖Δ₀‖ is the first
   * observation (Newton–Kantorovich). Corrections that do not shrink must themselves be below the tolerance.
   *
   * In the first iteration the residual is J times the next correction, J the very matrix that scales it:
   * its scaled size is at most that of the correction, and the second scale has nothing to add.
   */
  private judge(): void {
    const {b, at, parts, settings, ok} = this;
    const {forced, modelled, matrixFree} = settings;
    // What the coming correction leaves of itself: by Newton's theory, and of a solve that was not exact.
    const share = b.local(forced ? add(mul(2, this.rate), at.eta) : mul(2, this.rate));
    const contracts = atMost(this.rate, stagnation);
    b.set(ok, asFlag(and(contracts, atMost(mul(share, this.left), margin))));
    const isUnscaled: Condition = matrixFree ? false : not(isSet(at.scaled));
    const byModel: Condition = modelled ? isSet(at.model) : false;
    b.unless(and(isSet(ok), isUnscaled, not(byModel)), () => {
      this.scaleRows();
      const worst = b.result(parts.scaledResidual);
      const byJacobian = (): void => {
        const isSmall = and(isSet(ok), atMost(mul(share, worst), 1));
        const isAtRest = and(not(contracts), this.isFresh, atMost(this.left, 1), atMost(worst, 1));
        b.set(ok, asFlag(or(isSmall, isAtRest)));
      };
      b.if(byModel, () => this.judgeModel(worst), byJacobian);
    });
  }

  /**
   * With a model of the Jacobian errors contract by the same factor again and again, ‖I − A⁻¹J‖, of which
   * every rate is an observation from below: corrections turn into its slowest direction by and by. By the
   * larger of the last two, the error left after the next correction is Θ + Θ² + … = Θ/(1 − Θ) of it
   * (Hairer & Wanner, Solving ODEs II, §IV.8), and never is less said than for the Jacobian itself.
   */
  private judgeModel(worst: Value): void {
    const {b, ok} = this;
    const theta = b.local(max(this.rate, this.lastRate));
    b.set(this.lastRate, this.rate);
    const share = b.local(max(mul(2, theta), div(theta, sub(1, theta))));
    const isSmall = and(atMost(mul(share, this.left), margin), atMost(mul(share, worst), 1));
    b.set(ok, asFlag(or(and(less(theta, 1), isSmall), and(not(less(theta, 1)), equal(this.left, 0)))));
  }
}
