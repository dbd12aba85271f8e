/**
 * Reads declared derivatives (primitives/declared.ts) and removes them from programs, as engines compute only the
 * values.
 */
import {TraceError} from '../errors.js';
import {rebuild, uniformValue} from './build.js';
import type {Graph, Node} from './node.js';
import {isOp, topological} from './node.js';

export interface Declaration {
  readonly value: Node;
  readonly args: readonly Node[];
  readonly cotangent: Node<'input'>;
  readonly gradients: readonly Node[];
}

export function declarationOf({operands}: Node<'declared'>): Declaration {
  const count = (operands.length - 2) / 2;
  return {
    value: operands[0],
    args: operands.slice(1, count + 1),
    cotangent: operands[count + 1] as Node<'input'>,
    gradients: operands.slice(count + 2),
  };
}

export function notLinear(): TraceError {
  return new TraceError(
    'gradient-not-linear',
    'The gradient function of a tf.customGrad is not linear in the cotangent dy (a clipped gradient, say), so '
      + 'that no derivative along a direction follows from it: '
      + "Newton's matrix of an implicit scheme, jvp and forward sensitivities need one. Use an explicit scheme "
      + 'with vjp or tf.grad, or a gradient that is a factor times dy.',
  );
}

/**
 * Whether outputs are linear (not only affine) in one node, decided by the rules of primitives, without values.
 * @param depends the nodes that depend on it
 */
export function isLinearIn(outputs: readonly Node[], of: Node, depends: ReadonlySet<Node>): boolean {
  const without = (node: Node): boolean => depends.has(node) || uniformValue(node) === 0;
  return (
    outputs.every(without)
    && topological(outputs).every(node => {
      if (node === of || !depends.has(node)) return true;
      const [a, b] = node.operands;
      switch (node.op) {
        case 'unary':
          return isOp(node, 'unary') && node.attributes.fn === 'neg';
        case 'binary': {
          const fn = isOp(node, 'binary') ? node.attributes.fn : undefined;
          if (fn === 'add' || fn === 'sub') return node.operands.every(without);
          return fn === 'mul' ? !(depends.has(a) && depends.has(b)) : fn === 'div' && !depends.has(b);
        }
        case 'select':
          return !depends.has(a) && node.operands.slice(1).every(without);
        case 'concat':
          return node.operands.every(without);
        case 'matMul':
          return !(depends.has(a) && depends.has(b));
        case 'solve':
        case 'triangularSolve':
          return !depends.has(a);
        case 'gatherAt':
        case 'scatterAt':
          return !depends.has(b);
        case 'reshape':
        case 'transpose':
        case 'broadcast':
        case 'slice':
        case 'place':
        case 'gather':
        case 'scatter':
        case 'sum':
        case 'cumsum':
          return node.dtype === 'float';
        default:
          return false;
      }
    })
  );
}

/** Nodes without declared derivatives, for programs that are not differentiated further. */
export function withoutDeclarations(
  outputs: readonly Node[],
  nodes: readonly Node[] = topological(outputs),
): readonly Node[] {
  if (!nodes.some(({op}) => op === 'declared')) return outputs;
  const bare = new Map<Node, Node>();
  const of = (node: Node): Node => bare.get(node) ?? node;
  for (const node of nodes) {
    const operands = node.operands.map(of);
    if (isOp(node, 'declared') && node.attributes.as === 'value') bare.set(node, operands[0]);
    else if (operands.some((operand, i) => operand !== node.operands[i])) bare.set(node, rebuild(node, operands));
  }
  const found = outputs.map(of);
  if (topological(found).some(node => node.op === 'declared')) throw notLinear();
  return found;
}

/** A program without declared derivatives. */
export function valuesOf(graph: Graph): Graph {
  const nodes = graph.outputs.map(({node}) => node);
  const values = withoutDeclarations(nodes);
  return values === nodes
    ? graph
    : {inputs: graph.inputs, outputs: graph.outputs.map(({name}, i) => ({name, node: values[i]}))};
}
