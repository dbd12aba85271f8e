/**
 * The time loop over a grid whose states are saved at the ends of steps: a step history without rejections, which need
 * not be stored. The loop of step histories (history/history-loop.ts) could do this, but it copies the ends of every
 * step, which might still be shortened: over 200 steps of a chain of 8, 32, 128 and 1024 masses it takes 1.8, 1.7, 1.6
 * and 2.2 times as long, and a gradient with it, whose steps are then recorded and pulled back with their times, 1.8 to
 * 2.0 times.
 */
import type {StepRecord} from '../adjoint/record.js';
import type {StiffgradError} from '../errors.js';
import {newNumbers} from '../memory.js';
import type {Counters, Status} from './counters.js';
import {noCounts} from './counters.js';
import type {Grid} from './grid.js';
import {placeOf} from './grid.js';
import {GridStepper} from './grid-stepper.js';
import type {TimeLoop, LoopResult} from './time-loop.js';
import {fewerSaved} from './memory.js';
import {CallBatcher} from './call-batcher.js';
import type {BackwardRecorder, BackwardPolicy} from './path.js';
import type {ResumeState} from './run-state.js';
import type {RunContext} from './run-context.js';
import {contradiction, startRun} from './start.js';
import {StepSeries} from './step-batch.js';
import {Stepper} from './stepper.js';
import {ContactWatch} from './warnings.js';

export class GridLoop implements TimeLoop {
  /** Steps so far. */
  acceptedSteps = 0;
  private status: Status = 'completed';
  private torn: StiffgradError | undefined;
  /** Saved states so far. */
  private count = 0;
  private readonly grid: Grid;
  /** Steps after which a state is saved. */
  private readonly saved: Float64Array;
  private readonly states: Float64Array;
  private readonly counters: Counters = noCounts();
  private readonly start: StepRecord;
  private readonly companion: BackwardRecorder | undefined;
  private readonly stepper: Stepper;
  private readonly steps: GridStepper;
  private batch: StepSeries | undefined;
  private readonly contacts: ContactWatch;
  private readonly pace: CallBatcher;
  private readonly place = (): Float64Array => this.stepper.takeSnapshot();

  constructor(
    private readonly prepared: RunContext,
    keeping: BackwardPolicy | undefined,
  ) {
    const {saved, grid} = prepared.options;
    const {size} = prepared.traced.state;
    [this.saved, this.grid] = [saved, grid];
    this.states = newNumbers(saved.length * size, 'the saved states', fewerSaved);
    const {x, record} = startRun(prepared, this.counters);
    this.start = record;
    this.companion = keeping?.begin(prepared, record, {after: saved});
    this.stepper = new Stepper(
      prepared,
      x,
      keeping?.iterations === true,
      this.companion?.independentSteps === true,
      this.counters,
    );
    this.stepper.recorder.record = this.companion?.record;
    this.steps = new GridStepper(prepared, this.stepper);
    this.contacts = new ContactWatch(prepared, this.counters);
    const {onProgress, poll} = prepared.options;
    this.pace = new CallBatcher(onProgress !== undefined || poll !== undefined);
    if (saved[0] === 0) this.save();
  }

  get t(): number {
    return this.grid.time(this.acceptedSteps);
  }

  get done(): boolean {
    return this.acceptedSteps === this.grid.steps;
  }

  advance(): boolean {
    const {stepper, prepared, grid, acceptedSteps: n, companion} = this;
    if (n === grid.steps || this.status !== 'completed') return false;
    companion?.reach(n, stepper.state, this.place);
    if (this.advanceTogether(n)) return true;
    const rows = stepper.recorder.record?.count ?? 0;
    this.status = this.steps.take(n);
    if (this.status === 'completed' && prepared.redundancy.regularization > 0)
      this.look(prepared.start.traced.isEquilibrium === true ? grid.t0 : grid.time(n + 1));
    if (this.status !== 'completed') {
      // Of a step that failed its first half may stand there.
      stepper.recorder.record?.truncate(rows);
      return false;
    }
    this.acceptedSteps = n + 1;
    this.contacts.at(grid.time(n + 1));
    if (this.saved[this.count] === n + 1) this.save();
    return true;
  }

  /** Several steps in one call; false where the next one is to be taken by itself. */
  private advanceTogether(n: number): boolean {
    const {stepper, prepared, grid, companion, saved, pace} = this;
    if (this.contacts.looks || prepared.redundancy.regularization > 0) return false;
    const known = companion === undefined ? Infinity : (companion.batchFrom?.(n) ?? 1);
    this.batch ??= StepSeries.of(prepared, stepper);
    const {batch} = this;
    if (batch === undefined) return false;
    const most = Math.min(batch.maxSteps, grid.steps - n, known, pace.maxSteps);
    // All of them are saved, or only the last may be.
    const all = saved[this.count] === n + 1;
    let count = Math.min(most, all ? 1 : (saved[this.count] ?? Infinity) - n);
    if (all) while (count < most && saved[this.count + count] === n + 1 + count) count++;
    if (count < 1 || (count === 1 && pace.maxSteps > 1)) return false;
    const taken = pace.time(() => batch.take(n, count, all));
    if (taken === 0) return false;
    this.acceptedSteps = n + taken;
    if (all) {
      this.states.set(batch.endStates(taken), this.count * stepper.state.length);
      this.count += taken;
    } else if (saved[this.count] === n + taken) {
      this.save();
    }
    return true;
  }

  result(): LoopResult {
    const {
      states,
      count,
      grid,
      saved,
      prepared: {traced},
      acceptedSteps,
      stepper,
      torn,
      companion,
    } = this;
    stepper.addEvaluations();
    stepper.release();
    this.batch?.release();
    // Array.from of a typed array calls its function through an iterator: 90 ns a time.
    const times = new Float64Array(count);
    for (let i = 0; i < count; i++) times[i] = grid.time(saved[i]);
    return {
      states: count === saved.length ? states : states.slice(0, count * traced.state.size),
      times,
      status: this.status,
      error: torn ?? stepper.error,
      warnings: this.contacts.warnings,
      counters: this.counters,
      completed: acceptedSteps,
      start: this.start,
      resumeState: this.standing,
      tape: companion?.finish(acceptedSteps, stepper.state),
    };
  }

  private get standing(): ResumeState {
    const {stepper, acceptedSteps, grid} = this;
    return {t: this.t, x: stepper.state.slice(), grid: placeOf(grid, acceptedSteps)};
  }

  /** Do constraints contradict one another? */
  private look(t: number): void {
    this.torn = contradiction(this.prepared, this.stepper.state, t);
    if (this.torn !== undefined) this.status = 'singular';
  }

  private save(): void {
    const {
      states,
      stepper: {state},
    } = this;
    states.set(state, this.count * state.length);
    this.count++;
  }
}
