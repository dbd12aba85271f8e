/**
 * Pulls cotangents back over transitions whose times vary, with events and states saved between steps. The
 * time τ of an event, where e(x⁻, τ; p) = 0, is a function of what came before it: with x⁻_h the
 * derivative of the step's end with respect to its length and s = e_x x⁻_h + e_t, a cotangent τ̄ of that time and x̄ of
 * that state are pulled back as
 *
 *     μ = (x̄·x⁻_h + τ̄)/s,    x̄ ← x̄ − μ e_xᵀ,    p̄ ← p̄ − μ e_pᵀ
 *
 * through the step at fixed length: the saltation term of equations.md §7, exact for the discrete scheme.
 * Times that are not an event's are constants: the step lengths are treated as given.
 */
import {EventError, GradientError} from '../errors.js';
import {topological} from '../graph/node.js';
import {modeBlock} from '../graph/switches.js';
import {dot} from '../linear/index.js';
import {rowHeaderSize} from '../step/block-layout.js';
import type {StepExecutable} from '../step/buffers.js';
import {timedBuffers} from '../step/adaptive-block-layout.js';
import {toUserTime, toUserTimes} from '../step/time-direction.js';
import type {StepContext} from '../step/context.js';
import {loadParameters, startContext} from '../step/context.js';
import type {HistoryAdjointProgram, HistoryProgram} from '../step/history-programs.js';
import {denseAndEventPrograms} from '../step/history-programs.js';
import type {Block} from '../step/layout.js';
import {namedFunctions} from '../step/step-functions.js';
import {jumpOf, type TracedStep} from '../step/traced-step.js';
import {addTo} from './add-to.js';
import type {BatchedPull, InteriorCotangent, Segment, TransitionPull} from './gradient.js';
import {interiorStates} from './gradient.js';
import {ParameterCotangents} from './parameter-cotangents.js';
import {fixedTime, type Restart, type StepHistory} from './step-history.js';
import type {RunCotangents} from './sweep-back.js';
import {TimedBlocks} from './timed-blocks.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';
import type {ByLength, TimedStep} from './timed-step.js';
import {lengthDerivative, timedStep} from './timed-step.js';
import type {DenseCotangents, PullDense} from './dense-pull.js';
import {densePull} from './dense-pull.js';

export function historyAdjoint({
  compiled,
  traced,
  linear,
  storage,
}: StepContext): StepExecutable<HistoryAdjointProgram> {
  const {activations} = compiled;
  if (storage === 'layers' && activations !== undefined)
    return compiled.group('historyAdjoint.layers', () => activations.programs);
  return compiled.group('historyAdjoint', () => compiled.historyAdjointPrograms, {
    analysis: compiled.matrices.analysisOf(compiled.matrices.sweepSolver(linear), 'jacobian'),
    // A factor in the programs' memory solves into it, where no program reads the unknown's derivative too.
    extra: () => ({
      dzH: traced.unknown.size,
      ...(compiled.runsInBlocks ? timedBuffers(traced.state.size) : {}),
    }),
  });
}

export const historyForward = ({compiled}: StepContext): StepExecutable<HistoryProgram> =>
  compiled.group('history', () => denseAndEventPrograms(compiled.derived.step));

/** The programs that go before dense output, with x, z, t, h and next set. */
export function prepareDense(forward: StepExecutable<HistoryProgram>): void {
  if (forward.has('inside')) forward.run('inside');
  if (forward.has('between')) forward.run('between');
}

/** Whether each traced step reads a Brownian path. */
const paths = new WeakMap<TracedStep, boolean>();

/** Whether a step reads a Brownian path: that of an sde does. */
export function readsPath(step: TracedStep): boolean {
  let found = paths.get(step);
  if (found === undefined) {
    found = topological(namedFunctions(step.functions).map(({node}) => node)).some(({op}) => op === 'brownian');
    paths.set(step, found);
  }
  return found;
}

export const noPathDerivative = (what: string): GradientError =>
  new GradientError(
    'no-time-derivative',
    `A Brownian path has no derivative in time, so the gradient of an sde ${what} does not exist. `
      + 'Use a loss at fixed times.',
  );

/** The error where the time of the start moves, and an event happens there. */
export const eventAtStart = (): GradientError =>
  new GradientError(
    'no-time-derivative',
    'An event happens at the start of the run, so that a derivative by t0 depends on the side that it is taken from. '
      + 'Start the run beside the event.',
  );

/**
 * The divisor of an event's derivatives.
 * @param least see `StepHistory.least`
 * @param clock time
 * @throws EventError 'grazing' where the event's function touches zero, as far as rounding can tell; GradientError
 *   'no-time-derivative' of an sde
 */
export function crossingRate(
  {traced}: Pick<StepContext, 'traced'>,
  rate: number,
  least: number,
  clock: number,
  event: number,
): number {
  if (readsPath(traced)) throw noPathDerivative('through the time of an event');
  // The time moves by the function's change over this.
  if (least === fixedTime) return Infinity;
  if (!(Math.abs(rate) > least) || !Number.isFinite(rate)) {
    const t = toUserTime(traced, clock);
    const {switches = []} = traced;
    const border = switches[event - ((traced.functions.events?.size ?? 0) - switches.length)];
    const title = border === undefined ? `events[${event}]` : `The border of '${border.name}'`;
    if (least === Infinity)
      throw new EventError(
        'jumping',
        `${title} jumps through zero at t = ${Number(t.toPrecision(12))}, and what makes it jump is `
          + 'not known: the time of such an event has no derivative that is known. Make it jump by a held input, '
          + 'whose samples have known times, or let an event of its own make the change.',
        {event, t, rate},
      );
    throw new EventError(
      'grazing',
      `${title} touches zero at t = ${Number(t.toPrecision(12))} without crossing it, within rounding: `
        + 'the time of such an event has no derivative. Move the threshold, or use a loss that does not depend on '
        + 'this event.',
      {event, t, rate},
    );
  }
  return rate;
}

/** Copies the state after row k of a record as the step itself leaves it: a switch may change its modes there. */
export function setStepEnd(to: Float64Array, end: Float64Array, record: StepRecord, k: number, modes?: Block): void {
  to.set(end);
  if (modes === undefined) return;
  const begin = rowHeaderSize + modes.offset;
  to.set(record.rows(k, 1).subarray(begin, begin + modes.size), modes.offset);
}

/** How a step's end, and an event's function there, depend on the step's length. */
export interface EndByLength extends ByLength {
  /** e_x at the end; the executable's own buffer. */
  readonly slope: Float64Array;
  /** The divisor of the derivatives of the event's time: e_x x⁺_h + e_t. */
  readonly rate: number;
}

/** Steps that end at events. */
export class EventEnds {
  private readonly byLength: (record: StepRecord, k: number) => ByLength;

  /** @param executable the context's historyAdjoint, loaded with parameters */
  constructor(
    private readonly context: StepContext,
    private readonly executable: StepExecutable<HistoryAdjointProgram>,
    private readonly history: StepHistory,
  ) {
    this.byLength = lengthDerivative(context, executable);
  }

  /**
   * Row k of a record, transition n, which ends at an event's time; `pullEvents` has been run for that event.
   * @throws as `crossingRate`
   */
  at(record: StepRecord, k: number, n: number, moment: number, end: Float64Array): EndByLength {
    const {context, executable, history} = this;
    const byLength = this.byLength(record, k);
    const event = history.eventTimes[moment];
    const t = history.t[n] + history.h[n];
    const cotangent = executable.buffer('eCotangent').fill(0);
    cotangent[event] = 1;
    executable.optionalBuffer('x')?.set(end);
    executable.optionalBuffer('t')?.fill(t);
    executable.run('pullEvents');
    const slope = executable.buffer('eXCotangent');
    const rate = dot(slope, byLength.dNext) + executable.buffer('eTCotangent')[0];
    return {...byLength, slope, rate: crossingRate(context, rate, history.grazingThresholds[moment], t, event)};
  }
}

export class TimedPull implements TransitionPull {
  readonly executable: StepExecutable<HistoryAdjointProgram>;
  readonly xCotangent: Float64Array;
  readonly batched?: BatchedPull;
  /** The cotangent of the time that the first transition begins at, its end being held; after its pull. */
  startCotangent = 0;
  private readonly cotangents: ParameterCotangents;
  private readonly happenedCotangents: Float64Array;
  private readonly momentCotangents: Float64Array;
  /** For transitions that are pulled back by themselves, if any. */
  private step: TimedStep | undefined;
  private pullWithin: PullDense | undefined;
  private ends: EventEnds | undefined;
  private readonly end: Float64Array;
  private readonly modes: Block | undefined;
  private readonly eventCotangent?: Float64Array;
  private restarting: {readonly step: TimedStep; readonly cotangents: ParameterCotangents} | undefined;

  constructor(
    private readonly context: StepContext,
    private readonly history: StepHistory,
    private readonly restart: Restart,
    {times, eventTimes, t0}: RunCotangents,
  ) {
    if (t0 === true && history.jumps.has(0)) throw eventAtStart();
    this.executable = historyAdjoint(context);
    loadParameters(this.executable, context);
    this.cotangents = new ParameterCotangents(context, this.executable, context.compiled.canAccumulate, true);
    this.xCotangent = new Float64Array(context.traced.state.size);
    this.end = new Float64Array(context.traced.state.size);
    this.modes = context.traced.state.block(modeBlock);
    this.happenedCotangents =
      eventTimes === undefined ? new Float64Array(history.occurred.length) : toUserTimes(context.traced, eventTimes);
    this.momentCotangents = new Float64Array(history.eventTimes.length);
    history.occurred.forEach((moment, i) => {
      if (moment !== undefined) this.momentCotangents[moment] += this.happenedCotangents[i];
    });
    if (times !== undefined)
      for (const [saved, moment] of history.movingSaves)
        this.momentCotangents[moment] += toUserTime(context.traced, times[saved]);
    this.eventCotangent = this.executable.optionalBuffer('eCotangent');
    const hasEvents = history.eventTimes.length > 0 || history.interiorEvents.size > 0;
    if (context.storage === undefined && context.compiled.runsInBlocks && !hasEvents)
      this.batched = TimedBlocks.of(this.executable, this.xCotangent);
  }

  pull({n, record, from: k, end, saved, states}: Segment): void {
    setStepEnd(this.end, end, record, k, this.modes);
    const jump = this.history.jumps.get(n);
    if (jump === undefined) this.pullStep(record, k, n, interiorStates(saved, states, this.xCotangent.length));
    else this.pullJump(record, k, n, jump);
  }

  finish(): Float64Array[] {
    const totals = this.cotangents.finish();
    this.restarting?.cotangents.finish().forEach((total, p) => addTo(totals[p], total));
    return totals;
  }

  private pullStep(record: StepRecord, k: number, n: number, within: readonly InteriorCotangent[]): void {
    const {history, xCotangent, momentCotangents} = this;
    const step = (this.step ??= timedStep(this.context, this.executable, this.cotangents));
    const from = history.startsAtEvent.get(n);
    const to = history.endsAtEvent.get(n);
    const looked = history.interiorEvents.has(n) ? [...within, ...this.pullNoted(record, k, n)] : within;
    const between = looked.length === 0 ? undefined : this.within(record, k, history.h[n], this.end, looked);
    if (to !== undefined) this.correct(record, k, n, to, between);
    const {tCotangent, hCotangent} = step.pull(record, k, xCotangent, between?.zCotangent, between?.insideCotangent);
    if (between !== undefined) addTo(xCotangent, between.xCotangent);
    const ofBeginning = tCotangent + (between?.tCotangent ?? 0) - hCotangent - (between?.hCotangent ?? 0);
    if (from !== undefined) momentCotangents[from] += ofBeginning;
    if (n === 0) this.startCotangent = ofBeginning;
  }

  /** Only runs with dense output have states within steps. */
  private get within(): PullDense {
    return (this.pullWithin ??= densePull(this.context, this.executable, this.cotangents, this.xCotangent));
  }

  /**
   * Times of events that were noted on the dense output D: with s = dg/dθ/h the rate of the event's
   * function there, τ̄ goes back as the cotangent −(τ̄/s) e_xᵀ of the state D at that time.
   */
  private pullNoted(record: StepRecord, k: number, n: number): InteriorCotangent[] {
    const {context, executable, eventCotangent, history, happenedCotangents, cotangents} = this;
    const noted = (history.interiorEvents.get(n) ?? []).filter(({record: i}) => happenedCotangents[i] !== 0);
    if (noted.length === 0 || eventCotangent === undefined) return [];
    const forward = historyForward(context);
    loadParameters(forward, context);
    record.load(k, stepBuffers(forward));
    forward.optionalBuffer('next')?.set(this.end);
    prepareDense(forward);
    return noted.map(({record: i, event, theta, grazingThreshold}) => {
      const [t, h] = [history.t[n], history.h[n]];
      forward.optionalBuffer('theta')?.fill(theta);
      forward.run('watch');
      const rate = crossingRate(context, forward.buffer('dg')[event] / h, grazingThreshold, t + theta * h, event);
      const mu = happenedCotangents[i] / rate;
      forward.run('dense');
      executable.optionalBuffer('x')?.set(forward.buffer('D'));
      executable.optionalBuffer('t')?.fill(t + theta * h);
      eventCotangent.fill(0);
      eventCotangent[event] = 1;
      executable.run('pullEvents');
      cotangents.add('pullEvents', -mu);
      return {theta, cotangent: executable.buffer('eXCotangent').map(value => -mu * value)};
    });
  }

  /** The event's time is a function of the state that the step makes at fixed length. */
  private correct(
    record: StepRecord,
    k: number,
    n: number,
    moment: number,
    between: DenseCotangents | undefined,
  ): void {
    const {xCotangent, momentCotangents} = this;
    this.ends ??= new EventEnds(this.context, this.executable, this.history);
    const {dNext, dInside, dz, slope, rate} = this.ends.at(record, k, n, moment, this.end);
    let timeCotangent = momentCotangents[moment] + dot(xCotangent, dNext) + (between?.hCotangent ?? 0);
    if (between?.zCotangent !== undefined && dz !== undefined) timeCotangent += dot(between.zCotangent, dz);
    if (between?.insideCotangent !== undefined && dInside !== undefined)
      timeCotangent += dot(between.insideCotangent, dInside);
    const mu = timeCotangent / rate;
    addTo(xCotangent, slope, -mu);
    this.cotangents.add('pullEvents', -mu);
  }

  private pullJump(record: StepRecord, k: number, n: number, moment: number): void {
    const {executable, history, context, xCotangent, momentCotangents} = this;
    const jump = jumpOf(context.traced, history.eventTimes[moment]);
    const [t, h] = [history.t[n], history.h[n]];
    const forward = historyForward(context);
    loadParameters(forward, context);
    record.load(k, stepBuffers(forward));
    forward.run(`jump.${jump}`);
    const given = history.givenBy(n, forward.buffer('given'));
    this.restarting ??= this.restartingStep();
    const restarted = this.restarting.step.pull(this.restart(given, t, h).record, 0, xCotangent);
    executable.optionalBuffer('givenCotangent')?.set(xCotangent.subarray(0, given.length));
    record.load(k, stepBuffers(executable));
    executable.run(`pullJump.${jump}`);
    this.cotangents.add(`pullJump.${jump}`);
    xCotangent.set(executable.buffer('jXCotangent'));
    momentCotangents[moment] += restarted.tCotangent + executable.buffer('jTCotangent')[0];
  }

  private restartingStep(): {step: TimedStep; cotangents: ParameterCotangents} {
    const context = startContext(this.context);
    const executable = historyAdjoint(context);
    loadParameters(executable, context);
    const cotangents = new ParameterCotangents(context, executable, context.compiled.canAccumulate, true);
    return {step: timedStep(context, executable, cotangents), cotangents};
  }
}
