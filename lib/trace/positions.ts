/**
 * Positions in an array: computed by the program, or known when it is traced. Known ones become
 * tables, which keep the sparsity of what depends on what.
 */
import {constant, gather, gatherAt, reshape, scatter, scatterAt, viewTable} from '../graph/build.js';
import {primitiveOf} from '../graph/primitives/index.js';
import type {Node, Shape} from '../graph/node.js';
import {isOp, sizeOf, topological} from '../graph/node.js';

/** 0, step, 2·step, … in row-major order. */
export function counting(shape: Shape, step = 1): Node {
  return constant(
    Float64Array.from({length: sizeOf(shape)}, (_, i) => i * step),
    shape,
    'int',
  );
}

const evaluated = new WeakMap<Node, Float64Array>();

/** Whether a node depends on no input. */
export function isKnown(node: Node): boolean {
  return topological([node]).every(part => part.op !== 'input');
}

/** The values of a node that depends on no input. */
export function knownValues(node: Node): Float64Array | undefined {
  if (!isKnown(node)) return undefined;
  for (const part of topological([node])) if (!evaluated.has(part)) evaluated.set(part, evaluate(part));
  return evaluated.get(node);
}

function evaluate(node: Node): Float64Array {
  if (isOp(node, 'constant')) return node.attributes.values;
  const out = new Float64Array(node.size);
  const operands = node.operands.map(operand => evaluated.get(operand) ?? evaluate(operand));
  primitiveOf(node).evaluate(node)(operands, out);
  return out;
}

function tableOf(positions: Node, range: number): Int32Array | undefined {
  const known = knownValues(positions);
  if (known === undefined) return undefined;
  const table = new Int32Array(known.length);
  for (let i = 0; i < table.length; i++) table[i] = known[i] >= 0 && known[i] < range ? known[i] : -1;
  return table;
}

/** x at flat positions, in the given shape; outside the array 0. */
export function take(x: Node, positions: Node, shape: Shape): Node {
  const table = tableOf(positions, x.size);
  return table === undefined ? reshape(gatherAt(x, positions), shape) : gather(x, table, shape);
}

/** Zeros of the given shape with x added at flat positions; those outside are dropped. */
export function put(x: Node, positions: Node, shape: Shape): Node {
  const table = tableOf(positions, sizeOf(shape));
  return table === undefined ? scatterAt(x, reshape(positions, x.shape), shape) : scatter(x, table, shape);
}

/** A strided view of x, of any strides. */
export function viewGather(x: Node, shape: Shape, strides: readonly number[]): Node {
  return gather(x, viewTable(shape, 0, strides), shape);
}
