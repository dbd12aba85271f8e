/**
 * Applies a program to many values at once: some inputs gain a leading axis, and so does every node that depends on
 * them; other nodes are computed once. A coloured Jacobian is a tangent batched over its seeds; sensitivities are a
 * tangent batched over parameters.
 */
import {broadcastTo, input} from './build.js';
import {dependents} from './differentiate.js';
import type {Node} from './node.js';
import {isOp, topological} from './node.js';
import {declarationOf} from './declarations.js';
import {primitiveOf} from './primitives/index.js';

/** The outputs with a leading axis of the given size, where `replacements` take the place of their keys. */
export function batch(outputs: readonly Node[], replacements: ReadonlyMap<Node, Node>, size: number): Node[] {
  const results = new Map<Node, Node>(replacements);
  const carries = new Set<Node>(replacements.keys());
  // A declared derivative has a cotangent for each of many values.
  for (const node of dependents(outputs, replacements.keys())) {
    if (!isOp(node, 'declared')) continue;
    const {cotangent} = declarationOf(node);
    if (!results.has(cotangent)) results.set(cotangent, input('cotangent', [size, ...cotangent.shape]));
    carries.add(cotangent);
  }
  for (const node of topological(outputs)) {
    if (results.has(node)) continue;
    const batched = node.operands.map(operand => carries.has(operand));
    if (!batched.includes(true)) {
      results.set(node, node);
      continue;
    }
    const rule = primitiveOf(node).batch;
    if (rule === undefined) throw new Error(`${node.op} cannot carry a batch axis`);
    results.set(
      node,
      rule(
        node,
        node.operands.map(operand => results.get(operand) ?? operand),
        batched,
        size,
      ),
    );
    carries.add(node);
  }
  return outputs.map(output => {
    const result = results.get(output) ?? output;
    return carries.has(output) ? result : broadcastTo(result, [size, ...output.shape]);
  });
}
