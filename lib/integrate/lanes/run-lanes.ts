/**
 * The runs of a batch in the lanes of one program. Each member has its own times and steps, including adaptive ones:
 * a rejected step is repeated while the other lanes continue, and a lane whose member has finished takes the
 * next one. The result of a member does not depend on the others, and equals that of a single run, except for the
 * rounding of sums of many products.
 */
import {LaneRecord} from '../../adjoint/lane-record.js';
import {firstNotFinite} from '../../system/places.js';
import {loadParameters, noRedundancy} from '../../step/context.js';
import type {LaneStep} from '../../step/lanes.js';
import {laneParameters, laneViews} from '../../step/lanes.js';
import {auto} from '../../linear/index.js';
import {historyForward} from '../../adjoint/timed-pull.js';
import {firstStep} from '../history/first-step.js';
import type {LaneWays} from '../../adjoint/pull-lanes.js';
import {noCounts} from '../counters.js';
import type {Run} from '../path.js';
import type {Runnable} from '../runnable.js';
import {startRun} from '../start.js';
import {LaneMember, type LaneRows} from './lane-member.js';

export interface LaneRuns {
  /** Of each member. */
  readonly runs: readonly Run[];
  /** What their gradients need, where they are to come. */
  readonly ways?: LaneWays;
}

/**
 * @param members with plans, whatever their times
 * @param memory bytes for the record of their steps, where a gradient is to come; else undefined
 * @param inMember an error of the start of a member, by its number, as the caller tells it
 */
export function runLanes(
  step: LaneStep,
  members: readonly Runnable[],
  memory: number | undefined,
  inMember: (error: unknown, member: number) => unknown,
): LaneRuns {
  const begin = performance.now();
  const loop = new LaneLoop(step, members, memory, inMember);
  // Parameters of the members' own stay where they are until all lanes are done with them.
  const size = step.own.size > 0 ? step.lanes : members.length;
  for (let from = 0; from < members.length; from += size) loop.run(from, Math.min(from + size, members.length));
  const each = (performance.now() - begin) / members.length;
  const runs = loop.done.map(({member, end}) => member.result(end, each));
  const {record} = loop;
  if (record === undefined) return {runs};
  step.compiled.transitions = record.count;
  const paths = loop.done.map(({member: {saver, taken}, end}, i) => ({
    count: taken,
    saved: {after: saver.after, theta: saver.theta},
    end,
    start: runs[i].start,
  }));
  return {runs, ways: {record, paths}};
}

interface Done {
  readonly member: LaneMember;
  readonly end: Float64Array;
}

class LaneLoop {
  readonly done: Done[];
  readonly record: LaneRecord | undefined;
  private readonly forward;
  private readonly rows: readonly LaneRows[];
  private readonly inside: Float64Array | undefined;
  private readonly x: Float64Array;
  private readonly t: Float64Array;
  private readonly h: Float64Array;
  private readonly layers: Float64Array | undefined;
  private dense: DenseLanes | undefined;
  private readonly current: (number | undefined)[];
  private readonly active: LaneMember[] = [];

  constructor(
    private readonly step: LaneStep,
    private readonly members: readonly Runnable[],
    memory: number | undefined,
    private readonly inMember: (error: unknown, member: number) => unknown,
  ) {
    const {lanes, compiled, traced} = step;
    this.done = new Array<Done>(members.length);
    this.current = new Array<number | undefined>(lanes).fill(undefined);
    this.forward = compiled.laneForward(memory !== undefined);
    const {forward} = this;
    this.x = forward.buffer('x');
    this.layers = forward.find('layers');
    if (memory !== undefined) {
      const size = traced.state.size / lanes;
      this.record = new LaneRecord(lanes, size, this.layers?.length ?? 0, compiled.transitions, memory);
    }
    const [x, next] = [this.x, forward.buffer('next')].map(buffer => laneViews(buffer, lanes));
    const [error, stiffness] = (['E', 'stiffness'] as const).map(name => {
      const buffer = forward.find(name);
      return buffer === undefined ? undefined : laneViews(buffer, lanes);
    });
    this.rows = x.map((view, l) => ({x: view, next: next[l], error: error?.[l], stiffness: stiffness?.[l]}));
    this.inside = forward.find('inside');
    this.t = forward.find('t') ?? new Float64Array(lanes);
    this.h = forward.find('h') ?? new Float64Array(lanes);
  }

  /** Members from..to−1; where these are more than lanes, one after another. */
  run(from: number, to: number): void {
    const {step, members, forward, rows, current, active, t, h} = this;
    const {lanes} = step;
    const values = {
      parameterValues: laneParameters(step, members.slice(from, from + lanes)),
      redundancy: noRedundancy,
    };
    loadParameters(forward, values);
    this.dense?.load(values);
    const starts = this.starts(from, to, values.parameterValues);
    let next = from;
    const order = rows.map((): number[] => []);
    const begin = (l: number): void => {
      const i = next++;
      const prepared = members[i];
      active[l] = new LaneMember(prepared, starts[i - from], firstLength(prepared, starts[i - from]));
      current[l] = i;
      order[l].push(i);
      rows[l].x.set(starts[i - from]);
    };
    const wanted: {readonly l: number; readonly row: number; readonly theta: number}[] = [];
    const good: number[] = [];
    for (let l = 0; l < lanes; l++) {
      if (next < to) begin(l);
      else this.idle(l);
    }
    const {update, record} = this;
    const first = record?.count ?? 0;
    for (;;) {
      let going = false;
      for (let l = 0; l < lanes; l++) {
        let proposal;
        while (current[l] !== undefined && (proposal = active[l].propose(rows[l].x)) === undefined) {
          this.done[current[l] as number] = {member: active[l], end: rows[l].x.slice()};
          current[l] = undefined;
          if (next < to) begin(l);
        }
        if (proposal === undefined) continue;
        going = true;
        t[l] = active[l].t;
        h[l] = proposal.h;
      }
      if (!going) break;
      update();
      for (let l = 0; l < lanes; l++) {
        if (current[l] === undefined) continue;
        const member = active[l];
        if (member.judge(rows[l], row => wanted.push({l, row, theta: member.saver.theta[row]}))) good.push(l);
      }
      if (wanted.length > 0) {
        this.dense ??= new DenseLanes(step, members[from], values);
        this.dense.fill(this.forward, t, h, this.inside, wanted, (l, row, state) => active[l].saver.fill(row, state));
        wanted.length = 0;
      }
      if (good.length > 0) this.keep(good);
      for (const l of good) rows[l].x.set(rows[l].next);
      good.length = 0;
    }
    record?.rounds.push({first: from, end: to, from: first, to: record.count, order});
  }

  /**
   * Records the step that these lanes took. What the other lanes tried has a cotangent of zero, which adds nothing as long
   * as all it meets is finite. Where that is not sure, they stand for one that took it.
   */
  private keep(good: readonly number[]): void {
    const {record, rows, t, h, layers, x, step, update} = this;
    if (record === undefined) return;
    if (good.length === step.lanes) {
      record.append({t, h, x, layers}, undefined);
      return;
    }
    const taken = new Uint8Array(step.lanes);
    for (const l of good) taken[l] = 1;
    const isSure =
      layers !== undefined
      && firstNotFinite(layers) < 0
      && rows.every(({next}, l) => taken[l] === 1 || firstNotFinite(next) < 0);
    if (isSure) {
      record.append({t, h, x, layers}, taken);
      return;
    }
    const before = x.slice();
    const [like] = good;
    for (let l = 0; l < step.lanes; l++) {
      if (taken[l] === 1) continue;
      t[l] = t[like];
      h[l] = h[like];
      rows[l].x.set(rows[like].x);
    }
    // The steps of the others are made again as they were.
    if (layers !== undefined) update();
    record.append({t, h, x, layers}, taken);
    x.set(before);
  }

  private get update(): () => void {
    return this.forward.program('update');
  }

  /** A lane without a member does what the first one does, and nobody looks. */
  private idle(l: number): void {
    const {rows, t, h, active} = this;
    rows[l].x.set(rows[0].x);
    t[l] = active[0].t;
    h[l] = active[0].prepared.h0;
  }

  /** The whole states that members from..to−1 begin with. */
  private starts(from: number, to: number, parameterValues: readonly Float64Array[]): Float64Array[] {
    const {step, members} = this;
    const {start, lanes} = step;
    const own = (member: number): Float64Array => {
      try {
        return startRun(members[member], noCounts()).x;
      } catch (error) {
        throw this.inMember(error, member);
      }
    };
    if (start === undefined) return Array.from({length: to - from}, (_, i) => own(from + i));
    const executable = start.compiled.forward(auto());
    loadParameters(executable, {parameterValues, redundancy: noRedundancy});
    const x = laneViews(executable.buffer('x'), lanes);
    const next = laneViews(executable.buffer('next'), lanes);
    const [t, h] = [executable.find('t'), executable.find('h')];
    const starts: Float64Array[] = [];
    for (let first = from; first < to; first += lanes) {
      for (let l = 0; l < lanes; l++) {
        const member = members[first + l < to ? first + l : first];
        x[l].set(member.given);
        if (t !== undefined) t[l] = member.t0;
        if (h !== undefined) h[l] = member.h0;
      }
      executable.run('update');
      for (let l = 0; l < lanes && first + l < to; l++)
        // Where it is not finite the start by itself says where.
        starts.push(firstNotFinite(next[l]) < 0 ? next[l].slice() : own(first + l));
    }
    return starts;
  }
}

/** See `HistoryLoop.firstLength`. */
function firstLength(prepared: Runnable, state: Float64Array): number {
  const {
    options: {grid, plan},
    traced,
  } = prepared;
  if (plan?.absolute === undefined || plan.control.first !== 'auto') return grid.dt;
  const along = historyForward(prepared);
  loadParameters(along, prepared);
  const slope = (x: Float64Array, t: number): Float64Array => {
    along.find('x')?.set(x);
    along.find('t')?.fill(t);
    along.run('slope');
    return along.buffer('slope');
  };
  return firstStep({state, slope}, grid.t0, plan.absolute, plan.control, traced.order, plan.end);
}

interface Wanted {
  readonly l: number;
  readonly row: number;
  readonly theta: number;
}

/** Dense output of all lanes: one place in each at a time, as often as the lane with the most asks. */
class DenseLanes {
  private readonly along;
  private readonly theta: Float64Array;
  private readonly states: readonly Float64Array[];
  private readonly asked: number[];

  constructor({compiled, traced, lanes}: LaneStep, member: Runnable, values: Parameters<typeof loadParameters>[1]) {
    this.along = historyForward({...member, compiled, traced});
    this.theta = this.along.find('theta') ?? new Float64Array(lanes);
    this.states = laneViews(this.along.buffer('D'), lanes);
    this.asked = new Array<number>(lanes).fill(0);
    this.load(values);
  }

  load(values: Parameters<typeof loadParameters>[1]): void {
    loadParameters(this.along, values);
  }

  fill(
    forward: {find(name: 'x' | 'next'): Float64Array | undefined},
    t: Float64Array,
    h: Float64Array,
    inside: Float64Array | undefined,
    wanted: readonly Wanted[],
    put: (l: number, row: number, state: Float64Array) => void,
  ): void {
    const {along, theta, states, asked} = this;
    for (const name of ['x', 'next'] as const) along.find(name)?.set(forward.find(name) as Float64Array);
    along.find('t')?.set(t);
    along.find('h')?.set(h);
    if (inside !== undefined) along.find('inside')?.set(inside);
    if (along.has('between')) along.run('between');
    asked.fill(0);
    for (const {l} of wanted) asked[l]++;
    const most = Math.max(...asked);
    // Wanted rows of one lane stand one after another: pass p takes the p-th of each.
    for (let pass = 0; pass < most; pass++) {
      asked.fill(0);
      theta.fill(0);
      for (const {l, theta: place} of wanted) if (asked[l]++ === pass) theta[l] = place;
      along.run('dense');
      asked.fill(0);
      for (const {l, row} of wanted) if (asked[l]++ === pass) put(l, row, states[l]);
    }
  }
}
