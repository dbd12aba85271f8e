/** The next step of a run: along the grid, or as long as its error allows. */
import {shown} from '../../checks.js';
import {OptionError} from '../../errors.js';
import type {Failure} from '../counters.js';
import type {Grid} from '../grid.js';
import {placeOf} from '../grid.js';
import type {ControllerState, ResumeState} from '../run-state.js';
import type {RunContext} from '../run-context.js';
import type {StepControl} from '../control.js';
import type {StepSizeRule} from './step-size-rule.js';

/** The end is met by a step stretched by no more than this (Hairer & Wanner, RADAU5). */
const maxStretch = 1.01;

/** A step to try. */
export interface Proposal {
  readonly h: number;
  readonly end: number;
}

/** Controls the steps of a run: where the next one ends, and what follows one that was accepted or rejected. */
export interface RunController {
  /** The run has reached its end. */
  done(t: number): boolean;
  /** All steps that the run may take are taken, and its end is not reached. */
  readonly exhausted: boolean;
  /** undefined where the step would be too short. */
  propose(t: number): Proposal | undefined;
  /** After a step; whether its end is one that `saveAt` counts. */
  accept(h: number, error: number): boolean;
  /** After an event at t, within a step or at its end; whether that is one that `saveAt` counts. */
  interrupt(t: number): boolean;
  /** After a jump between two steps. */
  restart(): void;
  /**
   * After a step of length h from t that failed (error Infinity) or was not good enough, by its cause. The status that
   * ends the run; undefined where a shorter step is tried.
   */
  reject(t: number, h: number, error: number, cause: Failure | 'error'): Failure | undefined;
  /** A length that steps about here have. */
  readonly length: number;
  /** No step goes beyond this time. */
  stop: number;
  /** There is no step before that the next one would be like: the start, or what follows an event. */
  readonly first: boolean;
  /** What another run takes over that goes on from time t. */
  snapshot(t: number): Pick<ResumeState, 'grid' | 'pace'>;
  /** Goes on as the run did that left this. */
  restore(left: Pick<ResumeState, 'grid' | 'pace'>): void;
}

/** A difference of two times this close is their rounding. */
const timeRoundoff = 16 * Number.EPSILON;

export const minStep = (t: number): number => timeRoundoff * Math.max(Math.abs(t), Number.MIN_VALUE / timeRoundoff);

/** Whether a time has been reached at the end of a step, but for rounding. */
export const isReached = (time: number, end: number): boolean => end + minStep(end) >= time;

/** Times that steps end at, ascending, looked at as a run goes on. */
class Stops {
  /** The first of them after the time last asked for. */
  private next = 0;

  constructor(private readonly times: Float64Array) {}

  /** The first after t; Infinity where there is none. */
  after(t: number): number {
    const {times} = this;
    let {next} = this;
    if (next > 0 && times[next - 1] > t) next = 0;
    while (next < times.length && times[next] <= t) next++;
    this.next = next;
    return next < times.length ? times[next] : Infinity;
  }
}

/** Halving gives up below dt/2^10: a step that fails there fails for another reason than its length. */
const maxHalvings = 10;

/** What remains of a halved step. */
interface StepPart extends Proposal {
  readonly t: number;
  /** How often the grid's step was halved. */
  readonly depth: number;
}

export class GridController implements RunController {
  readonly length: number;
  stop = Infinity;
  readonly first = false;
  readonly exhausted = false;
  private step = 0;
  /** Parts of the grid's step that remain once it was halved, the next one last. */
  private readonly parts: StepPart[] = [];
  /** The present time is the grid's own. */
  private atGridTime = true;
  /** The step that is tried ends before the grid's does. */
  private isCut = false;
  private readonly stops: Stops;

  /** @param stops times off the grid that steps end at */
  constructor(
    private readonly grid: Grid,
    private readonly halving: boolean,
    stops: Float64Array,
  ) {
    this.length = grid.dt;
    this.stops = new Stops(stops);
  }

  /** For a run along its grid. Steps that fail are halved where Newton's options say so. */
  static of({compiled, options: {grid, newton, plan}}: RunContext): GridController {
    const stops = plan?.breaks?.stops ?? new Float64Array(0);
    return new GridController(grid, compiled.implicit && newton.onFailure === 'halve', stops);
  }

  /** The present time is that of step n, of which nothing has been taken. */
  moveTo(n: number): void {
    this.step = n;
    this.parts.length = 0;
    this.atGridTime = true;
  }

  /** The step of the grid that begins at the present time; undefined within one. */
  get gridStep(): number | undefined {
    return this.atGridTime ? this.step : undefined;
  }

  /** So many of the grid's steps were taken, from one of its times on. */
  skip(count: number): void {
    this.step += count;
  }

  /** The place on the grid; there is none between grid times, where an event may end the run. */
  snapshot(t: number): Pick<ResumeState, 'grid'> {
    const {grid, step} = this;
    return {grid: this.atGridTime && grid.time(step) === t ? placeOf(grid, step) : undefined};
  }

  restore(): void {
    // The grid of a run that goes on begins with its place (readGrid).
  }

  done(): boolean {
    return this.step >= this.grid.steps;
  }

  propose(t: number): Proposal {
    const stop = this.stopAfter(t);
    const whole = this.whole(t);
    this.isCut = stop + minStep(stop) < whole.end;
    return this.isCut ? {h: stop - t, end: stop} : whole;
  }

  /** The next time that no step goes beyond. */
  stopAfter(t: number): number {
    const {stop, stops} = this;
    const later = t + minStep(t);
    return Math.min(stop > later ? stop : Infinity, stops.after(later));
  }

  /** The step to the next time of the grid, or the part of it that comes next. */
  private whole(t: number): Proposal {
    const {grid, parts, step} = this;
    const part = parts.at(-1);
    // An event may have ended a step within the part.
    if (part !== undefined) return part.t === t ? part : {h: part.end - t, end: part.end};
    const end = grid.time(step + 1);
    return {end, h: this.atGridTime ? grid.length(step) : end - t};
  }

  accept(): boolean {
    if (this.isCut) this.atGridTime = false;
    return this.isCut ? false : this.finish();
  }

  /** A step of the grid, or a part of one, ends. */
  private finish(): boolean {
    this.parts.pop();
    this.atGridTime = this.parts.length === 0;
    if (this.atGridTime) this.step++;
    return this.atGridTime;
  }

  interrupt(t: number): boolean {
    this.atGridTime = false;
    return t < this.whole(t).end ? false : this.finish();
  }

  restart(): void {
    // Lengths are the grid's.
  }

  reject(t: number, h: number, _error: number, cause: Failure): Failure | undefined {
    if (!this.halving) return cause;
    const {end} = this.whole(t);
    const depth = (this.parts.pop()?.depth ?? 0) + 1;
    if (depth > maxHalvings) return 'step-too-small';
    const middle = t + h / 2;
    this.parts.push({t: middle, h: h / 2, end, depth}, {t, h: h / 2, end: middle, depth});
    return undefined;
  }
}

/**
 * At t = 0 rounding of the time bounds nothing. A hundred halvings of the length proposed lead here: a problem that
 * asks for so much less than its user expects is none that shorter steps solve.
 */
const minRelativeStep = Number.EPSILON ** 2;

/**
 * A noise's path is resolved to 2⁻⁴⁰ of the time (graph/primitives/brownian-path.ts): a step over which it has sixteen
 * values is the shortest.
 */
const pathResolution = 2 ** -36;

/** A step cut to less than this share of the length proposed says nothing of the next one's. */
const tellingShare = 1e-3;

export class AdaptiveController implements RunController {
  private readonly rule: StepSizeRule;
  /** See `RunController.length` and `first`. */
  length: number;
  first = true;
  stop = Infinity;
  /** With `revisits`: ends of refused steps after the present time, descending. */
  private rejectedEnds: readonly number[] = [];
  /** The end of the step last proposed. */
  private proposed = NaN;
  private taken = 0;
  private readonly stops: Stops;
  private readonly minStep: number;

  constructor(
    private readonly control: StepControl,
    power: number,
    isImplicit: boolean,
    first: number,
    private readonly end: number | undefined,
    private readonly most: number,
    stops: Float64Array,
    /** See `Plan.revisits`. */
    private readonly revisits = false,
  ) {
    this.stops = new Stops(stops);
    this.rule = control.controller.begin({power, isImplicit});
    this.length = first;
    this.minStep = Math.max(control.min, minRelativeStep * first);
  }

  snapshot(): Pick<ResumeState, 'pace'> {
    const {rejectedEnds, length, first, rule} = this;
    const pace: ControllerState = {
      next: length,
      first: first ? true : undefined,
      memory: rule.snapshot?.(),
      refused: rejectedEnds.length === 0 ? undefined : rejectedEnds,
    };
    return {pace};
  }

  restore({pace}: Pick<ResumeState, 'pace'>): void {
    if (pace === undefined) return;
    const {next, first = false, memory = {}, refused = []} = pace;
    this.length = next;
    this.first = first;
    this.rejectedEnds = refused;
    this.rule.restore?.(memory);
  }

  done(t: number): boolean {
    return this.end === undefined ? this.taken >= this.most : t >= this.end;
  }

  get exhausted(): boolean {
    return this.end !== undefined && this.taken >= this.most;
  }

  propose(t: number): Proposal | undefined {
    const {length: next} = this;
    const end = this.stopAfter(t);
    const left = end - t;
    const {revisits} = this;
    // The end is met by a step that is stretched a little, or by two equal ones in place of a long and a tiny one.
    if (next * maxStretch >= left) {
      this.proposed = end;
      return {h: left, end};
    }
    if (next < Math.max(this.minStep, minStep(t), revisits ? pathResolution * Math.abs(t) : 0)) return undefined;
    const after = t + (2 * next > left ? left / 2 : next);
    this.proposed = after;
    // The length is that of the clock's step: far from t = 0 the rounding of t + h would add up between state and time.
    return {h: after - t, end: after};
  }

  /** The next time that a step may not go beyond. */
  private stopAfter(t: number): number {
    const {stops, end = Infinity, stop} = this;
    if (this.rejectedEnds.length > 0) this.rejectedEnds = this.rejectedEnds.filter(time => time > t);
    const known = stop > t + minStep(t) ? stop : Infinity;
    return Math.min(end, stops.after(t), known, this.rejectedEnds.at(-1) ?? Infinity);
  }

  accept(h: number, error: number): boolean {
    const next = this.rule.accept(h, error);
    if (!(next > 0)) throw badLength('accept', 'a positive length', next);
    const tells = h > tellingShare * this.length;
    this.length = Math.min(tells ? next : Math.max(next, this.length), this.control.max);
    this.first = false;
    this.taken++;
    return true;
  }

  interrupt(): boolean {
    this.restart();
    this.taken++;
    return true;
  }

  restart(): void {
    this.rule.restart?.();
    this.first = true;
  }

  /**
   * With `revisits` half the step is tried: its end is where the refused one had its middle, and that one's own end
   * comes after.
   */
  reject(_t: number, h: number, error: number): undefined {
    const {revisits, rejectedEnds, proposed} = this;
    if (revisits && rejectedEnds.at(-1) !== proposed) this.rejectedEnds = [...rejectedEnds, proposed];
    const next = this.rule.reject(h, error);
    if (!(next > 0 && next < h)) throw badLength('reject', `a positive length below ${h}`, next);
    this.length = Math.min(revisits ? h / 2 : next, this.control.max);
  }
}

const badLength = (method: 'accept' | 'reject', expected: string, given: unknown): OptionError =>
  new OptionError('bad-control', `adaptive: the controller's ${method} must return ${expected}, not ${shown(given)}.`);
