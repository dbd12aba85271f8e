/** Saved states of a run that is not a grid of steps, at the ends of its steps or between them. */
import {store} from '../../adjoint/add-to.js';
import {newNumbers} from '../../memory.js';
import {fewerSaved} from '../memory.js';
import type {Saving} from './plan.js';
import {minStep} from './step-size-controller.js';

/** A step that was taken. */
export interface SavedStep {
  readonly t: number;
  readonly h: number;
  /** Its end, exactly as it is reported: t + h may round. */
  readonly end: number;
  readonly x: Float64Array;
  readonly next: Float64Array;
}

/** Dense output. */
export interface DenseOutput<Step extends SavedStep> {
  /** Before the first state within a step. */
  load(step: Step): void;
  /** The state at t + θh; undefined where it fills this row of the saver later (`Saver.fill`). */
  stateAt(theta: number, row: number): Float64Array | undefined;
}

/** Takes note of where each saved state lies, for gradients: see `Saved` of adjoint/step-history.ts. */
export interface SavedPlaces {
  save(theta: number, moment: number | undefined, after: number): void;
}

/** In all methods, `after` is how many transitions were begun before. */
export class Saver {
  private rows: Float64Array;
  private readonly saved: number[] = [];
  /** The time last saved. */
  private last = NaN;
  /** The next of the times asked for. */
  private next = 0;
  /** A time that is to be saved with the step that begins there. */
  private due: number | undefined;

  /**
   * @param size of a state
   * @param room for saved states, where these lie in the memory of programs
   */
  constructor(
    private readonly saving: Saving,
    private readonly size: number,
    private readonly places: SavedPlaces,
    room?: Float64Array,
  ) {
    const expected = saving.kind === 'times' ? saving.times.length : 16;
    this.rows = room ?? newNumbers(size * expected, 'the saved states', fewerSaved);
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

  start(t: number, state: Float64Array): void {
    const {saving} = this;
    if (saving.kind !== 'times') this.save(t, state, 1, 0);
    else if (saving.times[0] === t) {
      this.next++;
      this.save(t, state, 1, 0);
    }
  }

  /**
   * After a step, before anything else is made of its end. Times within it are interpolated; its end
   * itself is the state, unless an event is there: what is saved then is the state after the event.
   */
  within<Step extends SavedStep>(
    step: Step,
    interpolation: DenseOutput<Step>,
    after: number,
    eventAtEnd = false,
  ): void {
    const {saving, due} = this;
    if (due !== undefined) this.save(due, step.x, 0, after);
    this.due = undefined;
    if (saving.kind !== 'times') return;
    const {times} = saving;
    const close = minStep(step.end);
    let loaded = false;
    while (this.next < times.length && times[this.next] < step.end - close) {
      const time = times[this.next++];
      const theta = Math.max((time - step.t) / step.h, 0);
      if (theta > 0 && !loaded) {
        interpolation.load(step);
        loaded = true;
      }
      this.save(time, theta === 0 ? step.x : interpolation.stateAt(theta, this.count), theta, after);
    }
    if (!eventAtEnd) this.atEnd(step.end, step.next, after);
  }

  /**
   * How many of the steps to come, up to `most`, have no state saved within them, nor at their ends but for the last of
   * them; with `ends` these may be saved, too.
   * @param n steps before that `saveAt` counts
   * @param endOf the end of step k
   */
  stepsToNext(n: number, endOf: (k: number) => number, most: number, ends: boolean): number {
    const {saving} = this;
    if (saving.kind === 'end' || (ends && saving.kind === 'steps')) return most;
    if (saving.kind === 'steps') return Math.min(most, saving.every - (n % saving.every));
    const {times} = saving;
    let {next} = this;
    for (let k = 0; k < most; k++) {
      const end = endOf(k);
      const close = minStep(end);
      if (times[next] < end - close) return k;
      if (!ends && times[next] <= end + close) return k + 1;
      while (times[next] <= end + close) next++;
    }
    return most;
  }

  /** Saves the state for each time asked for that is now, but for rounding. */
  private atEnd(t: number, state: Float64Array, after: number): void {
    const {saving} = this;
    if (saving.kind !== 'times') return;
    const {times} = saving;
    while (this.next < times.length && times[this.next] <= t + minStep(t))
      this.save(times[this.next++], state, 1, after);
  }

  /**
   * At the end of step n of those that `saveAt` counts; its time may be that of a moment.
   * @param later with the step that follows
   */
  boundary(n: number, t: number, state: Float64Array, after: number, moment?: number, later = false): void {
    const {saving} = this;
    if (saving.kind !== 'steps' || n % saving.every !== 0) return;
    if (later) this.due = t;
    else this.save(t, state, 1, after, moment);
  }

  /** Whether this is one of the times asked for. */
  asksFor(t: number): boolean {
    const {saving} = this;
    return saving.kind === 'times' && saving.times.some(time => Math.abs(time - t) <= minStep(t));
  }

  /** Whether the end of step n of the grid is saved. */
  savesStep(n: number): boolean {
    const {saving} = this;
    return saving.kind === 'steps' && n % saving.every === 0;
  }

  /** At the end of the run; an event that ended it is saved with the steps. */
  finish(t: number, state: Float64Array, after: number, byEvent = false, moment?: number): void {
    const {saving} = this;
    if (saving.kind === 'times') this.atEnd(t, state, after);
    else if (this.last !== t && (saving.kind === 'end' || (byEvent && saving.every === 1)))
      this.save(t, state, 1, after, moment);
  }

  /**
   * At the end of the run, on which an event falls: what is to be saved, with the step that would follow, if there is
   * one.
   */
  settle<Step extends SavedStep>(
    t: number,
    state: Float64Array,
    after: number,
    interpolation: DenseOutput<Step>,
    step: Step | undefined,
  ): void {
    const {saving, last} = this;
    if (saving.kind === 'end' && last !== t) this.due = t;
    if (step !== undefined) this.within(step, interpolation, after, true);
    this.flush(state, after);
    this.finish(t, state, after);
  }

  /** Saves what was to be saved with the next step, of which there is none. */
  flush(state: Float64Array, after: number): void {
    const {due} = this;
    if (due !== undefined) this.save(due, state, 1, after);
    this.due = undefined;
  }

  /** The present state, at t, was made anew: where it is saved already, it is saved so. */
  replaceStart(t: number, state: Float64Array): void {
    if (this.count > 0 && Math.abs(this.last - t) <= minStep(t)) this.fill(this.count - 1, state);
  }

  /** A saved state that was not known yet. */
  fill(row: number, state: Float64Array): void {
    store(this.rows, state, row * this.size);
  }

  private save(t: number, state: Float64Array | undefined, theta: number, after: number, moment?: number): void {
    const {count} = this;
    this.reserve(count + 1);
    if (state !== undefined) this.fill(count, state);
    this.places.save(theta, moment, after);
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
