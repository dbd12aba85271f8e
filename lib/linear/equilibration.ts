/**
 * Scales of rows and columns that bring the largest entry of each near 1, as powers of two, so that a scaled matrix
 * and its solutions have the same digits. Rows first, then the columns of what that gives.
 */
import type {Pattern} from './solver.js';

/** R A C has largest entries in [1, 2) in all columns and at most 2 in all rows; false where something is not finite. */
export function equilibrate({n, rowPointers, columns}: Pattern, values: Float64Array, rowScale: Float64Array, columnScale: Float64Array): boolean {
  let sum = 0;
  columnScale.fill(0);
  for (let i = 0; i < n; i++) {
    let largest = 0;
    const end = rowPointers[i + 1];
    // Math.max keeps a NaN, and does without the branches that no processor foresees.
    for (let p = rowPointers[i]; p < end; p++) largest = Math.max(largest, Math.abs(values[p]));
    sum += largest * 0;
    const scale = reciprocalPower(largest);
    rowScale[i] = scale;
    for (let p = rowPointers[i]; p < end; p++) columnScale[columns[p]] = Math.max(columnScale[columns[p]], Math.abs(values[p]) * scale);
  }
  for (let j = 0; j < n; j++) columnScale[j] = reciprocalPower(columnScale[j]);
  return sum === 0;
}

const number = new Float64Array(1);
const words = new Int32Array(number.buffer);
/** Which of the two words has the exponent: the order of bytes is the machine's. */
const high = ((): number => {
  number[0] = 1;
  return words[1] !== 0 ? 1 : 0;
})();

/** 2^−e of a number in [2^e, 2^(e + 1)); 1 of zero. The ends of the range of doubles stay within it. */
function reciprocalPower(size: number): number {
  if (size === 0) return 1;
  number[0] = size;
  const exponent = (words[high] >>> 20) & 0x7ff;
  number[0] = 1;
  words[high] = Math.min(Math.max(2046 - exponent, 1), 2046) << 20;
  return number[0];
}
