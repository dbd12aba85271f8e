/** What a run leaves behind for its gradient: every step taken, in one growing array. */
import type {Executable} from '../engine/engine.js';
import {offerRoom, takeRoom} from './room.js';

export interface IterationRecord {
  /** z before the correction. */
  readonly z: Float64Array;
  readonly delta: Float64Array;
  /** The share of the correction that was taken. */
  readonly length: number;
  /** The first iteration from a guess with a residual of its own. */
  readonly first: boolean;
}

/** A record as a message carries it to another thread and back; `rows` may be moved instead of copied. */
export interface PlainRecord {
  readonly stateSize: number;
  readonly unknownSize: number;
  readonly count: number;
  readonly rows: Float64Array;
  readonly savedAfter: ReadonlyMap<number, number>;
  readonly iterations: readonly (readonly IterationRecord[])[];
}

export class StepRecord {
  /** Number of steps. */
  count = 0;
  /** Number of steps taken → index of the saved state at that point. */
  readonly savedAfter = new Map<number, number>();
  /** By step, where the unrolled adjoint will want them. */
  readonly iterations: (readonly IterationRecord[])[] = [];
  /** Rows of t, h, the state before the step, and the converged unknown; or, in place of these two, what `keep` leaves of them (step/kept.ts). */
  private rows: Float64Array;
  private readonly width: number;

  /**
   * @param stateSize numbers in the state, or in what is kept
   * @param unknownSize numbers in the unknown; 0 for an explicit scheme, and beside what is kept
   * @param expected steps to make room for; more may come
   */
  constructor(readonly stateSize: number, private readonly unknownSize: number, expected: number) {
    this.width = 2 + stateSize + unknownSize;
    this.rows = takeRoom(this.width * Math.max(expected, 1));
  }

  /** The same record: its arrays are shared, not copied. */
  static fromPlain({stateSize, unknownSize, count, rows, savedAfter, iterations}: PlainRecord): StepRecord {
    const record = new StepRecord(stateSize, unknownSize, 0);
    record.rows = rows;
    record.count = count;
    for (const [steps, index] of savedAfter) record.savedAfter.set(steps, index);
    for (const step of iterations) record.iterations.push(step);
    return record;
  }

  plain(): PlainRecord {
    const {stateSize, unknownSize, count, rows, savedAfter, iterations} = this;
    return {stateSize, unknownSize, count, rows, savedAfter, iterations};
  }

  append(t: number, h: number, x: Float64Array, z: Float64Array | undefined): void {
    const at = this.count * this.width;
    if (at + this.width > this.rows.length) {
      const grown = new Float64Array(2 * this.rows.length);
      grown.set(this.rows);
      this.rows = grown;
    }
    this.rows[at] = t;
    this.rows[at + 1] = h;
    store(x, this.rows, at + 2);
    if (z !== undefined) store(z, this.rows, at + 2 + this.stateSize);
    this.count++;
  }

  /** Its memory may serve another record from now on; then this one is `lost`. */
  offer(): void {
    const {rows} = this;
    offerRoom(rows, () => {
      if (this.rows === rows) this.rows = new Float64Array(0);
    });
  }

  /** Its memory went to another record: the steps have to be taken again. */
  get lost(): boolean {
    return this.count > 0 && this.rows.length === 0;
  }

  /** Forgets all steps; the room stays. */
  clear(): void {
    this.count = 0;
    this.savedAfter.clear();
    this.iterations.length = 0;
  }

  /** Sets step k's t, h, x and z in an executable's buffers. */
  load(k: number, {t, h, x, z}: StepBuffers): void {
    const {rows, stateSize, unknownSize} = this;
    const at = k * this.width;
    if (t !== undefined) t[0] = rows[at];
    if (h !== undefined) h[0] = rows[at + 1];
    if (x !== undefined) copy(rows, at + 2, x, stateSize);
    if (z !== undefined) copy(rows, at + 2 + stateSize, z, unknownSize);
  }
}

/** The buffers of an executable that a recorded step is loaded into; absent where its programs do not read them. */
export interface StepBuffers {
  readonly t?: Float64Array;
  readonly h?: Float64Array;
  readonly x?: Float64Array;
  readonly z?: Float64Array;
}

/** Programs that read what is kept of a step read no x. */
export function stepBuffers(executable: Executable): StepBuffers {
  return {t: executable.find('t'), h: executable.find('h'), x: executable.find('x') ?? executable.find('kept'), z: executable.find('z')};
}

/** Below this a loop is cheaper than a view and `set`: measured about 1.5 ns a number against 60 ns and 0.1 ns a number. */
const short = 32;

function store(from: Float64Array, to: Float64Array, at: number): void {
  if (from.length > short) {
    to.set(from, at);
    return;
  }
  for (let i = 0; i < from.length; i++) to[at + i] = from[i];
}

function copy(from: Float64Array, at: number, to: Float64Array, count: number): void {
  if (count > short) {
    to.set(from.subarray(at, at + count));
    return;
  }
  for (let i = 0; i < count; i++) to[i] = from[at + i];
}
