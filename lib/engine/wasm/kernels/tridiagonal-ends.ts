/**
 * What eliminations of a tridiagonal matrix from both ends share: the ends are the two lanes of a vector, the top in
 * the first.
 */
import type {Local} from '../../../wasm/assembler.js';
import type {Instruction} from '../../../wasm/instructions.js';
import type {Operand, Push, Writer} from '../../../wasm/writer.js';
import {LARGEST_MULTIPLIER} from '../../../linear/tridiagonal.js';
import {readPair, TridiagonalRows} from './tridiagonal-rows.js';

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

/** A row with the pivot that elimination leaves it. */
export interface Eliminated {
  readonly row: Entries;
  readonly pivot: Local;
  readonly reciprocal: Local;
}

/** The rows of a top and a bottom end that move towards each other. */
export class Ends {
  /**
   * Address of the present row's diagonal entry at the top; at the bottom, of what lies `reach` before it, so that all
   * that is read lies behind.
   */
  private readonly top: Local;
  private readonly bottom: Local;
  /** Where the present rows are in arrays. */
  readonly rows: TridiagonalRows;
  /** Pivots of the rows before, their reciprocals, and the entries towards the middle. */
  readonly pivot: Local;
  readonly reciprocal: Local;
  readonly after: Local;
  /** The entries towards the ends of the present rows. There is none in the first rows. */
  readonly before: Local;
  /** All true as long as every pivot is large enough for its row, and every multiplier small. */
  readonly large: Local;
  readonly small: Local;
  /**
   * The largest size of a pivot, and the least pivot: one instruction each where comparisons take two. They pass over
   * what is not a number, which `large` sees.
   */
  readonly most: Local;
  readonly least: Local;

  /** @param leastShare of its row that a pivot is to be, to be large enough */
  constructor(
    readonly w: Writer,
    values: Local,
    n: Local,
    readonly leastShare: number,
  ) {
    const last = w.keep('i32', w.op('i32.sub', n, 1));
    this.top = w.keep('i32', values);
    this.bottom = w.keep('i32', w.op('i32.sub', w.plus(values, w.op('i32.mul', last, rowBytes)), reach));
    this.rows = new TridiagonalRows(
      w,
      w.keep('i32', 0),
      w.keep('i32', w.op('i32.shl', w.op('i32.sub', last, 1), 3)),
      'middle',
    );
    w.body.release(last);
    this.pivot = w.keep('v128', 1);
    this.reciprocal = w.keep('v128', 1);
    this.after = w.keep('v128', 0);
    this.before = w.keep('v128', 0);
    const all = (): Local => w.keep('v128', w.op('f64x2.eq', 0, 0));
    this.large = all();
    this.small = all();
    this.most = w.keep('v128', 0);
    this.least = w.keep('v128', Infinity);
  }

  keepPair(instruction: Instruction, ...operands: readonly Operand[]): Local {
    return this.w.keep('v128', this.w.op(instruction, ...operands));
  }

  /** The entries of the present rows, or of those so many on. */
  entries(rows = 0): Entries {
    const {w, top, bottom} = this;
    const entry = (bytes: number): Local =>
      w.keep('v128', readPair(w, {address: top, offset: bytes}, {address: bottom, offset: reach - bytes}));
    const diagonal = rowBytes * rows;
    return {diagonal: entry(diagonal), onwards: entry(diagonal + 8), back: entry(diagonal + 16)};
  }

  /** The pivot of the present rows, and its reciprocal. */
  eliminate(): Eliminated {
    const {w, before, after, reciprocal: inverse} = this;
    const row = this.entries();
    const taken = w.product('f64x2', before, after, inverse);
    const pivot = this.keepPair('f64x2.sub', row.diagonal, taken);
    return {row, pivot, reciprocal: this.keepPair('f64x2.div', 1, pivot)};
  }

  /** Eliminates two rows: the second's pivot waits for one division, not for the first's. */
  eliminateTwo(): readonly [Eliminated, Eliminated] {
    const {w, before, after, pivot: known, reciprocal: inverse} = this;
    const [row, next] = [this.entries(), this.entries(1)];
    const d = this.keepPair('f64x2.sub', w.product('f64x2', row.diagonal, known), w.product('f64x2', before, after));
    const taken = w.op('f64x2.div', w.product('f64x2', row.back, row.onwards, known), d);
    const second = this.keepPair('f64x2.sub', next.diagonal, taken);
    return [
      {row, pivot: this.keepPair('f64x2.mul', d, inverse), reciprocal: this.keepPair('f64x2.div', known, d)},
      {row: next, pivot: second, reciprocal: this.keepPair('f64x2.div', 1, second)},
    ];
  }

  /** Judges a multiplier, and a pivot by the row it is made from. */
  look(multiplier: Local, pivot: Local, before: Local, diagonal: Local, after: Local): void {
    const {w, large, small, most, least} = this;
    const size = (x: Local): Push => w.op('f64x2.abs', x);
    const and = (finding: Local, condition: Push): void => w.set(finding, w.op('v128.and', finding, condition));
    const sizes = w.op('f64x2.add', w.op('f64x2.add', size(before), size(diagonal)), size(after));
    const pivotSize = w.keep('v128', size(pivot));
    and(large, w.op('f64x2.gt', pivotSize, w.op('f64x2.mul', this.leastShare, sizes)));
    and(small, w.op('f64x2.le', size(multiplier), LARGEST_MULTIPLIER));
    w.set(most, w.op('f64x2.pmax', most, pivotSize));
    w.set(least, w.op('f64x2.pmin', least, pivot));
  }

  /** Two rows on. */
  move(): void {
    const {w, top, bottom} = this;
    w.move(top, 2 * rowBytes);
    w.set(bottom, w.op('i32.sub', bottom, 2 * rowBytes));
    this.rows.move(2);
  }

  /** Rows two by two as long as both ends have them, then the one that is left. */
  run(n: Local, two: () => void, one: () => void): {readonly middle: Local} {
    const {
      w,
      rows: {top},
    } = this;
    const middle = w.keep('i32', w.op('i32.shr_u', n, 1));
    const last = w.keep('i32', w.op('i32.shl', w.op('i32.sub', w.op('i32.sub', n, 2), middle), 3));
    w.while(w.op('i32.lt_s', top, last), two);
    w.if(w.op('i32.eq', top, last), one);
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
    const fold = (lanes: Operand): Local =>
      w.keep('i32', w.op('i32.eqz', w.op('v128.any_true', w.op('v128.not', lanes))));
    const finite = w.op('f64x2.lt', most, Infinity);
    this.findings = {
      sound: fold(w.op('v128.and', large, finite)),
      small: fold(small),
      positive: fold(w.op('f64x2.gt', least, 0)),
    };
  }

  private diagonalAt(row: Local): Push {
    const {w} = this;
    return w.plus(this.values, w.op('i32.mul', row, rowBytes));
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
    w.set(finding, w.op('i32.and', finding, condition));
  }

  multiplier(multiplier: Local): void {
    const {w} = this;
    this.and(this.findings.small, w.op('f64.le', w.op('f64.abs', multiplier), LARGEST_MULTIPLIER));
  }

  pivot(pivot: Local, before: Local, diagonal: Local, after: Local): void {
    const {w} = this;
    const size = (a: Local): Push => w.op('f64.abs', a);
    const least = w.op(
      'f64.mul',
      this.leastShare,
      w.op('f64.add', w.op('f64.add', size(before), size(diagonal)), size(after)),
    );
    this.and(
      this.findings.sound,
      w.op('i32.and', w.op('f64.gt', size(pivot), least), w.op('f64.lt', size(pivot), Infinity)),
    );
    this.and(this.findings.positive, w.op('f64.gt', pivot, 0));
  }

  /** Pushes what was found, as bits. */
  bits(): void {
    const {
      w,
      findings: {sound, small, positive},
    } = this;
    const bit = (finding: Local, value: number): Push => w.choose(finding, w.int(value), w.int(0));
    w.op(
      'i32.or',
      w.op('i32.or', bit(sound, tridiagonalSound), bit(small, tridiagonalSmallMultipliers)),
      bit(positive, tridiagonalPositive),
    )();
  }
}
