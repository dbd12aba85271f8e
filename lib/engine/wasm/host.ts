/**
 * Kernels that run in JavaScript on views of the module's memory: the factorizations, and users' own functions. They
 * are the interpreter's own, so both engines agree to the bit; one call costs some tens of nanoseconds beside a
 * factorization's thousands of operations.
 */
import type {Node, Op} from '../../graph/node.js';
import {input, make} from '../../graph/build.js';
import {primitiveOf} from '../../graph/primitives/index.js';

const names = [
  ...(['solve', 'cholesky', 'triangularSolve', 'lu', 'luPermutation', 'semidefinite'] as const),
  ...(['eigen', 'svd', 'leastSquares', 'sparseSolve', 'brownian', 'declared', 'mapped'] as const),
];
export type HostOp = (typeof names)[number];

export const hostOps: ReadonlySet<Op> = new Set<Op>(names);

export interface HostKernel {
  /** The node with inputs of the same shapes for operands: the rest of its graph is not kept alive. */
  readonly node: Node;
  readonly operands: readonly {readonly address: number; readonly size: number}[];
  readonly address: number;
}

export function withoutGraph(node: Node): Node {
  const operands = node.operands.map((operand, i) => input(String(i), operand.shape, operand.dtype));
  return make(node.op, operands, node.attributes, node.shape, node.dtype);
}

/** The function a module imports for a kernel. */
export function bindHostKernel({node, operands, address}: HostKernel, memory: WebAssembly.Memory): () => void {
  const kernel = primitiveOf(node).evaluate(node);
  const inputs = operands.map(operand => new Float64Array(memory.buffer, operand.address, operand.size));
  const out = new Float64Array(memory.buffer, address, node.size);
  return () => kernel(inputs, out);
}
