/**
 * The general time loop: steps on the grid or as long as their error allows, shortened where an
 * event ends the run or changes the state, and states saved between their ends by dense output. The
 * result is one sequence of transitions (adjoint/step-history.ts), which gradients traverse backwards.
 */
import {StepHistory} from '../../adjoint/step-history.js';
import type {StiffgradError} from '../../errors.js';
import {toUserTime} from '../../step/time-direction.js';
import {modeBlock} from '../../graph/switches.js';
import type {SwitchEvent} from '../../system/switches.js';
import type {PlannedEvent} from './plan.js';
import {stopsOf} from './plan.js';
import {gridStep} from '../grid.js';
import {RunFailure, stepSizeError, captureFailure} from '../run-failure.js';
import type {TimeLoop, LoopResult} from '../time-loop.js';
import type {BackwardRecorder, BackwardPolicy} from '../path.js';
import type {RunContext} from '../run-context.js';
import {contradiction} from '../start.js';
import {ContactWatch} from '../warnings.js';
import type {ResumeState} from '../run-state.js';
import type {Counters, Failure, Status} from '../counters.js';
import {noCounts} from '../counters.js';
import {unjudged} from '../algebraic.js';
import {ErrorEstimate} from './error-estimate.js';
import type {CompletedStep} from './integrator.js';
import {Integrator} from './integrator.js';
import {LoopEvents, type EventfulLoop} from './loop-events.js';
import {StepSequence, type StepEnd} from './step-sequence.js';
import type {RunController} from './step-size-controller.js';
import {AdaptiveController, GridController, isReached, minStep} from './step-size-controller.js';
import type {Plan} from './plan.js';
import {evaluationsOfFirst, firstStep} from './first-step.js';
import {rowHeaderSize} from '../../step/block-layout.js';
import {AdaptiveBlocks} from './adaptive-blocks.js';
import {GridBlocks} from './grid-blocks.js';
import {EventLog} from './records.js';
import {Saver} from './saver.js';
import {StiffnessWatch} from './stiffness.js';
import {AttemptLoop} from './attempt-loop.js';
import {IntegratorTrial} from './integrator-trial.js';

/** Transitions that are kept where nobody goes back along them: dropping them costs as much as ten of them. */
const maxUnusedHistory = 500;

const eventAtEndWarning =
  'An event falls on the end of the run, and no step could be taken from there: a gradient holds the time '
  + 'between the two fixed. End the run earlier or later.';

/**
 * Times as long as the last step that a step of generalized-α may be. A pendulum that an event stops shortly before a
 * step of the grid: with steps of 20 times derivatives are right, with 200 off by 3 %, with 2000 five times too large.
 */
const maxLengthRatio = 100;

/**
 * The border of a switch as an event: a whole number falls below its lower border, and rises above its upper one; a
 * share falls below 0, or rises above 1.
 */
const plannedSwitch = ({change, name, course}: SwitchEvent): PlannedEvent => ({
  direction: change === 'side' ? 'both' : change === 'falls' || change === 'leaves below' ? 'falling' : 'rising',
  then: 'switch',
  name,
  moves: !change.startsWith('leaves') && (course.state || course.parameters),
  isLine: course.line && !course.state,
});

export class HistoryLoop implements TimeLoop, EventfulLoop {
  readonly history = new StepHistory();
  readonly counters: Counters = noCounts();
  readonly integrator: Integrator;
  private readonly contacts: ContactWatch;
  private readonly stiffnessWatch: StiffnessWatch;
  /** h|λ| over what is stable, of the step last taken. */
  private readonly stiffness?: Float64Array;
  readonly saver: Saver;
  readonly log: EventLog;
  /** Made with the first transition: the start may be made anew before that. */
  private cachedRecorder: BackwardRecorder | undefined;
  readonly controller: RunController;
  readonly sequence: StepSequence;
  status: Status = 'completed';
  error: StiffgradError | undefined;
  private readonly events: readonly PlannedEvent[];
  private readonly eventHandler: LoopEvents;
  readonly dt: number;
  private readonly breaks: Plan['breaks'];
  readonly jumps: Float64Array;
  private readonly jumpTimes: ReadonlySet<number>;
  private readonly restarts: ReadonlySet<number>;
  /**
   * Times at which what the steps read is not smooth, or may not be known, ascending; the first of them after the
   * present time, or before it.
   */
  private readonly nonSmoothTimes: Float64Array;
  private nextNonSmooth = 0;
  private readonly trial: IntegratorTrial;
  private readonly attempts: AttemptLoop;
  /** null before they were looked for. */
  private blocks: AdaptiveBlocks | undefined | null = null;
  private gridBlocks: GridBlocks | undefined | null = null;
  readonly adaptive: boolean;
  /** Steps so far. */
  stepCount = 0;
  /** Transitions in the step history. */
  get count(): number {
    return this.history.count;
  }

  /** The present state, in an array that stays unchanged; undefined if there is none. */
  private currentState: Float64Array | undefined;
  /** The event time that is the present time, by its index; undefined at other times. */
  eventTime: number | undefined;
  /** The state after a step beyond the end, if one was taken for the derivative by an event's time. */
  private stateBeyondEnd: Float64Array | undefined;

  /** @param keeping for a gradient; undefined where none is wanted */
  constructor(
    private readonly prepared: RunContext,
    private readonly plan: Plan,
    private readonly keeping: BackwardPolicy | undefined,
  ) {
    const {options, traced} = prepared;
    const {grid} = options;
    this.events = [...plan.events, ...(traced.switches ?? []).map(plannedSwitch)];
    this.dt = grid.dt;
    this.breaks = plan.breaks;
    this.jumps = plan.breaks?.jumps ?? new Float64Array(0);
    this.jumpTimes = new Set(this.jumps);
    this.restarts = new Set(plan.breaks?.restarts);
    this.nonSmoothTimes = Float64Array.from(
      new Set([...(plan.breaks?.stops ?? []), ...this.restarts, plan.end ?? Infinity]),
    ).sort();
    this.integrator = new Integrator(prepared, this.counters, keeping !== undefined);
    this.contacts = new ContactWatch(prepared, this.counters);
    this.stiffnessWatch = new StiffnessWatch(traced);
    this.stiffness = traced.functions.stiffness === undefined ? undefined : this.integrator.stepper.stiffness;
    this.saver = new Saver(plan.saving, traced.state.size, this.history);
    const own = traced.state.blocks.filter(({offset}) => offset < prepared.start.traced.inputs.x.size);
    this.log = new EventLog(
      this.events,
      own.filter(({name}) => name !== modeBlock),
      traced,
    );
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
      this.controller = new AdaptiveController(
        plan.control,
        estimate.power,
        implicit,
        this.firstLength(plan, grid.t0),
        plan.end,
        plan.most,
        stopsOf(plan),
        plan.revisits,
      );
    } else {
      this.controller = GridController.of(prepared);
    }
    this.adaptive = estimate !== undefined;
    this.trial = new IntegratorTrial(this.integrator, estimate, (t, h) => this.startAgain(t, h));
    this.attempts = new AttemptLoop(this.controller, this.counters);
    this.sequence = new StepSequence(this.controller, this.saver, grid.t0, () => this.presentEnd());
    this.eventHandler = new LoopEvents(this, this.events);
    this.tellOfStart();
    this.adjustStart();
    this.resume(plan.resume);
    this.saver.start(this.t, this.integrator.state);
  }

  private tellOfStart(): void {
    const {log, t, keeping} = this;
    const {released, left, eitherWay} = this.integrator.bordersAtStart;
    for (const event of released) this.eventHandler.release(event);
    for (const event of eitherWay) log.leavesEitherWay(event, t);
    if (keeping !== undefined) for (const event of left) if (this.isMovable(event)) log.startsOnBorder(event, t);
  }

  /** A switch has changed: a state that is saved at just this time has derivatives on either side. */
  switched(event: number, before: Float64Array): void {
    const {t, keeping, adaptive, saver, plan, prepared} = this;
    if (keeping === undefined) return;
    const isNow = (time = NaN): boolean => Math.abs(time - t) <= minStep(t);
    const {grid} = prepared.options;
    const step = adaptive ? undefined : gridStep(t, grid);
    const isGridTime = step !== undefined && isNow(grid.time(step));
    const isSaved = isNow(plan.end) || saver.asksFor(t) || (isGridTime && saver.savesStep(step));
    if (isSaved && this.isMovable(event, before)) this.log.changesWhereSaved(event, t);
  }

  /** Whether the state or parameters move the border of a switch that the run is on. */
  private isMovable(event: number, x = this.integrator.state): boolean {
    const {integrator, t, prepared, plan} = this;
    const {state, parameters} = (prepared.traced.switches ?? [])[event - plan.events.length].course;
    return state || (parameters && integrator.changesWithParameters(event, x, t));
  }

  /** The length of the first adaptive step: as given, or chosen by the motion. */
  private firstLength({control, absolute, end, resume}: Plan, t: number): number {
    const {prepared, integrator} = this;
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
  private resume(resume: Plan['resume']): void {
    if (resume === undefined) return;
    this.controller.restore(resume);
    if (resume.newton !== undefined) this.integrator.stepper.warmStart = resume.newton;
    this.eventHandler.goOn(resume);
  }

  /** The state that another run can resume from. */
  get resumeState(): ResumeState {
    const {controller, t, integrator, eventHandler} = this;
    return {
      t,
      x: integrator.state.slice(),
      ...eventHandler.standing,
      ...controller.snapshot(t),
      newton: integrator.stepper.warmStart,
    };
  }

  get t(): number {
    return this.sequence.t;
  }

  get acceptedSteps(): number {
    return this.sequence.acceptedSteps;
  }

  get done(): boolean {
    return this.controller.done(this.t);
  }

  result(): LoopResult {
    const {saver, integrator, counters, log, contacts, stiffnessWatch, resumeState} = this;
    // Trials of the error and of an event's time are no steps of the run.
    counters.steps = this.stepCount;
    integrator.stepper.addEvaluations();
    this.gridBlocks?.release();
    return {
      states: saver.states,
      times: saver.times,
      status: this.status,
      error: this.error,
      warnings: [
        ...contacts.warnings,
        ...log.warnings,
        ...(stiffnessWatch.sentence === undefined ? [] : [stiffnessWatch.sentence]),
      ],
      counters,
      completed: this.acceptedSteps,
      start: integrator.start,
      resumeState,
      events: log.records,
      tape: this.recorder?.finish(this.count, this.stateBeyondEnd ?? resumeState.x),
    };
  }

  advance(): boolean {
    const further = captureFailure(() => this.step());
    if (!(further instanceof RunFailure)) return further;
    ({status: this.status, error: this.error} = further);
    this.saver.flush(this.integrator.state, this.count);
    return false;
  }

  /** One more step, and the events in it; false where the run is over. */
  private step(): boolean {
    const {controller, sequence, integrator, t} = this;
    // Without a gradient to come, little is kept of the way.
    if (this.keeping === undefined && this.count > maxUnusedHistory) this.history.clear();
    if (this.status !== 'completed') return false;
    if (this.count === 0 && this.stepCount === 0) {
      if (integrator.startsInOtherModes || this.restarts.has(t)) this.restart(integrator.modes?.values.slice());
      if (integrator.bordersAtStart.sliding.length > 0) {
        this.eventHandler.begin(integrator.bordersAtStart.sliding);
        return true;
      }
    }
    if (controller.done(t)) {
      this.finishRun();
      return false;
    }
    if (this.areSliding && this.jumpTimes.has(t) && this.letGo()) return true;
    if (integrator.switchTimes !== undefined) controller.stop = integrator.switchTimes.next(t, controller.length);
    if (this.adaptive ? this.takeBlock() : this.takeGridBlock()) return true;
    this.trial.begin(this.currentState ?? integrator.state.slice());
    const tried = this.attempts.next(t, this.trial);
    if ('failed' in tried) {
      this.trial.restore();
      return this.fail(tried.failed as Failure | 'too-many-steps', t, tried.h);
    }
    if (this.stiffness !== undefined) this.stiffnessWatch.note(this.stiffness[0], t);
    const {steps, error} = tried.step;
    for (let i = 0; i < steps.length; i++) {
      const step = steps[i];
      const cut = this.events.length === 0 ? false : this.eventHandler.cutShort(step);
      if (this.status !== 'completed') return false;
      if (cut) return true;
      this.commit(step);
      if (i === steps.length - 1) sequence.accept(tried.h, error, integrator.state, this.count);
    }
    if (this.restarts.has(this.t)) this.restart();
    return true;
  }

  /** Steps in a block, where there is one; false where none was attempted. */
  private takeBlock(): boolean {
    const {prepared, plan, integrator, counters, history, count, stiffness, stiffnessWatch} = this;
    const {compiled, traced} = prepared;
    if (this.eventTime !== undefined || !this.eventHandler.allowsIdle) return false;
    if (this.blocks === null && compiled.attempts++ >= AdaptiveBlocks.after)
      this.blocks = AdaptiveBlocks.of(prepared, plan);
    const {blocks} = this;
    // A companion that looks at every state is shown one after another.
    if (
      blocks === undefined
      || blocks === null
      || (this.keeping !== undefined && this.recorder?.batchFrom === undefined)
    )
      return false;
    const {sides} = integrator.stepper;
    const attempts = blocks.take(this.currentState ?? integrator.state, sides, this.attempts, this.sequence, count);
    if (attempts === 0) return false;
    const rows = blocks.get('rows');
    const {start, update} = traced.evaluations;
    counters.evaluations += attempts * (start + update);
    if (rows === 0) return true;
    const {width} = blocks;
    if (stiffness !== undefined)
      for (let k = 0; k < rows; k++) stiffnessWatch.note(blocks.stiffness[k], blocks.rows[k * width]);
    this.recordBlock(count, rows, blocks.rows, width);
    for (let k = 0; k < rows; k++) history.append(blocks.rows[k * width], blocks.rows[k * width + 1]);
    this.stepCount += rows;
    integrator.left();
    integrator.state.set(blocks.x);
    this.currentState = undefined;
    return true;
  }

  /** Steps of the grid in a block, where there is one; false where none was taken. */
  private takeGridBlock(): boolean {
    const {prepared, controller, integrator, restarts, contacts, saver, sequence, count, t} = this;
    if (!(controller instanceof GridController) || contacts.looks || this.stiffness !== undefined) return false;
    const n = controller.gridStep;
    if (n === undefined || this.eventTime !== undefined || !this.eventHandler.allowsIdle) return false;
    const isKept = this.keeping !== undefined;
    if (this.gridBlocks === null) this.gridBlocks = GridBlocks.of(prepared, integrator.stepper, isKept);
    const {gridBlocks: blocks} = this;
    const kept = isKept ? (this.recorder?.batchFrom?.(count) ?? 0) : Infinity;
    // The step that reaches a known crossing or a jump off the grid is taken by itself.
    const {grid} = prepared.options;
    const stop = controller.stopAfter(t);
    let most = Math.min(kept, grid.steps - n, Math.ceil((stop - t) / this.dt));
    while (most > 0 && isReached(stop, grid.time(n + most))) most--;
    const ends = this.areSliding ? this.jumpTimes : restarts;
    const taken = blocks?.take(n, most, sequence.acceptedSteps, saver, ends) ?? 0;
    if (blocks === undefined || taken === 0) return false;
    const {rows, width} = blocks;
    this.warnIfStretched({t: rows[0], h: rows[1]}, count);
    this.recordBlock(count, taken, rows, width);
    const endStates = blocks.endStates(taken);
    const {size} = prepared.traced.state;
    // Of steps that nobody goes back along the last one is enough.
    const first = endStates === undefined ? taken - 1 : 0;
    if (first > 0) {
      controller.skip(first);
      sequence.skip(first, rows[first * width]);
    }
    for (let k = isKept ? 0 : first; k < taken; k++) {
      const [t, h] = [rows[k * width], rows[k * width + 1]];
      this.history.append(t, h);
      if (k < first) continue;
      const next = endStates?.subarray(k * size, (k + 1) * size) ?? integrator.state;
      const end = grid.time(n + k + 1);
      sequence.append({t, h, end, x: next, next, isIdle: true}, integrator, this.count);
      sequence.accept(h, 0, next, this.count);
    }
    this.stepCount += taken;
    integrator.left();
    this.currentState = undefined;
    if (restarts.has(this.t)) this.restart();
    return true;
  }

  /** The motion slides along a border, which may jump where an input does. */
  private get areSliding(): boolean {
    return this.integrator.modes?.areSliding === true;
  }

  /** An input jumps here, and a border that the motion slides along may be elsewhere. */
  private letGo(): boolean {
    const {modes, state} = this.integrator;
    const before = state.slice();
    if (modes?.letGo(this.t) !== true) return false;
    this.restart(modes.values.slice(), before);
    this.eventHandler.modesChanged();
    return true;
  }

  /**
   * An input jumps here, or other modes begin: what the scheme carries is made anew from the state that there is.
   * @param modes after it; default: those that fit the state
   */
  private restart(modes?: Float64Array, before = this.integrator.state.slice()): void {
    const {history, breaks, plan} = this;
    const event = breaks?.jump ?? plan.events.length;
    this.eventTime = history.eventTimes.length;
    history.eventTimes.push(event);
    history.grazingThresholds.push(0);
    this.jump(event, before, false, modes);
    // Its time is a constant.
    this.eventTime = undefined;
    this.controller.restart();
  }

  /** The start, or what follows a jump, for a first step shorter than the one it was made for. */
  private startAgain(t: number, h: number): Float64Array | undefined {
    const {integrator, history, count, saver} = this;
    const again = integrator.startAgain(t, h);
    if (again === undefined) return undefined;
    if (again.jumped) history.h[count - 1] = h;
    saver.replaceStart(t, again.x);
    return again.x;
  }

  /**
   * The length that a start here is made for: that of steps, halved until it does not reach over a time at which what
   * they read is not smooth, nor over the end. So it does not move with the time of an event.
   */
  private get startLength(): number {
    const {t, controller, nonSmoothTimes} = this;
    while (nonSmoothTimes[this.nextNonSmooth] <= t + minStep(t)) this.nextNonSmooth++;
    const next = nonSmoothTimes[this.nextNonSmooth] ?? Infinity;
    let h = controller.length;
    while (t + h > next + minStep(next)) h /= 2;
    return h;
  }

  /**
   * @param checked whether the state after it must obey the constraints
   * @param modes of switches after it, where it changes them
   */
  jump(event: number, before: Float64Array, checked = true, modes?: Float64Array): void {
    const {history, integrator, t} = this;
    const n = this.count;
    integrator.stepper.setLastStep(undefined);
    this.currentState = undefined;
    if (modes !== undefined && integrator.startsAsGiven) {
      history.modes.set(n, modes);
      return;
    }
    const h = this.startLength;
    integrator.jump(event, t, h, checked, modes);
    if (integrator.modes !== undefined) history.modes.set(n, integrator.modes.values.slice());
    history.jumps.set(n, this.eventTime as number);
    history.append(t, h);
    this.record(n, t, h, before, integrator.stepper.z);
  }

  /**
   * A step becomes part of the step history; with an event, its end is that event's time, and `least` the rate below
   * which it touches.
   */
  commit(step: CompletedStep, event?: number, least = 0): void {
    const {history, sequence, integrator, eventTime, count} = this;
    this.warnIfStretched(step, count);
    history.append(step.t, step.h);
    if (eventTime !== undefined) history.startsAtEvent.set(count, eventTime);
    this.eventTime = undefined;
    if (event !== undefined) {
      this.eventTime = history.eventTimes.length;
      history.eventTimes.push(event);
      history.grazingThresholds.push(least);
      history.endsAtEvent.set(count, this.eventTime);
    }
    this.record(count, step.t, step.h, step.x, step.z);
    integrator.stepper.setLastStep(step);
    this.stepCount++;
    integrator.left();
    integrator.state.set(step.next);
    this.currentState = step.next;
    this.contacts.at(step.end);
    sequence.append(step, integrator, this.count, event !== undefined);
    const contradictionError =
      this.prepared.redundancy.regularization > 0 ? contradiction(this.prepared, step.next, step.end) : undefined;
    if (contradictionError !== undefined) [this.status, this.error] = ['singular', contradictionError];
    this.eventHandler.passed(step);
  }

  /** A rate that a scheme carries is that of its last step, however short. */
  private warnIfStretched({t, h}: Pick<CompletedStep, 't' | 'h'>, count: number): void {
    const {prepared, history, log} = this;
    if (this.isStretched || count === 0 || history.jumps.has(count - 1)) return;
    if (prepared.traced.state.block('rate') === undefined) return;
    const share = Math.abs(h / history.h[count - 1]);
    if (!(share > maxLengthRatio)) return;
    this.isStretched = true;
    log.warnings.push(
      `The step of ${prepared.traced.name} from t = ${Number(toUserTime(prepared.traced, t).toPrecision(6))} `
        + `is ${share.toPrecision(2)} times as long as the one before it, from an event or a jump to the grid, and `
        + 'takes over the rate at which that one changed its algorithmic acceleration: the motion from there on may be '
        + 'off, and derivatives far more. Take another dt, adaptive steps, or newmark(), which carries no such '
        + 'rate.',
    );
  }

  private isStretched = false;

  /** Transition n, from x, for a derivative. */
  private record(n: number, t: number, h: number, x: Float64Array, z: Float64Array | undefined): void {
    const companion = this.recorder;
    companion?.reach(n, x);
    companion?.record?.append(t, h, x, z);
  }

  /** Records several steps, from rows that are laid out as those of a record. */
  private recordBlock(n: number, count: number, rows: Float64Array, width: number): void {
    const companion = this.recorder;
    const given = rows.subarray(0, count * width);
    if (companion?.batchFrom !== undefined && companion.batchFrom(n) >= count)
      companion.record?.appendRows(given, count);
    else if (companion !== undefined)
      for (let k = 0; k < count; k++) {
        const x = rows.subarray(k * width + rowHeaderSize, (k + 1) * width);
        this.record(n + k, rows[k * width], rows[k * width + 1], x, undefined);
      }
  }

  private get recorder(): BackwardRecorder | undefined {
    return (this.cachedRecorder ??= this.keeping?.begin(
      this.prepared,
      this.integrator.start,
      this.history.saved,
      this.history,
    ));
  }

  private presentEnd(): StepEnd {
    const {adaptive, controller, t, keeping, eventTime} = this;
    // Of the grid's times and the end's, an event changes the state, and not the time.
    const constant = eventTime !== undefined && (!adaptive || controller.done(t));
    return {
      eventTime: constant ? undefined : eventTime,
      later: constant && keeping !== undefined && this.status === 'completed',
    };
  }

  /**
   * The end of the run. Where an event falls on it, the state after the event moves with its time: by how much the
   * beginning of a step tells that would follow, and is taken for a derivative.
   */
  private finishRun(): void {
    const {saver, eventTime, keeping, t, integrator} = this;
    if (eventTime === undefined || keeping === undefined) {
      saver.finish(t, integrator.state, this.count);
      return;
    }
    const {stepper} = integrator;
    const {warmStart} = stepper;
    const [x, h, n] = [integrator.state.slice(), this.startLength, this.count];
    const status = integrator.take(x, t, h);
    const step = integrator.completedStep(x, t, h, t + h);
    integrator.state.set(x);
    if (status === 'completed') {
      this.history.append(t, h);
      this.history.startsAtEvent.set(n, eventTime);
      this.record(n, t, h, x, step.z);
      this.stateBeyondEnd = step.next;
    } else this.log.warnings.push(eventAtEndWarning);
    saver.settle(t, x, this.count, integrator, status === 'completed' ? step : undefined);
    stepper.warmStart = warmStart;
  }

  fail(status: Failure | 'too-many-steps', t: number, h: number): false {
    this.status = status;
    this.saver.flush(this.integrator.state, this.count);
    const {stepper} = this.integrator;
    if (status === 'too-many-steps' || this.adaptive)
      this.error = stepSizeError(this.prepared, status, t, h, this.counters, this.stiffnessWatch.sentence);
    else {
      stepper.describeFailure(status, this.acceptedSteps);
      this.error = stepper.error;
    }
    return false;
  }
}
