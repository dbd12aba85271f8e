/**
 * Events of a run with steps of its own: where a step meets the zero of an event's function it is cut short there, and
 * what happens at that time happens in the order of the events' numbers, with the events that jumps bring about. The
 * loop (history-loop.ts) takes the steps.
 */
import {fixedTime, type StepHistory} from '../../adjoint/step-history.js';
import {inactiveBorder} from '../../step/idle.js';
import type {StiffgradError} from '../../errors.js';
import type {Counters, Failure, Status} from '../counters.js';
import type {ResumeState} from '../run-state.js';
import type {Integrator, CompletedStep} from './integrator.js';
import {locate, type Located} from './locate.js';
import type {StepSequence} from './step-sequence.js';
import type {RunController} from './step-size-controller.js';
import {minStep} from './step-size-controller.js';
import type {LineCrossing} from './switch-times.js';
import type {PlannedEvent} from './plan.js';
import type {EventLog} from './records.js';
import type {Saver} from './saver.js';
import type {Crossing, Watch} from './watch.js';
import {crossings, touch} from './watch.js';

/** What is left of a direction of motion that a jump has ended: the rounding of the event's function over a step. */
const still = 64 * Number.EPSILON;

/**
 * A function of time jumps within a millionth of the distance of its samples (system/signal.ts): this share of it, or
 * of the step, is the same time.
 */
const sampleShare = 1e-5;

/** A switch that changes without end does so ever faster: its changes are counted within this share of dt. */
const chatterShare = 1e-4;

/** A step that ends at an event, and what it shows of the events. */
interface Cut {
  readonly step: CompletedStep;
  readonly crossing: Crossing;
  readonly watch: Watch;
}

/** The loop in which events happen. */
export interface EventfulLoop {
  readonly integrator: Integrator;
  readonly history: StepHistory;
  readonly saver: Saver;
  readonly log: EventLog;
  readonly counters: Counters;
  readonly controller: RunController;
  /** The steps that are part of the run. */
  readonly sequence: StepSequence;
  /** Length of the first step. */
  readonly dt: number;
  readonly t: number;
  /** Transitions in the step history. */
  readonly count: number;
  /** The event whose time is the present one. */
  readonly eventTime: number | undefined;
  /** Where functions of time jump, ascending. */
  readonly jumps: Float64Array;
  /** Steps are as long as their error allows. */
  readonly adaptive: boolean;
  status: Status;
  error: StiffgradError | undefined;
  /** A step becomes part of the step history; with an event, its end is that event's time. */
  commit(step: CompletedStep, event?: number, least?: number): void;
  jump(event: number, before: Float64Array, checked?: boolean, modes?: Float64Array): void;
  /** A switch has changed at the present time. @param before the state before it */
  switched(event: number, before: Float64Array): void;
  fail(status: Failure, t: number, h: number): false;
}

export class LoopEvents {
  /** Events whose function counts as zero at present. */
  private settled = new Set<number>();
  private knownSides: Int8Array = new Int8Array(0);
  /** Settled events whose jump must have ended their crossing. */
  private jumped = new Set<number>();
  /** Whatever happens is known beforehand. */
  private readonly hasOnlyLines: boolean;

  constructor(
    private readonly loop: EventfulLoop,
    private readonly events: readonly PlannedEvent[],
  ) {
    this.hasOnlyLines = events.length > 0 && events.every(({isLine}) => isLine === true);
    this.sides = new Int8Array(events.length);
  }

  /** The side of zero on which each event's function is at present: 0 where it is not known, or counts as zero. */
  private get sides(): Int8Array {
    return this.knownSides;
  }

  private set sides(sides: Int8Array) {
    this.knownSides = sides;
    const given = this.loop.integrator.stepper.sides;
    given?.set(sides);
    this.inactive.clear();
    this.events.forEach(({then, isLine}, j) => {
      if (isLine === true && given !== undefined) given[j] = inactiveBorder;
      if (isLine === true || then !== 'switch' || this.isActive(j, true) || this.isActive(j, false)) return;
      this.inactive.add(j);
      if (given !== undefined) given[j] = inactiveBorder;
    });
  }

  /** Other borders than before may be crossed: on which side of them the motion is, the next step shows. */
  modesChanged(): void {
    this.sides = this.sides.map((side, j) => (this.isSwitch(j) ? 0 : side));
  }

  /** Borders that could not be crossed when sides were last looked at; their own are not kept. */
  private readonly inactive = new Set<number>();

  /**
   * Where a run stands that goes on from another's end; it may have fewer events than that one. Borders of switches
   * follow a run's own events, and have other numbers in another run: their modes say which side they are on.
   */
  goOn({settled, jumped}: Pick<ResumeState, 'settled' | 'jumped'>): void {
    const known = (events: readonly number[] = []): Set<number> =>
      new Set(events.filter(event => event < this.events.length && !this.isSwitch(event)));
    this.settled = known(settled);
    this.jumped = known(jumped);
  }

  get standing(): Pick<ResumeState, 'settled' | 'jumped'> {
    return {settled: this.atZero.filter(event => !this.isSwitch(event)), jumped: [...this.jumped]};
  }

  /** Events that count as zero for a run that goes on from here: those that have, and those that have just crossed. */
  private get atZero(): number[] {
    const {events, settled, sides} = this;
    if (events.length === 0) return [];
    const {e, rates} = this.loop.integrator.events(this.loop.integrator.state, this.loop.t);
    const isCrossed = (j: number): boolean => sides[j] * rates[j] > 0 && touches(e[j], rates[j], this.simultaneous(j));
    return [...events.keys()].filter(j => settled.has(j) || isCrossed(j));
  }

  /** After a step that became part of the history. */
  passed(step: CompletedStep): void {
    if (this.settled.size > 0)
      this.settled = new Set([...this.settled].filter(other => this.isStillSettled(other, step)));
    if (this.jumped.size > 0) this.jumped = new Set();
  }

  /** The tolerance of an event's time: no less than the time's own rounding. */
  private readonly tolerance = (event: number): number =>
    Math.max(
      this.events[event].tolerance ?? 0,
      2 * Number.EPSILON * Math.max(Math.abs(this.loop.t), this.loop.controller.length),
    );

  /**
   * Looks for events in a step. Those that cut it short are gone through, and true is returned; what the others note is
   * noted.
   */
  cutShort(step: CompletedStep): boolean {
    const {integrator} = this.loop;
    if (this.allowsIdle && (step.isIdle || this.hasOnlyLines)) return this.crossLine(step);
    const watch = this.crossingsIn(step);
    for (const event of watch.begun) if (this.events[event].then === 'jump') this.loop.log.begins(event, step.t);
    this.refuseSticking(step, watch.found);
    if (this.loop.status !== 'completed') return true;
    const cut = this.firstCut(step, watch);
    if (cut !== undefined && 'failed' in cut) {
      this.loop.counters.failures[cut.failed] = (this.loop.counters.failures[cut.failed] ?? 0) + 1;
      integrator.state.set(step.x);
      this.loop.fail(cut.failed, step.t, step.h);
      return true;
    }
    if (cut !== undefined) {
      this.loop.error = this.isSwitch(cut.crossing.event) ? undefined : this.unresolved(cut.step, cut.crossing);
      integrator.state.set(step.x);
      if (this.loop.error !== undefined) this.loop.status = 'step-too-small';
      else this.end(cut, step.h);
      return true;
    }
    this.note(watch.found, step);
    this.sides = watch.sides;
    for (const event of watch.lost) this.loop.log.lose(event, step.end);
    for (const {event, theta} of watch.touched) this.loop.log.touches(event, step.t + theta * step.h);
    integrator.state.set(step.next);
    return false;
  }

  /** A step in which nothing else happens may end where a line in t crosses zero. @returns whether it does */
  private crossLine(step: CompletedStep): boolean {
    const {integrator, sequence} = this.loop;
    const {modes, state, switchTimes} = integrator;
    const line = switchTimes?.lineAt(step.end);
    if (line === undefined || modes === undefined) return false;
    state.set(step.next);
    const after = this.hasOnlyLines ? this.modesAcross(line, step.end) : undefined;
    if (after === undefined) {
      const watch = {found: [], sides: this.sides, lost: [], touched: [], begun: []};
      this.end({step, crossing: atEnd(line), watch}, step.h);
      return true;
    }
    this.loop.commit(step, line.event);
    modes.values.set(after);
    this.loop.switched(line.event, step.next);
    this.loop.jump(line.event, step.next, false, after);
    sequence.interrupt(state, this.loop.count);
    return true;
  }

  /** The modes after a line in t has crossed zero; undefined where others are zero, too. */
  private modesAcross({event, rising}: LineCrossing, t: number): Float64Array | undefined {
    const {integrator} = this.loop;
    const {modes, state} = integrator;
    if (modes === undefined) return undefined;
    const mode = modes.modeOf(event);
    modes.cross(event, rising);
    modes.settle(t, new Set([mode]));
    const {e, rates} = integrator.events(state, t);
    for (let j = 0; j < e.length; j++)
      if (modes.modeOf(j) !== mode && touches(e[j], rates[j], this.simultaneous(j))) return undefined;
    return modes.values.slice();
  }

  /** Whether steps need no search whose own test says so. */
  get allowsIdle(): boolean {
    return this.settled.size === 0 && this.jumped.size === 0;
  }

  /**
   * The first of the crossings that end a step early, and the step that ends there. The order on the dense output may
   * be another than that of the scheme's own states: what crosses in the shorter step comes before its end.
   */
  private firstCut(step: CompletedStep, watch: Watch): Cut | {readonly failed: Failure} | undefined {
    let cut: Cut | undefined;
    let [within, whole] = [watch, step];
    for (let k = 0; k < this.events.length; k++) {
      const next = this.located(whole, within.found, cut?.crossing.event);
      if (next === undefined || 'failed' in next) return cut ?? next;
      // A step of no length has no dense output, on which others may be noted.
      whole = next.step.h === 0 ? this.instantStep(step) : next.step;
      within = this.crossingsIn(whole);
      cut = {step: whole, crossing: next.crossing, watch: within};
    }
    return cut;
  }

  private located(
    step: CompletedStep,
    found: readonly Crossing[],
    except: number | undefined,
  ): Omit<Cut, 'watch'> | {readonly failed: Failure} | undefined {
    for (const crossing of found) {
      if (this.events[crossing.event].then === 'record' || crossing.event === except) continue;
      if (except !== undefined && crossing.theta === 1) continue;
      const located = this.stepTo(step, crossing);
      if (located !== 'none') return 'failed' in located ? located : {...located, crossing};
    }
    return undefined;
  }

  private stepTo(step: CompletedStep, crossing: Crossing): Located {
    if (crossing.high === 0 || crossing.theta * step.h <= minStep(step.t)) return {step: this.instantStep(step)};
    if (crossing.theta === 1) return {step};
    if (crossing.least === fixedTime) return this.until(step, crossing.theta);
    return locate(this.loop.integrator, step, crossing, this.tolerance(crossing.event));
  }

  /** The events of a step. The time of one whose function jumps is that of the jump, or has no known derivative. */
  private crossingsIn(step: CompletedStep): Watch {
    const {events, tolerance, settled, sides, rounding} = this;
    this.loop.integrator.load(step);
    const watch = crossings(this.loop.integrator, events, step, settled, sides, tolerance, rounding);
    const line = this.loop.integrator.switchTimes?.lineAt(step.end);
    return {
      ...watch,
      touched: watch.touched.filter(({event}) => this.isActive(event, true) || this.isActive(event, false)),
      found: [
        ...watch.found
          .filter(({event, rising}) => !this.isStillSettled(event, step) && this.isActive(event, rising))
          .map(crossing => (crossing.jumps ? this.timed(crossing, step) : crossing)),
        ...(line === undefined ? [] : [atEnd(line)]),
      ],
    };
  }

  private isSwitch(event: number): boolean {
    return this.events[event].then === 'switch';
  }

  /** Whether an event may happen: the border of a switch that is held, or one that a motion slides along, may not. */
  private isActive(event: number, rising: boolean): boolean {
    return !this.isSwitch(event) || this.loop.integrator.modes?.isActive(event, rising) !== false;
  }

  private timed(crossing: Crossing, {t, h}: CompletedStep): Crossing {
    const {jumps} = this.loop;
    const at = t + crossing.theta * h;
    const near = jumps.findIndex((time, i) => {
      const gap = Math.min(...[jumps[i - 1], jumps[i + 1]].map(other => Math.abs((other ?? time) - time) || Infinity));
      return Math.abs(time - at) <= sampleShare * Math.max(Math.abs(h), Number.isFinite(gap) ? gap : 0);
    });
    if (near < 0) return {...crossing, least: Infinity};
    return {...crossing, theta: Math.min(Math.max((jumps[near] - t) / h, 0), 1), least: fixedTime};
  }

  /** A step that is a part of one. */
  private until(step: CompletedStep, theta: number): Located {
    const {integrator} = this.loop;
    const {t, h, x} = step;
    if (theta === 1) return {step};
    const status = integrator.take(x, t, theta * h);
    if (status !== 'completed') return {failed: status as Failure};
    return {step: integrator.completedStep(x, t, theta * h, t + theta * h)};
  }

  /** An event that its own jump began with, in the same step, and that time or velocity no longer resolve. */
  private unresolved({end, next}: CompletedStep, {event, rising}: Crossing): StiffgradError | undefined {
    const {log, integrator, controller} = this.loop;
    const {settled} = this;
    const rate = integrator.events(next, end).rates[event];
    return (
      log.unresolved(event, end, controller.length)
      ?? (settled.has(event) && (rising ? rate <= 0 : rate >= 0) ? log.chatter(event, end) : undefined)
    );
  }

  /** A jump that leaves its event to go on through zero ends the run with its error. */
  private refuseSticking(step: CompletedStep, found: readonly Crossing[]): void {
    if (this.jumped.size === 0) return;
    this.loop.integrator.load(step);
    const start = this.loop.integrator.eventsOnDense(0).dg.slice();
    const end = this.loop.integrator.eventsOnDense(1).g;
    for (const event of this.jumped) {
      const {direction} = this.events[event];
      const through = (direction !== 'rising' && end[event] < 0) || (direction !== 'falling' && end[event] > 0);
      if (
        direction !== 'both'
        && through
        && Math.abs(start[event]) <= still * Math.abs(end[event])
        && !found.some(crossing => crossing.event === event)
      ) {
        this.loop.error = this.loop.log.sticks(event, step.t);
        this.loop.integrator.state.set(step.x);
        this.loop.status = 'step-too-small';
        return;
      }
    }
  }

  /** Notes the crossings of events that only record. */
  private note(
    found: readonly Pick<Crossing, 'event' | 'theta' | 'rising' | 'least'>[],
    step: CompletedStep,
  ): Set<number> {
    const noted = new Set<number>();
    const recorded = found.filter(({event}) => this.events[event].then === 'record');
    if (recorded.length > 0) this.loop.integrator.load(step);
    for (const {event, theta: place, rising, least} of recorded) {
      // The slopes of dense output between ends that rounding alone tells apart are rounding themselves; at an end they
      // are the motion's.
      const theta = Math.abs(step.h) <= this.simultaneous(event) ? 1 : place;
      const t = theta === 1 ? step.end : step.t + theta * step.h;
      if (theta === 1) noted.add(event);
      // At the end of one step and the beginning of the next it is the same crossing.
      if (this.isRecorded(event, t, rising)) continue;
      const x = theta === 1 ? step.next : this.loop.integrator.stateAt(theta);
      this.loop.log.note(t, event, rising, x, x);
      this.loop.history.recordEvent(this.loop.count, event, theta, least / step.h);
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
   * Notes what only records and is zero where a step ends, but for rounding. Its time is its own, and its state that
   * before any jump of others there: a jump may move its function away.
   */
  private noteAtEnd(ready: readonly number[], step: CompletedStep, noted: Set<number>): void {
    const due = ready.filter(event => this.events[event].then === 'record');
    if (due.length === 0) return;
    this.loop.integrator.load(step);
    const [start, end] = [0, 1].map(theta => this.loop.integrator.eventsOnDense(theta).dg.slice());
    const found = due.map(event => ({
      event,
      theta: 1,
      rising: this.rates[event] > 0,
      least: touch(start[event], end[event]),
    }));
    for (const event of this.note(found, step)) noted.add(event);
  }

  /** The shortest step there is: from one event to another at the same time, or to the same again. */
  private instantStep({t, x}: Pick<CompletedStep, 't' | 'x'>): CompletedStep {
    const h = Number.EPSILON * Math.max(Math.abs(t), this.loop.controller.length);
    this.loop.integrator.take(x, t, h);
    return this.loop.integrator.completedStep(x, t, h, t + h);
  }

  /** A step that ends at an event, and everything that happens there. */
  private end({step, crossing: {event, rising, least, jumps}, watch}: Cut, whole: number): void {
    const {integrator, sequence} = this.loop;
    const noted = this.note(
      watch.found.filter(({event: other}) => other !== event),
      step,
    );
    integrator.state.set(step.next);
    const ready = this.present(step.end, noted, new Set()).filter(other => other !== event);
    this.noteAtEnd(ready, step, noted);
    const queue = [...ready.filter(other => !noted.has(other)), event].sort((a, b) => a - b);
    const first = queue[0];
    this.loop.commit(step, first, first === event ? least / whole : 0);
    this.sides = watch.sides;
    const isRising = (other: number): boolean => (other === event ? rising : this.rates[other] > 0);
    this.happen(queue, first, noted, jumps ? event : undefined, isRising);
    if (this.loop.status === 'completed') sequence.interrupt(integrator.state, this.loop.count);
    if (this.loop.status === 'event')
      this.loop.saver.finish(this.loop.t, integrator.state, this.loop.count, true, this.loop.eventTime);
  }

  /** The events' rates along the motion, where they were last looked at. */
  private rates: Float64Array = new Float64Array(0);

  /**
   * Events whose function is zero now and leaves zero in their direction: those not in `fired`, or that had been
   * leaving zero otherwise.
   */
  private present(t: number, fired: ReadonlySet<number>, leaving: ReadonlySet<number>): number[] {
    const {e, rates} = this.loop.integrator.events(this.loop.integrator.state, t);
    this.rates = rates;
    return this.events.flatMap((event, j) =>
      this.isActive(j, rates[j] > 0)
      && touches(e[j], rates[j], this.simultaneous(j))
      && leaves(event, rates[j])
      && (!fired.has(j) || leaving.has(j))
        ? [j]
        : [],
    );
  }

  /** What counts as zero where a step begins does so at its end, too, if the two are the same time but for rounding. */
  private isStillSettled(event: number, {h}: CompletedStep): boolean {
    return this.settled.has(event) && Math.abs(h) <= this.simultaneous(event);
  }

  /** Times this close are the same. */
  private simultaneous(event: number): number {
    return Math.max(this.events[event].tolerance ?? 0, this.rounding);
  }

  /** Times this close differ by rounding. */
  private get rounding(): number {
    return minStep(Math.max(Math.abs(this.loop.t), this.loop.controller.length));
  }

  /** An event has happened. @param after the state that it made */
  private told(event: number, rising: boolean, before: Float64Array, after = before): void {
    const {log, history, t, eventTime} = this.loop;
    log.note(t, event, rising, before, after);
    history.occurred.push(eventTime);
  }

  /** Crosses the border of a switch: its mode, and those that depend on it; or stays on the border. */
  private change(event: number, rising: boolean, before: Float64Array): void {
    const {integrator, t, log, dt} = this.loop;
    const {modes} = integrator;
    if (modes === undefined) return;
    const settle = (): void => modes.settle(t, this.modesAtZero(event));
    modes.cross(event, rising);
    settle();
    const rate = integrator.events(integrator.state, t).rates[event];
    const isSentBack = this.isActive(event, !rising) && (rising ? rate < 0 : rate > 0);
    // Two borders may send the motion to and fro.
    if (modes.isPushed(event) && (isSentBack || log.chatters(event, t, chatterShare * dt) !== undefined)) {
      if (!modes.stay(event)) this.release(event);
      settle();
    }
    this.loop.switched(event, before);
    this.loop.jump(event, before, false, modes.values.slice());
  }

  /** From here the comparison of a switch is evaluated as it stands: adaptive steps would become ever shorter. */
  release(event: number): void {
    const {log, t, adaptive} = this.loop;
    if (!adaptive) log.slides(event, t);
    else [this.loop.status, this.loop.error] = ['step-too-small', log.cannotSlide(event, t)];
  }

  /** A run starts on borders that its motion slides along: what it starts with beside them is lost at once. */
  begin(borders: readonly number[]): void {
    const {integrator, sequence} = this.loop;
    const {modes, state} = integrator;
    if (modes === undefined) return;
    for (const event of borders) {
      const before = state.slice();
      this.loop.commit(this.instantStep({t: this.loop.t, x: before}), event);
      modes.stay(event);
      modes.settle(this.loop.t, this.modesAtZero(event));
      this.loop.jump(event, before, false, modes.values.slice());
    }
    this.modesChanged();
    sequence.interrupt(state, this.loop.count);
  }

  /** Leaves borders along which the motion would slide with a share that there is not: others have changed it. */
  private leaveBorders(): void {
    const {integrator, t} = this.loop;
    const {modes, state} = integrator;
    if (modes === undefined) return;
    for (let left = -1; ;) {
      const {e} = integrator.events(state, t);
      const next = this.events.findIndex((_, j) => this.isSwitch(j) && modes.isBeyond(j, e[j]));
      if (next < 0 || next === left) return;
      left = next;
      const before = state.slice();
      this.loop.commit(this.instantStep({t, x: before}), next);
      modes.cross(next, true);
      modes.settle(t, this.modesAtZero(next));
      this.loop.jump(next, before, false, modes.values.slice());
    }
  }

  /**
   * Modes whose borders are zero at present: which side they are on is theirs to tell. The one that has just changed is
   * among them, though its border's rate with the new mode be so small that its rounding is no longer zero.
   */
  private modesAtZero(changed: number): ReadonlySet<number> {
    const {integrator, t} = this.loop;
    const {e, rates} = integrator.events(integrator.state, t);
    return new Set(
      this.events.flatMap((_, j) =>
        this.isSwitch(j) && (j === changed || touches(e[j], rates[j], this.simultaneous(j)))
          ? [integrator.modes?.modeOf(j) ?? -1]
          : [],
      ),
    );
  }

  /**
   * All that happens at the present time: events in the order of their numbers, and those that their jumps bring about.
   */
  private happen(
    queue: number[],
    first: number,
    noted: ReadonlySet<number>,
    jumped: number | undefined,
    rising: (event: number) => boolean,
  ): void {
    const {integrator, log} = this.loop;
    const {events} = this;
    const fired = new Set(noted);
    const reached = integrator.events(integrator.state, this.loop.t).e;
    const ratesBefore = new Map<number, number>();
    this.jumped = new Set();
    let atMoment = true;
    while (queue.length > 0) {
      const event = queue.shift() as number;
      const {then} = events[event];
      const before = integrator.state.slice();
      if (then === 'record') {
        this.told(event, rising(event), before);
        fired.add(event);
        continue;
      }
      if (!(atMoment && event === first)) this.loop.commit(this.instantStep({t: this.loop.t, x: before}), event);
      atMoment = false;
      fired.add(event);
      if (then === 'stop') {
        this.told(event, rising(event), before);
        this.loop.status = 'event';
        // A run that goes on from here is past it.
        break;
      }
      const way = rising(event);
      if (then !== 'switch') ratesBefore.set(event, this.rates[event]);
      const turned = new Set(events.flatMap((other, j) => (fired.has(j) && !leaves(other, this.rates[j]) ? [j] : [])));
      if (then === 'switch') {
        const waiting = queue;
        this.change(event, way, before);
        if (this.loop.error !== undefined) return;
        const {e} = integrator.events(integrator.state, this.loop.t);
        const present = this.present(this.loop.t, fired, turned).filter(other => other !== event);
        // What has reached its border stays there, however slowly it goes on from here.
        const reaching = waiting.filter(
          j => this.isSwitch(j) && e[j] === reached[j] && this.isActive(j, this.rates[j] > 0),
        );
        queue = [...new Set([...present, ...reaching])].sort((a, b) => a - b);
        continue;
      }
      this.loop.jump(event, before);
      this.told(event, way, before, integrator.state);
      this.loop.error = log.chatters(event, this.loop.t, this.loop.dt);
      if (this.loop.error !== undefined) {
        this.loop.status = 'step-too-small';
        return;
      }
      this.jumped.add(event);
      queue = this.present(this.loop.t, fired, turned).filter(other => other !== event);
    }
    this.leaveBorders();
    const {e, rates} = integrator.events(integrator.state, this.loop.t);
    const changed = (j: number): boolean => fired.has(j) || e[j] !== reached[j];
    // What fired is zero as far as it was then, unless a jump has moved it away. What has jumped through zero is not
    // zero.
    const left = (j: number): number => (fired.has(j) && j !== jumped ? 2 * Math.abs(reached[j]) : 0);
    const isZero = (j: number): boolean => Math.abs(e[j]) <= left(j) || touches(e[j], rates[j], this.simultaneous(j));
    this.settled = new Set(events.flatMap(({isLine}, j) => (isLine !== true && changed(j) && isZero(j) ? [j] : [])));
    for (const [event, rate] of ratesBefore)
      if (this.settled.has(event) && events[event].direction === 'both' && rate * rates[event] < 0)
        log.turnsBack(event, this.loop.t);
    const isNew = (j: number): boolean => changed(j) || this.inactive.has(j);
    this.sides = this.sides.map((side, j) => (this.settled.has(j) ? 0 : isNew(j) ? Math.sign(e[j]) || 0 : side));
  }
}

/** A line in t that crosses zero at a step's end. */
const atEnd = ({event, rising}: LineCrossing): Crossing => ({
  event,
  theta: 1,
  rising,
  slope: rising ? 1 : -1,
  low: 0,
  high: 1,
  later: false,
  least: 0,
  jumps: false,
});

/** The function is zero at present, but for what it changes within the tolerance of its time. */
const touches = (e: number, rate: number, tolerance: number): boolean => Math.abs(e) <= Math.abs(rate) * tolerance;

/** The function leaves zero in the direction of its event. */
const leaves = ({direction}: PlannedEvent, rate: number): boolean =>
  direction === 'both' ? rate !== 0 : direction === 'rising' ? rate > 0 : rate < 0;
