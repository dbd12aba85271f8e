/** Saved states of a run that is not a grid of steps, at the ends of its steps or between them. */
import type {StepHistory} from '../../adjoint/step-history.js';
import {newNumbers} from '../../memory.js';
import {fewerSaved} from '../memory.js';
import type {Integrator, CompletedStep} from './integrator.js';
import type {Saving} from './plan.js';
import {minStep} from './step-size-controller.js';

export class Saver {
  private rows: Float64Array;
  private readonly saved: number[] = [];
  /** The time last saved. */
  private last = NaN;
  /** The next of the times asked for. */
  private next = 0;
  /** A time that is to be saved with the step that begins there. */
  private due: number | undefined;

  constructor(
    private readonly saving: Saving,
    private readonly integrator: Integrator,
    private readonly history: StepHistory,
    private readonly size: number,
  ) {
    const expected = saving.kind === 'times' ? saving.times.length : 16;
    this.rows = newNumbers(size * expected, 'the saved states', fewerSaved);
  }

  get count(): number {
    return this.saved.length;
  }

  /** Saved states, one after another, once all are there. */
  get states(): Float64Array {
    const {rows, count, size} = this;
    return count * size === rows.length ? rows : rows.slice(0, count * size);
  }

  /** Their times. */
  get times(): Float64Array {
    return new Float64Array(this.saved);
  }

  /** What was saved since this was last asked for; it is not kept. */
  take(): {readonly states: Float64Array; readonly times: Float64Array} {
    const {rows, count, size, times} = this;
    this.saved.length = 0;
    return {states: rows.slice(0, count * size), times};
  }

  start(t: number): void {
    const {saving} = this;
    if (saving.kind !== 'times' || saving.times[0] === t) this.save(t, this.integrator.state, 1);
    if (saving.kind === 'times' && saving.times[0] === t) this.next++;
  }

  /**
   * After a step, before anything else is made of its end. Times within it are interpolated; its end
   * itself is the state, unless an event is there: what is saved then is the state after the event.
   */
  within(step: CompletedStep, eventAtEnd: boolean): void {
    const {saving, due} = this;
    if (due !== undefined) this.save(due, step.x, 0);
    this.due = undefined;
    if (saving.kind !== 'times') return;
    const {times} = saving;
    const close = minStep(step.end);
    let loaded = false;
    while (this.next < times.length && times[this.next] < step.end - close) {
      if (!loaded) this.integrator.load(step);
      loaded = true;
      const time = times[this.next++];
      const theta = Math.max((time - step.t) / step.h, 0);
      this.save(time, theta === 0 ? step.x : this.integrator.dense(theta), theta);
    }
    if (!eventAtEnd) this.atEnd(step.end);
  }

  /** Saves the state for each time asked for that is now, but for rounding. */
  private atEnd(t: number): void {
    const {saving} = this;
    if (saving.kind !== 'times') return;
    const {times} = saving;
    while (this.next < times.length && times[this.next] <= t + minStep(t))
      this.save(times[this.next++], this.integrator.state, 1);
  }

  /**
   * At the end of step n of those that `saveAt` counts; its time may be that of a moment.
   * @param later with the step that follows
   */
  boundary(n: number, t: number, moment: number | undefined, later: boolean): void {
    const {saving} = this;
    if (saving.kind !== 'steps' || n % saving.every !== 0) return;
    if (later) this.due = t;
    else this.save(t, this.integrator.state, 1, moment);
  }

  /** The times to save that are still to come; undefined where it is not times that are saved. */
  get pendingTimes(): Float64Array | undefined {
    return this.saving.kind === 'times' ? this.saving.times.subarray(this.next) : undefined;
  }

  /** What a block of steps has saved, which begins with transition `first`. */
  takeBlock({states, theta, after, rows, width, t}: SavedBlock, count: number, taken: number, first: number): void {
    const {saving, size} = this;
    this.reserve(this.count + count);
    this.rows.set(states.subarray(0, count * size), this.count * size);
    for (let i = 0; i < count; i++) {
      this.history.save(theta[i], undefined, first + after[i]);
      // The end of one step is the beginning of the next, as it is reported.
      const end = after[i] < taken ? rows[after[i] * width] : t;
      this.saved.push((this.last = saving.kind === 'times' ? saving.times[this.next++] : end));
    }
  }

  /** At the end of the run; an event that ended it is saved with the steps. */
  finish(t: number, byEvent: boolean, moment: number | undefined): void {
    const {saving} = this;
    if (saving.kind === 'times') this.atEnd(t);
    else if (this.last !== t && (saving.kind === 'end' || (byEvent && saving.every === 1)))
      this.save(t, this.integrator.state, 1, moment);
  }

  /**
   * At the end of the run, on which an event falls: what is to be saved, with the step that would follow, if there is
   * one.
   */
  settle(t: number, step: CompletedStep | undefined): void {
    const {saving, last} = this;
    if (saving.kind === 'end' && last !== t) this.due = t;
    if (step !== undefined) this.within(step, true);
    this.flush();
    this.finish(t, false, undefined);
  }

  /** Saves what was to be saved with the next step, of which there is none. */
  flush(): void {
    const {due, integrator} = this;
    if (due !== undefined) this.save(due, integrator.state, 1);
    this.due = undefined;
  }

  /** The present state, at t, was made anew: where it is saved already, it is saved so. */
  replaceStart(t: number, state: Float64Array): void {
    if (this.count > 0 && Math.abs(this.last - t) <= minStep(t)) this.rows.set(state, (this.count - 1) * this.size);
  }

  private save(t: number, state: Float64Array, theta: number, moment?: number): void {
    const {size, count} = this;
    this.reserve(count + 1);
    this.rows.set(state, count * size);
    this.history.save(theta, moment);
    this.saved.push(t);
    this.last = t;
  }

  private reserve(count: number): void {
    const {rows, size} = this;
    if (count * size <= rows.length) return;
    const grown = newNumbers(Math.max(2 * rows.length, count * size), 'the saved states', fewerSaved);
    grown.set(rows);
    this.rows = grown;
  }
}

/** Saved states of a block of steps: see adaptive-blocks.ts. */
interface SavedBlock {
  readonly states: Float64Array;
  readonly theta: Float64Array;
  readonly after: Float64Array;
  readonly rows: Float64Array;
  /** Length of a row, which begins with the time of its step. */
  readonly width: number;
  /** The time after the last step. */
  readonly t: number;
}
