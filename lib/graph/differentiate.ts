/**
 * Derivatives of programs are programs. `pushforward` builds tangents node by node; the tangent is
 * linear in its seeds, and `transposeLinear` runs that linear part backwards: reverse mode is
 * "linearize, then transpose" (Radul et al. 2023, "You only linearize once"). What depends on the
 * point alone is shared by every seed and computed once. Both apply to their own results, so any
 * order and mixture of derivatives is available.
 */
import {addAll, input, zeros} from './build.js';
import type {Node} from './node.js';
import {topological} from './node.js';
import {primitiveOf} from './primitives/index.js';

/** Tangents of the outputs along the tangents given for some nodes; undefined stands for zero, in the seeds too. */
export function pushforward(outputs: readonly Node[], seeds: ReadonlyMap<Node, Node | undefined>): (Node | undefined)[] {
  const tangents = new Map<Node, Node | undefined>(seeds);
  for (const node of topological(outputs)) {
    if (tangents.has(node)) continue;
    const incoming = node.operands.map(operand => tangents.get(operand));
    tangents.set(node, incoming.every(tangent => tangent === undefined) ? undefined : primitiveOf(node).tangent(node, incoming));
  }
  return outputs.map(output => tangents.get(output));
}

/** Nodes that depend on any of the given ones, among those the outputs need. */
export function dependents(outputs: readonly Node[], on: Iterable<Node>): Set<Node> {
  const marked = new Set<Node>(on);
  for (const node of topological(outputs)) {
    if (!marked.has(node) && node.operands.some(operand => marked.has(operand))) marked.add(node);
  }
  return marked;
}

/**
 * The transpose of a linear map: `outputs` are linear in `inputs`; given a cotangent for each
 * output, the cotangent of each input. undefined stands for zero on both sides.
 */
export function transposeLinear(
  outputs: readonly (Node | undefined)[], inputs: readonly Node[], cotangents: readonly (Node | undefined)[],
): (Node | undefined)[] {
  const present = outputs.filter(output => output !== undefined);
  const linear = dependents(present, inputs);
  const gathered = new Map<Node, (Node | undefined)[]>();
  const give = (node: Node, cotangent: Node | undefined): void => {
    if (cotangent === undefined) return;
    const list = gathered.get(node);
    if (list === undefined) gathered.set(node, [cotangent]);
    else list.push(cotangent);
  };
  outputs.forEach((output, i) => {
    if (output !== undefined && linear.has(output)) give(output, cotangents[i]);
  });
  const stop = new Set(inputs);
  for (const node of topological(present).reverse()) {
    if (!linear.has(node) || stop.has(node)) continue;
    const cotangent = addAll(gathered.get(node) ?? []);
    if (cotangent === undefined) continue;
    const marks = node.operands.map(operand => linear.has(operand));
    const rule = primitiveOf(node).transpose;
    if (rule === undefined) throw new Error(`${node.op} stands in a linear map but has no transpose`);
    rule(node, cotangent, marks).forEach((part, k) => {
      if (marks[k]) give(node.operands[k], part);
    });
  }
  return inputs.map(node => addAll(gathered.get(node) ?? []));
}

/** Cotangents of `wrt` for cotangents of the outputs: a vector–Jacobian product. */
export function pullback(
  outputs: readonly Node[], wrt: readonly Node[], cotangents: readonly (Node | undefined)[],
): (Node | undefined)[] {
  const seeds = wrt.map((node, i) => input(`tangent.${i}`, node.shape));
  const tangents = pushforward(outputs, new Map(wrt.map((node, i) => [node, seeds[i]])));
  return transposeLinear(tangents, seeds, cotangents);
}

/** As a value: zero where the derivative is. */
export function orZeros(derivative: Node | undefined, like: Node): Node {
  return derivative ?? zeros(like.shape);
}
