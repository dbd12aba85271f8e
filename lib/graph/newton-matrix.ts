/**
 * A value whose derivative in Newton's matrix is another than its own. The trace holds both, told apart
 * by one input that nothing but this file knows; when a step is made, every use is settled. The residual,
 * the adjoint and all tangents take the value itself, Newton's matrix its model. An element energy with
 * projected blocks is such a value.
 */
import {input, scalar, select} from './build.js';
import {pushforward} from './differentiate.js';
import type {Node} from './node.js';
import {topological} from './node.js';
import {substitute} from './simplify.js';

/** 1 in Newton's matrix, 0 elsewhere. A buffer of zeros where it was left standing, so that the value itself holds. */
const inMatrix = input('inNewtonMatrix', [], 'bool');

/** `exact`, of which Newton's matrix sees the derivative of `model`. The model's own value is nowhere used. */
export function modelled(exact: Node, model: Node): Node {
  return select(inMatrix, model, exact);
}

export function settled(outputs: readonly Node[], as: 'exact' | 'model'): Node[] {
  return substitute(outputs, new Map([[inMatrix, scalar(as === 'model' ? 1 : 0, 'bool')]]));
}

export function isModelled(output: Node): boolean {
  return topological([output]).includes(inMatrix);
}

/** The tangent of a model: blocks that were projected count as constant in it. */
export function matrixTangent(output: Node, wrt: Node, direction: Node): Node | undefined {
  const seeds = new Map<Node, Node | undefined>([[wrt, direction]]);
  for (const node of topological([output])) if (node.op === 'semidefinite') seeds.set(node, undefined);
  return pushforward([output], seeds)[0];
}
