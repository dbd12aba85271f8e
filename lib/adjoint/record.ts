/** The record of a run, or of runs in lanes, for its gradient: all steps, in one growing array. */
import {shortSet, store} from './add-to.js';
import type {StepExecutable} from '../step/buffers.js';
import {newNumbers} from '../memory.js';
import {rowHeaderSize} from '../step/block-layout.js';
import type {RecordMemory} from './record-memory.js';
import {releaseMemory, acquireMemory} from './record-memory.js';

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
export interface SerializedRecord {
  readonly stateSize: number;
  readonly unknownSize: number;
  readonly count: number;
  readonly rows: Float64Array;
  readonly within: ReadonlySet<number>;
  readonly iterations: readonly (readonly IterationRecord[])[];
  readonly projection?: Float64Array;
}

const nothing: RecordMemory = {rows: new Float64Array(0)};

export class StepRecord {
  /** Number of rows. */
  count = 0;
  /** Rows that end within a step of the grid, which failed whole and was halved. */
  readonly within = new Set<number>();
  /** Newton's iterations of each step, if the unrolled adjoint will read them. */
  readonly iterations: (readonly IterationRecord[])[] = [];
  /** What the equations of a start took as given: see `StepPoint.projection`. */
  projection?: Float64Array;
  /**
   * With rows of t, h, the state before the step, and the converged unknown; or, in place of these two, what `keep`
   * leaves of them (step/stored-for-backward.ts).
   */
  private memory: RecordMemory;
  readonly width: number;
  /** Numbers in a row before the state. */
  private readonly start: number;

  /**
   * @param stateSize numbers in the state, or in what is kept
   * @param unknownSize numbers in the unknown; 0 for an explicit scheme, and beside what is kept
   * @param expected steps to make room for; more may come
   * @param most that may come: no more room is made than for these
   * @param lanes members of a batch whose steps a row holds, each with a time and a length (step/lanes.ts)
   */
  constructor(
    readonly stateSize: number,
    private readonly unknownSize: number,
    expected: number,
    private readonly most = Infinity,
    private readonly lanes = 1,
  ) {
    this.start = rowHeaderSize * lanes;
    this.width = this.start + stateSize + unknownSize;
    this.memory = acquireMemory(this.width * Math.max(expected, 1));
    this.memory.views?.setLayout(this.width, this.start, stateSize);
  }

  /** The record of a message; its arrays are shared, not copied. */
  static deserialize({
    stateSize,
    unknownSize,
    count,
    rows,
    within,
    iterations,
    projection,
  }: SerializedRecord): StepRecord {
    const record = new StepRecord(stateSize, unknownSize, 0);
    record.memory = {rows};
    record.count = count;
    for (const row of within) record.within.add(row);
    for (const step of iterations) record.iterations.push(step);
    record.projection = projection;
    return record;
  }

  serialize(): SerializedRecord {
    const {
      stateSize,
      unknownSize,
      count,
      memory: {rows},
      within,
      iterations,
      projection,
    } = this;
    return {stateSize, unknownSize, count, rows, within, iterations, projection};
  }

  append(t: number, h: number, x: Float64Array, z: Float64Array | undefined): void {
    const at = this.appendRow(x, z);
    const {rows} = this.memory;
    rows[at] = t;
    rows[at + 1] = h;
  }

  /** A step of each lane: their times and lengths, their states, and what is stored beside these. */
  appendLanes(t: Float64Array, h: Float64Array, x: Float64Array, beside: Float64Array | undefined): void {
    const at = this.appendRow(x, beside);
    const {rows} = this.memory;
    rows.set(t, at);
    rows.set(h, at + this.lanes);
  }

  /** Appends a row whose times are not set yet; returns where it begins. */
  private appendRow(x: Float64Array, beside: Float64Array | undefined): number {
    const {width, start, stateSize} = this;
    const at = this.count * width;
    if (at + width > this.memory.rows.length) this.grow();
    const {rows} = this.memory;
    store(rows, x, at + start);
    if (beside !== undefined) store(rows, beside, at + start + stateSize);
    this.count++;
    return at;
  }

  /** Rows of this record's width, as they are laid out. */
  appendRows(rows: Float64Array, count: number): void {
    const at = this.count * this.width;
    while (at + rows.length > this.memory.rows.length) this.grow();
    this.memory.rows.set(rows, at);
    this.count += count;
  }

  /** The state of one lane at the beginning of step k. */
  laneState(k: number, lane: number): Float64Array {
    const size = this.stateSize / this.lanes;
    const at = k * this.width + this.start + lane * size;
    return this.memory.rows.subarray(at, at + size);
  }

  /** So many rows from this one on. */
  rows(from: number, count: number): Float64Array {
    return this.memory.rows.subarray(from * this.width, (from + count) * this.width);
  }

  private grow(): void {
    const {
      memory: {rows},
      width,
      most,
      count,
    } = this;
    const grown = newNumbers(
      Math.min(2 * rows.length, width * Math.max(Math.ceil(most), count + 1)),
      'the record of the steps',
    );
    grown.set(rows);
    this.memory = {rows: grown};
  }

  /** Releases the memory, which another record may take; then this one `isLost`. */
  release(): void {
    const {memory} = this;
    releaseMemory(memory, () => {
      if (this.memory === memory) this.memory = nothing;
    });
  }

  /** The memory went to another record: the steps have to be taken again. */
  get isLost(): boolean {
    return this.count > 0 && this.memory.rows.length === 0;
  }

  /** Removes all rows; the storage stays. */
  clear(): void {
    this.truncate(0);
  }

  /** Forgets the rows from this one on. */
  truncate(count: number): void {
    this.count = count;
    this.iterations.length = Math.min(this.iterations.length, count);
    if (this.within.size > 0) for (const row of this.within) if (row >= count) this.within.delete(row);
  }

  /** The first row of the step whose last one this is. */
  firstRowOf(row: number): number {
    let first = row;
    if (this.within.size > 0) while (first > 0 && this.within.has(first - 1)) first--;
    return first;
  }

  /** When step k begins. */
  time(k: number): number {
    return this.memory.rows[k * this.width];
  }

  /** The length of step k. */
  length(k: number): number {
    return this.memory.rows[k * this.width + 1];
  }

  /** Sets step k's t, h, x and z in an executable's buffers. */
  load(k: number, {t, h, x, z, projection}: StepBuffers): void {
    const {
      memory: {rows, views},
      stateSize,
      unknownSize,
      start,
      lanes,
    } = this;
    const at = k * this.width;
    if (this.projection !== undefined) projection?.set(this.projection);
    if (t !== undefined) copy(rows, at, t, lanes);
    if (h !== undefined) copy(rows, at + lanes, h, lanes);
    if (x !== undefined) {
      if (views !== undefined && stateSize > shortSet) x.set(views.row(k));
      else copy(rows, at + start, x, stateSize);
    }
    if (z !== undefined) copy(rows, at + start + stateSize, z, unknownSize);
  }
}

/** The buffers of an executable that a recorded step is loaded into; absent where its programs do not read them. */
export interface StepBuffers {
  readonly t?: Float64Array;
  readonly h?: Float64Array;
  readonly x?: Float64Array;
  readonly z?: Float64Array;
  readonly projection?: Float64Array;
}

/** Programs that read what is kept of a step read no x, and those that read layers no z. */
export function stepBuffers(executable: StepExecutable): StepBuffers {
  return {
    t: executable.optionalBuffer('t'),
    h: executable.optionalBuffer('h'),
    x: executable.optionalBuffer('x') ?? executable.optionalBuffer('kept'),
    z: executable.optionalBuffer('z') ?? executable.optionalBuffer('layers'),
    projection: executable.optionalBuffer('projection'),
  };
}

/** Up to so many numbers a loop takes less time than making a view, 35 ns, and `set`. */
const shortCopyWithoutView = 32;

function copy(from: Float64Array, at: number, to: Float64Array, count: number): void {
  if (count > shortCopyWithoutView) {
    to.set(from.subarray(at, at + count));
    return;
  }
  for (let i = 0; i < count; i++) to[i] = from[at + i];
}
