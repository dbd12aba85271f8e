/** Where values fall among sorted ones: whole numbers, so without a derivative. */
import {broadcastTo, reshape, searchSorted} from '../build.js';
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
        for (let j = 0; j < m; j++) out[row * m + j] = countBelow(sorted, row * n, (row + 1) * n, values[row * m + j], orEqual);
      }
    };
  },
  tangent: () => undefined,
  dependence: () => 'none',
  batch(node, operands, batched, size) {
    const [sorted, values] = operands.map((x: Node, k) => {
      const shape = batched[k] ? x.shape.slice(1) : x.shape;
      return reshape(batched[k] ? x : broadcastTo(x, [size, ...shape]), [size * shape[0], shape[1]]);
    });
    return reshape(searchSorted(sorted, values, node.attributes.side), [size, ...node.shape]);
  },
};
