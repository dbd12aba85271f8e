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
import {historyForward} from '../../adjoint/timed-pull.js';
import {auto} from '../../linear/index.js';
import {firstStep} from '../history/first-step.js';
import type {LaneWays} from '../../adjoint/pull-lanes.js';
import {noCounts} from '../counters.js';
import {RunFailure, captureFailure} from '../run-failure.js';
import type {Run} from '../path.js';
import type {RunContext} from '../run-context.js';
import {startRun} from '../start.js';
import {LaneMember, type LaneRows} from './lane-member.js';

export interface LaneRuns {
  /** Results of each member. */
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
  members: readonly RunContext[],
  memory: number | undefined,
  inMember: (error: unknown, member: number) => unknown,
): LaneRuns {
  const begin = performance.now();
  const loop = new LaneLoop(step, members, memory, inMember);
  // Parameters of the members' own stay where they are until all lanes are done with them.
  const size = step.perMember.size > 0 ? step.lanes : members.length;
  for (let from = 0; from < members.length; from += size) loop.run(from, Math.min(from + size, members.length));
  const each = (performance.now() - begin) / members.length;
  const runs = loop.done.map(({member, end}) => member.result(end, each));
  const {record} = loop;
  if (record === undefined) return {runs};
  step.compiled.expectedTransitions = record.count;
  const paths = loop.done.map(({member: {saved, taken}, end}, i) => ({
    count: taken,
    saved,
    end,
    start: runs[i].start,
  }));
  return {runs, ways: {record, paths}};
}

/** Share of a step's length that moves no state by more than rounding. */
const almostNothing = Number.EPSILON;

interface Done {
  readonly member: LaneMember;
  readonly end: Float64Array;
}

class LaneLoop {
  readonly done: Done[];
  readonly record: LaneRecord | undefined;
  private readonly forward;
  private readonly update: () => void;
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
    private readonly members: readonly RunContext[],
    memory: number | undefined,
    private readonly inMember: (error: unknown, member: number) => unknown,
  ) {
    const {lanes, compiled, traced} = step;
    this.done = new Array<Done>(members.length);
    this.current = new Array<number | undefined>(lanes).fill(undefined);
    this.forward = compiled.laneForward(memory !== undefined);
    const {forward} = this;
    this.update = forward.program('update');
    this.x = forward.buffer('x');
    this.layers = forward.optionalBuffer('layers');
    if (memory !== undefined) {
      const size = traced.state.size / lanes;
      this.record = new LaneRecord(lanes, size, this.layers?.length ?? 0, compiled.expectedTransitions, memory);
    }
    const [x, next] = [this.x, forward.buffer('next')].map(buffer => laneViews(buffer, lanes));
    const [error, stiffness] = (['E', 'stiffness'] as const).map(name => {
      const buffer = forward.optionalBuffer(name);
      return buffer === undefined ? undefined : laneViews(buffer, lanes);
    });
    this.rows = x.map((view, l) => ({x: view, next: next[l], error: error?.[l], stiffness: stiffness?.[l]}));
    this.inside = forward.optionalBuffer('inside');
    this.t = forward.optionalBuffer('t') ?? new Float64Array(lanes);
    this.h = forward.optionalBuffer('h') ?? new Float64Array(lanes);
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
    const usual = starts.find(start => !(start instanceof RunFailure)) as Float64Array | undefined;
    let next = from;
    const order = rows.map((): number[] => []);
    const begin = (l: number): void => {
      const i = next++;
      const [prepared, start] = [members[i], starts[i - from]];
      current[l] = i;
      order[l].push(i);
      if (start instanceof RunFailure) {
        active[l] = new LaneMember(prepared, start, prepared.h0);
        this.idle(l, usual);
        return;
      }
      active[l] = new LaneMember(prepared, start, firstLength(prepared, start));
      rows[l].x.set(start);
    };
    const good: number[] = [];
    for (let l = 0; l < lanes; l++) {
      if (next < to) begin(l);
      else this.idle(l, usual);
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
        if (proposal === undefined) {
          h[l] = almostNothing * active[0].prepared.h0;
          continue;
        }
        going = true;
        t[l] = active[l].t;
        h[l] = proposal.h;
      }
      if (!going) break;
      update();
      let most = 0;
      for (let l = 0; l < lanes; l++) {
        if (current[l] === undefined) continue;
        if (active[l].judge(rows[l])) good.push(l);
        most = Math.max(most, active[l].wanted.length);
      }
      if (most > 0) {
        this.dense ??= new DenseLanes(step, members[from], values);
        this.dense.fill(this.forward, t, h, this.inside, most, active);
        for (const {wanted} of active) wanted.length = 0;
      }
      if (good.length > 0) this.keep(good);
      for (const l of good) rows[l].x.set(rows[l].next);
      good.length = 0;
    }
    record?.rounds.push({first: from, end: to, from: first, to: record.count, order});
  }

  /**
   * Records the step that these lanes took. What the others tried has a cotangent of zero, which adds nothing as long
   * as all it meets on the way back is finite. Where that is not sure, they make a step of almost no length instead;
   * and where even that is not finite, the step of a lane that took it.
   */
  private keep(good: readonly number[]): void {
    const {record, rows, t, h, layers, x, step, update, current} = this;
    if (record === undefined) return;
    if (good.length === step.lanes) {
      record.append({t, h, x, layers}, undefined);
      return;
    }
    const taken = new Uint8Array(step.lanes);
    for (const l of good) taken[l] = 1;
    const others = [...taken.keys()].filter(l => taken[l] === 0);
    const isFinite = (): boolean =>
      others.every(l => firstNotFinite(rows[l].next) < 0) && (layers === undefined || firstNotFinite(layers) < 0);
    // What an attempt comes to on the way to its end is seen where layers are kept.
    const isHidden = layers === undefined && others.some(l => current[l] !== undefined);
    if (!isHidden && isFinite()) {
      record.append({t, h, x, layers}, taken);
      return;
    }
    const before = x.slice();
    for (const l of others) h[l] *= almostNothing;
    // Those who took the step make it again as it was.
    update();
    if (!isFinite()) {
      for (const l of others) {
        t[l] = t[good[0]];
        h[l] = h[good[0]];
        rows[l].x.set(rows[good[0]].x);
      }
      update();
    }
    record.append({t, h, x, layers}, taken);
    x.set(before);
  }

  /** A lane without a member that runs stands where one began that does. */
  private idle(l: number, usual: Float64Array | undefined): void {
    const {rows, t, active} = this;
    if (usual !== undefined) rows[l].x.set(usual);
    t[l] = active[0].t;
  }

  /** The whole states that members from..to−1 begin with. */
  private starts(from: number, to: number, parameterValues: readonly Float64Array[]): (Float64Array | RunFailure)[] {
    const {step, members} = this;
    const {start, lanes} = step;
    const own = (member: number): Float64Array | RunFailure => {
      try {
        return captureFailure(() => startRun(members[member], noCounts()).x);
      } catch (error) {
        throw this.inMember(error, member);
      }
    };
    if (start === 'given') return members.slice(from, to).map(({initialValues}) => initialValues);
    if (start === 'one by one') return Array.from({length: to - from}, (_, i) => own(from + i));
    const executable = start.compiled.forward(auto());
    loadParameters(executable, {parameterValues, redundancy: noRedundancy});
    const x = laneViews(executable.buffer('x'), lanes);
    const next = laneViews(executable.buffer('next'), lanes);
    const [t, h] = [executable.optionalBuffer('t'), executable.optionalBuffer('h')];
    const starts: (Float64Array | RunFailure)[] = [];
    for (let first = from; first < to; first += lanes) {
      for (let l = 0; l < lanes; l++) {
        const member = members[first + l < to ? first + l : first];
        x[l].set(member.initialValues);
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
function firstLength(prepared: RunContext, state: Float64Array): number {
  const {
    options: {grid, plan},
    traced,
  } = prepared;
  if (plan?.absolute === undefined || plan.control.first !== 'auto') return grid.dt;
  const along = historyForward(prepared);
  loadParameters(along, prepared);
  const slope = (x: Float64Array, t: number): Float64Array => {
    along.optionalBuffer('x')?.set(x);
    along.optionalBuffer('t')?.fill(t);
    along.run('slope');
    return along.buffer('slope');
  };
  return firstStep({state, slope}, grid.t0, plan.absolute, plan.control, traced.order, plan.end);
}

/** Dense output of all lanes: one place in each at a time, as often as the lane with the most asks. */
class DenseLanes {
  private readonly along;
  private readonly theta: Float64Array;
  private readonly states: readonly Float64Array[];

  constructor({compiled, traced, lanes}: LaneStep, member: RunContext, values: Parameters<typeof loadParameters>[1]) {
    this.along = historyForward({...member, compiled, traced});
    this.theta = this.along.optionalBuffer('theta') ?? new Float64Array(lanes);
    this.states = laneViews(this.along.buffer('D'), lanes);
    this.load(values);
  }

  load(values: Parameters<typeof loadParameters>[1]): void {
    loadParameters(this.along, values);
  }

  /**
   * @param most rows that a lane asks for
   * @param members by lane
   */
  fill(
    forward: {optionalBuffer(name: 'x' | 'next'): Float64Array | undefined},
    t: Float64Array,
    h: Float64Array,
    inside: Float64Array | undefined,
    most: number,
    members: readonly LaneMember[],
  ): void {
    const {along, theta, states} = this;
    for (const name of ['x', 'next'] as const)
      along.optionalBuffer(name)?.set(forward.optionalBuffer(name) as Float64Array);
    along.optionalBuffer('t')?.set(t);
    along.optionalBuffer('h')?.set(h);
    if (inside !== undefined) along.optionalBuffer('inside')?.set(inside);
    if (along.has('between')) along.run('between');
    for (let pass = 0; pass < most; pass++) {
      members.forEach(({wanted, saved}, l) => (theta[l] = pass < wanted.length ? saved.theta[wanted[pass]] : 0));
      along.run('dense');
      members.forEach(({wanted, saver}, l) => {
        if (pass < wanted.length) saver.fill(wanted[pass], states[l]);
      });
    }
  }
}
