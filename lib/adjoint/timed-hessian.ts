/**
 * Second derivatives over transitions whose times vary: the pull of timed-pull.ts with its tangent. A step is a
 * function of its beginning and its time; its length h is an unknown beside z, and so is the place θ of a state within
 * it. Each has one condition: the time there is given, or the function of an event is zero. With L the sum of outputs
 * and conditions times their cotangents and multipliers, the multiplier μ of an event follows from L_h = 0, and how it
 * changes, μ̇, from (L_h)˙ = 0: with s the rate at which the event's function crosses zero along h, and z_h = −J⁻¹R_h,
 *
 *     s μ = L_h + L_z z_h,    s μ̇ = (L_h)˙ + (L_z)˙ z_h
 *
 * the right-hand sides without what μ and μ̇ add. Derivatives of s and z_h are not needed.
 */
import {modeBlock} from '../graph/switches.js';
import {dot} from '../linear/index.js';
import type {StepContext} from '../step/context.js';
import {loadParameters, startContext} from '../step/context.js';
import {jumpOf} from '../step/traced-step.js';
import {addTo} from './add-to.js';
import type {WithinCotangents} from './dense-hessian.js';
import {SecondOrderDense, SecondOrderInstant} from './dense-hessian.js';
import type {Directions, SecondOrderCotangent} from './directions.js';
import type {
  CompleteChange,
  InteriorPair,
  MovingStart,
  ParameterPair,
  SecondOrderStep,
  SecondOrderTransitions,
  StepMoves,
} from './hessian.js';
import {addBeginning, addPair, SecondOrderPull, setPair, zeroPair} from './hessian.js';
import type {Restart, StepHistory} from './step-history.js';
import {crossingRate, EventEnds, historyAdjoint, historyForward, setStepEnd} from './timed-pull.js';
import type {TimedPush} from './timed-push.js';
import {stepBuffers} from './record.js';

/** Cotangents of times, and their changes [count], by the clock of the loops. */
export interface TimePairs {
  /** By saved state; those of times that move count. */
  readonly saved: readonly SecondOrderCotangent[];
  /** By event that happened. */
  readonly happened: readonly SecondOrderCotangent[];
}

/** A state within a step, at θ, which moves by dθ. */
interface MovingPair extends InteriorPair {
  readonly dtheta: Float64Array;
}

export class TimedSecondOrder implements SecondOrderTransitions {
  /** By event time. */
  private readonly moments: readonly SecondOrderCotangent[];
  private readonly ends: EventEnds;
  private readonly instant: SecondOrderInstant;
  private cachedDense: SecondOrderDense | undefined;
  private restarting: SecondOrderPull | undefined;
  private readonly still: Float64Array;

  /**
   * @param steps the pull of steps, in which the cotangents of parameters are summed
   * @param times tangents of times
   * @param moving where the time of the start moves
   */
  constructor(
    private readonly context: StepContext,
    private readonly history: StepHistory,
    private readonly restart: Restart,
    private readonly directions: Directions,
    private readonly steps: SecondOrderPull,
    private readonly times: TimedPush,
    private readonly cotangents: TimePairs,
    private readonly moving?: MovingStart,
  ) {
    const {count} = directions;
    const {occurred, movingSaves, eventTimes} = history;
    this.still = new Float64Array(count);
    this.moments = eventTimes.map(() => zeroPair(1, count));
    occurred.forEach((moment, i) => {
      if (moment !== undefined) addPair(this.moments[moment], cotangents.happened[i]);
    });
    for (const [saved, moment] of movingSaves) addPair(this.moments[moment], cotangents.saved[saved]);
    const adjoint = historyAdjoint(context);
    loadParameters(adjoint, context);
    this.ends = new EventEnds(context, adjoint, history);
    this.instant = new SecondOrderInstant(context, directions);
  }

  pull(step: SecondOrderStep, x: SecondOrderCotangent, within: readonly InteriorPair[]): void {
    const jump = this.history.jumps.get(step.n);
    if (jump !== undefined) {
      this.pullJump(step, jump, x);
      return;
    }
    const next = step.next.slice();
    setStepEnd(next, step.next, step.record, step.from, this.context.traced.state.block(modeBlock));
    this.pullStep({...step, next}, x, within);
  }

  finish(): ParameterPair | undefined {
    return this.restarting?.finish();
  }

  private pullStep(step: SecondOrderStep, x: SecondOrderCotangent, within: readonly InteriorPair[]): void {
    const {history, times, moments, steps, moving} = this;
    const {n, record, from: row, tangent} = step;
    const [from, to] = [history.startsAtEvent.get(n), history.endsAtEvent.get(n)];
    const startMoves = n === 0 && from === undefined ? moving : undefined;
    const dt = startMoves?.dt ?? times.moment(from);
    const dh = times.moment(to).map((end, d) => end - dt[d]);
    const moves = {dx: tangent(row), dt, dh};
    const inside = this.inside(step, moves, within);
    if (inside !== undefined) addPair(x, inside.next);
    const complete = to === undefined ? undefined : this.endAtEvent(step, to, x, inside);
    const begin = steps.pull(record, row, moves, x, inside?.z, complete);
    if (to !== undefined) this.instant.addTo(steps);
    setPair(x, begin.x);
    if (inside !== undefined) addPair(x, inside.x);
    const ofBeginning = from === undefined ? startMoves?.cotangent : moments[from];
    if (ofBeginning === undefined) return;
    addBeginning(ofBeginning, begin);
    if (inside !== undefined) addBeginning(ofBeginning, inside);
  }

  /**
   * The event at a step's end: its multiplier acts on the cotangent of the end, at once, and its change when that of
   * the unknown and the length is known.
   */
  private endAtEvent(
    {n, record, from: row, next, dNext}: SecondOrderStep,
    moment: number,
    x: SecondOrderCotangent,
    inside: WithinCotangents | undefined,
  ): CompleteChange {
    const {history, moments, times, instant, still} = this;
    const event = history.eventTimes[moment];
    const {cotangent, change} = moments[moment];
    const {dNext: byLength, dz, rate} = this.ends.at(record, row, n, moment, next);
    let timeCotangent = cotangent[0] + dot(x.cotangent, byLength) + (inside?.h.cotangent[0] ?? 0);
    if (inside !== undefined && dz !== undefined) timeCotangent += dot(inside.z.cotangent, dz);
    const mu = timeCotangent / rate;
    instant.load(next, history.t[n] + history.h[n], dNext, times.moment(moment));
    const held = instant.pullEvent(event, -mu, still);
    const given = x.change.slice();
    addPair(x, held.x);
    return (dH, dZ) => {
      const dmu = still.map((_, d) => {
        let sum = change[d] + held.t.change[d] + dH[d] + (inside?.h.change[d] ?? 0);
        if (dz !== undefined && dZ !== undefined)
          for (let i = 0; i < dz.length; i++) sum += dZ[d * dz.length + i] * dz[i];
        return -sum / rate;
      });
      x.change.set(given);
      addTo(x.change, instant.pullEvent(event, -mu, dmu).x.change);
    };
  }

  /** What states within a step ask of it, those at the times of events that were noted there with them. */
  private inside(
    step: SecondOrderStep,
    {dx, dt = this.still, dh = this.still}: StepMoves,
    within: readonly InteriorPair[],
  ): WithinCotangents | undefined {
    const {history, still, times, cotangents, steps} = this;
    const {n, record, from: row, next, dNext} = step;
    const noted = history.interiorEvents.get(n) ?? [];
    if (within.length + noted.length === 0) return undefined;
    const dense = (this.cachedDense ??= new SecondOrderDense(this.context, this.directions));
    dense.load({record, row, dx, dt, dh, next, dNext});
    /** How θ moves where the time there does by dτ. */
    const movesBy = (theta: number, dtau: Float64Array): Float64Array =>
      dtau.map((moved, d) => (moved - dt[d] - theta * dh[d]) / history.h[n]);
    const pairs: MovingPair[] = within.map(pair => ({...pair, dtheta: movesBy(pair.theta, still)}));
    for (const {record: happened, event, theta, grazingThreshold} of noted) {
      const dtau = times.notedTime(happened);
      pairs.push(
        this.noted(dense, n, event, grazingThreshold, cotangents.happened[happened], {
          theta,
          dtheta: movesBy(theta, dtau),
          dtau,
        }),
      );
    }
    let sum: WithinCotangents | undefined;
    for (const {theta, dtheta, ...pair} of pairs) {
      const asked = dense.pull(theta, dtheta, pair);
      dense.addTo(steps);
      const {count} = this.directions;
      const known = (sum ??= Object.fromEntries(
        Object.entries(asked).map(([name, {cotangent}]) => [name, zeroPair(cotangent.length, count)]),
      ) as unknown as WithinCotangents);
      for (const name of Object.keys(asked) as (keyof WithinCotangents)[]) addPair(known[name], asked[name]);
    }
    return sum;
  }

  /** The time of an event that was noted within a step has a cotangent: what that asks of the state there. */
  private noted(
    dense: SecondOrderDense,
    n: number,
    event: number,
    grazingThreshold: number,
    {cotangent: [ofTime], change}: SecondOrderCotangent,
    {theta, dtheta, dtau}: Pick<MovingPair, 'theta' | 'dtheta'> & {readonly dtau: Float64Array},
  ): MovingPair {
    const {context, history, instant, still, steps} = this;
    const at = history.t[n] + theta * history.h[n];
    const {state, tangents} = dense.push(theta, dtheta);
    instant.load(state, at, tangents, dtau);
    const unit = instant.pullEvent(event, 1, still);
    const along = unit.t.cotangent[0] - dense.pull(theta, dtheta, unit.x).time.cotangent[0];
    const rate = crossingRate(context, along, grazingThreshold, at, event);
    const mu = ofTime / rate;
    const held = instant.pullEvent(event, -mu, still);
    const {time} = dense.pull(theta, dtheta, held.x);
    const dmu = still.map((_, d) => -(change[d] + held.t.change[d] - time.change[d]) / rate);
    const {x} = instant.pullEvent(event, -mu, dmu);
    instant.addTo(steps);
    return {theta, dtheta, cotangent: x.cotangent.slice(), change: x.change.slice()};
  }

  private pullJump({n, record, from: row, tangent}: SecondOrderStep, moment: number, x: SecondOrderCotangent): void {
    const {history, context, directions, times, instant, moments, steps} = this;
    const jump = jumpOf(context.traced, history.eventTimes[moment]);
    const [t, h] = [history.t[n], history.h[n]];
    const forward = historyForward(context);
    loadParameters(forward, context);
    record.load(row, stepBuffers(forward));
    forward.run(`jump.${jump}`);
    const given = history.givenBy(n, forward.buffer('given'));
    const before = new Float64Array(context.traced.state.size);
    record.load(row, {x: before});
    const dt = times.moment(moment);
    instant.load(before, t, tangent(row), dt);
    const dGiven = instant.pushJump(jump).slice();
    this.restarting ??= new SecondOrderPull(startContext(context), directions, true);
    const restarted = this.restarting.pull(this.restart(given, t, h).record, 0, {dx: dGiven, dt, dh: this.still}, x);
    const begin = instant.pullJump(jump, restarted.x);
    instant.addTo(steps);
    setPair(x, begin.x);
    addPair(moments[moment], begin.t);
    if (restarted.t !== undefined) addPair(moments[moment], restarted.t);
  }
}
