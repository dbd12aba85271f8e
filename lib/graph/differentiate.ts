/**
 * Derivatives of programs are programs. `pushforward` builds tangents node by node; the tangent is
 * linear in its seeds, and `transposeLinear` runs that linear part backwards: reverse mode is
 * "linearize, then transpose" (Radul et al. 2023, "You only linearize once"). What depends on the
 * point alone is shared by every seed and computed once. Both apply to their own results, so any
 * order and mixture of derivatives is available.
 */
import {addAll, input, uniformValue, zeros} from './build.js';
import {declarationOf, isLinearIn} from './declarations.js';
import type {Masked} from './masks.js';
import {either, guarded, transposed} from './masks.js';
import type {Node} from './node.js';
import {isOp, topological} from './node.js';
import {primitiveOf} from './primitives/index.js';
import {replaceNodes} from './replace-nodes.js';

/** Tangents of the outputs along the tangents given for some nodes; undefined stands for zero, in the seeds too. */
export function pushforward(
  outputs: readonly Node[],
  seeds: ReadonlyMap<Node, Node | undefined>,
): (Node | undefined)[] {
  const tangents = linearized(outputs, seeds);
  const given = new Set([...seeds.values()].filter(seed => seed !== undefined));
  const order = topological(tangents.filter(tangent => tangent !== undefined));
  if (!order.some(node => makesZeros.has(node.op) || node.dtype === 'bool' || isOp(node, 'constant'))) return tangents;
  if ([...given].every(seed => seed.op === 'input') && !topological(outputs).some(node => given.has(node))) {
    return guarded(
      tangents,
      dependents(
        tangents.filter(tangent => tangent !== undefined),
        given,
      ),
      order,
      given,
    );
  }
  // A seed may be a value of the program too; new inputs take the place of seeds, so that only the tangent depends on
  // them.
  const own = new Map(
    [...seeds].map(([node, seed]) => [node, seed === undefined ? undefined : input('tangent', seed.shape)]),
  );
  const back = new Map<Node, Node>(
    [...own].flatMap(([node, stand]) => (stand === undefined ? [] : [[stand, seeds.get(node) as Node] as const])),
  );
  const raw = linearized(outputs, own);
  const present = raw.filter(tangent => tangent !== undefined);
  const safe = guarded(raw, dependents(present, back.keys()), topological(present), new Set<Node>(back.keys()));
  if (safe.every((tangent, i) => tangent === raw[i])) return tangents;
  const done = replaceNodes(
    safe.map((tangent, i) => orZeros(tangent, outputs[i])),
    back,
  );
  return safe.map((tangent, i) => (tangent === undefined ? undefined : done[i]));
}

/** Primitives whose results, or whose transposes', have zeros by construction. */
const makesZeros: ReadonlySet<Node['op']> = new Set<Node['op']>(['select', 'place', 'gather', 'concat']);

function linearized(outputs: readonly Node[], seeds: ReadonlyMap<Node, Node | undefined>): (Node | undefined)[] {
  const tangents = new Map<Node, Node | undefined>(seeds);
  for (const node of topological(outputs)) {
    if (tangents.has(node)) continue;
    const incoming = node.operands.map(operand => tangents.get(operand));
    tangents.set(
      node,
      incoming.every(tangent => tangent === undefined)
        ? undefined
        : expanded(primitiveOf(node).tangent(node, incoming)),
    );
  }
  return outputs.map(output => tangents.get(output));
}

/** Expands a declared derivative that is linear to its transpose, to which every rule for tangents applies. */
function expanded(tangent: Node | undefined): Node | undefined {
  if (tangent === undefined || !isOp(tangent, 'declared') || tangent.attributes.as === 'value') return tangent;
  const {args, cotangent, gradients} = declarationOf(tangent);
  if (!isLinearIn(gradients, cotangent, dependents(gradients, [cotangent]))) return tangent;
  return transposeLinear(
    gradients,
    [cotangent],
    args.map(arg => (uniformValue(arg) === 0 ? undefined : arg)),
  )[0];
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
  outputs: readonly (Node | undefined)[],
  inputs: readonly Node[],
  cotangents: readonly (Node | undefined)[],
): (Node | undefined)[] {
  const present = outputs.filter(output => output !== undefined);
  const linear = dependents(present, inputs);
  const gathered = new Map<Node, Masked[]>();
  const give = (node: Node, cotangent: Masked): void => {
    const list = gathered.get(node);
    if (list === undefined) gathered.set(node, [cotangent]);
    else list.push(cotangent);
  };
  outputs.forEach((output, i) => {
    const value = cotangents[i];
    if (output !== undefined && value !== undefined && linear.has(output)) give(output, {value, mask: undefined});
  });
  const stop = new Set(inputs);
  for (const node of topological(present).reverse()) {
    if (!linear.has(node) || stop.has(node)) continue;
    const parts = gathered.get(node) ?? [];
    const value = addAll(parts.map(part => part.value));
    if (value === undefined) continue;
    const marks = node.operands.map(operand => linear.has(operand));
    transposed(node, {value, mask: either(parts.map(part => part.mask))}, marks).forEach((part, k) => {
      if (marks[k] && part !== undefined) give(node.operands[k], part);
    });
  }
  return inputs.map(node => addAll((gathered.get(node) ?? []).map(part => part.value)));
}

/** Cotangents of `wrt` for cotangents of the outputs: a vector–Jacobian product. */
export function pullback(
  outputs: readonly Node[],
  wrt: readonly Node[],
  cotangents: readonly (Node | undefined)[],
): (Node | undefined)[] {
  const seeds = wrt.map((node, i) => input(`tangent.${i}`, node.shape));
  const tangents = linearized(outputs, new Map(wrt.map((node, i) => [node, seeds[i]])));
  return transposeLinear(tangents, seeds, cotangents);
}

/** The derivative as a node: zeros for undefined. */
export function orZeros(derivative: Node | undefined, like: Node): Node {
  return derivative ?? zeros(like.shape);
}
