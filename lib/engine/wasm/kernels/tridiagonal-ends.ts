/** What eliminations of a tridiagonal matrix from both ends share: the ends are the two lanes of a vector, the top in the first. */
import type {Local} from '../../../wasm/assembler.js';
import type {Instruction} from '../../../wasm/instructions.js';
import type {Push, Writer} from '../../../wasm/writer.js';
import {SUSPICIOUS_PIVOT} from '../../../linear/singularity.js';
import {LARGEST_MULTIPLIER} from '../../../linear/tridiagonal.js';

/** Bits of what an elimination returns. */
export const tridiagonalSound = 1;
export const tridiagonalSmallMultipliers = 2;
export const tridiagonalPositive = 4;

/** Bytes from one row's diagonal entry to the next row's: the 3n − 2 values lie row by row, b₀ c₀, a₁ b₁ c₁, …, a b. */
export const rowBytes = 24;

type Values = readonly (Local | Push)[];

/** The rows of a top and a bottom end that move towards each other. */
export class Ends {
  /** Addresses of the diagonal entries of the present rows, and bytes from an array's begin to their places in it. */
  readonly top: Local;
  readonly bottom: Local;
  readonly i: Local;
  readonly j: Local;
  /** Of the rows before: pivots and their reciprocals. */
  readonly pivot: Local;
  readonly reciprocal: Local;
  /** All true as long as every pivot is sound, every multiplier small, every pivot positive. */
  readonly findings: {readonly sound: Local; readonly small: Local; readonly positive: Local};

  constructor(readonly w: Writer, values: Local, n: Local) {
    const last = w.keep('i32', w.op('i32.sub', w.get(n), w.int(1)));
    this.top = w.keep('i32', w.get(values));
    this.bottom = w.keep('i32', w.plus(w.get(values), w.op('i32.mul', w.get(last), w.int(rowBytes))));
    this.i = w.keep('i32', w.int(0));
    this.j = w.keep('i32', w.op('i32.shl', w.get(last), w.int(3)));
    w.body.release(last);
    this.pivot = w.keep('v128', w.pair(1));
    this.reciprocal = w.keep('v128', w.pair(1));
    const all = (): Local => w.keep('v128', w.op('f64x2.eq', w.pair(0), w.pair(0)));
    this.findings = {sound: all(), small: all(), positive: all()};
  }

  pair(instruction: Instruction, ...operands: Values): Push {
    const {w} = this;
    return w.op(instruction, ...operands.map(operand => (typeof operand === 'function' ? operand : w.get(operand))));
  }

  keepPair(instruction: Instruction, ...operands: Values): Local {
    return this.w.keep('v128', this.pair(instruction, ...operands));
  }

  /** Entries of the rows so many on, so many places from the diagonal towards the middle. */
  entries(row: number, places: number): Push {
    const {w, top, bottom} = this;
    const by = rowBytes * row + 8 * places;
    return this.both(w.plus(w.get(top), w.int(by)), w.op('i32.sub', w.get(bottom), w.int(by)));
  }

  /** Elements of an array for the rows so many on. */
  elements(row: number, array: Local): Push {
    return this.both(this.placeOf(array, row, 0), this.placeOf(array, row, 1));
  }

  private both(top: Push, bottom: Push): Push {
    const {body} = this.w;
    return () => {
      bottom();
      top();
      body.memory('v128.load64_zero', 0);
      body.laneMemory('v128.load64_lane', 0, 1);
    };
  }

  private placeOf(array: Local, row: number, lane: 0 | 1): Push {
    const {w, i, j} = this;
    return w.plus(w.plus(w.get(array), w.get(lane === 0 ? i : j)), w.int(lane === 0 ? 8 * row : -8 * row));
  }

  /** Stores the top's value in one array, the bottom's in another or the same. */
  put(row: number, top: Local, bottom: Local, value: Local): void {
    const {w} = this;
    for (const lane of [0, 1] as const) {
      this.placeOf(lane === 0 ? top : bottom, row, lane)();
      w.get(value)();
      w.body.laneMemory('v128.store64_lane', 0, lane);
    }
  }

  /** Judges a multiplier, and a pivot by the row it is made from. */
  look(multiplier: Local, pivot: Local, before: Local, diagonal: Local, after: Local): void {
    const {w, findings: {sound, small, positive}} = this;
    const size = (x: Local): Push => this.pair('f64x2.abs', x);
    const and = (finding: Local, condition: Push): void => w.set(finding, this.pair('v128.and', finding, condition));
    const least = this.pair('f64x2.mul', w.pair(SUSPICIOUS_PIVOT), this.pair('f64x2.add', this.pair('f64x2.add', size(before), size(diagonal)), size(after)));
    and(sound, this.pair('v128.and', this.pair('f64x2.gt', size(pivot), least), this.pair('f64x2.lt', size(pivot), w.pair(Infinity))));
    and(small, this.pair('f64x2.le', size(multiplier), w.pair(LARGEST_MULTIPLIER)));
    and(positive, this.pair('f64x2.gt', pivot, w.pair(0)));
  }

  /** So many rows on. */
  move(rows: number): void {
    const {w, top, bottom, i, j} = this;
    w.set(top, w.plus(w.get(top), w.int(rowBytes * rows)));
    w.set(bottom, w.op('i32.sub', w.get(bottom), w.int(rowBytes * rows)));
    w.set(i, w.plus(w.get(i), w.int(8 * rows)));
    w.set(j, w.op('i32.sub', w.get(j), w.int(8 * rows)));
  }

  /** Rows two by two as long as both ends have them, then the one that is left. */
  run(n: Local, two: () => void, one: () => void): {readonly middle: Local} {
    const {w} = this;
    const middle = w.keep('i32', w.op('i32.shr_u', w.get(n), w.int(1)));
    const left = w.keep('i32', w.op('i32.sub', w.op('i32.sub', w.get(n), w.int(1)), w.get(middle)));
    w.while(w.op('i32.gt_s', w.get(left), w.int(1)), () => {
      two();
      w.set(left, w.op('i32.sub', w.get(left), w.int(2)));
    });
    w.if(w.op('i32.eq', w.get(left), w.int(1)), one);
    return {middle};
  }
}

/** The last rows, with one lane each: the top's where n is even, and the one in the middle. */
export class LastRows {
  private readonly findings: {readonly sound: Local; readonly small: Local; readonly positive: Local};

  constructor(private readonly w: Writer, private readonly values: Local, {findings: {sound, small, positive}}: Ends) {
    const fold = (local: Local): Local => w.keep('i32', w.op('i32.eqz', w.op('v128.any_true', w.op('v128.not', w.get(local)))));
    this.findings = {sound: fold(sound), small: fold(small), positive: fold(positive)};
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
    return w.keep('f64', w.choose(exists, w.load(w.plus(this.diagonalAt(row), w.choose(exists, w.int(bytes), w.int(0)))), w.number(0)));
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
    const least = w.op('f64.mul', w.number(SUSPICIOUS_PIVOT), w.op('f64.add', w.op('f64.add', size(before), size(diagonal)), size(after)));
    this.and(this.findings.sound, w.op('i32.and', w.op('f64.gt', size(pivot), least), w.op('f64.lt', size(pivot), w.number(Infinity))));
    this.and(this.findings.positive, w.op('f64.gt', w.get(pivot), w.number(0)));
  }

  /** Pushes what was found, as bits. */
  bits(): void {
    const {w, findings: {sound, small, positive}} = this;
    const bit = (finding: Local, value: number): Push => w.choose(w.get(finding), w.int(value), w.int(0));
    w.op('i32.or', w.op('i32.or', bit(sound, tridiagonalSound), bit(small, tridiagonalSmallMultipliers)), bit(positive, tridiagonalPositive))();
  }
}

/** x_i = v_i − f_i x_{i−1} from row to row, towards the middle or back; `value` and `factor` are given for the row `by` elements from the present one. */
export interface Chain {
  /** The x of the row before. */
  readonly carried: Local;
  readonly x: Local;
  /** The present row, and where the next one is. */
  readonly index: Local;
  readonly step: 1 | -1;
  value(by: number): Push;
  factor(by: number): Push;
}

const move = (w: Writer, {index, step}: Chain, rows: number): void => w.set(index, w.plus(w.get(index), w.int(step * rows)));
const place = (w: Writer, {x, index}: Chain): Push => w.element(w.get(x), w.get(index));

export function oneRow(w: Writer, chain: Chain): void {
  w.set(chain.carried, w.op('f64.sub', chain.value(0), w.op('f64.mul', chain.factor(0), w.get(chain.carried))));
  w.store(place(w, chain), w.get(chain.carried));
  move(w, chain, 1);
}

/** Two rows for one product and one sum on the chain (lib/linear/tridiagonal.ts). */
export function twoRows(w: Writer, chain: Chain): void {
  const {carried, step} = chain;
  const [b, b2, f, f2] = [chain.value(0), chain.value(step), chain.factor(0), chain.factor(step)].map(value => w.keep('f64', value));
  const product = (...factors: readonly Local[]): Push => factors.map(factor => w.get(factor)).reduce((a, factor) => w.op('f64.mul', a, factor));
  w.store(place(w, chain), w.op('f64.sub', w.get(b), product(f, carried)));
  w.set(carried, w.op('f64.add', w.op('f64.sub', w.get(b2), product(f2, b)), product(f2, f, carried)));
  w.store(w.plus(place(w, chain), w.int(8 * step)), w.get(carried));
  move(w, chain, 2);
  for (const local of [b, b2, f, f2]) w.body.release(local);
}

/** From the middle, whose x is in `up.carried`, to both ends; the rows above may be one more than those below. */
export function outwards(w: Writer, n: Local, middle: Local, up: Chain, down: Chain): void {
  w.set(down.carried, w.get(up.carried));
  w.set(up.index, w.op('i32.sub', w.get(middle), w.int(1)));
  w.set(down.index, w.plus(w.get(middle), w.int(1)));
  w.while(w.op('i32.lt_s', w.plus(w.get(down.index), w.int(1)), w.get(n)), () => [up, down].forEach(chain => twoRows(w, chain)));
  w.while(w.op('i32.ge_s', w.get(up.index), w.int(0)), () => oneRow(w, up));
  w.if(w.op('i32.lt_s', w.get(down.index), w.get(n)), () => oneRow(w, down));
}
