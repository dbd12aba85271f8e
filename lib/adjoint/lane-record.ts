/**
 * The record of runs in lanes for their gradient: a row for each step that all lanes took together, whosever it was and
 * whatever its time. The way back goes through the same rows from the last to the first.
 */
import {newNumbers} from '../memory.js';
import type {RecordMemory} from './record-memory.js';
import {releaseMemory, acquireMemory} from './record-memory.js';

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
  /** Number of rows. */
  count = 0;
  readonly rounds: LaneRound[] = [];
  /** By row: which lanes took a step of their member, undefined where all did. */
  private readonly taken: (Uint8Array | undefined)[] = [];
  private room: RecordMemory;
  private readonly bare: number;

  /**
   * @param size numbers in a member's state
   * @param layers numbers in what the steps of all lanes keep beside it (step/stored-for-backward.ts)
   * @param expected rows to make room for; more may come
   * @param most bytes for rows with layers: where they need more, they keep their states alone
   */
  constructor(
    private readonly lanes: number,
    size: number,
    private layers: number,
    expected: number,
    private readonly most: number,
  ) {
    this.bare = lanes * (2 + size);
    if (this.mostRows < 1) this.layers = 0;
    this.room = acquireMemory(this.width * Math.max(1, Math.min(expected, this.mostRows)));
  }

  get hasLayers(): boolean {
    return this.layers > 0;
  }

  private get width(): number {
    return this.bare + this.layers;
  }

  /** @param taken by lane; undefined where all lanes took a step of their member */
  append({t, h, x, layers}: LaneRow, taken: Uint8Array | undefined): void {
    if (this.count >= this.mostRows) this.leaveLayers();
    const at = this.count * this.width;
    if (at + this.width > this.room.rows.length) this.grow();
    const {lanes} = this;
    const {rows} = this.room;
    rows.set(t, at);
    rows.set(h, at + lanes);
    rows.set(x, at + 2 * lanes);
    if (this.layers > 0 && layers !== undefined) rows.set(layers, at + this.bare);
    this.taken.push(taken);
    this.count++;
  }

  /**
   * Sets row k in an executable's buffers; absent are those that its programs do not read.
   * @returns the lanes that took a step then, undefined: all
   */
  load(k: number, {t, h, x, layers}: Partial<LaneRow>): Uint8Array | undefined {
    const {lanes, bare, width} = this;
    const at = k * width;
    const {rows} = this.room;
    t?.set(rows.subarray(at, at + lanes));
    h?.set(rows.subarray(at + lanes, at + 2 * lanes));
    x?.set(rows.subarray(at + 2 * lanes, at + bare));
    layers?.set(rows.subarray(at + bare, at + width));
    return this.taken[k];
  }

  /** The state that row k's step began with in this lane. */
  state(k: number, lane: number): Float64Array {
    const {lanes, bare, width} = this;
    const size = bare / lanes - 2;
    const at = k * width + 2 * lanes + lane * size;
    return this.room.rows.subarray(at, at + size);
  }

  /** Releases the memory for another record: no gradient will be taken again. */
  offer(): void {
    const {room} = this;
    releaseMemory(room, () => {
      this.room = nothing;
    });
  }

  /** Rows that there may be with layers; any number without. */
  private get mostRows(): number {
    return this.layers > 0 ? Math.floor(this.most / (this.width * Float64Array.BYTES_PER_ELEMENT)) : Infinity;
  }

  private leaveLayers(): void {
    const {count, width, bare, room} = this;
    for (let k = 1; k < count; k++) room.rows.copyWithin(k * bare, k * width, k * width + bare);
    this.layers = 0;
  }

  private grow(): void {
    const {rows} = this.room;
    const grown = newNumbers(Math.min(2 * rows.length, this.width * this.mostRows), 'the record of the steps');
    grown.set(rows);
    this.room = {rows: grown};
  }
}

const nothing: RecordMemory = {rows: new Float64Array(0)};
