/**
 * The gradient of a kernel, as a kernel of its own: what tfjs's tape calls where a gradient is derived from the
 * kernel's lowering (engine/tensor/gradients.ts). Its own gradient is again one of these, so that there are derivatives
 * of any order.
 */
import {input} from '../../graph/build.js';
import {orZeros, pullback} from '../../graph/differentiate.js';
import type {Node} from '../../graph/node.js';
import {replaceNodes} from '../../graph/simplify.js';
import type {Lowering, Lowerings} from '../lowering.js';

export const gradientKernel = 'StiffgradGradient';

/** Its inputs are those of the kernel, in the order of their names, then a cotangent for each result. */
export interface GradientAttributes {
  readonly kernel: string;
  readonly attributes: unknown;
  readonly names: readonly string[];
  /** The input whose cotangent is computed. */
  readonly wrt: number;
}

/** @param lowerings of all kernels, this one included */
export function gradientLowering(lowerings: () => Lowerings): Lowering {
  return (operands, given) => {
    const {kernel, attributes, names, wrt} = given as GradientAttributes;
    const nodes = Object.values(operands as Readonly<Record<string, Node>>);
    // New inputs, as one node may be given twice. Positions and conditions stay: known ones become tables.
    const inputs = nodes
      .slice(0, names.length)
      .map(node => (node.dtype === 'float' ? input('differentiated', node.shape) : node));
    const lowered = lowerings()[kernel](Object.fromEntries(names.map((name, i) => [name, inputs[i]])), attributes);
    const outputs = 'op' in lowered ? [lowered] : lowered;
    const [gradient] = pullback(outputs, [inputs[wrt]], nodes.slice(names.length));
    const places = new Map<Node, Node>(inputs.map((node, i) => [node, nodes[i]]));
    return replaceNodes([orZeros(gradient, nodes[wrt])], places)[0];
  };
}
