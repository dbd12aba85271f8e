/** What eliminations of a tridiagonal matrix from both ends share: the ends are the two lanes of a vector, the top in the first. */
import type {Local} from '../../../wasm/assembler.js';
import type {Instruction} from '../../../wasm/instructions.js';
import type {Push, Writer} from '../../../wasm/writer.js';
import {LARGEST_MULTIPLIER} from '../../../linear/tridiagonal.js';
import {readPair, Rows} from './tridiagonal-rows.js';

/** Bits of what an elimination returns. */
export const tridiagonalSound = 1;
export const tridiagonalSmallMultipliers = 2;
export const tridiagonalPositive = 4;

/** Bytes from one row's diagonal entry to the next row's: the 3n − 2 values lie row by row, b₀ c₀, a₁ b₁ c₁, …, a b. */
const rowBytes = 24;

/** Bytes from the diagonal entry of the present row to the farthest that is read with it, the next row's `back`. */
const reach = 40;

/** A row of each end. */
export interface Entries {
  readonly diagonal: Local;
  /** The entry towards the middle. */
  readonly onwards: Local;
  /** The entry of the next row towards the end. */
  readonly back: Local;
}

type Values = readonly (Local | Push)[];

/** The rows of a top and a bottom end that move towards each other. */
export class Ends {
  /** Address of the present row's diagonal entry at the top; at the bottom, of what lies `reach` before it, so that all that is read lies behind. */
  private readonly top: Local;
  private readonly bottom: Local;
  /** Where the present rows are in arrays. */
  readonly rows: Rows;
  /** Of the rows before: pivots and their reciprocals. */
  readonly pivot: Local;
  readonly reciprocal: Local;
  /** All true as long as every pivot is large enough for its row, and every multiplier small. */
  readonly large: Local;
  readonly small: Local;
  /** The largest size of a pivot, and the least pivot: one instruction each where comparisons take two. They pass over what is not a number, which `large` sees. */
  readonly most: Local;
  readonly least: Local;

  /** @param leastShare of its row that a pivot is to be, to be large enough */
  constructor(
    readonly w: Writer,
    values: Local,
    n: Local,
    readonly leastShare: number,
  ) {
    const last = w.keep('i32', w.op('i32.sub', w.get(n), w.int(1)));
    this.top = w.keep('i32', w.get(values));
    this.bottom = w.keep(
      'i32',
      w.op('i32.sub', w.plus(w.get(values), w.op('i32.mul', w.get(last), w.int(rowBytes))), w.int(reach)),
    );
    this.rows = new Rows(
      w,
      w.keep('i32', w.int(0)),
      w.keep('i32', w.op('i32.shl', w.op('i32.sub', w.get(last), w.int(1)), w.int(3))),
      'middle',
    );
    w.body.release(last);
    this.pivot = w.keep('v128', w.pair(1));
    this.reciprocal = w.keep('v128', w.pair(1));
    const all = (): Local => w.keep('v128', w.op('f64x2.eq', w.pair(0), w.pair(0)));
    this.large = all();
    this.small = all();
    this.most = w.keep('v128', w.pair(0));
    this.least = w.keep('v128', w.pair(Infinity));
  }

  pair(instruction: Instruction, ...operands: Values): Push {
    const {w} = this;
    return w.op(instruction, ...operands.map(operand => (typeof operand === 'function' ? operand : w.get(operand))));
  }

  keepPair(instruction: Instruction, ...operands: Values): Local {
    return this.w.keep('v128', this.pair(instruction, ...operands));
  }

  /** The entries of the present rows, or of those so many on. */
  entries(rows = 0): Entries {
    const {w, top, bottom} = this;
    const entry = (bytes: number): Local =>
      w.keep(
        'v128',
        readPair(w, {address: w.get(top), offset: bytes}, {address: w.get(bottom), offset: reach - bytes}),
      );
    const diagonal = rowBytes * rows;
    return {diagonal: entry(diagonal), onwards: entry(diagonal + 8), back: entry(diagonal + 16)};
  }

  /** Judges a multiplier, and a pivot by the row it is made from. */
  look(multiplier: Local, pivot: Local, before: Local, diagonal: Local, after: Local): void {
    const {w, large, small, most, least} = this;
    const size = (x: Local): Push => this.pair('f64x2.abs', x);
    const and = (finding: Local, condition: Push): void => w.set(finding, this.pair('v128.and', finding, condition));
    const sizes = this.pair('f64x2.add', this.pair('f64x2.add', size(before), size(diagonal)), size(after));
    const pivotSize = w.keep('v128', size(pivot));
    and(large, this.pair('f64x2.gt', pivotSize, this.pair('f64x2.mul', w.pair(this.leastShare), sizes)));
    and(small, this.pair('f64x2.le', size(multiplier), w.pair(LARGEST_MULTIPLIER)));
    w.set(most, this.pair('f64x2.pmax', most, pivotSize));
    w.set(least, this.pair('f64x2.pmin', least, pivot));
  }

  /** Two rows on. */
  move(): void {
    const {w, top, bottom} = this;
    w.set(top, w.plus(w.get(top), w.int(2 * rowBytes)));
    w.set(bottom, w.op('i32.sub', w.get(bottom), w.int(2 * rowBytes)));
    this.rows.move(2);
  }

  /** Rows two by two as long as both ends have them, then the one that is left. */
  run(n: Local, two: () => void, one: () => void): {readonly middle: Local} {
    const {
      w,
      rows: {top},
    } = this;
    const middle = w.keep('i32', w.op('i32.shr_u', w.get(n), w.int(1)));
    const last = w.keep(
      'i32',
      w.op('i32.shl', w.op('i32.sub', w.op('i32.sub', w.get(n), w.int(2)), w.get(middle)), w.int(3)),
    );
    w.while(w.op('i32.lt_s', w.get(top), w.get(last)), two);
    w.if(w.op('i32.eq', w.get(top), w.get(last)), one);
    return {middle};
  }
}

/** The last rows, with one lane each: the top's where n is even, and the one in the middle. */
export class LastRows {
  private readonly findings: {readonly sound: Local; readonly small: Local; readonly positive: Local};

  private readonly leastShare: number;

  constructor(
    private readonly w: Writer,
    private readonly values: Local,
    {large, small, most, least, leastShare}: Ends,
  ) {
    this.leastShare = leastShare;
    const fold = (lanes: Push): Local => w.keep('i32', w.op('i32.eqz', w.op('v128.any_true', w.op('v128.not', lanes))));
    const finite = w.op('f64x2.lt', w.get(most), w.pair(Infinity));
    this.findings = {
      sound: fold(w.op('v128.and', w.get(large), finite)),
      small: fold(w.get(small)),
      positive: fold(w.op('f64x2.gt', w.get(least), w.pair(0))),
    };
  }

  private diagonalAt(row: Local): Push {
    const {w} = this;
    return w.plus(w.get(this.values), w.op('i32.mul', w.get(row), w.int(rowBytes)));
  }

  diagonal(row: Local): Local {
    return this.w.keep('f64', this.w.load(this.diagonalAt(row)));
  }

  /** The entry so many bytes from the diagonal one; 0 where the matrix ends. */
  beside(row: Local, bytes: number, exists: Push): Local {
    const {w} = this;
    return w.keep(
      'f64',
      w.choose(exists, w.load(w.plus(this.diagonalAt(row), w.choose(exists, w.int(bytes), w.int(0)))), w.number(0)),
    );
  }

  private and(finding: Local, condition: Push): void {
    const {w} = this;
    w.set(finding, w.op('i32.and', w.get(finding), condition));
  }

  multiplier(multiplier: Local): void {
    const {w} = this;
    this.and(this.findings.small, w.op('f64.le', w.op('f64.abs', w.get(multiplier)), w.number(LARGEST_MULTIPLIER)));
  }

  pivot(pivot: Local, before: Local, diagonal: Local, after: Local): void {
    const {w} = this;
    const size = (a: Local): Push => w.op('f64.abs', w.get(a));
    const least = w.op(
      'f64.mul',
      w.number(this.leastShare),
      w.op('f64.add', w.op('f64.add', size(before), size(diagonal)), size(after)),
    );
    this.and(
      this.findings.sound,
      w.op('i32.and', w.op('f64.gt', size(pivot), least), w.op('f64.lt', size(pivot), w.number(Infinity))),
    );
    this.and(this.findings.positive, w.op('f64.gt', w.get(pivot), w.number(0)));
  }

  /** Pushes what was found, as bits. */
  bits(): void {
    const {
      w,
      findings: {sound, small, positive},
    } = this;
    const bit = (finding: Local, value: number): Push => w.choose(w.get(finding), w.int(value), w.int(0));
    w.op(
      'i32.or',
      w.op('i32.or', bit(sound, tridiagonalSound), bit(small, tridiagonalSmallMultipliers)),
      bit(positive, tridiagonalPositive),
    )();
  }
}
