/**
 * The text of Newton's iteration, which runs as WebAssembly and as JavaScript (lib/routine): what is decided between an
 * evaluation of the residual and the next. Rare decisions are functions of JavaScript, which it calls (iteration.ts).
 */
import type {Condition, Local, Part, RoutineBuilder, Value, Variable} from '../routine/routine.js';
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
import {smallestSquare} from './norms.js';
import {roundings} from './tolerances.js';

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

/** What the text of the iteration and its functions in JavaScript share: places in one array. */
export const places = {
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
  /** Iterations begun in this search; the norms where the first of them began follow. */
  recorded: 13,
} as const;

/** Norms of the residual that have room there, as many as the usual limit of iterations; more are noted in JavaScript. */
export const roomForNorms = 50;

/** Numbers in the array that an iteration shares with its text. */
export const frameSize = places.recorded + 1 + roomForNorms;

/** The results of a search, by number. */
export const newtonStatuses = ['converged', 'newton-diverged', 'singular', 'not-finite'] as const;
const [converged, diverged, , notFinite] = [0, 1, 2, 3];

/** What a search depends on and knows before it runs. */
export interface Settings {
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
export interface Parts {
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
  /** Of (iteration, norm where it began). */
  readonly note: Part;
  readonly goesDown: Part;
  readonly approached: Part;
  readonly failed: Part;
}

/** Writes the search. */
export class IterationText {
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
      b.if(
        less(recorded, roomForNorms),
        () => b.set(element(parts.frame, add(recorded, places.recorded + 1)), this.distance),
        () => b.call(parts.note, [recorded, this.distance]),
      );
      b.increment(recorded);
      b.set(at.recorded, recorded);
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
