/** Where numbers lie: reshaping, cutting, joining, padding, repeating. Affine windows all, without tables. */
import * as tf from '@tensorflow/tfjs';
import {broadcastTo, cast, concat, full, place, reshape, slice, transpose} from '../../graph/build.js';
import type {Node, Shape} from '../../graph/node.js';
import {sizeOf} from '../../graph/node.js';
import type {Lowerings, Unary} from '../lowering.js';
import {axisOf, lower, lowerList} from '../lowering.js';

/** The part of x from `begin` on, `count` long with the given stride, along one axis. */
function along(x: Node, axis: number, begin: number, count: number, stride = 1): Node {
  return slice(
    x,
    x.shape.map((_, i) => (i === axis ? begin : 0)),
    x.shape.map((n, i) => (i === axis ? count : n)),
    x.shape.map((_, i) => (i === axis ? stride : 1)),
  );
}

const replaced = (shape: Shape, axis: number, size: number): number[] => shape.map((n, i) => (i === axis ? size : n));

/** tfjs lets trailing axes go unsaid, and −1 stand for all that is left. */
function cut(x: Node, begin: number | readonly number[], size: number | readonly number[] | undefined): Node {
  const given = typeof begin === 'number' ? [begin] : begin;
  const counts = typeof size === 'number' ? [size] : (size ?? []);
  const from = x.shape.map((_, axis) => given[axis] ?? 0);
  const count = x.shape.map((n, axis) => ((counts[axis] ?? -1) < 0 ? n - from[axis] : counts[axis]));
  return slice(x, from, count);
}

function stridedSlice(x: Node, spec: tf.StridedSliceAttrs): Node {
  const {begin, end, strides, beginMask, endMask, ellipsisMask, newAxisMask, shrinkAxisMask} = spec;
  const window = tf.slice_util.sliceInfo(
    [...x.shape],
    begin,
    end,
    strides,
    beginMask,
    endMask,
    ellipsisMask,
    newAxisMask,
    shrinkAxisMask,
  );
  const size = tf.slice_util.computeOutShape(window.begin, window.end, window.strides).map(n => Math.max(n, 0));
  return reshape(slice(x, window.begin, size, window.strides), window.finalShape);
}

function reverse(x: Node, dims: number | number[]): Node {
  const axes = tf.util.parseAxisParam(dims, [...x.shape]);
  const turned = x.shape.map((_, axis) => axes.includes(axis));
  return slice(
    x,
    x.shape.map((n, axis) => (turned[axis] ? Math.max(n - 1, 0) : 0)),
    x.shape,
    turned.map(t => (t ? -1 : 1)),
  );
}

function insertAxis(x: Node, dim: number): Node {
  const axis = dim < 0 ? dim + x.shape.length + 1 : dim;
  return reshape(x, [...x.shape.slice(0, axis), 1, ...x.shape.slice(axis)]);
}

function unpack(x: Node, axis: number): Node[] {
  const shape = x.shape.filter((_, i) => i !== axis);
  return Array.from({length: x.shape[axis]}, (_, i) => reshape(along(x, axis, i, 1), shape));
}

function split(x: Node, numOrSizeSplits: number | number[], axis: number): Node[] {
  const described = {dataId: {}, shape: [...x.shape], dtype: 'float32' as const};
  const sizes = tf.backend_util.prepareSplitSize(
    described,
    typeof numOrSizeSplits === 'number' ? numOrSizeSplits : [...numOrSizeSplits],
    axis,
  );
  let begin = 0;
  return sizes.map(size => {
    const part = along(x, axis, begin, size);
    begin += size;
    return part;
  });
}

/** Repeats as a new axis before each repeated one, broadcast and folded in. */
function tile(x: Node, reps: readonly number[]): Node {
  const unfolded = x.shape.flatMap((n, axis) => (reps[axis] === 1 ? [n] : [1, n]));
  const repeated = x.shape.flatMap((n, axis) => (reps[axis] === 1 ? [n] : [reps[axis], n]));
  return reshape(
    broadcastTo(reshape(x, unfolded), repeated),
    x.shape.map((n, axis) => n * reps[axis]),
  );
}

type Paddings = readonly (readonly number[])[];

export function pad(x: Node, paddings: Paddings, value: number): Node {
  const shape = x.shape.map((n, axis) => paddings[axis][0] + n + paddings[axis][1]);
  if (value === 0)
    return place(
      x,
      paddings.map(([before]) => before),
      shape,
    );
  // Blocks of the value beside x are exact; zeros shifted by it would round.
  return x.shape.reduce((padded, _, axis) => {
    const blocks = paddings[axis].map(size => full(value, replaced(padded.shape, axis, size), x.dtype));
    return concat([blocks[0], padded, blocks[1]], axis);
  }, x);
}

/** The border repeats what lies inside it: once ('symmetric') or without the outermost element ('reflect'). */
function mirrorPad(x: Node, paddings: Paddings, mode: 'reflect' | 'symmetric'): Node {
  const offset = mode === 'reflect' ? 1 : 0;
  return x.shape.reduce((padded, n, axis) => {
    const [before, after] = paddings[axis];
    const parts = [padded];
    if (before > 0) parts.unshift(along(padded, axis, before - 1 + offset, before, -1));
    if (after > 0) parts.push(along(padded, axis, n - 1 - offset, after, -1));
    return concat(parts, axis);
  }, x);
}

/** Blocks of space [.., h·b, w·b, ..] become batches, and back (tfjs-core's array_ops_util says how). */
function spaceToBatch(x: Node, blockShape: readonly number[], paddings: Paddings): Node {
  const none: Paddings = x.shape.slice(1 + blockShape.length).map(() => [0, 0]);
  const padded = pad(x, [[0, 0], ...paddings, ...none], 0);
  const {getReshaped, getPermuted, getReshapedPermuted} = tf.backend_util;
  const [shape, block] = [[...padded.shape], [...blockShape]];
  const unfolded = getReshaped(shape, block, sizeOf(block), false);
  const moved = transpose(reshape(padded, unfolded), getPermuted(unfolded.length, block.length, false));
  return reshape(moved, getReshapedPermuted(shape, block, sizeOf(block), false));
}

function batchToSpace(x: Node, blockShape: readonly number[], crops: Paddings): Node {
  const {getReshaped, getPermuted, getReshapedPermuted, getSliceBeginCoords, getSliceSize} = tf.backend_util;
  const [shape, block, cropped] = [[...x.shape], [...blockShape], crops.map(crop => [...crop])];
  const unfolded = getReshaped(shape, block, sizeOf(block));
  const folded = getReshapedPermuted(shape, block, sizeOf(block));
  const moved = reshape(transpose(reshape(x, unfolded), getPermuted(unfolded.length, block.length)), folded);
  return cut(moved, getSliceBeginCoords(cropped, block.length), getSliceSize(folded, cropped, block.length));
}

function depthToSpace(x: Node, block: number, dataFormat: 'NHWC' | 'NCHW'): Node {
  const channelsLast = dataFormat === 'NHWC';
  const [batch, height, width, depth] = channelsLast ? x.shape : [x.shape[0], x.shape[2], x.shape[3], x.shape[1]];
  const inner = depth / (block * block);
  if (channelsLast) {
    const unfolded = reshape(x, [batch, height, width, block, block, inner]);
    return reshape(transpose(unfolded, [0, 1, 3, 2, 4, 5]), [batch, height * block, width * block, inner]);
  }
  const unfolded = reshape(x, [batch, block, block, inner, height, width]);
  return reshape(transpose(unfolded, [0, 3, 4, 1, 5, 2]), [batch, inner, height * block, width * block]);
}

/** Parts of one type, as the strongest of them. */
function joined(parts: readonly Node[], axis: number): Node {
  const dtype = parts.some(part => part.dtype === 'float')
    ? 'float'
    : parts.some(part => part.dtype === 'int')
      ? 'int'
      : 'bool';
  return concat(
    parts.map(part => cast(part, dtype)),
    axis,
  );
}

export const shapes: Lowerings = {
  Reshape: lower<Unary, tf.ReshapeAttrs>(({x}, {shape}) => reshape(x, tf.util.inferFromImplicitShape(shape, x.size))),
  ExpandDims: lower<{input: Node}, tf.ExpandDimsAttrs>(({input}, {dim}) => insertAxis(input, dim)),
  Transpose: lower<Unary, tf.TransposeAttrs>(({x}, {perm}) => transpose(x, perm)),
  Reverse: lower<Unary, tf.ReverseAttrs>(({x}, {dims}) => reverse(x, dims)),
  Slice: lower<Unary, tf.SliceAttrs>(({x}, {begin, size}) => cut(x, begin, size)),
  StridedSlice: lower<Unary, tf.StridedSliceAttrs>(({x}, attributes) => stridedSlice(x, attributes)),
  Concat: lowerList<tf.ConcatAttrs>((parts, {axis}) => joined(parts, axisOf(axis, parts[0].shape))),
  Pack: lowerList<tf.PackAttrs>((parts, {axis}) => {
    const at = axis < 0 ? axis + parts[0].shape.length + 1 : axis;
    return joined(
      parts.map(part => insertAxis(part, at)),
      at,
    );
  }),
  Unpack: lower<{value: Node}, tf.UnpackAttrs>(({value}, {axis}) => unpack(value, axisOf(axis, value.shape))),
  SplitV: lower<Unary, tf.SplitVAttrs>(({x}, {numOrSizeSplits, axis}) =>
    split(x, numOrSizeSplits, axisOf(axis, x.shape)),
  ),
  Tile: lower<Unary, tf.TileAttrs>(({x}, {reps}) => tile(x, reps)),
  PadV2: lower<Unary, tf.PadV2Attrs>(({x}, {paddings, constantValue}) => pad(x, paddings, constantValue)),
  MirrorPad: lower<Unary, tf.MirrorPadAttrs>(({x}, {paddings, mode}) => mirrorPad(x, paddings, mode)),
  SpaceToBatchND: lower<Unary, tf.SpaceToBatchNDAttrs>(({x}, {blockShape, paddings}) =>
    spaceToBatch(x, blockShape, paddings),
  ),
  BatchToSpaceND: lower<Unary, tf.BatchToSpaceNDAttrs>(({x}, {blockShape, crops}) =>
    batchToSpace(x, blockShape, crops),
  ),
  DepthToSpace: lower<Unary, tf.DepthToSpaceAttrs>(({x}, {blockSize, dataFormat}) =>
    depthToSpace(x, blockSize, dataFormat),
  ),
};
