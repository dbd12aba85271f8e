/** Values looked up and added through tables, known or computed, and the tables of views. */
import {ShapeError} from '../../errors.js';
import type {Node, Shape} from '../node.js';
import {isOp, sameShape, sizeOf, stridesOf} from '../node.js';
import {make, mismatch, uniformValue} from './make.js';
import {full, relabel, reshape} from './shapes.js';

function requireTable(what: string, x: Node, table: Int32Array, length: number, range: number): void {
  if (table.length === length && isWithin(table, range)) return;
  throw mismatch(`${what} with a table of ${table.length} positions, which should be ${length} below ${range}`, x);
}

function isWithin(table: Int32Array, range: number): boolean {
  for (let i = 0; i < table.length; i++) if (table[i] < -1 || table[i] >= range) return false;
  return true;
}

/** y[i] = x[table[i]] over flat positions, zero where the table says −1. */
export function gather(x: Node, table: Int32Array, shape: Shape): Node {
  requireTable('gather', x, table, sizeOf(shape), x.size);
  if (isOp(x, 'gather')) {
    const inner = x.attributes.table;
    return gather(
      x.operands[0],
      table.map(at => (at < 0 ? -1 : inner[at])),
      shape,
    );
  }
  if (x.op === 'reshape') return relabel(gather(x.operands[0], table, shape), x.dtype);
  if (table.length === x.size && table.every((at, i) => at === i)) return reshape(x, shape);
  return make('gather', [x], {table}, [...shape], x.dtype);
}

/** y[table[i]] += x[i] over flat positions of zeros. */
export function scatter(x: Node, table: Int32Array, shape: Shape): Node {
  requireTable('scatter', x, table, x.size, sizeOf(shape));
  if (uniformValue(x) === 0) return full(0, shape, x.dtype);
  if (table.length === sizeOf(shape) && table.every((at, i) => at === i)) return reshape(x, shape);
  return make('scatter', [x], {table}, [...shape], x.dtype);
}

/** x flat at computed positions (any shape, which the result takes). */
export function gatherAt(x: Node, positions: Node): Node {
  return make('gatherAt', [x, positions], {}, positions.shape, x.dtype);
}

/** Zeros of the given shape; x added at computed flat positions, one for each element of x. */
export function scatterAt(x: Node, positions: Node, shape: Shape): Node {
  if (!sameShape(x.shape, positions.shape)) throw mismatch('scatter', x, positions);
  return make('scatterAt', [x, positions], {}, [...shape], x.dtype);
}

export function searchSorted(sorted: Node, values: Node, side: 'left' | 'right'): Node {
  if (sorted.shape.length !== 2 || values.shape.length !== 2 || sorted.shape[0] !== values.shape[0])
    throw mismatch('searchSorted', sorted, values);
  return make('searchSorted', [sorted, values], {side}, values.shape, 'int');
}

/** Row-major flat positions of every element of a strided view. */
export function viewTable(shape: Shape, offset: number, strides: readonly number[]): Int32Array {
  const table = new Int32Array(sizeOf(shape));
  const last = shape.length - 1;
  const [length, step] = last < 0 ? [1, 0] : [shape[last], strides[last]];
  const index = new Array<number>(shape.length).fill(0);
  let at = offset;
  for (let row = 0; row < table.length; row += length) {
    for (let i = 0; i < length; i++) table[row + i] = at + i * step;
    for (let axis = last - 1; axis >= 0; axis--) {
      at += strides[axis];
      if (++index[axis] < shape[axis]) break;
      at -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
  }
  return table;
}

/** Flat positions in the operand of each element of a transpose, broadcast or slice. */
export function operandTable(node: Node): Int32Array {
  const operand = node.operands[0];
  const strides = stridesOf(operand.shape);
  if (isOp(node, 'transpose'))
    return viewTable(
      node.shape,
      0,
      node.attributes.permutation.map(axis => strides[axis]),
    );
  if (isOp(node, 'broadcast'))
    return viewTable(
      node.shape,
      0,
      operand.shape.map((n, axis) => (n === node.shape[axis] ? strides[axis] : 0)),
    );
  if (isOp(node, 'slice')) return sliceTable(node.shape, node.attributes, strides);
  throw new ShapeError('not-a-view', `${node.op} is not a view of its operand.`);
}

/** Flat positions in the large side of a slice or place. */
export function sliceTable(
  small: Shape,
  at: {begin: readonly number[]; strides: readonly number[]},
  largeStrides: readonly number[],
): Int32Array {
  let offset = 0;
  for (let axis = 0; axis < small.length; axis++) offset += at.begin[axis] * largeStrides[axis];
  return viewTable(
    small,
    offset,
    at.strides.map((stride, axis) => stride * largeStrides[axis]),
  );
}
