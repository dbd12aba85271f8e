/**
 * The gradient of a run with events and states saved between steps. Transitions go back one by one; the
 * time τ of an event, where e(x⁻, τ; p) = 0, is a function of what came before it: with x⁻_h the
 * derivative of the step's end by its length and s = e_x x⁻_h + e_t, a cotangent τ̄ of that time and x̄ of
 * that state go back as
 *
 *     μ = (x̄·x⁻_h + τ̄)/s,    x̄ ← x̄ − μ e_xᵀ,    p̄ ← p̄ − μ e_pᵀ
 *
 * through the step at fixed length: the saltation term of equations.md §7, exact for the discrete scheme.
 * Times that are not an event's are constants: the sequence of steps counts as given.
 */
import {EventError} from '../errors.js';
import type {Executable} from '../engine/engine.js';
import {dot} from '../linear/index.js';
import type {StepContext} from '../step/context.js';
import {loadParameters, startOf} from '../step/context.js';
import {courseAdjointPrograms, coursePrograms} from '../step/history-programs.js';
import {addTo} from './add-to.js';
import type {Gradient} from './gradient.js';
import {pullStart} from './backward.js';
import {CourseBars} from './history-cotangents.js';
import type {Course, CourseBackwards, CoursePiece, Restart, Save} from './step-history.js';
import type {Watch} from './not-finite.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';
import type {ByLength, TimedStep} from './timed-step.js';
import {lengthDerivative, timedStep} from './timed-step.js';
import type {Between, Looked, PullWithin} from './within-step.js';
import {withinStep} from './within-step.js';

export const courseAdjoint = ({compiled, traced, linear}: StepContext): Executable =>
  compiled.group('courseAdjoint', () => courseAdjointPrograms(compiled.derived.step, compiled.jacobian, compiled.addsUp), {
    analysis: compiled.analysisOf(compiled.sweepSolver(linear), 'jacobian'),
    // A factor in the programs' memory solves into it, where no program reads the unknown's derivative too.
    extra: {dzH: traced.unknown.size},
  });
export const courseForward = ({compiled}: StepContext): Executable => compiled.group('course', () => coursePrograms(compiled.derived.step));

/** The programs that go before dense output, with x, z, t, h and next set. */
export function lookInside(forward: Executable): void {
  if (forward.has('inside')) forward.run('inside');
  if (forward.has('between')) forward.run('between');
}

/**
 * The divisor of an event's derivatives.
 * @param least see `Course.least`
 * @throws EventError 'grazing' where the event's function touches zero, as far as rounding can tell
 */
export function crossingRate(rate: number, least: number, t: number, event: number): number {
  if (!(Math.abs(rate) > least) || !Number.isFinite(rate)) {
    throw new EventError('grazing', `events[${event}] touches zero at t = ${Number(t.toPrecision(12))} without crossing it, as far as rounding can tell: the time of such an event has no derivative. Move the threshold, or take a loss that does not depend on this event.`, {event, t, rate});
  }
  return rate;
}

/** What a gradient begins with. */
export interface CourseCotangents {
  /** Of the saved states, [saved, state]. */
  readonly states: Float64Array;
  /** Of the saved states' times, [saved]: those that are an event's move with it. */
  readonly times?: Float64Array;
  /** Of the times of the events that happened, in their order. */
  readonly happened?: Float64Array;
}

const nothing: readonly Save[] = [];

class CourseSweep {
  readonly bars: CourseBars;
  private readonly cotangents: Float64Array;
  private readonly happenedBars: Float64Array;
  private readonly momentBars: Float64Array;
  private readonly executable: Executable;
  private readonly step: TimedStep;
  private pullWithin: PullWithin | undefined;
  private readonly byLength: (record: StepRecord, k: number) => ByLength;
  private readonly xBar: Float64Array;
  private readonly end: Float64Array;
  private readonly eventBar?: Float64Array;
  private restarting: {readonly step: TimedStep; readonly bars: CourseBars} | undefined;

  constructor(private readonly context: StepContext, private readonly course: Course, private readonly restart: Restart, {states, times, happened}: CourseCotangents, private readonly watch?: Watch) {
    this.executable = courseAdjoint(context);
    loadParameters(this.executable, context);
    this.bars = new CourseBars(context, this.executable);
    this.step = timedStep(context, this.executable, this.bars);
    this.byLength = lengthDerivative(context, this.executable);
    this.xBar = new Float64Array(context.traced.state.size);
    this.end = new Float64Array(context.traced.state.size);
    this.cotangents = states;
    this.happenedBars = happened ?? new Float64Array(course.happened.length);
    this.momentBars = new Float64Array(course.moments.length);
    course.happened.forEach((moment, i) => {
      if (moment !== undefined) this.momentBars[moment] += this.happenedBars[i];
    });
    if (times !== undefined) for (const [saved, moment] of course.moving) this.momentBars[moment] += times[saved];
    this.eventBar = this.executable.find('eBar');
  }

  run(start: StepRecord, backwards: CourseBackwards): Gradient {
    const recomputedSteps = backwards(piece => this.pullPiece(piece));
    if (this.course.start !== undefined) addTo(this.xBar, this.cotangent(this.course.start));
    const totals = this.bars.finish();
    if (this.restarting !== undefined) this.restarting.bars.finish().forEach((total, p) => addTo(totals[p], total));
    return {initial: pullStart(startOf(this.context), start, this.xBar, totals), parameters: totals, recomputedSteps};
  }

  private cotangent(saved: number): Float64Array {
    const {size} = this.context.traced.state;
    return this.cotangents.subarray(saved * size, (saved + 1) * size);
  }

  private pullPiece({record, first, end}: CoursePiece): void {
    for (let k = record.count - 1; k >= 0; k--) {
      const n = first + k;
      if (k === record.count - 1) this.end.set(end);
      else record.load(k + 1, {x: this.end});
      const saves = this.course.saves.get(n) ?? nothing;
      for (const {index, theta} of saves) if (theta === 1) addTo(this.xBar, this.cotangent(index));
      const jump = this.course.jumps.get(n);
      if (jump === undefined) this.pullStep(record, k, n, saves.length === 0 ? saves : saves.filter(({theta}) => theta !== 1));
      else this.pullJump(record, k, n, jump);
      this.watch?.(this.course.t[n], this.xBar, this.executable);
    }
  }

  private pullStep(record: StepRecord, k: number, n: number, within: readonly Save[]): void {
    const {course, xBar, step, momentBars} = this;
    const from = course.from.get(n);
    const to = course.to.get(n);
    const looked = within.map(({index, theta}) => ({theta, bar: this.cotangent(index)}));
    if (course.noted.has(n)) looked.push(...this.pullNoted(record, k, n));
    const between = looked.length === 0 ? undefined : this.within(record, k, course.h[n], this.end, looked, xBar);
    if (to !== undefined) this.correct(record, k, n, to, between);
    const {tBar, hBar} = step.pull(record, k, xBar, between?.zBar, between?.insideBar);
    if (between !== undefined) addTo(xBar, between.xBar);
    if (from !== undefined) momentBars[from] += tBar + (between?.tBar ?? 0) - hBar - (between?.hBar ?? 0);
  }

  /** Only runs with dense output have states within steps. */
  private get within(): PullWithin {
    return (this.pullWithin ??= withinStep(this.context, this.executable, this.bars));
  }

  /**
   * Times of events that were noted on the dense output D: with s = dg/dθ/h the rate of the event's
   * function there, τ̄ goes back as the cotangent −(τ̄/s) e_xᵀ of the state D at that time.
   */
  private pullNoted(record: StepRecord, k: number, n: number): Looked[] {
    const {context, executable, eventBar, course, happenedBars, bars} = this;
    const noted = (course.noted.get(n) ?? []).filter(({record: i}) => happenedBars[i] !== 0);
    if (noted.length === 0 || eventBar === undefined) return [];
    const forward = courseForward(context);
    loadParameters(forward, context);
    record.load(k, stepBuffers(forward));
    forward.find('next')?.set(this.end);
    lookInside(forward);
    return noted.map(({record: i, event, theta, least}) => {
      const [t, h] = [course.t[n], course.h[n]];
      forward.find('theta')?.fill(theta);
      forward.run('watch');
      const mu = happenedBars[i] / crossingRate(forward.buffer('dg')[event] / h, least, t + theta * h, event);
      forward.run('dense');
      executable.find('x')?.set(forward.buffer('D'));
      executable.find('t')?.fill(t + theta * h);
      eventBar.fill(0);
      eventBar[event] = 1;
      executable.run('pullEvents');
      bars.add('pullEvents', -mu);
      return {theta, bar: executable.buffer('eXBar').map(value => -mu * value)};
    });
  }

  /** The event's time is a function of the state that the step makes at fixed length. */
  private correct(record: StepRecord, k: number, n: number, moment: number, between: Between | undefined): void {
    const {executable, eventBar, xBar, course, momentBars} = this;
    if (eventBar === undefined) return;
    const {dNext, dInside, dz} = this.byLength(record, k);
    let timeBar = momentBars[moment] + dot(xBar, dNext) + (between?.hBar ?? 0);
    if (between?.zBar !== undefined && dz !== undefined) timeBar += dot(between.zBar, dz);
    if (between?.insideBar !== undefined && dInside !== undefined) timeBar += dot(between.insideBar, dInside);
    const event = course.moments[moment];
    const at = course.t[n] + course.h[n];
    eventBar.fill(0);
    eventBar[event] = 1;
    executable.find('x')?.set(this.end);
    executable.find('t')?.fill(at);
    executable.run('pullEvents');
    const slope = executable.buffer('eXBar');
    const mu = timeBar / crossingRate(dot(slope, dNext) + executable.buffer('eTBar')[0], course.least[moment], at, event);
    addTo(xBar, slope, -mu);
    this.bars.add('pullEvents', -mu);
  }

  private pullJump(record: StepRecord, k: number, n: number, moment: number): void {
    const {executable, course, context, xBar, momentBars} = this;
    const event = course.moments[moment];
    const [t, h] = [course.t[n], course.h[n]];
    const forward = courseForward(context);
    loadParameters(forward, context);
    record.load(k, stepBuffers(forward));
    forward.run(`jump.${event}`);
    const given = forward.buffer('given').slice();
    this.restarting ??= this.restartingStep();
    const restarted = this.restarting.step.pull(this.restart(given, t, h).record, 0, xBar);
    executable.find('givenBar')?.set(xBar.subarray(0, given.length));
    record.load(k, stepBuffers(executable));
    executable.run(`pullJump.${event}`);
    this.bars.add(`pullJump.${event}`);
    xBar.set(executable.buffer('jXBar'));
    momentBars[moment] += restarted.tBar + executable.buffer('jTBar')[0];
  }

  private restartingStep(): {step: TimedStep; bars: CourseBars} {
    const context = startOf(this.context);
    const executable = courseAdjoint(context);
    loadParameters(executable, context);
    const bars = new CourseBars(context, executable);
    return {step: timedStep(context, executable, bars), bars};
  }
}

/** @param start the step that began the run */
export function sweepCourseBack(context: StepContext, course: Course, start: StepRecord, restart: Restart, backwards: CourseBackwards, cotangents: CourseCotangents, watch?: Watch): Gradient {
  return new CourseSweep(context, course, restart, cotangents, watch).run(start, backwards);
}
