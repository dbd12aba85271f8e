/**
 * Scales of rows and columns that bring the largest entry of each near 1, as powers of two, so that a scaled matrix
 * and its solutions have the same digits. Rows first, then the columns of what that gives. Only exponents matter for
 * this, so only they are read, as integers: comparing doubles took a tenth of a mesh's factorization.
 */
import type {Pattern} from './solver.js';

/** Exponents as they are stored: 1023 of numbers in [1, 2), 0 of zero, 2047 of what is not finite. */
const ONE = 1023;
const NOT_FINITE = 2047;

/** The exponent of a column without numbers: below any that a row's scale gives. */
const NONE = -4096;

const one = Float64Array.of(1);
const oneWords = new Int32Array(one.buffer);
/** Which of the two words of a double has the exponent: the order of bytes is the machine's. */
const high = oneWords[1] !== 0 ? 1 : 0;

/** 2^shift of a shift in [−1022, 1023], without Math.pow, which takes as long as fifty entries. */
function power(shift: number): number {
  oneWords[high] = (ONE + shift) << 20;
  return one[0];
}

/** For the matrices of one pattern. */
export class Equilibration {
  private readonly columnExponents: Int32Array;
  /** The words of the array that was read last: mostly it comes again, with other numbers. */
  private values: Float64Array = new Float64Array(0);
  private words: Int32Array = new Int32Array(0);

  constructor(private readonly pattern: Pattern) {
    this.columnExponents = new Int32Array(pattern.n);
  }

  /**
   * R A C has largest entries in [1, 2) in all columns and below 2 in all rows, but where a scale would leave the range
   * of doubles. False where something is not finite. Multiply R C first: R A alone may leave that range.
   */
  scale(values: Float64Array, rowScale: Float64Array, columnScale: Float64Array): boolean {
    const {columnExponents} = this;
    const {n, rowPointers, columns} = this.pattern;
    const words = this.wordsOf(values);
    let largestOfAll = 0;
    columnExponents.fill(NONE);
    for (let i = 0; i < n; i++) {
      const end = rowPointers[i + 1];
      let largest = 0;
      for (let p = rowPointers[i]; p < end; p++) largest = Math.max(largest, exponent(words[2 * p + high]));
      largestOfAll = Math.max(largestOfAll, largest);
      const shift = largest === 0 ? 0 : Math.max(ONE - largest, 1 - ONE);
      rowScale[i] = power(shift);
      for (let p = rowPointers[i]; p < end; p++) {
        const j = columns[p];
        const own = exponent(words[2 * p + high]);
        // The exponent of a zero is no number's.
        if (own !== 0) columnExponents[j] = Math.max(columnExponents[j], own + shift);
      }
    }
    for (let j = 0; j < n; j++)
      columnScale[j] = columnExponents[j] === NONE ? 1 : power(Math.min(ONE - columnExponents[j], ONE));
    return largestOfAll < NOT_FINITE;
  }

  private wordsOf(values: Float64Array): Int32Array {
    if (this.values !== values) {
      this.values = values;
      this.words = new Int32Array(values.buffer, values.byteOffset, 2 * values.length);
    }
    return this.words;
  }
}

const exponent = (word: number): number => (word >>> 20) & 0x7ff;
