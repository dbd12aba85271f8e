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
import {drive, type TimeLoop} from '../time-loop.js';
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
  return drive(new LaneLoop(step, members, memory, inMember), members[0].options);
}

/** Share of a step's length that moves no state by more than rounding. */
const almostNothing = Number.EPSILON;

interface Finished {
  readonly member: LaneMember;
  readonly end: Float64Array;
}

/** Members that run at a time. Where these are more than lanes, a lane whose member has finished takes the next one. */
interface Round {
  readonly from: number;
  readonly to: number;
  /** The member to begin next. */
  next: number;
  /** The whole states that they begin with. */
  readonly starts: readonly (Float64Array | RunFailure)[];
  /** Members of each lane, in their order. */
  readonly order: readonly number[][];
  readonly values: Parameters<typeof loadParameters>[1];
  /** Steps recorded before. */
  readonly firstRow: number;
}

class LaneLoop implements TimeLoop<LaneRuns> {
  private readonly begin = performance.now();
  private readonly finished: Finished[];
  private readonly record: LaneRecord | undefined;
  private readonly forward;
  private readonly update: () => void;
  private readonly rows: readonly LaneRows[];
  private readonly inside: Float64Array | undefined;
  private readonly x: Float64Array;
  /** Times and lengths of the lanes' steps. */
  private readonly times: Float64Array;
  private readonly lengths: Float64Array;
  private readonly layers: Float64Array | undefined;
  private dense: DenseLanes | undefined;
  private readonly current: (number | undefined)[];
  private readonly active: LaneMember[] = [];
  private round: Round | undefined;
  /** Lanes whose last attempt was accepted. */
  private readonly good: number[] = [];
  /** Attempts that were accepted, and members that are finished. */
  acceptedSteps = 0;
  private finishedCount = 0;

  constructor(
    private readonly step: LaneStep,
    private readonly members: readonly RunContext[],
    memory: number | undefined,
    private readonly inMember: (error: unknown, member: number) => unknown,
  ) {
    const {lanes, compiled, traced} = step;
    this.finished = new Array<Finished>(members.length);
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
    this.times = forward.optionalBuffer('t') ?? new Float64Array(lanes);
    this.lengths = forward.optionalBuffer('h') ?? new Float64Array(lanes);
  }

  /** The time of the member that is furthest back. */
  get t(): number {
    const {active, current} = this;
    return active.reduce((t, member, l) => (current[l] === undefined ? t : Math.min(t, member.t)), Infinity);
  }

  get done(): boolean {
    return this.finishedCount === this.members.length;
  }

  /** One more attempt in every lane; false where all members are finished. */
  advance(): boolean {
    if (this.done) return false;
    const round = (this.round ??= this.beginRound());
    if (!this.proposeAll(round)) {
      this.endRound(round);
      return true;
    }
    this.update();
    const mostWanted = this.judgeAll();
    if (mostWanted > 0) this.interpolate(round, mostWanted);
    const {good, rows} = this;
    if (good.length > 0) this.keep(good);
    for (const l of good) rows[l].x.set(rows[l].next);
    this.acceptedSteps += good.length;
    good.length = 0;
    return true;
  }

  result(): LaneRuns {
    const {step, finished, record, begin} = this;
    const each = (performance.now() - begin) / finished.length;
    const runs = finished.map(({member, end}) => member.result(end, each));
    if (record === undefined) return {runs};
    step.compiled.expectedTransitions = record.count;
    const paths = finished.map(({member: {saved, taken}, end}, i) => ({
      count: taken,
      saved,
      end,
      start: runs[i].start,
    }));
    return {runs, ways: {record, paths}};
  }

  private beginRound(): Round {
    const {step, members, forward, rows, record, finishedCount: from} = this;
    // Parameters of the members' own stay where they are until all lanes are done with them.
    const to = step.perMember.size > 0 ? Math.min(from + step.lanes, members.length) : members.length;
    const values = {
      parameterValues: laneParameters(step, members.slice(from, from + step.lanes)),
      redundancy: noRedundancy,
    };
    loadParameters(forward, values);
    this.dense?.load(values);
    const starts = this.starts(from, to, values.parameterValues);
    const order = rows.map((): number[] => []);
    const round = {from, to, next: from, starts, order, values, firstRow: record?.count ?? 0};
    for (let l = 0; l < step.lanes; l++) {
      if (round.next < to) this.beginMember(l, round);
      else this.idle(l, round);
    }
    return round;
  }

  private endRound({from, to, firstRow, order}: Round): void {
    const {record} = this;
    record?.rounds.push({first: from, end: to, from: firstRow, to: record.count, order});
    this.round = undefined;
  }

  private beginMember(l: number, round: Round): void {
    const {members, current, active, rows} = this;
    const i = round.next++;
    const [prepared, start] = [members[i], round.starts[i - round.from]];
    current[l] = i;
    round.order[l].push(i);
    if (start instanceof RunFailure) {
      active[l] = new LaneMember(prepared, start, prepared.h0);
      this.idle(l, round);
      return;
    }
    active[l] = new LaneMember(prepared, start, firstLength(prepared, start));
    rows[l].x.set(start);
  }

  /** The next attempt of every lane; false where no member of the round goes on. */
  private proposeAll(round: Round): boolean {
    const {step, current, active, rows, times, lengths} = this;
    let going = false;
    for (let l = 0; l < step.lanes; l++) {
      let proposal;
      while (current[l] !== undefined && (proposal = active[l].propose(rows[l].x)) === undefined) {
        this.finished[current[l] as number] = {member: active[l], end: rows[l].x.slice()};
        this.finishedCount++;
        current[l] = undefined;
        if (round.next < round.to) this.beginMember(l, round);
      }
      if (proposal === undefined) {
        lengths[l] = almostNothing * active[0].prepared.h0;
        continue;
      }
      going = true;
      times[l] = active[l].t;
      lengths[l] = proposal.h;
    }
    return going;
  }

  /** @returns the most states within its step that a lane is to save */
  private judgeAll(): number {
    const {step, current, active, rows, good} = this;
    let mostWanted = 0;
    for (let l = 0; l < step.lanes; l++) {
      if (current[l] === undefined) continue;
      if (active[l].judge(rows[l])) good.push(l);
      mostWanted = Math.max(mostWanted, active[l].wanted.length);
    }
    return mostWanted;
  }

  private interpolate({from, values}: Round, mostWanted: number): void {
    const {step, members, forward, times, lengths, inside, active} = this;
    this.dense ??= new DenseLanes(step, members[from], values);
    this.dense.fill(forward, times, lengths, inside, mostWanted, active);
    for (const {wanted} of active) wanted.length = 0;
  }

  /**
   * Records the step that these lanes took. What the others tried has a cotangent of zero, which adds nothing as long
   * as all it meets on the way back is finite. Where that is not sure, they make a step of almost no length instead;
   * and where even that is not finite, the step of a lane that took it.
   */
  private keep(good: readonly number[]): void {
    const {record, rows, times: t, lengths: h, layers, x, step, update, current} = this;
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
  private idle(l: number, {starts}: Round): void {
    const {rows, times, active} = this;
    const usual = starts.find(start => !(start instanceof RunFailure)) as Float64Array | undefined;
    if (usual !== undefined) rows[l].x.set(usual);
    times[l] = active[0].t;
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
