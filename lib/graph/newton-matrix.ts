/**
 * A value with two more forms that differ from it in their declared derivatives alone (primitives/declared.ts): one for
 * the Jacobian, assembled from blocks as elements have them, and one for Newton's matrix, perhaps with other blocks
 * than the Hessian's own. The trace holds all forms, chosen by inputs that nothing but this file knows; when a step is
 * made, every use is settled. Residual, adjoint and tangents take the value itself.
 */
import {input, scalar, select} from './build.js';
import type {Node} from './node.js';
import {topological} from './node.js';
import {replaceNodes} from './simplify.js';

/** 1 where that form is asked for, else 0. Inputs left standing are buffers of zeros: the value itself. */
const inJacobian = input('inJacobian', [], 'bool');
const inMatrix = input('inNewtonMatrix', [], 'bool');

export type Form = 'value' | 'jacobian' | 'matrix';

/** One value with three derivatives: its own, that of the Jacobian, and that of Newton's matrix. */
export function modelled(value: Node, blocks: Node, model: Node = blocks): Node {
  const derivative = model === blocks ? blocks : select(inMatrix, model, blocks);
  return select(inJacobian, derivative, value);
}

export function settled(outputs: readonly Node[], form: Form): Node[] {
  const bit = (on: boolean): Node => scalar(on ? 1 : 0, 'bool');
  return replaceNodes(
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
