/**
 * Propagates tangents over transitions whose times vary, with events and states saved between steps, along several
 * directions at once: as tangent.ts, with t and h among the arguments of a step. At an event, where e(x⁻, τ; p) = 0,
 *
 *     τ̇ = −(e_x ẋ⁻ + e_p ṗ)/(e_x x⁻_h + e_t),    ẋ⁻ ← ẋ⁻ + x⁻_h τ̇
 *
 * with ẋ⁻ that of the step at fixed end, and x⁻_h its derivative with respect to the step's length.
 */
import {modeBlock} from '../graph/switches.js';
import {toUserTimes} from '../step/time-direction.js';
import type {StepContext} from '../step/context.js';
import {jumpOf} from '../step/traced-step.js';
import {loadParameters, startContext} from '../step/context.js';
import type {StepHistory, InteriorEvent, Restart} from './step-history.js';
import type {Inside, Sensitivities, TransitionPush} from './sweep-forward.js';
import {
  crossingRate,
  EventEnds,
  eventAtStart,
  historyAdjoint,
  historyForward,
  prepareDense,
  setStepEnd,
} from './timed-pull.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';
import type {Directions} from './directions.js';
import {heldTangents, StepTangents} from './step-tangents.js';

export class TimedPush implements TransitionPush {
  /** Tangents of each event time, [count]. */
  private readonly moments = new Map<number, Float64Array>();
  /** Tangents of the times of events that no step was cut short for, [count]. */
  private readonly noted = new Map<number, Float64Array>();
  private step: StepTangents;
  private readonly ends: EventEnds;
  private readonly end: Float64Array;
  private restarting: StepTangents | undefined;
  private readonly size: number;
  private readonly still: Float64Array;

  constructor(
    private readonly context: StepContext,
    private readonly history: StepHistory,
    private readonly restart: Restart,
    private readonly directions: Directions,
  ) {
    this.step = new StepTangents(context, directions);
    const forLengths = historyAdjoint(context);
    loadParameters(forLengths, context);
    this.ends = new EventEnds(context, forLengths, history);
    this.size = context.traced.state.size;
    this.still = new Float64Array(directions.count);
    this.end = new Float64Array(this.size);
  }

  push(
    n: number,
    record: StepRecord,
    k: number,
    _to: number,
    end: Float64Array,
    dx: Float64Array,
    within: readonly Inside[],
    keep: (index: number, tangents: Float64Array) => void,
  ): Float64Array {
    setStepEnd(this.end, end, record, k, this.context.traced.state.block(modeBlock));
    const jump = this.history.jumps.get(n);
    return jump === undefined ? this.pushStep(record, k, n, dx, within, keep) : this.pushJump(record, k, n, jump, dx);
  }

  /** This push, which shows the tangents before each transition. */
  noting(note: (tangents: Float64Array) => void): TransitionPush {
    return {
      push: (n, record, k, to, end, dx, within, keep) => {
        note(dx);
        return this.push(n, record, k, to, end, dx, within, keep);
      },
      times: saved => this.times(saved),
    };
  }

  /** The tangents of the time of an event that was noted within a step, by its number among those that happened. */
  notedTime(happened: number): Float64Array {
    return this.noted.get(happened) ?? this.still;
  }

  /** Tangents of the user's times. */
  times(saved: number): Pick<Sensitivities, 'times' | 'happened'> {
    const {
      history,
      context: {traced},
      directions: {count},
    } = this;
    const none = new Float64Array(count);
    const of = (moment: number | undefined): Float64Array | undefined =>
      moment === undefined ? undefined : this.moments.get(moment);
    const told = (tangents: Float64Array = none): Float64Array => toUserTimes(traced, tangents);
    return {
      times: Array.from({length: saved}, (_, index) => told(of(history.movingSaves.get(index)))),
      happened: history.occurred.map((moment, i) => told(of(moment) ?? this.noted.get(i))),
    };
  }

  /** The tangents of an event's time, [count]; zero of a constant. */
  moment(moment: number | undefined): Float64Array {
    if (moment === undefined) return this.still;
    const known = this.moments.get(moment) ?? new Float64Array(this.directions.count);
    this.moments.set(moment, known);
    return known;
  }

  private pushStep(
    record: StepRecord,
    k: number,
    n: number,
    dx: Float64Array,
    within: readonly Inside[],
    keep: (index: number, tangents: Float64Array) => void,
  ): Float64Array {
    const {
      history,
      step,
      directions: {t0},
    } = this;
    const from = history.startsAtEvent.get(n);
    const to = history.endsAtEvent.get(n);
    const dt = (n === 0 && from === undefined ? t0 : undefined) ?? this.moment(from);
    // The end is held: the length gives what the start's time takes.
    const dh = dt.map(value => -value);
    const dNext = step.push(record, k, dx, dt, dh).slice();
    const held = n === 0 ? heldTangents(this.context, this.directions, dNext) : undefined;
    if (held !== undefined) {
      this.step = held;
      dNext.set(held.push(record, k, dx, dt, dh));
    }
    if (to !== undefined) this.moveEnd(record, k, n, to, dNext, dt, dh);
    this.pushWithin(record, k, n, {dx, dNext, dt, dh}, within, keep);
    this.step = step;
    return dNext;
  }

  /** The time of the event at the step's end, and what it changes. */
  private moveEnd(
    record: StepRecord,
    k: number,
    n: number,
    moment: number,
    dNext: Float64Array,
    dt: Float64Array,
    dh: Float64Array,
  ): void {
    const {
      history,
      step,
      size,
      directions: {count},
    } = this;
    const event = history.eventTimes[moment];
    const byLength = this.ends.at(record, k, n, moment, this.end);
    const {rate} = byLength;
    const at = history.t[n] + history.h[n];
    step.set('x', this.end);
    step.set('t', Float64Array.of(at));
    step.set('dx', dNext);
    step.set('dt', new Float64Array(count));
    step.executable.run('pushEvents');
    const de = step.executable.buffer('de');
    const width = de.length / count;
    const dtau = this.moment(moment);
    for (let d = 0; d < count; d++) {
      dtau[d] = -de[d * width + event] / rate;
      for (let i = 0; i < size; i++) dNext[d * size + i] += byLength.dNext[i] * dtau[d];
      if (byLength.dInside !== undefined) step.addInside(d, byLength.dInside, dtau[d]);
      dh[d] = dtau[d] - dt[d];
      const {dz} = step;
      if (dz === undefined || byLength.dz === undefined) continue;
      const n = byLength.dz.length;
      for (let i = 0; i < n; i++) dz[d * n + i] += byLength.dz[i] * dtau[d];
    }
  }

  private pushWithin(
    record: StepRecord,
    k: number,
    n: number,
    tangents: {readonly [name in 'dx' | 'dNext' | 'dt' | 'dh']: Float64Array},
    within: readonly Inside[],
    keep: (index: number, tangents: Float64Array) => void,
  ): void {
    const {
      history,
      step,
      directions: {count},
    } = this;
    const noted = history.interiorEvents.get(n) ?? [];
    if (within.length + noted.length === 0) return;
    const {executable, dz} = step;
    const dtheta = new Float64Array(count);
    record.load(k, stepBuffers(executable));
    step.set('next', this.end);
    if (executable.has('inside')) executable.run('inside');
    if (dz !== undefined) step.set('dz', dz);
    for (const name of ['dx', 'dNext', 'dt', 'dh'] as const) step.set(name, tangents[name]);
    const {dt, dh} = tangents;
    // The saved time is a constant: θ = (time − t)/h.
    const at = (theta: number): Float64Array => {
      for (let d = 0; d < count; d++) dtheta[d] = -(dt[d] + theta * dh[d]) / history.h[n];
      executable.optionalBuffer('theta')?.fill(theta);
      step.set('dtheta', dtheta);
      executable.run('pushDense');
      return executable.buffer('dD');
    };
    for (const {index, theta} of within) keep(index, at(theta));
    // What follows sets the executable's place anew, and so comes last.
    const dense = noted.map(({theta}) => at(theta).slice());
    noted.forEach((one, i) => this.pushNoted(record, k, n, one, dense[i]));
  }

  /** The time of an event noted on the dense output: its function's change at that time over its rate. */
  private pushNoted(
    record: StepRecord,
    k: number,
    n: number,
    {event, theta, grazingThreshold, record: happened}: InteriorEvent,
    dD: Float64Array,
  ): void {
    const {
      history,
      context,
      step,
      directions: {count},
    } = this;
    const [t, h] = [history.t[n], history.h[n]];
    const forward = historyForward(context);
    loadParameters(forward, context);
    record.load(k, stepBuffers(forward));
    forward.optionalBuffer('next')?.set(this.end);
    prepareDense(forward);
    forward.optionalBuffer('theta')?.fill(theta);
    forward.run('watch');
    const rate = crossingRate(context, forward.buffer('dg')[event] / h, grazingThreshold, t + theta * h, event);
    forward.run('dense');
    step.set('x', forward.buffer('D'));
    step.set('t', Float64Array.of(t + theta * h));
    step.set('dx', dD);
    step.set('dt', new Float64Array(count));
    step.executable.run('pushEvents');
    const de = step.executable.buffer('de');
    this.noted.set(
      happened,
      Float64Array.from({length: count}, (_, d) => -de[(d * de.length) / count + event] / rate),
    );
  }

  private pushJump(record: StepRecord, k: number, n: number, moment: number, dx: Float64Array): Float64Array {
    const {history, context, step, directions} = this;
    if (n === 0 && directions.t0 !== undefined) throw eventAtStart();
    const jump = jumpOf(context.traced, history.eventTimes[moment]);
    const forward = historyForward(context);
    loadParameters(forward, context);
    record.load(k, stepBuffers(forward));
    forward.run(`jump.${jump}`);
    const given = history.givenBy(n, forward.buffer('given'));
    record.load(k, stepBuffers(step.executable));
    step.set('dx', dx);
    step.set('dt', this.moment(moment));
    step.executable.run(`pushJump.${jump}`);
    const dGiven = step.executable.buffer('dGiven').slice();
    this.restarting ??= new StepTangents(startContext(context), directions);
    const restarted = this.restart(given, history.t[n], history.h[n]).record;
    return this.restarting.push(restarted, 0, dGiven, this.moment(moment), new Float64Array(directions.count)).slice();
  }
}
