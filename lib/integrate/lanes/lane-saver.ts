/**
 * Saved states of one member in lanes: at the ends of its steps, or between them, where dense output fills them in
 * later.
 */
import {newNumbers} from '../../memory.js';
import {minStep} from '../history/step-size-controller.js';
import type {Saving} from '../history/plan.js';
import {fewerSaved} from '../memory.js';

export class LaneSaver {
  /** See `Saved`. */
  readonly after: number[] = [];
  readonly theta: number[] = [];
  private saved: Float64Array;
  private count = 0;
  private rows: Float64Array;
  private last = NaN;
  /** The next of the times asked for. */
  private next = 0;

  constructor(
    private readonly saving: Saving,
    private readonly size: number,
  ) {
    const expected = saving.kind === 'times' ? Math.max(saving.times.length, 1) : 16;
    this.saved = new Float64Array(expected);
    this.rows = new Float64Array(size * expected);
  }

  get states(): Float64Array {
    return whole(this.rows, this.count * this.size);
  }

  get times(): Float64Array {
    return whole(this.saved, this.count);
  }

  start(t: number, x: Float64Array): void {
    const {saving} = this;
    if (saving.kind !== 'times') this.put(t, x, 0, 1);
    else if (saving.times[0] === t) {
      this.next++;
      this.put(t, x, 0, 1);
    }
  }

  /** After step n from x at t: the rows that dense output is to fill. */
  within(n: number, t: number, h: number, end: number, x: Float64Array, state: Float64Array): number[] | undefined {
    const {saving} = this;
    if (saving.kind !== 'times') return undefined;
    const {times} = saving;
    const close = minStep(end);
    let rows: number[] | undefined;
    while (this.next < times.length && times[this.next] < end - close) {
      const time = times[this.next++];
      const theta = Math.max((time - t) / h, 0);
      const row = this.put(time, x, n + 1, theta);
      if (theta > 0) (rows ??= []).push(row);
    }
    this.atEnd(end, state, n + 1);
    return rows;
  }

  /** Fills a row that `within` has put. */
  fill(row: number, state: Float64Array): void {
    this.rows.set(state, row * this.size);
  }

  /** At the end of step n, counted from 1. */
  boundary(n: number, t: number, state: Float64Array): void {
    const {saving} = this;
    if (saving.kind === 'steps' && n % saving.every === 0) this.put(t, state, n, 1);
  }

  finish(t: number, state: Float64Array, n: number): void {
    const {saving} = this;
    if (saving.kind === 'times') this.atEnd(t, state, n);
    else if (saving.kind === 'end' && this.last !== t) this.put(t, state, n, 1);
  }

  private atEnd(t: number, state: Float64Array, n: number): void {
    const {saving} = this;
    if (saving.kind !== 'times' || this.next >= saving.times.length || saving.times[this.next] > t + minStep(t)) return;
    this.put(saving.times[this.next++], state, n, 1);
  }

  /** @param after steps that were begun before it */
  private put(t: number, state: Float64Array, after: number, theta: number): number {
    const {size} = this;
    const row = this.count++;
    if (row === this.saved.length) {
      this.saved = grown(this.saved);
      this.rows = grown(this.rows);
    }
    this.rows.set(state, row * size);
    this.saved[row] = t;
    this.after.push(after);
    this.theta.push(theta);
    this.last = t;
    return row;
  }
}

const whole = (numbers: Float64Array, count: number): Float64Array =>
  count === numbers.length ? numbers : numbers.slice(0, count);

function grown(numbers: Float64Array): Float64Array {
  const more = newNumbers(2 * numbers.length, 'the saved states', fewerSaved);
  more.set(numbers);
  return more;
}
