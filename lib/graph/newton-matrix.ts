/**
 * A value whose derivative is told apart from it: assembled from blocks, as elements have them, and in
 * Newton's matrix perhaps from other blocks than the Hessian's own. The trace holds all forms, chosen by
 * inputs that nothing but this file knows; when a step is made, every use is settled. Residual, adjoint
 * and tangents take the value itself, the Jacobian the same derivative by blocks, Newton's matrix its model.
 */
import {input, scalar, select} from './build.js';
import {pushforward} from './differentiate.js';
import type {Node} from './node.js';
import {isOp, topological} from './node.js';
import {substitute} from './simplify.js';

/** 1 where that form is asked for, else 0. Buffers of zeros where they were left standing, so that the value itself holds. */
const inJacobian = input('inJacobian', [], 'bool');
const inMatrix = input('inNewtonMatrix', [], 'bool');

export type Form = 'value' | 'jacobian' | 'matrix';

/** `value`, whose Jacobian is that of `blocks`, and in Newton's matrix that of `model`. The values of these two are nowhere used. */
export function modelled(value: Node, blocks: Node, model: Node = blocks): Node {
  const derivative = model === blocks ? blocks : select(inMatrix, model, blocks);
  return select(inJacobian, derivative, value);
}

export function settled(outputs: readonly Node[], form: Form): Node[] {
  const bit = (on: boolean): Node => scalar(on ? 1 : 0, 'bool');
  return substitute(
    outputs,
    new Map([
      [inJacobian, bit(form !== 'value')],
      [inMatrix, bit(form === 'matrix')],
    ]),
  );
}

/** The forms of an output that differ from those before them. */
export function formsOf(output: Node): Form[] {
  const nodes = new Set(topological([output]));
  return [
    'value',
    ...(nodes.has(inJacobian) ? ['jacobian' as const] : []),
    ...(nodes.has(inMatrix) ? ['matrix' as const] : []),
  ];
}

/** The tangent of a residual in any form: blocks count as constant in it. */
export function blockTangent(output: Node, wrt: Node, direction: Node): Node | undefined {
  const seeds = new Map<Node, Node | undefined>([[wrt, direction]]);
  const kept = new Map<Node, Node>();
  for (const node of topological([output])) {
    if (!isOp(node, 'semidefinite')) continue;
    seeds.set(node, undefined);
    if (node.attributes.negative === 'kept') kept.set(node, node.operands[0]);
  }
  const [tangent] = pushforward([output], seeds);
  return tangent === undefined || kept.size === 0 ? tangent : substitute([tangent], kept)[0];
}
