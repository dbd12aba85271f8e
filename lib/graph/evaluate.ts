/** Values of a graph in JavaScript, where it is evaluated a few times, and compiling it would take longer. */
import type {Node} from './node.js';
import {isOp, topological} from './node.js';
import {primitiveOf} from './primitives/index.js';

/**
 * A function that evaluates nodes.
 * @param inputs nodes in the place of which values are given, in their order
 * @returns the nodes' values; overwritten by the next call
 */
export function evaluator(
  outputs: readonly Node[],
  inputs: readonly Node[],
): (given: readonly Float64Array[]) => readonly Float64Array[] {
  const order = topological(outputs);
  const values: Float64Array[] = order.map(node =>
    isOp(node, 'constant') ? node.attributes.values : new Float64Array(0),
  );
  const given = new Set(inputs);
  const numbers = new Map(order.map((node, i) => [node, i]));
  const places = inputs.map(node => numbers.get(node));
  const results = outputs.map(node => numbers.get(node) as number);
  const steps: (() => void)[] = [];
  order.forEach((node, i) => {
    if (isOp(node, 'constant') || given.has(node)) return;
    const operands = node.operands.map(operand => numbers.get(operand) as number);
    const own = (values[i] = new Float64Array(node.size));
    const read: Float64Array[] = operands.map(() => own);
    const kernel = primitiveOf(node).evaluate(node);
    steps.push(() => {
      for (let k = 0; k < operands.length; k++) read[k] = values[operands[k]];
      kernel(read, own);
    });
  });
  return numbersGiven => {
    places.forEach((place, k) => {
      if (place !== undefined) values[place] = numbersGiven[k];
    });
    for (const step of steps) step();
    return results.map(i => values[i]);
  };
}
