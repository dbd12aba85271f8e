/** A factor of supernodal-ldu.ts: its blocks with their exchanges, and the record of its pivots. */
import type {PanelBlocks} from './panels.js';
import {ZERO_PIVOT} from './singularity.js';
import {EPSILON} from './solver.js';
import type {Supernodes} from './supernodes.js';

/** The least share of its column that a pivot is given: an error of √ε, multipliers up to 1/√ε (Li & Demmel 1998). */
const PIVOT_FLOOR = Math.sqrt(EPSILON);

/** The pivots of the last factorization, in the matrix as it was given. */
export class PivotRecord {
  /** Least share of a pivot in the largest entry of its column. */
  weakest = 1;
  enlarged = 0;
  smallest = Infinity;
  /** Over all pivots, and over their columns where those were searched: how the elimination made the entries grow. */
  largest = 0;

  begin(): void {
    this.weakest = 1;
    this.enlarged = 0;
    this.smallest = Infinity;
    this.largest = 0;
  }

  /** @param column largest entry of the pivot's column, itself included. Returns the pivot to use. */
  take(pivot: number, column: number): number {
    let size = Math.abs(pivot);
    // A column of zeros: the matrix is singular, and all multipliers are zero whatever stands here.
    if (column <= ZERO_PIVOT) {
      this.smallest = 0;
      return ZERO_PIVOT;
    }
    // NaN stays, and fails every test that is made of it.
    this.weakest = Math.min(this.weakest, size / column);
    if (size < PIVOT_FLOOR * column) {
      this.enlarged++;
      size = PIVOT_FLOOR * column;
    }
    this.note(size);
    this.largest = Math.max(this.largest, column);
    return pivot < 0 ? -size : size;
  }

  note(size: number): void {
    if (!(size >= this.smallest)) this.smallest = size;
    if (!(size <= this.largest)) this.largest = size;
  }
}

/** One factor: its blocks, and the exchanges that go with them. */
export class LduBlocks {
  /** Row k was exchanged with row swaps[k] ≥ k, k by k; only read in supernodes that are listed. */
  readonly swaps: Int32Array;
  /** Supernodes with exchanges, the first `exchangedCount`, ascending. */
  readonly exchanged: Int32Array;
  exchangedCount = 0;

  constructor(
    readonly blocks: PanelBlocks,
    {first, count}: Supernodes,
  ) {
    this.swaps = new Int32Array(first[count]);
    this.exchanged = new Int32Array(count);
  }

  /** Doubles it takes to keep them. */
  get size(): number {
    return this.blocks.size + (this.swaps.length + this.exchanged.length) / 2;
  }
}
