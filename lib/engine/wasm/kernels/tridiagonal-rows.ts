/**
 * A row of a tridiagonal system's top and one of its bottom, as far from the middle, which move on together: their
 * numbers are the two lanes of a vector, the top's in the first.
 */
import type {Local} from '../../../wasm/assembler.js';
import type {Operand, Push, Writer} from '../../../wasm/writer.js';

/** An address in bytes, and what the access to memory adds to it, which takes no instruction. */
export interface RowAddress {
  readonly address: Operand;
  readonly offset: number;
}

const readFirst = (w: Writer, {address, offset}: RowAddress): Push => w.loadOne(address, offset);

/** The numbers at two places. */
export function readPair(w: Writer, first: RowAddress, second: RowAddress): Push {
  return () => {
    w.push(second.address);
    readFirst(w, first)();
    w.body.laneMemory('v128.load64_lane', second.offset, 1);
  };
}

const writeLane = (w: Writer, {address, offset}: RowAddress, value: Local, lane: 0 | 1): void =>
  w.storeLane(address, value, lane, offset);

/** The arrays that the top and the bottom use. */
export interface Arrays {
  readonly top: Local;
  readonly bottom: Local;
}

/** An array that both use. */
export const shared = (array: Local): Arrays => ({top: array, bottom: array});

type Vectors = readonly [Local, Local];

/** Bytes to the place of a row, from where two begin in memory. */
interface Offsets {
  readonly top: 0 | 8;
  readonly bottom: 0 | 8;
}

export class TridiagonalRows {
  private readonly present: Offsets;
  private readonly next: Offsets;

  /**
   * @param top bytes from an array's begin to where the present row of the top and its next one begin; so at the bottom
   */
  constructor(
    private readonly w: Writer,
    readonly top: Local,
    readonly bottom: Local,
    private readonly towards: 'middle' | 'ends',
  ) {
    const [outer, inner]: Offsets[] = [
      {top: 0, bottom: 8},
      {top: 8, bottom: 0},
    ];
    [this.present, this.next] = towards === 'middle' ? [outer, inner] : [inner, outer];
  }

  private place(arrays: Arrays, end: 'top' | 'bottom', {[end]: offset}: Offsets): RowAddress {
    return {address: this.w.plus(arrays[end], this[end]), offset};
  }

  /**
   * The same where there may be no next row: two rows then begin before the array, which may be below address 0, from
   * where no offset leads back.
   */
  private only(arrays: Arrays, end: 'top' | 'bottom', offsets: Offsets): RowAddress {
    const {address, offset} = this.place(arrays, end, offsets);
    return {address: this.w.plus(address, offset), offset: 0};
  }

  /** The present rows, and the next. */
  readTwo(arrays: Arrays): Vectors {
    const read = (offsets: Offsets): Local =>
      this.w.keep('v128', readPair(this.w, this.place(arrays, 'top', offsets), this.place(arrays, 'bottom', offsets)));
    return [read(this.present), read(this.next)];
  }

  writeTwo(arrays: Arrays, values: Vectors): void {
    [this.present, this.next].forEach((offsets, k) => {
      writeLane(this.w, this.place(arrays, 'top', offsets), values[k], 0);
      writeLane(this.w, this.place(arrays, 'bottom', offsets), values[k], 1);
    });
  }

  read(arrays: Arrays): Push {
    return this.readOnly(arrays, this.present);
  }

  readNext(arrays: Arrays): Push {
    return this.readOnly(arrays, this.next);
  }

  private readOnly(arrays: Arrays, offsets: Offsets): Push {
    return readPair(this.w, this.only(arrays, 'top', offsets), this.only(arrays, 'bottom', offsets));
  }

  /** The top's row, with 0 for the bottom's. */
  readTop(arrays: Arrays): Push {
    return readFirst(this.w, this.only(arrays, 'top', this.present));
  }

  write(arrays: Arrays, value: Local): void {
    this.writeTop(arrays, value);
    writeLane(this.w, this.only(arrays, 'bottom', this.present), value, 1);
  }

  writeTop(arrays: Arrays, value: Local): void {
    writeLane(this.w, this.only(arrays, 'top', this.present), value, 0);
  }

  move(rows: number): void {
    const {w, top, bottom} = this;
    const bytes = this.towards === 'middle' ? 8 * rows : -8 * rows;
    w.move(top, bytes);
    w.set(bottom, w.op('i32.sub', bottom, bytes));
  }
}
