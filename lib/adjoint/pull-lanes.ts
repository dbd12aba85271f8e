/**
 * The gradients of runs in lanes (step/lanes.ts). Every lane traverses its member's own steps backwards, from the last
 * to the first, whatever their times; rejected steps are skipped. A finished lane has a cotangent of zero, which adds
 * nothing, until it takes the next member.
 */
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters, noRedundancy, startOf} from '../step/context.js';
import type {LaneAdjointProgram, LaneStep} from '../step/lanes.js';
import {laneAdjointPrograms, laneParameters, laneViews} from '../step/lanes.js';
import {addTo} from './add-to.js';
import {ParameterCotangents} from './parameter-cotangents.js';
import type {StepRecord} from './record.js';
import type {Saved} from './step-history.js';
import {SavedCursor} from './step-history.js';
import {pullStart} from './sweep-back.js';
import {auto} from '../linear/index.js';

/** What a run in a lane leaves for its gradient. */
export interface LanePath {
  /** Of its accepted steps. */
  readonly record: StepRecord;
  readonly saved: Saved;
  /** The state that it ended in. */
  readonly end: Float64Array;
  /** The step that began it. */
  readonly start: StepRecord;
}

/** The gradients of members in lanes. */
export interface LaneGradients {
  /** Of each member's start. */
  readonly initial: readonly Float64Array[];
  /** Of the parameters that the members share, summed; those of their own are empty. */
  readonly shared: readonly Float64Array[];
  /** Of each member's own parameters, by their numbers. */
  readonly own: readonly ReadonlyMap<number, Float64Array>[];
}

/** @param cotangents of each member's saved states, [saved, state]; undefined is zero */
export function pullLanes(
  step: LaneStep,
  members: readonly StepContext[],
  paths: readonly LanePath[],
  cotangents: readonly (Float64Array | undefined)[],
): LaneGradients {
  const pull = new LanePull(step, members, paths, cotangents);
  const asked = members.flatMap((_, i) => (cotangents[i] === undefined ? [] : [i]));
  const size = step.own.size > 0 ? step.lanes : asked.length;
  for (let from = 0; from < asked.length; from += size) pull.run(asked.slice(from, from + size));
  return pull;
}

/** The member that is in a lane, and how far back it is. */
interface Place {
  readonly i: number;
  /** The step to be pulled next. */
  k: number;
  readonly cursor: SavedCursor;
}

const adjointOf = ({compiled}: LaneStep): StepExecutable<LaneAdjointProgram> =>
  compiled.group('lanes', () => laneAdjointPrograms(compiled.derived.step, compiled.addsUp));

class LanePull implements LaneGradients {
  readonly initial: Float64Array[];
  readonly shared: Float64Array[];
  readonly own: Map<number, Float64Array>[];
  private readonly executable;
  private readonly xCotangent: Float64Array;
  private readonly rows: readonly Float64Array[];
  private readonly inside: Within | undefined;
  private readonly buffers: readonly {
    readonly t?: Float64Array;
    readonly h?: Float64Array;
    readonly x?: Float64Array;
  }[];

  constructor(
    private readonly step: LaneStep,
    private readonly members: readonly StepContext[],
    private readonly paths: readonly LanePath[],
    private readonly cotangents: readonly (Float64Array | undefined)[],
  ) {
    const {lanes, own, traced} = step;
    const executable = adjointOf(step);
    this.executable = executable;
    this.initial = members.map(({given}) => new Float64Array(given.length));
    this.shared = members[0].parameterValues.map(({length}, p) => new Float64Array(own.has(p) ? 0 : length));
    this.own = members.map(
      ({parameterValues}) => new Map([...own].map(p => [p, new Float64Array(parameterValues[p].length)])),
    );
    this.xCotangent = new Float64Array(traced.state.size);
    this.rows = laneViews(this.xCotangent, lanes);
    const all = (['t', 'h', 'x'] as const).map(name => {
      const buffer = executable.find(name);
      return buffer === undefined ? undefined : laneViews(buffer, lanes);
    });
    this.buffers = this.rows.map((_, l) => ({t: all[0]?.[l], h: all[1]?.[l], x: all[2]?.[l]}));
    this.inside = executable.has('pullDense') ? new Within(executable, lanes) : undefined;
  }

  /** These members; where they are more than lanes, one after another. */
  run(asked: readonly number[]): void {
    const {step, members, executable, xCotangent, rows, inside, paths, buffers} = this;
    const {lanes} = step;
    const context = this.context(asked);
    loadParameters(executable, context);
    const cotangents = new ParameterCotangents(context, executable, context.compiled.addsUp, true);
    const program = executable.program('pullStep');
    const [next, insideCotangent, result] = [
      executable.find('nextCotangent'),
      executable.find('insideCotangent'),
      executable.buffer('xCotangent'),
    ];
    const places = new Array<Place | undefined>(lanes).fill(undefined);
    const begun: {readonly i: number; readonly x: Float64Array}[] = [];
    let first = 0;
    xCotangent.fill(0);
    const begin = (l: number): void => {
      const i = asked[first++];
      places[l] = {i, k: paths[i].record.count - 1, cursor: new SavedCursor(paths[i].saved, true)};
    };
    const anyPath = asked.map(i => paths[i]).find(({record}) => record.count > 0);
    for (let l = 0; l < lanes; l++) {
      // A lane without a member has a step that can be taken, of a cotangent of zero.
      anyPath?.record.load(0, buffers[l]);
      if (anyPath !== undefined) inside?.end(l, anyPath.record.count > 1 ? anyPath.record : undefined, 1, anyPath.end);
      if (first < asked.length) begin(l);
    }
    for (;;) {
      let going = false;
      for (let l = 0; l < lanes; l++) {
        for (let place = places[l]; place !== undefined && place.k < 0; place = places[l]) {
          this.look(place, -1, rows[l]);
          begun.push({i: place.i, x: rows[l].slice()});
          rows[l].fill(0);
          places[l] = undefined;
          if (first < asked.length) begin(l);
        }
        const place = places[l];
        if (place === undefined) continue;
        going = true;
        const {record, end} = paths[place.i];
        record.load(place.k, buffers[l]);
        this.look(place, place.k, rows[l], l);
        inside?.end(l, place.k + 1 < record.count ? record : undefined, place.k + 1, end);
      }
      if (!going) break;
      const within = inside?.pull(xCotangent, cotangents);
      next?.set(xCotangent);
      if (within?.inside !== undefined) insideCotangent?.set(within.inside);
      else insideCotangent?.fill(0);
      program();
      cotangents.add('pullStep');
      xCotangent.set(result);
      if (within !== undefined) addTo(xCotangent, within.x);
      for (const place of places) if (place !== undefined) place.k--;
    }
    this.collect(asked, cotangents.finish());
    this.pullStarts(begun, context, members);
  }

  private context(asked: readonly number[]): StepContext {
    const {step, members} = this;
    return {
      ...members[0],
      traced: step.traced,
      compiled: step.compiled,
      parameterValues: laneParameters(
        step,
        asked.slice(0, step.lanes).map(i => members[i]),
      ),
      redundancy: noRedundancy,
    };
  }

  /** Adds the cotangents of what was saved at the end of step k; those within it are noted for lane l. */
  private look({i, cursor}: Place, k: number, row: Float64Array, l = 0): void {
    if (!cursor.back(k)) return;
    const states = this.cotangents[i] as Float64Array;
    const {length} = row;
    for (let s = cursor.from; s < cursor.to; s++) {
      const theta = cursor.theta(s);
      if (theta === 1) addTo(row, states, 1, s * length);
      else this.inside?.note(l, theta, states.subarray(s * length, (s + 1) * length));
    }
  }

  /** Cotangents of the parameters of all lanes go to the members that were in them. */
  private collect(asked: readonly number[], totals: readonly Float64Array[]): void {
    const {own, shared, step} = this;
    totals.forEach((total, p) => {
      if (!step.own.has(p)) addTo(shared[p], total);
      else asked.forEach((i, l) => addTo(own[i].get(p), total, 1, (l * total.length) / step.lanes));
    });
  }

  /** Through the starts of the runs that have come back to them. */
  private pullStarts(
    begun: readonly {readonly i: number; readonly x: Float64Array}[],
    context: StepContext,
    members: readonly StepContext[],
  ): void {
    const {step, initial, own, shared, paths} = this;
    const {start, lanes} = step;
    if (start === undefined) {
      for (const {i, x} of begun) {
        const totals = shared.map((total, p) => own[i].get(p) ?? total);
        initial[i].set(pullStart(startOf(members[i]), paths[i].start, x, totals));
      }
      return;
    }
    const executable = start.compiled.wholeAdjoint(auto());
    const starting = {...context, ...start};
    loadParameters(executable, starting);
    const cotangents = new ParameterCotangents(starting, executable, start.compiled.addsUp);
    const find = (name: 't' | 'h' | 'x' | 'nextCotangent'): Float64Array[] | undefined => {
      const buffer = executable.find(name);
      return buffer === undefined ? undefined : laneViews(buffer, lanes);
    };
    const [t, h, x, next] = (['t', 'h', 'x', 'nextCotangent'] as const).map(find);
    const result = laneViews(executable.find('xCotangent') ?? executable.buffer('nextCotangent'), lanes);
    // Lanes of members with parameters of their own are those that they had on the way back.
    const place = new Map(step.own.size === 0 ? [] : this.order(begun));
    for (let from = 0; from < begun.length; from += lanes) {
      const part = begun.slice(from, from + lanes);
      for (let l = 0; l < lanes; l++) {
        paths[part[0].i].start.load(0, {t: t?.[l], h: h?.[l], x: x?.[l]});
        next?.[l].fill(0);
      }
      const lane = part.map(({i}, l) => place.get(i) ?? l);
      part.forEach(({i, x: cotangent}, j) => {
        paths[i].start.load(0, {t: t?.[lane[j]], h: h?.[lane[j]], x: x?.[lane[j]]});
        next?.[lane[j]].set(cotangent);
      });
      executable.run('pullStep');
      cotangents.add();
      part.forEach(({i}, j) => initial[i].set(result[lane[j]]));
    }
    const lanesOf = step.own.size === 0 ? [] : begun.map(({i}) => i).sort((a, b) => a - b);
    this.collect(lanesOf, cotangents.finish());
  }

  /** Members of a round are in the lanes of their order. */
  private order(begun: readonly {readonly i: number}[]): [number, number][] {
    return begun
      .map(({i}) => i)
      .sort((a, b) => a - b)
      .map((i, l) => [i, l]);
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

  note(l: number, theta: number, cotangent: Float64Array): void {
    this.asked = Math.max(this.asked, this.looked[l].push({theta, cotangent}));
  }

  /** The end of the step in lane l: the state that the next one began with, or that of the run's end. */
  end(l: number, record: StepRecord | undefined, k: number, end: Float64Array): void {
    const {next} = this;
    if (next === undefined) return;
    if (record === undefined) next[l].set(end);
    else record.load(k, {x: next[l]});
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
