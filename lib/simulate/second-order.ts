/**
 * What a product with the Hessian keeps of a run: every step with the tangents of its beginning while the
 * adjoint's memory lasts; else the pairs of a state and its tangents at some steps, from which the others are
 * taken again, tangents with them, by the binomial schedule of the gradient (integrate/checkpointer.ts). The numbers
 * are the same to the last bit.
 */
import {SecondOrderDense} from '../adjoint/dense-hessian.js';
import type {SecondOrderBackwards, SecondOrderStep} from '../adjoint/hessian.js';
import type {StepRecord} from '../adjoint/record.js';
import {firstPass, reverseAll} from '../adjoint/schedule.js';
import type {SavedStates} from '../adjoint/step-history.js';
import {savesWithinSteps, SavedCursor} from '../adjoint/step-history.js';
import type {TangentPush} from '../adjoint/tangent.js';
import type {Directions} from '../adjoint/directions.js';
import {startTangent, stepPush} from '../adjoint/tangent.js';
import {recomputeGrid} from '../integrate/recompute.js';
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
  /** Tangents [count, state] by saved state. */
  readonly saved: Float64Array[] = [];
  private readonly dense?: SecondOrderDense;
  private readonly cursor: SavedCursor;
  private readonly end: Float64Array;
  private readonly dx: Float64Array;
  private readonly push: TangentPush;
  /** By row of the record, the tangents before it; by step, the number of rows when it was reached. */
  private readonly tangents: Float64Array[] = [];
  private readonly rows: number[] = [];
  /** Beyond the budget: pairs at the steps of the schedule's first pass, and how many there may be. */
  private readonly pairs = new Map<number, Pair>();
  private readonly schedule?: ReadonlySet<number>;
  private readonly room: number;

  /** @param start the step that began the run */
  constructor(prepared: RunContext, start: StepRecord, saved: SavedStates, directions: Directions, memory: number) {
    const {
      options: {
        grid: {steps},
      },
      traced: {state, unknown},
    } = prepared;
    const {count} = directions;
    this.end = new Float64Array(state.size);
    if (savesWithinSteps(saved)) this.dense = new SecondOrderDense(prepared, directions);
    this.cursor = new SavedCursor(saved, false);
    this.dx = startTangent(prepared, start, directions);
    this.push = stepPush(prepared, directions);
    const everyStep = steps * (2 + (1 + count) * state.size + unknown.size) * bytesPerNumber;
    this.room = Math.min(
      Math.max(steps, 1),
      mostStates,
      Math.max(2, Math.floor(memory / ((1 + count) * state.size * bytesPerNumber))),
    );
    const fits = everyStep <= memory || steps <= 2;
    this.record = newRecord(prepared, fits ? steps : 1);
    if (!fits) this.schedule = new Set(firstPass(steps, this.room));
  }

  reach(n: number, state: Float64Array): void {
    const {record, schedule, pairs, tangents, rows} = this;
    const from = schedule === undefined ? (rows[n - 1] ?? 0) : 0;
    const before = schedule === undefined ? tangents : [];
    this.follow(from, before);
    this.save(n - 1, from, before, state);
    this.end.set(state);
    if (schedule === undefined) rows.push(record.count);
    else record.clear();
    if (schedule?.has(n) === true) pairs.set(n, {x: state.slice(), dx: this.dx.slice()});
  }

  finish(n: number, state: Float64Array): undefined {
    this.reach(n, state);
  }

  /** What is saved in step n, or at the start. A step with states inside it is one row. */
  private save(n: number, row: number, before: readonly Float64Array[], next: Float64Array): void {
    const {dense, record, dx, cursor, saved} = this;
    cursor.forward(n);
    let loaded = false;
    for (let i = cursor.from; i < cursor.to; i++) {
      const theta = cursor.theta(i);
      if (theta === 1 || dense === undefined) {
        saved[i] = dx.slice();
        continue;
      }
      if (!loaded) dense.load({record, row, dx: before[before.length - 1], next, dNext: dx});
      loaded = true;
      saved[i] = dense.push(theta).slice();
    }
  }

  /** Takes the tangents along the record's rows from `from` on; those before each are appended. */
  private follow(from: number, before: Float64Array[]): void {
    const {record, dx, push} = this;
    for (let row = from; row < record.count; row++) {
      before.push(dx.slice());
      dx.set(push(record, row, dx));
    }
  }

  /** @param prepared with what the run has found of its constraints */
  backwards(prepared: RunContext): SecondOrderBackwards {
    if (this.schedule !== undefined) return visit => this.takeAgain(prepared, visit);
    const {record, rows, tangents, dx, end} = this;
    return visit => {
      for (let n = rows.length - 2; n >= 0; n--) {
        visit({
          n,
          record,
          from: rows[n],
          to: rows[n + 1],
          tangent: row => tangents[row],
          next: end,
          dNext: tangents[rows[n + 1]] ?? dx,
        });
        record.load(rows[n], {x: end});
      }
      return 0;
    };
  }

  private takeAgain(prepared: RunContext, visit: (step: SecondOrderStep) => void): number {
    const {record, pairs, dx} = this;
    const steps = recomputeGrid(prepared, false, true);
    const {state} = steps;
    const stepFrom = (n: number): Float64Array[] => {
      const before: Float64Array[] = [];
      record.clear();
      steps.take(n, record);
      this.follow(0, before);
      return before;
    };
    return reverseAll(pairs, prepared.options.grid.steps, this.room, {
      restore({x, dx: tangents}) {
        state.set(x);
        dx.set(tangents);
      },
      keep: () => ({x: state.slice(), dx: dx.slice()}),
      take: stepFrom,
      reverse(n) {
        const before = stepFrom(n);
        visit({n, record, from: 0, to: record.count, tangent: row => before[row], next: state, dNext: dx});
      },
    });
  }
}
