/**
 * The gradients of runs in lanes (step/lanes.ts): backwards through the steps that all lanes took together. A lane that
 * took none then, as its step was rejected or its member had finished, has a cotangent of zero, which adds nothing.
 */
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters, noRedundancy, startContext} from '../step/context.js';
import type {LaneAdjointProgram} from '../step/lane-programs.js';
import type {LaneStep} from '../step/lanes.js';
import {laneParameters, laneViews} from '../step/lanes.js';
import {addTo} from './add-to.js';
import type {LaneRecord, LaneRound} from './lane-record.js';
import {ParameterCotangents} from './parameter-cotangents.js';
import type {StepRecord} from './record.js';
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
  private readonly inside: Within | undefined;

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
    this.inside = executable.has('pullDense') ? new Within(executable, lanes) : undefined;
  }

  run(round: LaneRound): void {
    const {executable, xCotangent, rows, inside, step, ways} = this;
    const {record} = ways;
    const context = this.context(round);
    loadParameters(executable, context);
    const cotangents = new ParameterCotangents(context, executable, context.compiled.canAccumulate, true);
    const program = executable.program('pullStep');
    const [t, h, x, layers, next, insideCotangent] = (
      ['t', 'h', 'x', 'layers', 'nextCotangent', 'insideCotangent'] as const
    ).map(name => executable.find(name));
    const result = executable.buffer('xCotangent');
    const nextRows = next === undefined ? undefined : laneViews(next, step.lanes);
    const resultRows = laneViews(result, step.lanes);
    const begun: Begun[] = [];
    const waiting = round.order.map(order => [...order]);
    const places = waiting.map(order => this.lastOf(order));
    /** Members that have come back to their start make way for the one before. */
    const settle = (l: number): Place | undefined => {
      for (let place = places[l]; place !== undefined && place.k < 0; place = places[l] = this.lastOf(waiting[l])) {
        if (place.cursor !== undefined) {
          this.look(place, -1, l);
          begun.push({i: place.i, x: rows[l].slice()});
        }
        rows[l].fill(0);
      }
      return places[l];
    };
    xCotangent.fill(0);
    for (let n = round.to - 1; n >= round.from; n--) {
      const taken = record.load(n, {t, h, x, layers});
      for (let l = 0; l < rows.length; l++) {
        if (taken?.[l] === 0) continue;
        const place = settle(l);
        if (place !== undefined) this.look(place, place.k, l);
      }
      const within = inside?.pull(xCotangent, cotangents);
      next?.set(xCotangent);
      if (within?.inside !== undefined) insideCotangent?.set(within.inside);
      else insideCotangent?.fill(0);
      if (taken !== undefined) for (let l = 0; l < rows.length; l++) if (taken[l] === 0) nextRows?.[l].fill(0);
      program();
      cotangents.add('pullStep');
      if (taken === undefined) xCotangent.set(result);
      else for (let l = 0; l < rows.length; l++) if (taken[l] === 1) rows[l].set(resultRows[l]);
      if (within !== undefined) addTo(xCotangent, within.x);
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

  /** Adds the cotangents of what was saved at the end of step k of the member in lane l; those within it are noted. */
  private look({i, cursor, after}: Place, k: number, l: number): void {
    if (cursor?.back(k) !== true) return;
    const {rows, inside, ways, cotangents} = this;
    const states = cotangents[i] as Float64Array;
    const {length} = rows[l];
    for (let s = cursor.from; s < cursor.to; s++) {
      const theta = cursor.theta(s);
      if (theta === 1) addTo(rows[l], states, 1, s * length);
      else {
        const end = after === undefined ? ways.paths[i].end : ways.record.state(after, l);
        inside?.note(l, theta, states.subarray(s * length, (s + 1) * length), end);
      }
    }
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
    const find = (name: 't' | 'h' | 'x' | 'nextCotangent'): readonly Float64Array[] | undefined => {
      const buffer = executable.find(name);
      return buffer === undefined ? undefined : laneViews(buffer, lanes);
    };
    const [t, h, x, next] = (['t', 'h', 'x', 'nextCotangent'] as const).map(find);
    const result = laneViews(executable.find('xCotangent') ?? executable.buffer('nextCotangent'), lanes);
    for (let from = 0; from < begun.length; from += lanes) {
      const part = begun.slice(from, from + lanes);
      for (let l = 0; l < lanes; l++) {
        paths[part[0].i].start.load(0, {t: t?.[l], h: h?.[l], x: x?.[l]});
        next?.[l].fill(0);
      }
      // Members with parameters of their own have their lanes.
      const lane = part.map(({i}, l) => (step.perMember.size === 0 ? l : i - round.first));
      part.forEach(({i, x: cotangent}, j) => {
        paths[i].start.load(0, {t: t?.[lane[j]], h: h?.[lane[j]], x: x?.[lane[j]]});
        next?.[lane[j]].set(cotangent);
      });
      executable.run('pullStep');
      cotangents.add();
      part.forEach(({i}, j) => initial[i].set(result[lane[j]]));
    }
    this.collect(round, cotangents.finish());
  }
}

/** Cotangents of states within steps: one place of each lane at a time. */
class Within {
  private readonly looked: {readonly theta: number; readonly cotangent: Float64Array}[][];
  private readonly x: Float64Array;
  private readonly insideSum: Float64Array | undefined;
  private readonly next: readonly Float64Array[] | undefined;
  private readonly theta: Float64Array;
  private readonly dense: readonly Float64Array[];
  private asked = 0;

  constructor(
    private readonly executable: StepExecutable<LaneAdjointProgram>,
    lanes: number,
  ) {
    this.looked = Array.from({length: lanes}, () => []);
    this.x = executable.buffer('denseXCotangent').slice();
    this.insideSum = executable.find('denseInsideCotangent')?.slice();
    const next = executable.find('next');
    this.next = next === undefined ? undefined : laneViews(next, lanes);
    this.theta = executable.find('theta') ?? new Float64Array(lanes);
    this.dense = laneViews(executable.buffer('denseCotangent'), lanes);
  }

  /** @param end the state at the end of the step in lane l */
  note(l: number, theta: number, cotangent: Float64Array, end: Float64Array): void {
    if (this.looked[l].length === 0) this.next?.[l].set(end);
    this.asked = Math.max(this.asked, this.looked[l].push({theta, cotangent}));
  }

  /** Adds to the cotangent of the steps' ends; what the rest is asked is returned, undefined where nothing is. */
  pull(
    xCotangent: Float64Array,
    cotangents: ParameterCotangents,
  ): {readonly x: Float64Array; readonly inside: Float64Array | undefined} | undefined {
    const {asked, executable, looked, theta, dense, x, insideSum} = this;
    if (asked === 0) return undefined;
    x.fill(0);
    insideSum?.fill(0);
    if (executable.has('inside')) executable.run('inside');
    for (let pass = 0; pass < asked; pass++) {
      looked.forEach((places, l) => {
        if (pass < places.length) {
          theta[l] = places[pass].theta;
          dense[l].set(places[pass].cotangent);
        } else {
          theta[l] = 0;
          dense[l].fill(0);
        }
      });
      executable.run('pullDense');
      cotangents.add('pullDense');
      addTo(xCotangent, executable.buffer('denseNextCotangent'));
      addTo(x, executable.buffer('denseXCotangent'));
      addTo(insideSum, executable.find('denseInsideCotangent'));
    }
    for (const places of looked) places.length = 0;
    this.asked = 0;
    return {x, inside: insideSum};
  }
}
