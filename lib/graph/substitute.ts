/**
 * Programs with some of their nodes replaced; separate from simplify.ts, because rules of primitives replace nodes too.
 */
import {rebuild} from './build.js';
import type {Node} from './node.js';
import {topological} from './node.js';

/** Replaces nodes by others of the same shape throughout. */
export function substitute(outputs: readonly Node[], replacements: ReadonlyMap<Node, Node>): Node[] {
  const results = new Map<Node, Node>(replacements);
  for (const node of topological(outputs)) {
    if (results.has(node)) continue;
    const operands = node.operands.map(operand => results.get(operand) ?? operand);
    results.set(node, operands.some((operand, i) => operand !== node.operands[i]) ? rebuild(node, operands) : node);
  }
  return outputs.map(output => results.get(output) ?? output);
}
