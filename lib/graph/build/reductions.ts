/** Sums and extremes along axes. */
import type {DType, Node, Shape} from '../node.js';
import {make, uniformValue} from './make.js';
import {broadcastTo, full, reshape, view} from './shapes.js';

function droppedAxes(shape: Shape, axes: readonly number[]): Shape {
  return shape.filter((_, axis) => !axes.includes(axis));
}

/** Truth values add up to a count. */
const summedType = (x: Node): DType => (x.dtype === 'float' ? 'float' : 'int');

/** Sum over axes, which are dropped. */
export function sum(x: Node, axes: readonly number[]): Node {
  const sorted = [...axes].sort((a, b) => a - b);
  if (sorted.length === 0) return x;
  const shape = droppedAxes(x.shape, sorted);
  if (sorted.every(axis => x.shape[axis] === 1)) return view(x, shape, summedType(x));
  const dtype = summedType(x);
  if (uniformValue(x) === 0) return full(0, shape, dtype);
  return make('sum', [x], {axes: sorted}, shape, dtype);
}

function extreme(op: 'max' | 'min', x: Node, axes: readonly number[]): Node {
  const sorted = [...axes].sort((a, b) => a - b);
  const shape = droppedAxes(x.shape, sorted);
  if (sorted.every(axis => x.shape[axis] === 1)) return reshape(x, shape);
  return make(op, [x], {axes: sorted}, shape, x.dtype);
}

export const max = (x: Node, axes: readonly number[]): Node => extreme('max', x, axes);

export const min = (x: Node, axes: readonly number[]): Node => extreme('min', x, axes);

export function argExtreme(op: 'argMax' | 'argMin', x: Node, axis: number): Node {
  return make(op, [x], {axis}, droppedAxes(x.shape, [axis]), 'int');
}

export function cumsum(x: Node, axis: number, exclusive: boolean, reverse: boolean): Node {
  return make('cumsum', [x], {axis, exclusive, reverse}, x.shape, summedType(x));
}

/** Puts reduced axes back, as size 1, and repeats to the unreduced shape. */
export function expandReduced(reduced: Node, shape: Shape, axes: readonly number[]): Node {
  return broadcastTo(
    reshape(
      reduced,
      shape.map((n, axis) => (axes.includes(axis) ? 1 : n)),
    ),
    shape,
  );
}
