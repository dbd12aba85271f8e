/**
 * The order in which sums are taken, fixed by shapes alone so that every engine finds the same bits.
 * A group of elements whose rows lie together in memory is summed in parts that vector instructions
 * can hold: the even and the odd places of each row apart, of long rows every fourth pair apart too;
 * what is left of a row of odd length is summed for itself, and the parts are joined at the end.
 * Short rows, and elements that lie apart, are added one after another.
 */
import type {Shape} from '../node.js';
import {sizeOf} from '../node.js';

/** Rows shorter than this are added one after another: in parts the joining would take as long. */
export const shortestRow = 8;
/** Pairs that rows are summed in: an addition takes four cycles, and each waits for the one before. */
export const chains = 4;
/** Rows have to be so long for four pairs to pay. */
export const shortestChains = 32;

/** How many elements of each group lie together: the product of the reduced axes at the end, else 1. */
export function rowLength(shape: Shape, reduced: readonly number[]): number {
  let first = shape.length;
  while (first > 0 && (shape[first - 1] === 1 || reduced.includes(first - 1))) first--;
  return sizeOf(shape.slice(first));
}

/** The walk of a reduction: where each group starts, and the offsets of its members. */
export interface Groups {
  readonly starts: Int32Array;
  readonly offsets: Int32Array;
}

/** Sums each group of x whose rows have so many elements. */
export function sums(groups: Groups, row: number): (x: Float64Array, out: Float64Array) => void {
  const by = row < shortestRow ? oneByOne : row < shortestChains ? inPairs : inChains;
  return (x, out) => by(groups, row, x, out);
}

function oneByOne({starts, offsets}: Groups, _row: number, x: Float64Array, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) {
    let total = 0;
    for (let k = 0; k < offsets.length; k++) total += x[starts[i] + offsets[k]];
    out[i] = total;
  }
}

function inPairs({starts, offsets}: Groups, row: number, x: Float64Array, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) {
    let single = 0;
    let even = 0;
    let odd = 0;
    for (let k = 0; k < offsets.length; k += row) {
      let at = starts[i] + offsets[k];
      const end = at + row;
      for (; at + 1 < end; at += 2) {
        even += x[at];
        odd += x[at + 1];
      }
      if (at < end) single += x[at];
    }
    out[i] = single + (even + odd);
  }
}

/** Pairs beyond a multiple of four go to the first. */
function inChains({starts, offsets}: Groups, row: number, x: Float64Array, out: Float64Array): void {
  for (let i = 0; i < out.length; i++) {
    let single = 0;
    let even0 = 0;
    let even1 = 0;
    let even2 = 0;
    let even3 = 0;
    let odd0 = 0;
    let odd1 = 0;
    let odd2 = 0;
    let odd3 = 0;
    for (let k = 0; k < offsets.length; k += row) {
      let at = starts[i] + offsets[k];
      const end = at + row;
      for (; at + 2 * chains <= end; at += 2 * chains) {
        even0 += x[at];
        odd0 += x[at + 1];
        even1 += x[at + 2];
        odd1 += x[at + 3];
        even2 += x[at + 4];
        odd2 += x[at + 5];
        even3 += x[at + 6];
        odd3 += x[at + 7];
      }
      for (; at + 1 < end; at += 2) {
        even0 += x[at];
        odd0 += x[at + 1];
      }
      if (at < end) single += x[at];
    }
    out[i] = single + (even0 + even1 + even2 + even3 + (odd0 + odd1 + odd2 + odd3));
  }
}
