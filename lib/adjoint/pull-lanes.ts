/**
 * The gradients of runs in lanes (step/lanes.ts): backwards through the steps that all lanes took together, each by the
 * pull of a single run's step (implicit-pull.ts, dense-pull.ts). A lane that took none then, as its step was rejected
 * or its member had finished, has a cotangent of zero, which adds nothing.
 */
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters, noRedundancy, startContext} from '../step/context.js';
import type {LaneAdjointProgram} from '../step/lane-programs.js';
import type {LaneStep} from '../step/lanes.js';
import {laneParameters, laneViews} from '../step/lanes.js';
import {addTo} from './add-to.js';
import {DensePull} from './dense-pull.js';
import type {InteriorCotangent} from './gradient.js';
import {addEnds, interiorStates} from './gradient.js';
import {GridPull} from './implicit-pull.js';
import type {LaneRecord, LaneRound} from './lane-record.js';
import {ParameterCotangents} from './parameter-cotangents.js';
import type {StepBuffers} from './record.js';
import {stepBuffers, StepRecord} from './record.js';
import type {SavedStates} from './step-history.js';
import {SavedCursor} from './step-history.js';
import {pullStart} from './sweep-back.js';
import {auto} from '../linear/index.js';

/** What a run in a lane leaves for its gradient. */
export interface LanePath {
  /** Number of its accepted steps. */
  readonly count: number;
  readonly saved: SavedStates;
  /** The state that it ended in. */
  readonly end: Float64Array;
  /** The step that began it. */
  readonly start: StepRecord;
}

/** What all of them leave. */
export interface LaneWays {
  readonly record: LaneRecord;
  /** Cotangents of each member's saved states. */
  readonly paths: readonly LanePath[];
}

/** The gradients of members in lanes. */
export interface LaneGradients {
  /** Cotangents of each member's start. */
  readonly initial: readonly Float64Array[];
  /** Cotangents of the parameters that the members share, summed; empty for parameters of their own. */
  readonly shared: readonly Float64Array[];
  /** Cotangents of each member's own parameters, by their numbers. */
  readonly own: readonly ReadonlyMap<number, Float64Array>[];
  /** By the time of each member's start, [members]; where it was asked for. */
  readonly t0?: Float64Array;
}

/** @param cotangents of each member's saved states, [saved, state]; undefined is zero */
export function pullLanes(
  step: LaneStep,
  members: readonly StepContext[],
  ways: LaneWays,
  cotangents: readonly (Float64Array | undefined)[],
): LaneGradients {
  const pull = new LanePull(step, members, ways, cotangents);
  for (const round of ways.record.rounds)
    if (cotangents.slice(round.first, round.end).some(one => one !== undefined)) pull.run(round);
  return pull;
}

/** The member that is in a lane, and how far back it is. */
interface Place {
  readonly i: number;
  /** Its step to be pulled next. */
  k: number;
  /** Undefined where it has no cotangents. */
  readonly cursor: SavedCursor | undefined;
  /** The row of the step after it; undefined of the last one. */
  after: number | undefined;
}

/** The programs of the way back. @param layers they read what the steps kept */
function adjointOf({compiled}: LaneStep, layers: boolean): StepExecutable<LaneAdjointProgram> {
  const {programs, activations: kept} = compiled.laneAdjoint;
  return layers && kept !== undefined
    ? compiled.group('lanes.layers', () => kept.programs)
    : compiled.group('lanes', () => programs);
}

/** A member that has come back to its start, with the cotangent of the state that it began in. */
interface Begun {
  readonly i: number;
  readonly x: Float64Array;
}

class LanePull implements LaneGradients {
  readonly initial: Float64Array[];
  readonly shared: Float64Array[];
  readonly own: Map<number, Float64Array>[];
  private readonly executable;
  private readonly xCotangent: Float64Array;
  private readonly rows: readonly Float64Array[];
  /** Cotangents of lanes that took no step. */
  private readonly aside: readonly Float64Array[];

  constructor(
    private readonly step: LaneStep,
    private readonly members: readonly StepContext[],
    private readonly ways: LaneWays,
    private readonly cotangents: readonly (Float64Array | undefined)[],
  ) {
    const {lanes, perMember, traced} = step;
    const executable = adjointOf(step, ways.record.hasLayers);
    this.executable = executable;
    this.initial = members.map(({initialValues}) => new Float64Array(initialValues.length));
    this.shared = members[0].parameterValues.map(({length}, p) => new Float64Array(perMember.has(p) ? 0 : length));
    const none = new Map<number, Float64Array>();
    this.own = members.map(({parameterValues}) =>
      perMember.size === 0 ? none : new Map([...perMember].map(p => [p, new Float64Array(parameterValues[p].length)])),
    );
    this.xCotangent = new Float64Array(traced.state.size);
    this.rows = laneViews(this.xCotangent, lanes);
    this.aside = laneViews(new Float64Array(traced.state.size), lanes);
  }

  run(round: LaneRound): void {
    const {executable, xCotangent, rows, step, ways} = this;
    const {record} = ways;
    const context = this.context(round);
    loadParameters(executable, context);
    const cotangents = new ParameterCotangents(context, executable, context.compiled.canAccumulate, true);
    const steps = new GridPull(context, executable, cotangents, undefined);
    const within = executable.has('pullDense') ? new Within(executable, cotangents, xCotangent, step.lanes) : undefined;
    const insideCotangent = executable.optionalBuffer('insideCotangent');
    const begun: Begun[] = [];
    const waiting = round.order.map(order => [...order]);
    const places = waiting.map(order => this.lastOf(order));
    const look = (place: Place, k: number, l: number): void => {
      const {i, cursor, after} = place;
      if (cursor?.back(k) !== true) return;
      const states = this.cotangents[i] as Float64Array;
      addEnds(cursor, states, rows[l]);
      for (const state of interiorStates(cursor, states, rows[l].length))
        within?.note(l, state, after === undefined ? ways.paths[i].end : record.steps.laneState(after, l));
    };
    /** Members that have come back to their start make way for the one before. */
    const settle = (l: number): Place | undefined => {
      for (let place = places[l]; place !== undefined && place.k < 0; place = places[l] = this.lastOf(waiting[l])) {
        if (place.cursor !== undefined) {
          look(place, -1, l);
          begun.push({i: place.i, x: rows[l].slice()});
        }
        rows[l].fill(0);
      }
      return places[l];
    };
    xCotangent.fill(0);
    for (let n = round.to - 1; n >= round.from; n--) {
      const taken = record.takenAt(n);
      for (let l = 0; l < rows.length; l++) {
        if (taken?.[l] === 0) continue;
        const place = settle(l);
        if (place !== undefined) look(place, place.k, l);
      }
      this.setAside(taken);
      const asked = within?.pull(record.steps, n);
      if (asked?.insideCotangent !== undefined) insideCotangent?.set(asked.insideCotangent);
      else insideCotangent?.fill(0);
      steps.pull(record.steps, n, xCotangent, true);
      if (asked !== undefined) addTo(xCotangent, asked.xCotangent);
      this.putBack(taken);
      places.forEach((place, l) => {
        if (place === undefined || taken?.[l] === 0) return;
        place.k--;
        place.after = n;
      });
    }
    rows.forEach((_, l) => settle(l));
    this.collect(round, cotangents.finish());
    this.pullStarts(begun, context, round);
  }

  /** Lanes that took no step have a cotangent of zero while it is pulled back. */
  private setAside(taken: Uint8Array | undefined): void {
    const {rows, aside} = this;
    taken?.forEach((took, l) => {
      if (took === 1) return;
      aside[l].set(rows[l]);
      rows[l].fill(0);
    });
  }

  private putBack(taken: Uint8Array | undefined): void {
    taken?.forEach((took, l) => {
      if (took === 0) this.rows[l].set(this.aside[l]);
    });
  }

  private lastOf(order: number[]): Place | undefined {
    const i = order.pop();
    if (i === undefined) return undefined;
    const {count, saved} = this.ways.paths[i];
    const cursor =
      this.cotangents[i] === undefined || saved.after.length === 0 ? undefined : new SavedCursor(saved, true);
    return {i, k: count - 1, cursor, after: undefined};
  }

  private context({first, end}: LaneRound): StepContext {
    const {step, members} = this;
    return {
      ...members[first],
      traced: step.traced,
      compiled: step.compiled,
      parameterValues: laneParameters(step, members.slice(first, Math.min(end, first + step.lanes))),
      redundancy: noRedundancy,
    };
  }

  /** Cotangents of the parameters of all lanes go to the members that were in them. */
  private collect({first, end}: LaneRound, totals: readonly Float64Array[]): void {
    const {own, shared, step} = this;
    totals.forEach((total, p) => {
      if (!step.perMember.has(p)) addTo(shared[p], total);
      else for (let i = first; i < end; i++) addTo(own[i].get(p), total, 1, ((i - first) * total.length) / step.lanes);
    });
  }

  /** Through the starts of the runs that have come back to them. */
  private pullStarts(begun: readonly Begun[], context: StepContext, round: LaneRound): void {
    const {
      step,
      initial,
      own,
      shared,
      members,
      ways: {paths},
    } = this;
    const {start, lanes} = step;
    if (start === 'given') {
      for (const {i, x} of begun) initial[i].set(x);
      return;
    }
    if (start === 'one by one') {
      for (const {i, x} of begun) {
        const totals = shared.map((total, p) => own[i].get(p) ?? total);
        initial[i].set(pullStart(startContext(members[i]), paths[i].start, x, totals));
      }
      return;
    }
    const executable = start.compiled.fullAdjoint(auto());
    const starting = {...context, ...start};
    loadParameters(executable, starting);
    const cotangents = new ParameterCotangents(starting, executable, start.compiled.canAccumulate);
    const pull = new GridPull(starting, executable, cotangents, undefined);
    const given = start.traced.state.size;
    const record = new StepRecord(given, 0, 1, 1, lanes);
    const [t, h, x] = [lanes, lanes, given].map(size => new Float64Array(size));
    const rows = {t: laneViews(t, lanes), h: laneViews(h, lanes), x: laneViews(x, lanes)};
    // The start may have fewer numbers than the state that it makes.
    const cotangent = new Float64Array(Math.max(given, start.traced.functions.update.size));
    const ends = laneViews(cotangent, lanes);
    const starts = laneViews(cotangent.subarray(0, given), lanes);
    for (let from = 0; from < begun.length; from += lanes) {
      const part = begun.slice(from, from + lanes);
      const load = (i: number, l: number): void => {
        paths[i].start.load(0, {t: rows.t[l], h: rows.h[l], x: rows.x[l]});
      };
      for (let l = 0; l < lanes; l++) load(part[0].i, l);
      cotangent.fill(0);
      // Members with parameters of their own have their lanes.
      const lane = part.map(({i}, l) => (step.perMember.size === 0 ? l : i - round.first));
      part.forEach(({i, x: end}, j) => {
        load(i, lane[j]);
        ends[lane[j]].set(end);
      });
      record.clear();
      record.appendLanes(t, h, x, undefined);
      pull.pull(record, 0, cotangent, true);
      part.forEach(({i}, j) => initial[i].set(starts[lane[j]]));
    }
    this.collect(round, cotangents.finish());
  }
}

/** Cotangents of states within steps: one place of each lane at a time. */
class Within {
  private readonly looked: InteriorCotangent[][];
  private readonly dense: DensePull;
  private readonly buffers: StepBuffers;
  private readonly next: readonly Float64Array[] | undefined;
  private readonly theta: Float64Array;
  private readonly cotangent: readonly Float64Array[];
  private asked = 0;

  /** @param endCotangent that of the steps' ends, which is added to */
  constructor(
    executable: StepExecutable<LaneAdjointProgram>,
    cotangents: ParameterCotangents,
    endCotangent: Float64Array,
    lanes: number,
  ) {
    this.looked = Array.from({length: lanes}, () => []);
    this.dense = new DensePull(executable, cotangents, endCotangent, false);
    this.buffers = stepBuffers(executable);
    const {next, theta, cotangent} = this.dense;
    this.next = next && laneViews(next, lanes);
    this.theta = theta ?? new Float64Array(lanes);
    this.cotangent = laneViews(cotangent ?? new Float64Array(endCotangent.length), lanes);
  }

  /** @param end the state at the end of the step in lane l */
  note(l: number, state: InteriorCotangent, end: Float64Array): void {
    if (this.looked[l].length === 0) this.next?.[l].set(end);
    this.asked = Math.max(this.asked, this.looked[l].push(state));
  }

  /** What the rest of step n is asked; undefined where nothing is. */
  pull(record: StepRecord, n: number): DensePull | undefined {
    const {asked, looked, theta, cotangent, dense, buffers} = this;
    if (asked === 0) return undefined;
    record.load(n, buffers);
    dense.begin();
    for (let pass = 0; pass < asked; pass++) {
      looked.forEach((states, l) => {
        if (pass < states.length) {
          theta[l] = states[pass].theta;
          cotangent[l].set(states[pass].cotangent);
        } else {
          theta[l] = 0;
          cotangent[l].fill(0);
        }
      });
      dense.pull(0, 0);
    }
    for (const states of looked) states.length = 0;
    this.asked = 0;
    return dense;
  }
}
