/** Where values fall among sorted ones: whole numbers, so without a derivative. */
import {broadcastTo, reshape, searchSorted, transpose} from '../build.js';
import type {Node} from '../node.js';
import type {Primitive} from './primitive.js';

/** How many of sorted[from .. to) are < value (left) or ≤ value (right), by bisection. */
function countBelow(sorted: Float64Array, from: number, to: number, value: number, orEqual: boolean): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (orEqual ? sorted[middle] <= value : sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low - from;
}

export const searchSortedPrimitive: Primitive<'searchSorted'> = {
  evaluate(node) {
    const [rowCount, n] = node.operands[0].shape;
    const m = node.shape[1];
    const orEqual = node.attributes.side === 'right';
    return ([sorted, values], out) => {
      for (let row = 0; row < rowCount; row++) {
        for (let j = 0; j < m; j++)
          out[row * m + j] = countBelow(sorted, row * n, (row + 1) * n, values[row * m + j], orEqual);
      }
    };
  },
  tangent: () => undefined,
  dependence: () => 'none',
  /** One table for all copies: their values stand side by side in its rows. Tables of their own become rows. */
  batch(node, [sorted, values], batched, size) {
    const {side} = node.attributes;
    const [rowCount, m] = node.shape;
    if (!batched[0]) {
      const beside = reshape(transpose(values, [1, 0, 2]), [rowCount, size * m]);
      return transpose(reshape(searchSorted(sorted, beside, side), [rowCount, size, m]), [1, 0, 2]);
    }
    const copies = batched[1] ? values : broadcastTo(values, [size, ...values.shape]);
    const asRows = (x: Node): Node => reshape(x, [size * rowCount, x.shape[2]]);
    return reshape(searchSorted(asRows(sorted), asRows(copies), side), [size, rowCount, m]);
  },
};
