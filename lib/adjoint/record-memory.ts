/**
 * The memory of a record whose gradient has been taken, kept for the next run. A loop of gradients then
 * writes to memory that is already mapped: fresh pages took as long as the steps themselves (1024
 * masses, 5 MB per run). A record whose memory was reused is computed again if it is needed again.
 */
import {newNumbers} from '../memory.js';

/** Memory is given back where more than this lies idle: a quarter of the adjoint's default budget. */
const maxIdle = 2 ** 28;

/** Memory for the rows of records, one record after another. */
export interface RecordMemory {
  readonly rows: Float64Array;
  /** Views of the rows, for memory that has been passed on before. */
  readonly views?: RowViews;
}

interface IdleMemory {
  readonly room: RecordMemory;
  /** Told when the memory is another's. */
  lose(): void;
}

let idle: IdleMemory | undefined;

/** Room for so many numbers: fresh, or that of a record that had its gradient; then its contents are old. */
export function acquireMemory(numbers: number): RecordMemory {
  const found = idle;
  // Not far more than is needed: a short run's record should not hold a long one's memory.
  if (found === undefined || found.room.rows.length < numbers || found.room.rows.length > 2 * numbers)
    return {
      rows: newNumbers(
        numbers,
        'the record of the steps',
        'Take fewer steps, or implicitAdjoint({memory}) with fewer bytes.',
      ),
    };
  idle = undefined;
  found.lose();
  const {rows, views = new RowViews(rows)} = found.room;
  return {rows, views};
}

/** The memory may be another's from now on; it stays as it is until then. */
export function releaseMemory(room: RecordMemory, lose: () => void): void {
  const {byteLength} = room.rows;
  if (byteLength > 0 && byteLength <= maxIdle) idle = {room, lose};
}

/** Rows that keep a view: at about 110 bytes each half a mebibyte for the one room that is passed on. */
const maxViews = 2 ** 12;

/** Views of the rows of a room, each made when it is first asked for. */
export class RowViews {
  private views: (Float64Array | undefined)[] = [];
  private width = 0;
  private offset = 0;
  private size = 0;

  constructor(private readonly rows: Float64Array) {}

  /** For rows of `width` numbers, the `size` from `offset` on in each. Those of other rows are dropped. */
  setLayout(width: number, offset: number, size: number): void {
    if (width === this.width && offset === this.offset && size === this.size) return;
    [this.width, this.offset, this.size] = [width, offset, size];
    this.views = new Array<Float64Array | undefined>(Math.min(Math.floor(this.rows.length / width), maxViews));
  }

  row(k: number): Float64Array {
    return this.views[k] ?? this.makeView(k);
  }

  private makeView(k: number): Float64Array {
    const {rows, views, width, offset, size} = this;
    const view = rows.subarray(k * width + offset, k * width + offset + size);
    if (k < views.length) views[k] = view;
    return view;
  }
}
