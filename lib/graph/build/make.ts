/** Nodes as they are, and the leaves of programs. */
import {ShapeError} from '../../errors.js';
import type {Attributes, DType, Node, Op, Shape} from '../node.js';
import {isOp, sizeOf} from '../node.js';

/** Nodes so far. */
let count = 0;

/** The number of the node made last: those with higher ones come after. */
export const lastNode = (): number => count;

export function make<O extends Op>(
  op: O,
  operands: readonly Node[],
  attributes: Attributes[O],
  shape: Shape,
  dtype: DType,
): Node<O> {
  const notes = {id: ++count, traversal: 0, place: -1, hash: 0, canonicalIn: 0, facts: undefined};
  return {op, operands, attributes, shape, size: sizeOf(shape), dtype, notes};
}

export function mismatch(what: string, ...nodes: readonly Node[]): ShapeError {
  const shapes = nodes.map(node => `[${node.shape.join(', ')}]`);
  return new ShapeError('shape-mismatch', `${what}: shapes ${shapes.join(' and ')} do not fit.`, {
    shapes: nodes.map(node => [...node.shape]),
  });
}

export function input(name: string, shape: Shape, dtype: DType = 'float'): Node<'input'> {
  return make('input', [], {name}, [...shape], dtype);
}

export function scalar(value: number, dtype: DType = 'float'): Node<'constant'> {
  return make('constant', [], {values: Float64Array.of(value)}, [], dtype);
}

/** The one value a node holds everywhere, where that is known: a constant scalar, reshaped and broadcast. */
export function uniformValue(node: Node): number | undefined {
  if (isOp(node, 'constant')) return node.size === 1 ? node.attributes.values[0] : undefined;
  if (node.op === 'broadcast' || node.op === 'reshape') return uniformValue(node.operands[0]);
  return undefined;
}

/** The common type of several values. */
export function commonType(nodes: readonly Node[]): DType {
  if (nodes.some(node => node.dtype === 'float')) return 'float';
  return nodes.every(node => node.dtype === 'bool') ? 'bool' : 'int';
}
