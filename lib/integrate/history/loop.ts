/**
 * The general time loop: steps on the grid or as long as their error allows, shortened where an
 * event ends the run or changes the state, and states saved between their ends by dense output. The
 * result is one sequence of transitions (adjoint/step-history.ts), which gradients traverse backwards.
 */
import {StepHistory} from '../../adjoint/step-history.js';
import type {StiffgradError} from '../../errors.js';
import {toUserTime} from '../../step/time-direction.js';
import type {PlannedEvent} from './plan.js';
import {stopsOf} from './plan.js';
import {FailedStart, historyFailure, started} from '../failure.js';
import type {Loop, LoopResult} from '../loop.js';
import type {Companion, Keeping} from '../path.js';
import type {Runnable} from '../runnable.js';
import {contradiction} from '../start.js';
import {ContactWatch} from '../warnings.js';
import type {Standing} from '../run-state.js';
import type {Counters, Failure, Status} from '../counters.js';
import {noCounts} from '../counters.js';
import {unjudged} from '../algebraic.js';
import {ErrorEstimate} from './error-estimate.js';
import type {Taken} from './integrator.js';
import {Integrator} from './integrator.js';
import {LoopEvents, type EventfulLoop} from './loop-events.js';
import type {Pace} from './pace.js';
import {AdaptivePace, GridPace, smallestStep} from './pace.js';
import type {Plan} from './plan.js';
import {evaluationsOfFirst, firstStep} from './first-step.js';
import {rowHeaderSize} from '../../step/block-layout.js';
import {AdaptiveBlocks} from './adaptive-blocks.js';
import {EventLog} from './records.js';
import {Saver} from './saver.js';
import {StiffnessWatch} from './stiffness.js';
import {Trials} from './trials.js';

/** Transitions that are kept where nobody goes back along them: dropping them costs as much as ten of them. */
const longestHistory = 500;

const untold =
  'An event falls on the end of the run, and no step could be taken from there: a gradient holds the time between the two fixed. End the run earlier or later.';

/**
 * Times as long as the last step that a step of generalized-α may be. A pendulum that an event stops shortly before a step of the grid: with steps of 20 times
 * derivatives are right, with 200 off by 3 %, with 2000 five times too large.
 */
const mostStretched = 100;

export class HistoryLoop implements Loop, EventfulLoop {
  readonly history = new StepHistory();
  readonly counters: Counters = noCounts();
  readonly integrator: Integrator;
  private readonly contacts: ContactWatch;
  private readonly stiff: StiffnessWatch;
  /** h|λ| over what is stable, of the step last taken. */
  private readonly stiffness?: Float64Array;
  readonly saver: Saver;
  readonly log: EventLog;
  /** Made with the first transition: the start may be made anew before that. */
  private companion: Companion | undefined;
  readonly pace: Pace;
  t: number;
  /** Ends of steps that `saveAt` counts. */
  boundaries = 0;
  status: Status = 'completed';
  error: StiffgradError | undefined;
  private readonly events: readonly PlannedEvent[];
  private readonly eventsWithin: LoopEvents;
  readonly dt: number;
  private readonly breaks: Plan['breaks'];
  readonly jumps: Float64Array;
  private readonly restarts: ReadonlySet<number>;
  /** Times at which what the steps read is not smooth, or may not be known, ascending; the first of them after the present time, or before it. */
  private readonly unsmooth: Float64Array;
  private nextUnsmooth = 0;
  private readonly trials: Trials;
  /** null before it was looked for. */
  private blocks: AdaptiveBlocks | undefined | null = null;
  private readonly adaptive: boolean;
  /** Steps so far. */
  taken = 0;
  /** Transitions in the step history. */
  get count(): number {
    return this.history.count;
  }

  /** The present state, in an array that stays as it is; undefined where none is at hand. */
  private here: Float64Array | undefined;
  /** The event whose time is the present one. */
  moment: number | undefined;
  /** The state after a step beyond the end, where one was taken. */
  private beyond: Float64Array | undefined;

  /** @param keeping for a gradient; undefined where none is wanted */
  constructor(
    private readonly prepared: Runnable,
    private readonly plan: Plan,
    private readonly keeping: Keeping | undefined,
  ) {
    const {options, traced} = prepared;
    const {grid, newton} = options;
    this.events = plan.events;
    this.dt = grid.dt;
    this.breaks = plan.breaks;
    this.jumps = plan.breaks?.jumps ?? new Float64Array(0);
    this.restarts = new Set(plan.breaks?.restarts);
    this.unsmooth = Float64Array.from(
      new Set([...(plan.breaks?.stops ?? []), ...this.restarts, plan.end ?? Infinity]),
    ).sort();
    this.integrator = new Integrator(prepared, this.counters, keeping !== undefined);
    this.contacts = new ContactWatch(prepared);
    this.stiff = new StiffnessWatch(traced);
    this.stiffness = traced.functions.stiffness === undefined ? undefined : this.integrator.stepper.stiffness;
    this.saver = new Saver(plan.saving, this.integrator, this.history, traced.state.size);
    const own = traced.state.blocks.filter(({offset}) => offset < prepared.start.traced.inputs.x.size);
    this.log = new EventLog(plan.events, own, traced);
    this.t = grid.t0;
    const implicit = prepared.compiled.implicit;
    let estimate: ErrorEstimate | undefined;
    if (plan.absolute !== undefined) {
      estimate = new ErrorEstimate(
        this.integrator,
        traced,
        plan.absolute,
        plan.control,
        prepared.start.traced.usesTrialStep === true,
        unjudged(prepared),
      );
      this.pace = new AdaptivePace(
        plan.control,
        estimate.power,
        implicit,
        this.firstLength(plan),
        plan.end,
        plan.most,
        stopsOf(plan),
        plan.revisits,
      );
    } else {
      this.pace = new GridPace(grid, implicit && newton.onFailure === 'halve');
    }
    this.adaptive = estimate !== undefined;
    this.trials = new Trials(this.integrator, this.pace, estimate, this.counters, (t, h) => this.startAgain(t, h));
    this.eventsWithin = new LoopEvents(this, plan.events);
    this.adjustStart();
    this.goOn(plan.resume);
    this.saver.start(this.t);
  }

  /** Of adaptive steps: as given, or found by looking at the motion. */
  private firstLength({control, absolute, end, resume}: Plan): number {
    const {prepared, integrator, t} = this;
    const {dt} = prepared.options.grid;
    if (control.first !== 'auto' || absolute === undefined || resume?.pace !== undefined) return dt;
    const length = firstStep(integrator, t, absolute, control, prepared.traced.order, end);
    this.counters.evaluations += evaluationsOfFirst;
    return length;
  }

  /** What a scheme carries comes from a start that was made for a step of dt. */
  private adjustStart(): void {
    const {adaptive, startLength, dt, integrator, t} = this;
    const again = adaptive && startLength !== dt ? integrator.startAgain(t, startLength) : undefined;
    if (again !== undefined) integrator.state.set(again.x);
  }

  /** A run that goes on remembers what the one before it did. */
  private goOn(resume: Plan['resume']): void {
    if (resume === undefined) return;
    if (resume.pace !== undefined && this.pace instanceof AdaptivePace) this.pace.memory = resume.pace;
    if (resume.newton !== undefined) this.integrator.stepper.memory = resume.newton;
    this.eventsWithin.goOn(resume);
  }

  /** Where the run stands. */
  get standing(): Standing {
    const {pace, t, integrator, eventsWithin} = this;
    return {
      t,
      x: integrator.state.slice(),
      ...eventsWithin.standing,
      pace: pace instanceof AdaptivePace ? pace.memory : undefined,
      newton: integrator.stepper.memory,
      grid: pace instanceof GridPace ? pace.placeAt(t) : undefined,
    };
  }

  get done(): boolean {
    return this.pace.done(this.t);
  }

  result(): LoopResult {
    const {saver, integrator, counters, log, contacts, stiff, standing} = this;
    // Trials of the error and of an event's time are no steps of the run.
    counters.steps = this.taken;
    integrator.stepper.tally();
    return {
      states: saver.states,
      times: saver.times,
      status: this.status,
      error: this.error,
      warnings: [...contacts.warnings, ...log.warnings, ...(stiff.sentence === undefined ? [] : [stiff.sentence])],
      counters,
      completed: this.boundaries,
      start: integrator.start,
      standing,
      events: log.records,
      kept: this.along?.finish(this.count, this.beyond ?? standing.x),
    };
  }

  advance(): boolean {
    const further = started(() => this.step());
    if (!(further instanceof FailedStart)) return further;
    ({status: this.status, error: this.error} = further);
    this.saver.flush();
    return false;
  }

  /** One more step, and the events in it; false where the run is over. */
  private step(): boolean {
    const {pace, t} = this;
    // Without a gradient to come, little is kept of the way.
    if (this.keeping === undefined && this.count > longestHistory) this.history.forget();
    if (this.status !== 'completed') return false;
    if (this.count === 0 && this.taken === 0 && this.restarts.has(t)) this.restart();
    if (pace.done(t)) {
      this.end();
      return false;
    }
    if (pace instanceof AdaptivePace && this.takeBlock(pace)) return true;
    if (pace instanceof AdaptivePace && pace.exhausted) return this.fail('too-many-steps', t, pace.length);
    const tried = this.trials.next(t, this.here ?? this.integrator.state.slice());
    if ('failed' in tried) return this.fail(tried.failed, t, tried.h);
    if (this.stiffness !== undefined) this.stiff.note(this.stiffness[0], t);
    const {steps} = tried;
    for (let i = 0; i < steps.length; i++) {
      const step = steps[i];
      const cut = this.events.length === 0 ? false : this.eventsWithin.cutShort(step);
      if (this.status !== 'completed') return false;
      if (cut) return true;
      this.commit(step);
      if (i === steps.length - 1 && pace.accept(tried.h, tried.error)) this.boundary();
    }
    if (this.restarts.has(this.t)) this.restart();
    return true;
  }

  /** Steps in a block, where there is one; false where none was attempted. */
  private takeBlock(pace: AdaptivePace): boolean {
    const {prepared, plan, integrator, saver, counters, history, count, t, stiffness, stiff} = this;
    const {compiled, traced} = prepared;
    if (this.blocks === null && compiled.attempts++ >= AdaptiveBlocks.after)
      this.blocks = AdaptiveBlocks.of(prepared, plan);
    const {blocks} = this;
    // A companion that looks at every state is shown one after another.
    if (blocks === undefined || blocks === null || (this.keeping !== undefined && this.along?.together === undefined))
      return false;
    const attempts = blocks.take(t, this.here ?? integrator.state, this.boundaries, pace, saver.ahead);
    if (attempts === 0) return false;
    const [rows, {rejections}] = [blocks.get('rows'), blocks];
    const {start, update} = traced.evaluations;
    counters.evaluations += attempts * (start + update);
    counters.rejectedSteps += rejections;
    if (rejections > 0) counters.failures.error = (counters.failures.error ?? 0) + rejections;
    if (rows === 0) return true;
    const {width} = blocks;
    if (stiffness !== undefined) for (let k = 0; k < rows; k++) stiff.note(blocks.stiffness[k], blocks.rows[k * width]);
    this.recordBlock(count, rows, blocks.rows, width);
    for (let k = 0; k < rows; k++) history.append(blocks.rows[k * width], blocks.rows[k * width + 1]);
    this.t = blocks.get('t');
    saver.takeBlock(
      {states: blocks.states, theta: blocks.theta, after: blocks.after, rows: blocks.rows, width, t: this.t},
      blocks.get('saved'),
      rows,
      count,
    );
    this.taken += rows;
    this.boundaries += rows;
    integrator.left();
    integrator.state.set(blocks.x);
    this.here = undefined;
    return true;
  }

  /** An input jumps here: what the scheme carries is made anew from the state that there is. */
  private restart(): void {
    const {history, breaks} = this;
    this.moment = history.moments.length;
    history.moments.push(breaks?.jump ?? 0);
    history.least.push(0);
    this.jump(breaks?.jump ?? 0, this.integrator.state.slice(), false);
    // Its time is a constant.
    this.moment = undefined;
    this.pace.restart();
  }

  /** The start, or what follows a jump, for a first step shorter than the one it was made for. */
  private startAgain(t: number, h: number): Float64Array | undefined {
    const {integrator, history, count, saver} = this;
    const again = integrator.startAgain(t, h);
    if (again === undefined) return undefined;
    if (again.jumped) history.h[count - 1] = h;
    saver.again(t, again.x);
    return again.x;
  }

  /**
   * The length that a start here is made for: that of steps, halved until it does not reach over a time at which what they read is not
   * smooth, nor over the end. So it does not move with the time of an event.
   */
  private get startLength(): number {
    const {t, pace, unsmooth} = this;
    while (unsmooth[this.nextUnsmooth] <= t + smallestStep(t)) this.nextUnsmooth++;
    const next = unsmooth[this.nextUnsmooth] ?? Infinity;
    let h = pace.length;
    while (t + h > next + smallestStep(next)) h /= 2;
    return h;
  }

  /** @param checked whether the state after it must obey the constraints */
  jump(event: number, before: Float64Array, checked = true): void {
    const {history, integrator, t} = this;
    const h = this.startLength;
    integrator.jump(event, t, h, checked);
    integrator.stepper.follow(undefined);
    this.here = undefined;
    const n = this.count;
    history.jumps.set(n, this.moment as number);
    history.append(t, h);
    this.record(n, t, h, before, integrator.stepper.z);
  }

  /** A step becomes part of the step history; with an event, its end is that event's time, and `least` the rate below which it touches. */
  commit(step: Taken, event?: number, least = 0): void {
    const {history, saver, integrator, moment, count} = this;
    this.watchLengths(step, count);
    history.append(step.t, step.h);
    if (moment !== undefined) history.from.set(count, moment);
    this.moment = undefined;
    if (event !== undefined) {
      this.moment = history.moments.length;
      history.moments.push(event);
      history.least.push(least);
      history.to.set(count, this.moment);
    }
    this.record(count, step.t, step.h, step.x, step.z);
    integrator.stepper.follow(step);
    this.taken++;
    integrator.left();
    integrator.state.set(step.next);
    this.here = step.next;
    this.t = step.end;
    this.contacts.at(step.end);
    saver.within(step, event !== undefined);
    const torn =
      this.prepared.redundancy.regularization > 0 ? contradiction(this.prepared, step.next, step.end) : undefined;
    if (torn !== undefined) [this.status, this.error] = ['singular', torn];
    this.eventsWithin.passed(step);
  }

  /** A rate that a scheme carries is that of its last step, however short. */
  private watchLengths({t, h}: Taken, count: number): void {
    const {prepared, history, log} = this;
    if (this.isStretched || count === 0 || history.jumps.has(count - 1)) return;
    if (prepared.traced.state.block('rate') === undefined) return;
    const share = Math.abs(h / history.h[count - 1]);
    if (!(share > mostStretched)) return;
    this.isStretched = true;
    log.warnings.push(
      `The step of ${prepared.traced.name} from t = ${Number(toUserTime(prepared.traced, t).toPrecision(6))} is ${share.toPrecision(2)} times as long as the one before it, from an event to the grid, and takes over the rate at which that one changed its algorithmic acceleration: the motion from there on may be off, and derivatives far more. Take another dt, adaptive steps, or newmark(), which carries no such rate.`,
    );
  }

  private isStretched = false;

  /** Transition n, from x, for a derivative. */
  private record(n: number, t: number, h: number, x: Float64Array, z: Float64Array | undefined): void {
    const companion = this.along;
    companion?.reach(n, x);
    companion?.record?.append(t, h, x, z);
  }

  /** The same of several steps, from rows that are like those of a record. */
  private recordBlock(n: number, count: number, rows: Float64Array, width: number): void {
    const companion = this.along;
    const given = rows.subarray(0, count * width);
    if (companion?.together !== undefined && companion.together(n) >= count) companion.record?.appendRows(given, count);
    else if (companion !== undefined)
      for (let k = 0; k < count; k++) {
        const x = rows.subarray(k * width + rowHeaderSize, (k + 1) * width);
        this.record(n + k, rows[k * width], rows[k * width + 1], x, undefined);
      }
  }

  private get along(): Companion | undefined {
    return (this.companion ??= this.keeping?.begin(
      this.prepared,
      this.integrator.start,
      this.history.saved,
      this.history,
    ));
  }

  boundary(): void {
    const {adaptive, pace, t, keeping} = this;
    // Of the grid's times and the end's, an event changes the state, and not the time.
    const constant = this.moment !== undefined && (!adaptive || pace.done(t));
    this.saver.boundary(
      ++this.boundaries,
      t,
      constant ? undefined : this.moment,
      constant && keeping !== undefined && this.status === 'completed',
    );
  }

  /**
   * The end of the run. Where an event falls on it, the state after the event moves with its time: by how much the beginning of a
   * step tells that would follow, and is taken for a derivative.
   */
  private end(): void {
    const {saver, moment, keeping, t, integrator} = this;
    if (moment === undefined || keeping === undefined) {
      saver.finish(t, false, undefined);
      return;
    }
    const {stepper} = integrator;
    const {memory} = stepper;
    const [x, h, n] = [integrator.state.slice(), this.startLength, this.count];
    const status = integrator.take(x, t, h);
    const step = integrator.taken(x, t, h, t + h);
    integrator.state.set(x);
    if (status === 'completed') {
      this.history.append(t, h);
      this.history.from.set(n, moment);
      this.record(n, t, h, x, step.z);
      this.beyond = step.next;
    } else this.log.warnings.push(untold);
    saver.settle(t, status === 'completed' ? step : undefined);
    stepper.memory = memory;
  }

  fail(status: Failure | 'too-many-steps', t: number, h: number): false {
    this.status = status;
    this.saver.flush();
    const {stepper} = this.integrator;
    if (status === 'too-many-steps' || this.adaptive)
      this.error = historyFailure(this.prepared, status, t, h, this.counters, this.stiff.sentence);
    else {
      stepper.locate(status, this.boundaries);
      this.error = stepper.error;
    }
    return false;
  }
}
