/**
 * What a product with the Hessian keeps of a run: every transition with the tangents of its beginning while the
 * adjoint's memory lasts; else the pairs of a state and its tangents at some of them, from which the others are
 * taken again, tangents with them, by the binomial schedule of the gradient (integrate/checkpointer.ts). The numbers
 * are the same to the last bit.
 */
import type {SecondOrderBackwards, SecondOrderStep} from '../adjoint/hessian.js';
import type {StepRecord} from '../adjoint/record.js';
import {firstPass, reverseAll} from '../adjoint/schedule.js';
import type {SavedStates, StepHistory} from '../adjoint/step-history.js';
import {savesWithinSteps} from '../adjoint/step-history.js';
import type {Directions} from '../adjoint/directions.js';
import type {Sensitivities} from '../adjoint/sweep-forward.js';
import {pushRows, SweepForward} from '../adjoint/sweep-forward.js';
import {TimedPush} from '../adjoint/timed-push.js';
import {noCounts} from '../integrate/counters.js';
import {restart} from '../integrate/history/integrator.js';
import type {Recomputer} from '../integrate/recompute.js';
import {recomputeGrid, recomputeHistory} from '../integrate/recompute.js';
import {newRecord} from '../integrate/checkpointer.js';
import {bytesPerNumber, mostStates} from '../integrate/memory.js';
import type {BackwardRecorder} from '../integrate/path.js';
import type {RunContext} from '../integrate/run-context.js';

interface Pair {
  readonly x: Float64Array;
  readonly dx: Float64Array;
}

export class SecondOrderCheckpointer implements BackwardRecorder {
  readonly record: StepRecord;
  readonly independentSteps = true;
  /** Tangents of transitions with states or events within them, or of times that move. */
  readonly timed: TimedPush | undefined;
  private readonly sweep: SweepForward;
  /** By row of the record, the tangents before it; by transition, the number of rows when it was reached. */
  private readonly tangents: Float64Array[] = [];
  private readonly rows: number[] = [];
  private readonly end: Float64Array;
  private readonly count: number;
  /** Beyond the budget: pairs at the transitions of the schedule's first pass, and how many there may be. */
  private readonly pairs = new Map<number, Pair>();
  private readonly schedule?: ReadonlySet<number>;
  private readonly room: number;

  /**
   * @param start the step that began the run
   * @param history of a run that is no grid
   */
  constructor(
    private readonly prepared: RunContext,
    start: StepRecord,
    saved: SavedStates,
    directions: Directions,
    memory: number,
    private readonly history?: StepHistory,
  ) {
    const {
      options: {grid},
      traced: {state, unknown},
    } = prepared;
    const {count} = directions;
    this.count = history?.count ?? grid.steps;
    this.end = new Float64Array(state.size);
    if (history !== undefined && (history.hasEvents || savesWithinSteps(saved)))
      this.timed = new TimedPush(prepared, history, restart(prepared, noCounts()), directions);
    const note = (tangents: Float64Array): void => void this.tangents.push(tangents.slice());
    const push = this.timed?.noting(note) ?? pushRows(prepared, directions, note);
    this.sweep = new SweepForward(prepared, saved, start, directions, push);
    const everyStep = this.count * (2 + (1 + count) * state.size + unknown.size) * bytesPerNumber;
    this.room = Math.min(
      Math.max(this.count, 1),
      mostStates,
      Math.max(2, Math.floor(memory / ((1 + count) * state.size * bytesPerNumber))),
    );
    const fits = everyStep <= memory || this.count <= 2;
    this.record = newRecord(prepared, fits ? this.count : 1);
    if (!fits) this.schedule = new Set(firstPass(this.count, this.room));
  }

  /** Takes the transitions of a run with a step history again, from its start. */
  takeAll(): void {
    const {prepared, count, record} = this;
    const again = this.recompute(prepared);
    this.reach(0, again.state);
    for (let n = 0; n < count; n++) {
      again.take(n, record);
      this.reach(n + 1, again.state);
    }
  }

  /** Tangents of what was saved, and of the times of events. */
  finished(): Sensitivities {
    return this.sweep.finish();
  }

  reach(n: number, state: Float64Array): void {
    const {record, schedule, pairs, rows, tangents, sweep} = this;
    if (n > 0) sweep.follow(n - 1, record, rows[n - 1] ?? 0, record.count, state);
    this.end.set(state);
    if (schedule === undefined) {
      rows.push(record.count);
      return;
    }
    record.clear();
    tangents.length = 0;
    if (schedule.has(n)) pairs.set(n, {x: state.slice(), dx: sweep.tangents.slice()});
  }

  finish(n: number, state: Float64Array): undefined {
    this.reach(n, state);
  }

  private recompute(prepared: RunContext): Recomputer {
    return this.history === undefined ? recomputeGrid(prepared, false, true) : recomputeHistory(prepared, this.history);
  }

  /** @param prepared with what the run has found of its constraints */
  backwards(prepared: RunContext): SecondOrderBackwards {
    if (this.schedule !== undefined) return visit => this.takeAgain(prepared, visit);
    const {record, rows, tangents, end} = this;
    const last = this.sweep.tangents;
    return visit => {
      for (let n = rows.length - 2; n >= 0; n--) {
        visit({
          n,
          record,
          from: rows[n],
          to: rows[n + 1],
          tangent: row => tangents[row],
          next: end,
          dNext: tangents[rows[n + 1]] ?? last,
        });
        record.load(rows[n], {x: end});
      }
      return 0;
    };
  }

  private takeAgain(prepared: RunContext, visit: (step: SecondOrderStep) => void): number {
    const {record, pairs, sweep, tangents} = this;
    const steps = this.recompute(prepared);
    const {state} = steps;
    const stepFrom = (n: number): void => {
      record.clear();
      tangents.length = 0;
      steps.take(n, record);
      sweep.follow(n, record, 0, record.count, state);
    };
    return reverseAll(pairs, this.count, this.room, {
      restore({x, dx}) {
        state.set(x);
        sweep.tangents = dx.slice();
      },
      keep: () => ({x: state.slice(), dx: sweep.tangents.slice()}),
      take: stepFrom,
      reverse(n) {
        stepFrom(n);
        visit({
          n,
          record,
          from: 0,
          to: record.count,
          tangent: row => tangents[row],
          next: state,
          dNext: sweep.tangents,
        });
      },
    });
  }
}
