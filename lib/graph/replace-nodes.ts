/**
 * Programs with some of their nodes replaced; separate from simplify.ts, because rules of primitives replace nodes too.
 */
import {otherOperands, rebuild} from './build.js';
import type {Node} from './node.js';
import {topological} from './node.js';

/** Replaces nodes by others of the same shape throughout. Linear in the nodes. */
export function replaceNodes(outputs: readonly Node[], replacements: ReadonlyMap<Node, Node>): Node[] {
  const results = new Map<Node, Node>(replacements);
  for (const node of topological(outputs)) {
    if (results.has(node)) continue;
    const others = otherOperands(node, operand => results.get(operand) ?? operand);
    // An unchanged node needs no entry.
    if (others !== undefined) results.set(node, rebuild(node, others));
  }
  return outputs.map(output => results.get(output) ?? output);
}
