/**
 * What a product with the Hessian keeps of a run: every step with the tangents of its beginning while the
 * adjoint's memory lasts; else the pairs of a state and its tangents at some steps, from which the others are
 * taken again, tangents with them, by the binomial schedule of the gradient (backwards.ts). The numbers
 * are the same to the last bit.
 */
import type {Beside} from '../adjoint/forward.js';
import {SecondOrderDense} from '../adjoint/dense-hessian.js';
import type {Saves, SecondOrderBackwards, SecondOrderStep} from '../adjoint/hessian.js';
import type {StepRecord} from '../adjoint/record.js';
import {firstPass, revolve} from '../adjoint/schedule.js';
import type {Push} from '../adjoint/tangent.js';
import type {Directions} from '../adjoint/directions.js';
import {startTangent, stepPush} from '../adjoint/tangent.js';
import {bytesPerNumber, mostStates} from '../integrate/memory.js';
import {newRecord} from '../integrate/run.js';
import type {Runnable} from '../integrate/runnable.js';
import {Stepper} from '../integrate/stepper.js';

interface Pair {
  readonly x: Float64Array;
  readonly dx: Float64Array;
}

export class SecondOrderCheckpointer implements Beside {
  readonly record: StepRecord;
  /** Tangents [count, state] by saved state. */
  readonly saved: Float64Array[] = [];
  private readonly dense?: SecondOrderDense;
  private readonly end: Float64Array;
  private readonly dx: Float64Array;
  private readonly push: Push;
  /** By row of the record, the tangents before it; by step, the number of rows when it was reached. */
  private readonly tangents: Float64Array[] = [];
  private readonly rows: number[] = [];
  /** Beyond the budget: pairs at the steps of the schedule's first pass, and how many there may be. */
  private readonly pairs = new Map<number, Pair>();
  private readonly schedule?: ReadonlySet<number>;
  private readonly room: number;

  /** @param start the step that began the run */
  constructor(prepared: Runnable, start: StepRecord, private readonly saves: Saves, directions: Directions, memory: number) {
    const {options: {grid: {steps}}, traced: {state, unknown}} = prepared;
    const {count} = directions;
    this.end = new Float64Array(state.size);
    if (saves.within.size > 0) this.dense = new SecondOrderDense(prepared, directions);
    this.dx = startTangent(prepared, start, directions);
    this.push = stepPush(prepared, directions);
    const everyStep = steps * (2 + (1 + count) * state.size + unknown.size) * bytesPerNumber;
    this.room = Math.min(Math.max(steps, 1), mostStates, Math.max(2, Math.floor(memory / ((1 + count) * state.size * bytesPerNumber))));
    const fits = everyStep <= memory || steps <= 2;
    this.record = newRecord(prepared, fits ? steps : 1);
    if (!fits) this.schedule = new Set(firstPass(steps, this.room));
  }

  reach(n: number, state: Float64Array): void {
    const {record, schedule, pairs, tangents, rows} = this;
    const from = schedule === undefined ? rows[n - 1] ?? 0 : 0;
    const before = schedule === undefined ? tangents : [];
    this.follow(from, before);
    this.saveWithin(n - 1, from, before, state);
    for (const index of this.saves.after.get(n) ?? []) this.saved[index] = this.dx.slice();
    this.end.set(state);
    if (schedule === undefined) rows.push(record.count);
    else record.clear();
    if (schedule?.has(n) === true) pairs.set(n, {x: state.slice(), dx: this.dx.slice()});
  }

  /** What is saved is known from the beginning. */
  save(): void {
    return;
  }

  /** Such a step is one row of the record. */
  private saveWithin(n: number, row: number, before: readonly Float64Array[], next: Float64Array): void {
    const {dense, record, dx, saves, saved} = this;
    const within = saves.within.get(n);
    if (dense === undefined || within === undefined) return;
    dense.load({record, row, dx: before[before.length - 1], next, dNext: dx});
    for (const {index, theta} of within) saved[index] = dense.push(theta).slice();
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
  backwards(prepared: Runnable): SecondOrderBackwards {
    if (this.schedule !== undefined) return visit => this.takeAgain(prepared, visit);
    const {record, rows, tangents, dx, end} = this;
    return visit => {
      for (let n = rows.length - 2; n >= 0; n--) {
        visit({n, record, from: rows[n], to: rows[n + 1], tangent: row => tangents[row], next: end, dNext: tangents[rows[n + 1]] ?? dx});
        record.load(rows[n], {x: end});
      }
      return 0;
    };
  }

  private takeAgain(prepared: Runnable, visit: (step: SecondOrderStep) => void): number {
    const {record, pairs, dx} = this;
    const stepper = new Stepper(prepared, new Float64Array(prepared.traced.state.size), false, true);
    stepper.record = record;
    let taken = 0;
    const load = (n: number): void => {
      const pair = pairs.get(n);
      if (pair === undefined) throw new Error(`the schedule asks for state ${n}, which is not kept`);
      stepper.state.set(pair.x);
      dx.set(pair.dx);
    };
    const stepFrom = (n: number): Float64Array[] => {
      const before: Float64Array[] = [];
      record.clear();
      if (stepper.step(n) !== 'completed') throw stepper.error ?? new Error('a step that had succeeded failed when taken again');
      this.follow(0, before);
      taken++;
      return before;
    };
    revolve(0, prepared.options.grid.steps, this.room, {
      has: n => pairs.has(n),
      drop: n => pairs.delete(n),
      advance(from, to) {
        load(from);
        for (let n = from; n < to; n++) stepFrom(n);
        pairs.set(to, {x: stepper.state.slice(), dx: dx.slice()});
      },
      reverse(n) {
        load(n);
        const before = stepFrom(n);
        visit({n, record, from: 0, to: record.count, tangent: row => before[row], next: stepper.state, dNext: dx});
      },
    });
    return taken;
  }
}
