/**
 * What a run stores of its steps for a derivative: every transition within the budget; beyond it only states, from
 * which the others are recomputed. Along a grid these are the states of the binomial schedule (adjoint/schedule.ts).
 * If the number of steps is unknown, they are those of every second transition, of every fourth, and so on, as
 * many as half the budget holds; the other half is for the backward pass.
 */
import type {Directions} from '../adjoint/directions.js';
import type {Gradient, TransitionPull} from '../adjoint/gradient.js';
import type {TransitionWatch} from '../adjoint/not-finite.js';
import {StepRecord} from '../adjoint/record.js';
import {firstPass, reverseAll, type Recomputation} from '../adjoint/schedule.js';
import type {BackwardTraversal, StepHistory, VisitTransition, VisitBatch} from '../adjoint/step-history.js';
import type {RunCotangents} from '../adjoint/sweep-back.js';
import {startTimePull} from '../adjoint/start-time.js';
import {sweepBack} from '../adjoint/sweep-back.js';
import type {Sensitivities} from '../adjoint/sweep-forward.js';
import {pushRows, SweepForward} from '../adjoint/sweep-forward.js';
import {TimedPull} from '../adjoint/timed-pull.js';
import {TimedPush} from '../adjoint/timed-push.js';
import type {StepContext} from '../step/context.js';
import type {StoragePolicy} from '../step/stored-for-backward.js';
import {rowHeaderSize} from '../step/block-layout.js';
import {noStartTime} from './adjoints/adjoint.js';
import {CheckedReplay, type AdjointMethod, type StateRecorder} from './adjoints/method.js';
import {recomputeGrid, recomputeHistory} from './recompute.js';
import {noCounts} from './counters.js';
import {restart} from './history/integrator.js';
import {knownSteps} from './history/plan.js';
import {bytesPerNumber, mostStates, requireMemory, withinMachine} from './memory.js';
import type {BackwardRecorder, BackwardPolicy, BackwardTape, Path, SerializedTape} from './path.js';
import {CallBatcher} from './call-batcher.js';
import type {RunContext} from './run-context.js';
import {startRun} from './start.js';
import {leftMatrixSize} from './step-system.js';

/** How the steps of a grid are recorded and pulled back. */
export interface GridSteps extends Required<Pick<BackwardPolicy, 'iterations'>> {
  /** Whether they are recorded by what the implicit adjoint needs of them alone (step/stored-for-backward.ts). */
  storesReduced(context: StepContext): boolean;
  pull(context: StepContext): TransitionPull;
}

/** Numbers in a row of the record: of the state, or what is kept, and of what stands beside it. */
function partsOfRow({traced, compiled, storage}: RunContext): readonly [state: number, beside: number] {
  if (storage === 'narrow') return [compiled.storage.size, 0];
  return [
    traced.state.size,
    storage === 'layers' ? (compiled.activations?.size ?? 0) : compiled.implicit ? traced.unknown.size : 0,
  ];
}

const rowSize = (prepared: RunContext): number => partsOfRow(prepared).reduce((sum, size) => sum + size, rowHeaderSize);

export function newRecord(prepared: RunContext, expected: number, most = Infinity): StepRecord {
  const [state, beside] = partsOfRow(prepared);
  return new StepRecord(state, beside, expected, most);
}

/**
 * To find what implicit steps leave for a gradient takes about a quarter of the time to the first one of a mechanism:
 * whole ones are, until so many have been recorded. Both give the same bits in double precision.
 */
const fewSteps = 256;

/** How steps are recorded for a gradient, within so many bytes. */
function storagePolicyOf(prepared: RunContext, grid: GridSteps | undefined, memory: number): StoragePolicy | undefined {
  if (grid === undefined) return undefined;
  const {
    compiled,
    options: {plan, grid: along},
  } = prepared;
  // Steps do not lie on a grid, or states between them are saved.
  if (plan !== undefined) return compiled.activations === undefined ? undefined : 'layers';
  if (!grid.storesReduced(prepared)) return undefined;
  const whole = along.steps * rowSize({...prepared, storage: undefined}) * bytesPerNumber;
  if (!compiled.implicit || compiled.isSingle || whole > memory) return 'narrow';
  return compiled.recordedSteps + along.steps > fewSteps ? 'narrow' : undefined;
}

/** States that a budget in bytes holds. */
const capacityFor = (memory: number, size: number, least: number): number =>
  Math.max(least, Math.min(mostStates, Math.floor(memory / (size * bytesPerNumber))));

/** How steps are kept within so many bytes. @param grid for gradients; tangents need whole steps, and no way back */
export function recordSteps(memory: number, grid?: GridSteps): BackwardPolicy {
  return {
    storagePolicy: prepared => storagePolicyOf(prepared, grid, memory),
    iterations: grid?.iterations,
    requireMemory(prepared) {
      requireHistoryMemory(prepared);
      // Where a gradient is asked for, what has no room is taken again.
      if (grid !== undefined) return;
      const steps = knownSteps(prepared.options);
      requireMemory(
        steps * rowSize(prepared) * bytesPerNumber,
        `the record of ${steps} steps, which a derivative keeps`,
        'Take the gradient with implicitAdjoint({memory}), which takes steps again beyond its budget in bytes, '
          + 'or fewer steps.',
      );
    },
    begin(prepared, _start, _saved, history) {
      const {compiled, options} = prepared;
      if (history === undefined && compiled.recordedSteps <= fewSteps && grid?.storesReduced(prepared) === true)
        compiled.recordedSteps += options.grid.steps;
      return new Checkpointer(prepared, memory, grid, history);
    },
  };
}

/** How a user's method keeps steps. @param grid how its steps are pulled back */
export function recordByMethod(method: AdjointMethod, grid: GridSteps): BackwardPolicy {
  return {
    // Steps are taken again one by one, so that no record is kept whole.
    storagePolicy: prepared => storagePolicyOf(prepared, grid, 0),
    requireMemory: requireHistoryMemory,
    begin: (prepared, _start, _saved, history) => new MethodRecorder(prepared, method, grid, history),
  };
}

/** The times of steps that are not a grid's, which every derivative along them keeps. @throws MemoryError */
export function requireHistoryMemory({options}: RunContext): void {
  const steps = options.plan === undefined ? 0 : knownSteps(options);
  requireMemory(
    2 * steps * bytesPerNumber,
    `the times and lengths of ${steps} steps, which a derivative keeps`,
    'Take fewer steps.',
  );
}

class Checkpointer implements BackwardRecorder {
  record: StepRecord | undefined;
  readonly independentSteps = false;
  private readonly states = new Map<number, Float64Array>();
  /** Steps of a grid beyond the budget whose initial states are stored. */
  private readonly schedule: readonly number[] | undefined;
  /** How many of these the run has come to. */
  private reached = 0;
  private stride = 1;
  /** Steps that a record within the budget holds, and states. */
  private readonly most: number;
  private readonly room: number;

  /** @param history where the number of transitions is not known */
  constructor(
    private readonly prepared: RunContext,
    memory: number,
    private readonly grid: GridSteps | undefined,
    private readonly history: StepHistory | undefined,
  ) {
    const {
      options: {
        grid: {steps},
      },
      traced: {state},
    } = prepared;
    const row = rowSize(prepared) * bytesPerNumber;
    const budget = grid === undefined ? memory : withinMachine(memory);
    if (history !== undefined) {
      this.most = budget / row;
      this.room = capacityFor(budget, state.size, 4);
      this.record = newRecord(prepared, Math.min(prepared.compiled.expectedTransitions, this.most), this.most);
    } else {
      this.most = Infinity;
      const isWhole = steps * row <= budget || steps <= 2;
      const matrix = isWhole ? 0 : leftMatrixSize(prepared);
      this.room = Math.min(steps, capacityFor(budget, state.size + (matrix === 0 ? 0 : 1 + matrix), 2));
      if (isWhole) this.record = newRecord(prepared, steps);
      else this.schedule = firstPass(steps, this.room);
    }
  }

  reach(n: number, state: Float64Array, place = (): Float64Array => state.slice()): void {
    const {record, schedule} = this;
    if (record !== undefined) {
      if (record.count + 1 <= this.most) return;
      this.thin(record);
    }
    if (schedule !== undefined) while (schedule[this.reached] < n) this.reached++;
    if (schedule === undefined ? n % this.stride === 0 : schedule[this.reached] === n) this.states.set(n, place());
    if (schedule === undefined) while (this.states.size > this.room / 2) this.widen();
  }

  /** To the end of the record, or to the next state that is kept. */
  batchFrom(n: number): number {
    const {schedule, history, record, most} = this;
    if (history !== undefined) return record === undefined ? 1 : Math.floor(most - record.count);
    if (schedule === undefined) return Infinity;
    while (schedule[this.reached] <= n) this.reached++;
    return (schedule.at(this.reached) ?? Infinity) - n;
  }

  finish(n: number, state: Float64Array): BackwardTape {
    const {prepared, record, states, room, grid, history, schedule} = this;
    if (history !== undefined) prepared.compiled.expectedTransitions = Math.max(n, 16);
    // A run cut short left states where the whole schedule wanted them; only its start is of use to the shorter one.
    if (schedule !== undefined && n < prepared.options.grid.steps)
      for (const at of states.keys()) if (at > 0) states.delete(at);
    return new KeptSteps(
      grid,
      prepared.storage,
      n,
      record ?? binomial(states, room),
      history === undefined ? undefined : {history, end: state.slice()},
    );
  }

  private thin(record: StepRecord): void {
    this.record = undefined;
    while ((record.count + 1) / this.stride > this.room / 2) this.stride *= 2;
    for (let n = 0; n < record.count; n += this.stride) {
      const state = new Float64Array(record.stateSize);
      record.load(n, {x: state});
      this.states.set(n, state);
    }
  }

  private widen(): void {
    this.stride *= 2;
    for (const n of this.states.keys()) if (n % this.stride !== 0) this.states.delete(n);
  }
}

/** Asks a user's method which states to store, and how to go back. */
class MethodRecorder implements BackwardRecorder {
  readonly record = undefined;
  readonly independentSteps = false;
  /** The transition before which each snapshot was copied. */
  private readonly places = new WeakMap<Float64Array, number>();
  private readonly recorder: StateRecorder;

  constructor(
    private readonly prepared: RunContext,
    private readonly method: AdjointMethod,
    private readonly grid: GridSteps,
    private readonly history: StepHistory | undefined,
  ) {
    this.recorder = method.begin(history === undefined ? {steps: prepared.options.grid.steps} : {});
  }

  reach(n: number, state: Float64Array, place = (): Float64Array => state.slice()): void {
    this.recorder.before(n, () => {
      const snapshot = place();
      this.places.set(snapshot, n);
      return snapshot;
    });
  }

  finish(n: number, state: Float64Array): BackwardTape {
    const {prepared, method, recorder, places, grid, history} = this;
    const checkpoints: Checkpoints = {
      states: new Map(),
      room: 0,
      reverse(count, again) {
        const replay = new CheckedReplay(method.name, places, count, again);
        recorder.reverse(count, replay);
        replay.finish();
        return replay.taken;
      },
    };
    const timed = history === undefined ? undefined : {history, end: state.slice()};
    return new KeptSteps(grid, prepared.storage, n, checkpoints, timed);
  }
}

/** States at the beginnings of some transitions; `room` of them at most on the way back. */
interface Checkpoints {
  readonly states: ReadonlyMap<number, Float64Array>;
  readonly room: number;
  /** Goes back over transitions count − 1, …, 0, and returns how many were taken. */
  reverse(count: number, again: Recomputation<Float64Array>): number;
}

/** Checkpoints from which the transitions between are taken again by the binomial schedule. */
const binomial = (states: ReadonlyMap<number, Float64Array>, room: number): Checkpoints => ({
  states,
  room,
  reverse: (count, again) => reverseAll(states, count, room, again),
});

/** Transitions whole, or checkpoints. */
class KeptSteps implements BackwardTape {
  /**
   * @param timed where the times of transitions are written down, and may move: their history, and the state at their
   *   end
   */
  constructor(
    private readonly grid: GridSteps | undefined,
    private readonly keeps: StoragePolicy | undefined,
    private readonly count: number,
    private readonly kept: StepRecord | Checkpoints,
    private readonly timed: {readonly history: StepHistory; readonly end: Float64Array} | undefined,
  ) {}

  get record(): StepRecord | undefined {
    return this.kept instanceof StepRecord ? this.kept : undefined;
  }

  pull(given: RunContext, {start}: Path, cotangents: RunCotangents, watch?: TransitionWatch): Gradient {
    const {grid, keeps, timed} = this;
    if (grid === undefined) throw new Error('a run kept for its tangents has no way back');
    const prepared = given.storage === keeps ? given : {...given, storage: keeps};
    const saved = timed?.history.saved ?? {after: prepared.options.saved};
    const backwards: BackwardTraversal = (visit, together) => this.backwards(prepared, visit, together);
    const moves = cotangents.t0 === true;
    if (timed !== undefined) {
      const pull = new TimedPull(prepared, timed.history, restart(prepared, noCounts()), cotangents);
      const startTime = moves ? startTimePull(prepared, start, pull) : undefined;
      return sweepBack(prepared, saved, start, backwards, pull, cotangents, watch, startTime);
    }
    if (moves && grid.iterations && prepared.compiled.implicit) throw noStartTime('unrolledAdjoint');
    const startTime = moves ? startTimePull(prepared, start, () => firstStep(given)) : undefined;
    return sweepBack(prepared, saved, start, backwards, grid.pull(prepared), cotangents, watch, startTime);
  }

  push(prepared: RunContext, {start}: Path, directions: Directions): Sensitivities {
    const {timed, kept, count} = this;
    if (!(kept instanceof StepRecord)) throw new Error('a run for a tangent keeps its steps');
    const saved = timed?.history.saved ?? {after: prepared.options.saved};
    const push =
      timed === undefined
        ? pushRows(prepared, directions)
        : new TimedPush(prepared, timed.history, restart(prepared, noCounts()), directions);
    const sweep = new SweepForward(prepared, saved, start, directions, push);
    const end = this.endsOf(kept);
    for (let n = 0, from = 0; n < count; n++) {
      let to = from + 1;
      while (kept.within.has(to - 1)) to++;
      sweep.follow(n, kept, from, to, end(to));
      from = to;
    }
    return sweep.finish();
  }

  serialize(): SerializedTape {
    const {kept, keeps} = this;
    if (kept instanceof StepRecord) return {storage: keeps, record: kept.serialize()};
    return {storage: keeps, states: kept.states, capacity: kept.room};
  }

  private backwards(prepared: RunContext, visit: VisitTransition, together?: VisitBatch): number {
    const {kept, count} = this;
    if (!(kept instanceof StepRecord)) return this.takeAgain(prepared, kept, visit);
    const {poll} = prepared.options;
    const end = this.endsOf(kept);
    const several = kept.within.size === 0 ? together : undefined;
    const pace = new CallBatcher(poll !== undefined);
    for (let n = count - 1, to = kept.count; n >= 0;) {
      poll?.();
      const pulled = several === undefined ? 0 : pace.time(() => several(n, kept, pace.maxSteps, () => end(n + 1)));
      if (pulled > 0) {
        n -= pulled;
        to -= pulled;
        continue;
      }
      const from = kept.firstRowOf(to - 1);
      visit(n, kept, from, to, end(to));
      to = from;
      n--;
    }
    return 0;
  }

  /** The state before each row of a whole record, where it is asked for: its last one is that at the end. */
  private endsOf(record: StepRecord): (row: number) => Float64Array {
    const {timed} = this;
    if (timed === undefined) return () => nothing;
    const state = new Float64Array(record.stateSize);
    return row => {
      if (row === record.count) return timed.end;
      record.load(row, {x: state});
      return state;
    };
  }

  private takeAgain(prepared: RunContext, checkpoints: Checkpoints, visit: VisitTransition): number {
    const {grid, timed, count} = this;
    const run =
      timed === undefined
        ? recomputeGrid(prepared, grid?.iterations === true, false)
        : recomputeHistory(prepared, timed.history);
    const {state} = run;
    const piece = newRecord(prepared, 1);
    return checkpoints.reverse(count, {
      restore: kept => run.restore(kept),
      keep: () => run.takeSnapshot(),
      take: n => run.take(n, undefined),
      reverse(n) {
        piece.clear();
        run.take(n, piece);
        visit(n, piece, 0, piece.count, state);
      },
    });
  }
}

/** The first step of a grid taken again, and recorded whole. */
function firstStep(given: RunContext): StepRecord {
  const prepared = {...given, storage: undefined};
  const record = newRecord(prepared, 1);
  const again = recomputeGrid(prepared, false, false);
  again.state.set(startRun(prepared, noCounts()).x);
  again.take(0, record);
  return record;
}

const nothing = new Float64Array(0);

/** What `serialize` gave of a run on its grid. */
export function deserializeTape(
  {storage, record, states = new Map(), capacity = states.size}: SerializedTape,
  grid: GridSteps,
  completed: number,
): BackwardTape {
  return new KeptSteps(
    grid,
    storage,
    completed,
    record === undefined ? binomial(states, capacity) : StepRecord.deserialize(record),
    undefined,
  );
}
