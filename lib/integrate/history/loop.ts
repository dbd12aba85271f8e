/**
 * The general time loop: steps on the grid or as long as their error allows, shortened where an
 * event ends the run or changes the state, and states saved between their ends by dense output. The
 * result is one sequence of transitions (adjoint/step-history.ts), which gradients traverse backwards.
 */
import {StepHistory} from '../../adjoint/step-history.js';
import type {StiffgradError} from '../../errors.js';
import type {PlannedEvent} from './plan.js';
import {stopsOf} from './plan.js';
import {historyFailure} from '../failure.js';
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
import {locate} from './locate.js';
import type {Taken} from './integrator.js';
import {Integrator} from './integrator.js';
import type {Pace} from './pace.js';
import {AdaptivePace, GridPace, smallestStep} from './pace.js';
import type {Plan} from './plan.js';
import {evaluationsOfFirst, firstStep} from './first-step.js';
import {rowStart} from '../../step/rows.js';
import {AdaptiveBlocks} from './adaptive-blocks.js';
import {EventLog} from './records.js';
import {Saver} from './saver.js';
import {StiffnessWatch} from './stiffness.js';
import {Trials} from './trials.js';
import type {Crossing} from './watch.js';
import {crossings, touch} from './watch.js';

/** Transitions that are kept where nobody goes back along them: dropping them costs as much as ten of them. */
const longestHistory = 500;

/** What is left of a direction of motion that a jump has ended: the rounding of the event's function over a step. */
const still = 64 * Number.EPSILON;

export class HistoryLoop implements Loop {
  readonly history = new StepHistory();
  readonly counters: Counters = noCounts();
  readonly integrator: Integrator;
  private readonly contacts: ContactWatch;
  private readonly stiff: StiffnessWatch;
  /** h|λ| over what is stable, of the step last taken. */
  private readonly stiffness?: Float64Array;
  readonly saver: Saver;
  private readonly log: EventLog;
  /** Made with the first transition: the start may be made anew before that. */
  private companion: Companion | undefined;
  private readonly pace: Pace;
  t: number;
  /** Ends of steps that `saveAt` counts. */
  boundaries = 0;
  status: Status = 'completed';
  error: StiffgradError | undefined;
  private readonly events: readonly PlannedEvent[];
  private readonly breaks: Plan['breaks'];
  private readonly restarts: ReadonlySet<number>;
  private readonly trials: Trials;
  /** null before it was looked for. */
  private blocks: AdaptiveBlocks | undefined | null = null;
  private readonly adaptive: boolean;
  /** Steps so far. */
  taken = 0;
  /** Transitions in the step history. */
  private get count(): number {
    return this.history.count;
  }

  /** The present state, in an array that stays as it is; undefined where none is at hand. */
  private here: Float64Array | undefined;
  /** The event whose time is the present one. */
  private moment: number | undefined;
  /** Events whose function counts as zero at present. */
  private settled = new Set<number>();
  /** The signs of the events' functions, where a whole step has ended. */
  private sides: Int8Array | undefined;
  /** Of those settled, the ones whose jump is to have ended their crossing. */
  private jumped = new Set<number>();

  /** @param keeping for a gradient; undefined where none is wanted */
  constructor(
    private readonly prepared: Runnable,
    private readonly plan: Plan,
    private readonly keeping: Keeping | undefined,
  ) {
    const {options, traced} = prepared;
    const {grid, newton} = options;
    this.events = plan.events;
    this.breaks = plan.breaks;
    this.restarts = new Set(plan.breaks?.restarts);
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
        plan.control.rtol,
        prepared.start.traced.ahead === true,
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
    // What a scheme carries from a start that was made for steps of dt.
    const again = integrator.startAgain(t, length);
    if (again !== undefined) integrator.state.set(again.x);
    return length;
  }

  /** A run that goes on remembers what the one before it did. */
  private goOn(resume: Plan['resume']): void {
    if (resume === undefined) return;
    if (resume.pace !== undefined && this.pace instanceof AdaptivePace) this.pace.memory = resume.pace;
    if (resume.newton !== undefined) this.integrator.stepper.memory = resume.newton;
    // This run may have fewer events than the one before.
    const known = (events: readonly number[] = []): Set<number> =>
      new Set(events.filter(event => event < this.events.length));
    this.settled = known(resume.settled);
    this.jumped = known(resume.jumped);
  }

  /** Where the run stands. */
  get standing(): Standing {
    const {pace, t, integrator, settled, jumped} = this;
    return {
      t,
      x: integrator.state.slice(),
      settled: [...settled],
      jumped: [...jumped],
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
      kept: this.along?.finish(this.count, standing.x),
    };
  }

  /** One more step, and the events in it; false where the run is over. */
  advance(): boolean {
    const {pace, t} = this;
    // Without a gradient to come, little is kept of the way.
    if (this.keeping === undefined && this.count > longestHistory) this.history.forget();
    if (this.status !== 'completed') return false;
    if (this.count === 0 && this.taken === 0 && this.restarts.has(t)) this.restart();
    if (pace.done(t)) {
      this.saver.finish(t, false, this.moment);
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
      const cut = this.events.length === 0 ? false : this.cutShort(step);
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
    const [rows, rejections] = [blocks.get('rows'), blocks.get('rejections')];
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

  /** The tolerance of an event's time: no less than the time's own rounding. */
  private readonly tolerance = (event: number): number =>
    Math.max(this.events[event].tolerance ?? 0, 2 * Number.EPSILON * Math.max(Math.abs(this.t), this.pace.length));

  /** Looks for events in a step. Those that cut it short are gone through, and true is returned; what the others note is noted. */
  private cutShort(step: Taken): boolean {
    const {integrator, events, tolerance} = this;
    const {found: all, sides, lost} = crossings(integrator, events, step, this.settled, this.sides, tolerance);
    const found = all.filter(({event}) => !this.isStillSettled(event, step));
    this.refuseSticking(step, found);
    if (this.status !== 'completed') return true;
    this.sides = undefined;
    for (const crossing of found) {
      if (events[crossing.event].then === 'record') continue;
      const located =
        crossing.high === 0
          ? {step: this.instantStep(step)}
          : locate(integrator, step, crossing, tolerance(crossing.event));
      if (located === 'none') continue;
      if ('failed' in located) {
        this.counters.failures[located.failed] = (this.counters.failures[located.failed] ?? 0) + 1;
        integrator.state.set(step.x);
        this.fail(located.failed, step.t, step.h);
        return true;
      }
      // A step of no length has no dense output, on which others may be noted.
      const ending = located.step.h === 0 ? this.instantStep(step) : located.step;
      this.error = this.unresolved(ending, crossing);
      integrator.state.set(step.x);
      if (this.error !== undefined) this.status = 'step-too-small';
      else this.end(ending, crossing, step.h);
      return true;
    }
    this.note(found, step);
    this.sides = sides;
    for (const event of lost) this.log.lose(event, step.end);
    integrator.state.set(step.next);
    return false;
  }

  /** An event that its own jump began with, in the same step, and that time or velocity no longer resolve. */
  private unresolved({end, next}: Taken, {event, rising}: Crossing): StiffgradError | undefined {
    const {log, integrator, pace, settled} = this;
    const rate = integrator.events(next, end).rates[event];
    return (
      log.unresolved(event, end, pace.length)
      ?? (settled.has(event) && (rising ? rate <= 0 : rate >= 0) ? log.chatter(event, end) : undefined)
    );
  }

  /** A jump that leaves its event to go on through zero ends the run with its error. */
  private refuseSticking(step: Taken, found: readonly Crossing[]): void {
    if (this.jumped.size === 0) return;
    this.integrator.load(step);
    const start = this.integrator.watch(0).dg.slice();
    const end = this.integrator.watch(1).g;
    for (const event of this.jumped) {
      const {direction} = this.events[event];
      const through = (direction !== 'rising' && end[event] < 0) || (direction !== 'falling' && end[event] > 0);
      if (
        direction !== 'both'
        && through
        && Math.abs(start[event]) <= still * Math.abs(end[event])
        && !found.some(crossing => crossing.event === event)
      ) {
        this.error = this.log.sticks(event, step.t);
        this.integrator.state.set(step.x);
        this.status = 'step-too-small';
        return;
      }
    }
  }

  /** Notes the crossings of events that only record. */
  private note(found: readonly Pick<Crossing, 'event' | 'theta' | 'rising' | 'least'>[], step: Taken): Set<number> {
    const noted = new Set<number>();
    const recorded = found.filter(({event}) => this.events[event].then === 'record');
    if (recorded.length > 0) this.integrator.load(step);
    for (const {event, theta: place, rising, least} of recorded) {
      // The slopes of dense output between ends that rounding alone tells apart are rounding themselves; at an end they are the motion's.
      const theta = Math.abs(step.h) <= this.simultaneous(event) ? 1 : place;
      const t = theta === 1 ? step.end : step.t + theta * step.h;
      if (theta === 1) noted.add(event);
      // At the end of one step and the beginning of the next it is the same crossing.
      if (this.isRecorded(event, t, rising)) continue;
      const x = theta === 1 ? step.next : this.integrator.dense(theta);
      this.log.note(t, event, rising, x, x);
      this.history.note(this.count, event, theta, least / step.h);
      this.recorded.set(event, {t, rising});
    }
    return noted;
  }

  /** The last crossing of each event that only records. */
  private readonly recorded = new Map<number, {readonly t: number; readonly rising: boolean}>();

  private isRecorded(event: number, t: number, rising: boolean): boolean {
    const last = this.recorded.get(event);
    return last?.rising === rising && Math.abs(t - last.t) <= this.simultaneous(event);
  }

  /**
   * Notes what only records and is zero where a step ends, but for rounding. Its time is its own, and its state that before any jump of
   * others there: a jump may move its function away.
   */
  private noteAtEnd(ready: readonly number[], step: Taken, noted: Set<number>): void {
    const due = ready.filter(event => this.events[event].then === 'record');
    if (due.length === 0) return;
    this.integrator.load(step);
    const [start, end] = [0, 1].map(theta => this.integrator.watch(theta).dg.slice());
    const found = due.map(event => ({
      event,
      theta: 1,
      rising: this.rates[event] > 0,
      least: touch(start[event], end[event]),
    }));
    for (const event of this.note(found, step)) noted.add(event);
  }

  /** The shortest step there is: from one event to another at the same time, or to the same again. */
  private instantStep({t, x}: Pick<Taken, 't' | 'x'>): Taken {
    const h = Number.EPSILON * Math.max(Math.abs(t), this.pace.length);
    this.integrator.take(x, t, h);
    return this.integrator.taken(x, t, h, t + h);
  }

  /** A step that ends at an event, and everything that happens there. */
  private end(step: Taken, {event, rising, least}: Crossing, whole: number): void {
    const {integrator, events, pace, tolerance} = this;
    const noted = this.note(
      crossings(integrator, events, step, this.settled, undefined, tolerance).found.filter(
        ({event: other}) => other !== event && !this.isStillSettled(other, step),
      ),
      step,
    );
    integrator.state.set(step.next);
    const ready = this.present(step.end, noted, new Set()).filter(other => other !== event);
    this.noteAtEnd(ready, step, noted);
    const queue = [...ready.filter(other => !noted.has(other)), event].sort((a, b) => a - b);
    const first = queue[0];
    this.commit(step, first, first === event ? least / whole : 0);
    this.happen(queue, first, noted, other => (other === event ? rising : this.rates[other] > 0));
    if (this.status === 'completed' && pace.interrupt(this.t)) this.boundary();
    if (this.status === 'event') this.saver.finish(this.t, true, this.moment);
  }

  /** The events' rates along the motion, where they were last looked at. */
  private rates: Float64Array = new Float64Array(0);

  /** Events whose function is zero now and leaves zero in their direction: those not in `fired`, or that had been leaving zero otherwise. */
  private present(t: number, fired: ReadonlySet<number>, leaving: ReadonlySet<number>): number[] {
    const {e, rates} = this.integrator.events(this.integrator.state, t);
    this.rates = rates;
    return this.events.flatMap((event, j) =>
      touches(e[j], rates[j], this.simultaneous(j)) && leaves(event, rates[j]) && (!fired.has(j) || leaving.has(j))
        ? [j]
        : [],
    );
  }

  /** What counts as zero where a step begins does so at its end, too, if the two are the same time but for rounding. */
  private isStillSettled(event: number, {h}: Taken): boolean {
    return this.settled.has(event) && Math.abs(h) <= this.simultaneous(event);
  }

  /** Times this close are the same. */
  private simultaneous(event: number): number {
    return Math.max(this.events[event].tolerance ?? 0, smallestStep(Math.max(Math.abs(this.t), this.pace.length)));
  }

  /** All that happens at the present time: events in the order of their numbers, and those that their jumps bring about. */
  private happen(queue: number[], first: number, noted: ReadonlySet<number>, rising: (event: number) => boolean): void {
    const {events, integrator, log, history} = this;
    const fired = new Set(noted);
    const residue = integrator.events(integrator.state, this.t).e;
    this.jumped = new Set();
    let atMoment = true;
    while (queue.length > 0) {
      const event = queue.shift() as number;
      const {then} = events[event];
      const before = integrator.state.slice();
      if (then === 'record') {
        log.note(this.t, event, rising(event), before, before);
        history.happened.push(this.moment);
        fired.add(event);
        continue;
      }
      if (!(atMoment && event === first)) this.commit(this.instantStep({t: this.t, x: before}), event);
      atMoment = false;
      fired.add(event);
      history.happened.push(this.moment);
      if (then === 'stop') {
        log.note(this.t, event, rising(event), before, before);
        this.status = 'event';
        // A run that goes on from here is past it.
        break;
      }
      const way = rising(event);
      const turned = new Set(events.flatMap((other, j) => (fired.has(j) && !leaves(other, this.rates[j]) ? [j] : [])));
      this.jump(event, before);
      log.note(this.t, event, way, before, integrator.state);
      this.error = log.chatters(event, this.t, this.prepared.options.grid.dt);
      if (this.error !== undefined) {
        this.status = 'step-too-small';
        return;
      }
      this.jumped.add(event);
      queue = this.present(this.t, fired, turned).filter(other => other !== event);
    }
    const {e, rates} = integrator.events(integrator.state, this.t);
    // What fired is zero as far as it was then, unless a jump has moved it away.
    const left = (j: number): number => (fired.has(j) ? 2 * Math.abs(residue[j]) : 0);
    this.settled = new Set(
      events.flatMap((_, j) => (Math.abs(e[j]) <= left(j) || touches(e[j], rates[j], this.simultaneous(j)) ? [j] : [])),
    );
  }

  /** @param checked whether the state after it must obey the constraints */
  private jump(event: number, before: Float64Array, checked = true): void {
    const {history, integrator, pace, t} = this;
    const h = pace.length;
    integrator.jump(event, t, h, checked);
    integrator.stepper.follow(undefined);
    this.here = undefined;
    const n = this.count;
    history.jumps.set(n, this.moment as number);
    history.append(t, h);
    this.record(n, t, h, before, integrator.stepper.z);
  }

  /** A step becomes part of the step history; with an event, its end is that event's time, and `least` the rate below which it touches. */
  private commit(step: Taken, event?: number, least = 0): void {
    const {history, saver, integrator, moment, count} = this;
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
    if (this.settled.size > 0)
      this.settled = new Set([...this.settled].filter(other => this.isStillSettled(other, step)));
    if (this.jumped.size > 0) this.jumped = new Set();
  }

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
        const x = rows.subarray(k * width + rowStart, (k + 1) * width);
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

  private boundary(): void {
    this.saver.boundary(++this.boundaries, this.t, this.moment);
  }

  private fail(status: Failure | 'too-many-steps', t: number, h: number): false {
    this.status = status;
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

/** The function is zero at present, but for what it changes within the tolerance of its time. */
const touches = (e: number, rate: number, tolerance: number): boolean => Math.abs(e) <= Math.abs(rate) * tolerance;

/** The function leaves zero in the direction of its event. */
const leaves = ({direction}: PlannedEvent, rate: number): boolean =>
  direction === 'both' ? rate !== 0 : direction === 'rising' ? rate > 0 : rate < 0;
