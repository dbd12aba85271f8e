/** How often the interpreter computes what a test asks about. */
import type {Node, Op} from '../../lib/graph/node.js';
import {primitives} from '../../lib/graph/primitives/index.js';

/**
 * Counts the evaluations of a primitive's nodes that `counts` picks, of programs compiled while `run` runs, which may ask for
 * the count so far; returns it.
 */
export function counted<O extends Op>(
  op: O,
  counts: (node: Node<O>) => boolean,
  run: (soFar: () => number) => void,
): number {
  const primitive = primitives[op] as {evaluate: (typeof primitives)[O]['evaluate']};
  const own = primitive.evaluate;
  let count = 0;
  primitive.evaluate = node => {
    const kernel = own(node);
    return (operands, out) => {
      if (counts(node)) count++;
      kernel(operands, out);
    };
  };
  try {
    run(() => count);
  } finally {
    primitive.evaluate = own;
  }
  return count;
}
