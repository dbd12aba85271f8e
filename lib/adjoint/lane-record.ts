/**
 * The record of runs in lanes for their gradient: a row for each step that all lanes took together, whosever it was and
 * whatever its time. The way back goes through the rows from the last to the first.
 */
import {rowHeaderSize} from '../step/block-layout.js';
import {StepRecord} from './record.js';

/** What a row holds, and the buffers that it is taken from. */
export interface LaneRow {
  readonly t: Float64Array;
  readonly h: Float64Array;
  readonly x: Float64Array;
  readonly layers?: Float64Array;
}

/** Members who were in lanes one after another, and the rows of these times. */
export interface LaneRound {
  readonly first: number;
  /** One after the last. */
  readonly end: number;
  /** Rows from..to−1. */
  readonly from: number;
  readonly to: number;
  /** The members of each lane, in the order of their runs. */
  readonly order: readonly (readonly number[])[];
}

export class LaneRecord {
  readonly rounds: LaneRound[] = [];
  /** A row for each step of all lanes. */
  steps: StepRecord;
  /** By row: which lanes took a step of their member, undefined where all did. */
  private readonly taken: (Uint8Array | undefined)[] = [];
  /** Rows that there may be with layers; any number without. */
  private maxRows: number;

  /**
   * @param size numbers in a member's state
   * @param layers numbers in what the steps of all lanes keep beside it (step/stored-for-backward.ts)
   * @param expected rows to make room for; more may come
   * @param bytes for rows with layers: where they need more, they keep their states alone
   */
  constructor(
    private readonly lanes: number,
    size: number,
    private layers: number,
    expected: number,
    bytes: number,
  ) {
    const state = lanes * size;
    const rowBytes = (lanes * rowHeaderSize + state + layers) * Float64Array.BYTES_PER_ELEMENT;
    this.maxRows = layers > 0 ? Math.floor(bytes / rowBytes) : Infinity;
    if (this.maxRows < 1) [this.layers, this.maxRows] = [0, Infinity];
    this.steps = new StepRecord(state, this.layers, Math.min(expected, this.maxRows), this.maxRows, lanes);
  }

  /** Number of rows. */
  get count(): number {
    return this.steps.count;
  }

  get hasLayers(): boolean {
    return this.layers > 0;
  }

  /** @param taken by lane; undefined where all lanes took a step of their member */
  append({t, h, x, layers}: LaneRow, taken: Uint8Array | undefined): void {
    if (this.count >= this.maxRows) this.leaveLayers();
    this.steps.appendLanes(t, h, x, this.hasLayers ? layers : undefined);
    this.taken.push(taken);
  }

  /** The lanes that took the step of row k; undefined: all. */
  takenAt(k: number): Uint8Array | undefined {
    return this.taken[k];
  }

  private leaveLayers(): void {
    const {steps, lanes, count} = this;
    [this.layers, this.maxRows] = [0, Infinity];
    const bare = new StepRecord(steps.stateSize, 0, 2 * count, Infinity, lanes);
    const [t, h, x] = [lanes, lanes, steps.stateSize].map(size => new Float64Array(size));
    for (let k = 0; k < count; k++) {
      steps.load(k, {t, h, x});
      bare.appendLanes(t, h, x, undefined);
    }
    this.steps = bare;
  }
}
