/** Numbers in other shapes: broadcasts, views, parts put together. */
import {ShapeError} from '../../errors.js';
import type {DType, Node, Shape} from '../node.js';
import {isOp, sameShape, sizeOf} from '../node.js';
import {commonType, make, mismatch, scalar, uniformValue} from './make.js';

/** Values in row-major order; the array is kept, not copied. */
export function constant(values: Float64Array, shape: Shape, dtype: DType = 'float'): Node {
  if (values.length !== sizeOf(shape)) {
    throw new ShapeError(
      'shape-mismatch',
      `A constant of shape [${shape.join(', ')}] needs ${sizeOf(shape)} values, not ${values.length}.`
        + (values.length > 0
          ? ''
          : ' Was a list of tensors given in place of a tensor? Take it apart, ([x]) => …, or join it by tf.stack.'),
    );
  }
  if (values.length > 1 && values.every(value => Object.is(value, values[0]))) return full(values[0], shape, dtype);
  return make('constant', [], {values}, [...shape], dtype);
}

/** One value everywhere: a broadcast scalar, so that no engine stores it. */
export function full(value: number, shape: Shape, dtype: DType = 'float'): Node {
  return broadcastTo(scalar(value, dtype), shape);
}

export function zeros(shape: Shape): Node {
  return full(0, shape);
}

export function broadcastShapes(a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  const shape = new Array<number>(rank);
  for (let i = 1; i <= rank; i++) {
    const m = a[a.length - i] ?? 1;
    const n = b[b.length - i] ?? 1;
    if (m !== n && m !== 1 && n !== 1) {
      throw new ShapeError(
        'shape-mismatch',
        `Shapes [${a.join(', ')}] and [${b.join(', ')}] cannot be broadcast together.`,
        {shapes: [[...a], [...b]]},
      );
    }
    shape[rank - i] = m === 1 ? n : m;
  }
  return shape;
}

export function broadcastShape(a: Node, b: Node): Shape {
  return broadcastShapes(a.shape, b.shape);
}

/** Repeats a value to a larger shape, adding leading axes where it has fewer. */
export function broadcastTo(x: Node, shape: Shape): Node {
  if (sameShape(x.shape, shape)) return x;
  if (!sameShape(broadcastShapes(x.shape, shape), shape)) throw mismatch(`broadcast to [${shape.join(', ')}]`, x);
  const missing = shape.length - x.shape.length;
  const aligned = missing === 0 ? x : reshape(x, [...new Array<number>(missing).fill(1), ...x.shape]);
  if (sameShape(aligned.shape, shape)) return aligned;
  if (aligned.op === 'broadcast') return make('broadcast', aligned.operands, {}, [...shape], x.dtype);
  return make('broadcast', [aligned], {}, [...shape], x.dtype);
}

export function reshape(x: Node, shape: Shape): Node {
  if (sizeOf(shape) !== x.size) throw mismatch(`reshape to [${shape.join(', ')}]`, x);
  return view(x, shape, x.dtype);
}

/** A value counted as another type. */
export function relabel(x: Node, dtype: DType): Node {
  return view(x, x.shape, dtype);
}

/** A value in another shape or counted as another type; reshapes of reshapes are one node. */
export function view(x: Node, shape: Shape, dtype: DType): Node {
  if (sameShape(x.shape, shape) && x.dtype === dtype) return x;
  if (x.op === 'reshape') return view(x.operands[0], shape, dtype);
  if (isOp(x, 'constant')) return make('constant', [], x.attributes, [...shape], dtype);
  if (x.op === 'broadcast') {
    if (x.operands[0].size === 1) return broadcastTo(view(x.operands[0], [], dtype), shape);
    // Axes of size 1 more or less do not disturb a broadcast.
    const trimmed = shape.filter(n => n !== 1);
    if (
      sameShape(
        trimmed,
        x.shape.filter(n => n !== 1),
      )
    )
      return rebroadcast(x, shape, dtype);
  }
  return make('reshape', [x], {}, [...shape], dtype);
}

/** View of a broadcast that only adds or removes axes of size 1: the operand takes it instead. */
function rebroadcast(x: Node, shape: Shape, dtype: DType): Node {
  const inner = x.operands[0];
  const kept = inner.shape.filter((_, axis) => x.shape[axis] !== 1);
  let next = 0;
  const operandShape = shape.map(n => (n === 1 ? 1 : kept[next++]));
  return broadcastTo(view(inner, operandShape, dtype), shape);
}

export function transpose(x: Node, permutation: readonly number[]): Node {
  if (permutation.every((axis, i) => axis === i)) return x;
  if (isOp(x, 'transpose'))
    return transpose(
      x.operands[0],
      permutation.map(axis => x.attributes.permutation[axis]),
    );
  const shape = permutation.map(axis => x.shape[axis]);
  if (x.op === 'broadcast') return broadcastTo(transpose(x.operands[0], permutation), shape);
  // Moving axes of size 1 alone does not move any number.
  const moving = permutation.filter(axis => x.shape[axis] !== 1);
  if (moving.every((axis, i) => i === 0 || moving[i - 1] < axis)) return reshape(x, shape);
  return make('transpose', [x], {permutation: [...permutation]}, shape, x.dtype);
}

/** Whether begin + i·strides, i < size, are different places inside a shape, axis by axis. */
function fits(begin: readonly number[], size: Shape, strides: readonly number[], shape: Shape): boolean {
  if (begin.length !== shape.length || size.length !== shape.length || strides.length !== shape.length) return false;
  return shape.every((n, axis) => {
    const last = begin[axis] + (size[axis] - 1) * strides[axis];
    const inside = begin[axis] >= 0 && begin[axis] < n && last >= 0 && last < n;
    return size[axis] === 0 || (size[axis] > 0 && inside && (strides[axis] !== 0 || size[axis] === 1));
  });
}

/** x[begin + i·strides], i < size. */
export function slice(
  x: Node,
  begin: readonly number[],
  size: Shape,
  strides: readonly number[] = begin.map(() => 1),
): Node {
  if (!fits(begin, size, strides, x.shape)) {
    throw mismatch(
      `slice from [${begin.join(', ')}] of size [${size.join(', ')}] and strides [${strides.join(', ')}]`,
      x,
    );
  }
  if (sameShape(size, x.shape) && strides.every((stride, axis) => stride === 1 || size[axis] <= 1)) return x;
  if (x.op === 'broadcast') {
    const inner = x.operands[0];
    const repeated = x.shape.map((n, axis) => inner.shape[axis] !== n);
    const innerBegin = begin.map((b, axis) => (repeated[axis] ? 0 : b));
    const innerSize = size.map((n, axis) => (repeated[axis] ? 1 : n));
    if (sizeOf(size) > 0)
      return broadcastTo(
        slice(
          inner,
          innerBegin,
          innerSize,
          strides.map((s, axis) => (repeated[axis] ? 1 : s)),
        ),
        size,
      );
  }
  if (isOp(x, 'slice')) {
    const from = x.attributes;
    return slice(
      x.operands[0],
      begin.map((b, axis) => from.begin[axis] + b * from.strides[axis]),
      size,
      strides.map((s, axis) => s * from.strides[axis]),
    );
  }
  const within = isOp(x, 'concat') && sizeOf(size) > 0 ? partRead(x, begin, size, strides) : undefined;
  if (within !== undefined) return relabel(slice(within.part, within.begin, size, strides), x.dtype);
  return make('slice', [x], {begin: [...begin], strides: [...strides]}, [...size], x.dtype);
}

/** The one part of a concatenation that a slice reads, and where it begins in it. */
export function partRead(
  {operands, attributes: {axis}}: Node<'concat'>,
  begin: readonly number[],
  size: Shape,
  strides: readonly number[],
): {readonly part: Node; readonly begin: readonly number[]} | undefined {
  let from = 0;
  for (const part of operands) {
    const first = begin[axis] - from;
    const last = first + (size[axis] - 1) * strides[axis];
    if (Math.min(first, last) >= 0 && Math.max(first, last) < part.shape[axis])
      return {part, begin: begin.map((b, i) => (i === axis ? first : b))};
    from += part.shape[axis];
  }
  return undefined;
}

/** Zeros of the given shape with x at begin + i·strides: the transpose of slice. */
export function place(
  x: Node,
  begin: readonly number[],
  shape: Shape,
  strides: readonly number[] = begin.map(() => 1),
): Node {
  if (!fits(begin, x.shape, strides, shape)) {
    throw mismatch(`place at [${begin.join(', ')}] with strides [${strides.join(', ')}] in [${shape.join(', ')}]`, x);
  }
  if (sameShape(x.shape, shape) && strides.every((stride, axis) => stride === 1 || shape[axis] <= 1)) return x;
  if (uniformValue(x) === 0) return full(0, shape, x.dtype);
  if (x.op === 'broadcast') {
    // Along axes that it fills, one is placed and repeated.
    const [inner] = x.operands;
    const isFilled = shape.map((n, axis) => inner.shape[axis] === 1 && x.shape[axis] === n);
    const once = (numbers: readonly number[], one: number): number[] =>
      numbers.map((n, axis) => (isFilled[axis] ? one : n));
    const few = once(shape, 1);
    if (!sameShape(few, shape))
      return broadcastTo(place(broadcastTo(inner, once(x.shape, 1)), once(begin, 0), few, once(strides, 1)), shape);
  }
  return make('place', [x], {begin: [...begin], strides: [...strides]}, [...shape], x.dtype);
}

export function concat(parts: readonly Node[], axis: number): Node {
  const dtype = commonType(parts);
  const kept = parts
    .flatMap(part =>
      isOp(part, 'concat') && part.attributes.axis === axis && part.dtype === dtype ? part.operands : [part],
    )
    .filter(part => part.shape[axis] > 0);
  if (kept.length <= 1) return relabel(kept[0] ?? parts[0], dtype);
  const first = kept[0];
  for (const part of kept) {
    if (part.shape.length !== first.shape.length || part.shape.some((n, i) => i !== axis && n !== first.shape[i]))
      throw mismatch(`concat along axis ${axis}`, first, part);
  }
  const total = kept.reduce((sum, part) => sum + part.shape[axis], 0);
  return make(
    'concat',
    kept,
    {axis},
    first.shape.map((n, i) => (i === axis ? total : n)),
    dtype,
  );
}
