/**
 * Access by position. Positions are computed with whole-number arithmetic; where the indices are
 * known when the function is traced they become a table at once, and an even window a slice.
 */
import * as tf from '@tensorflow/tfjs';
import {ShapeError} from '../../errors.js';
import {
  add,
  binary,
  broadcastTo,
  cast,
  concat,
  constant,
  full,
  gather as gatherThrough,
  gatherAt,
  mul,
  reshape,
  scalar,
  scatter,
  searchSorted,
  select,
  slice,
  sum,
  unary,
} from '../../graph/build.js';
import type {Node, Shape} from '../../graph/node.js';
import {sizeOf, stridesOf} from '../../graph/node.js';
import type {Lowerings, Unary} from '../lowering.js';
import {lower} from '../lowering.js';
import {counting, knownValues, put, take} from '../positions.js';

const whole = (value: number): Node => scalar(value, 'int');

/** Positions whose index lies in [0, range), −1 for the others. */
function inside(positions: Node, index: Node, range: number): Node {
  return select(
    binary('and', binary('greaterEqual', index, whole(0)), binary('less', index, whole(range))),
    positions,
    whole(-1),
  );
}

// ------------------------------------------------------------------ gather

/** x as [batch, outer, dim, slice], indices as [batch, count]. */
interface GatherShape {
  readonly batch: number;
  readonly outer: number;
  readonly dim: number;
  readonly slice: number;
  readonly output: Shape;
}

function gatherShape(x: Node, indices: Node, axis: number, batchDims: number): GatherShape {
  const describe = (node: Node) => ({dataId: {}, shape: [...node.shape], dtype: 'float32' as const});
  const info = tf.backend_util.segment_util.collectGatherOpShapeInfo(describe(x), describe(indices), axis, batchDims);
  return {
    batch: info.batchSize,
    outer: info.outerSize,
    dim: info.dimSize,
    slice: info.sliceSize,
    output: info.outputShape,
  };
}

function gather(x: Node, indices: Node, axis: number, batchDims: number): Node {
  const shape = gatherShape(x, indices, axis, batchDims);
  const known = knownValues(indices);
  if (known !== undefined) {
    const outside = known.find(index => index < 0 || index >= shape.dim);
    if (outside !== undefined)
      throw new ShapeError('index-out-of-range', `gather: index ${outside} is outside an axis of size ${shape.dim}.`, {
        index: outside,
        size: shape.dim,
      });
    const window = shape.batch === 1 ? evenWindow(x, known, shape) : undefined;
    return window ?? gatherThrough(x, gatherTable(known, shape), shape.output);
  }
  const {batch, outer, dim, slice: width} = shape;
  const count = indices.size / batch;
  const index = reshape(indices, [batch, 1, count, 1]);
  const row = add(counting([batch, outer, 1, 1], dim), index);
  const positions = add(mul(row, whole(width)), counting([1, 1, 1, width]));
  // In one dimension a position outside the axis is one outside the array; otherwise it would be a neighbour's.
  const guarded = batch * outer * width === 1 ? positions : inside(positions, index, dim);
  return take(x, broadcastTo(guarded, [batch, outer, count, width]), shape.output);
}

/** Flat positions in x of what is gathered. */
function gatherTable(index: Float64Array, {batch, outer, dim, slice: width}: GatherShape): Int32Array {
  const count = index.length / batch;
  const table = new Int32Array(batch * outer * count * width);
  let at = 0;
  for (let b = 0; b < batch; b++)
    for (let o = 0; o < outer; o++)
      for (let i = 0; i < count; i++) {
        const from = ((b * outer + o) * dim + index[b * count + i]) * width;
        for (let w = 0; w < width; w++) table[at++] = from + w;
      }
  return table;
}

/** Equal steps along the axis are a slice, one index many times a repetition. */
function evenWindow(x: Node, index: Float64Array, {outer, dim, slice: width, output}: GatherShape): Node | undefined {
  if (index.length === 0) return undefined;
  const step = index.length > 1 ? index[1] - index[0] : 1;
  for (let i = 1; i < index.length; i++) if (index[i] - index[i - 1] !== step) return undefined;
  const count = step === 0 ? 1 : index.length;
  const part = slice(
    reshape(x, [outer, dim, width]),
    [0, index[0], 0],
    [outer, count, width],
    [1, step === 0 ? 1 : step, 1],
  );
  return reshape(broadcastTo(part, [outer, index.length, width]), output);
}

// ------------------------------------------------------------------ N-dimensional indices

/** Rows of coordinates as flat positions of slices, [rows]; outside the leading axes −1. */
function rowPositions(indices: Node, leading: Shape): Node {
  const rows = leading.length === 0 ? 1 : indices.size / leading.length;
  const coordinates = reshape(indices, [rows, leading.length]);
  const strides = constant(Float64Array.from(stridesOf(leading)), [leading.length], 'int');
  const positions = sum(mul(coordinates, strides), [1]);
  if (leading.length === 1) return inside(positions, reshape(coordinates, [rows]), leading[0]);
  return leading.reduce(
    (guarded, size, axis) => inside(guarded, reshape(slice(coordinates, [0, axis], [rows, 1]), [rows]), size),
    positions,
  );
}

/** Positions of every element of slices `width` long, [rows, width]. */
function elementPositions(rows: Node, width: number): Node {
  if (width === 1) return reshape(rows, [rows.size, 1]);
  const row = reshape(rows, [rows.size, 1]);
  const positions = add(mul(row, whole(width)), counting([1, width]));
  return select(binary('less', row, whole(0)), whole(-1), positions);
}

function gatherNd(params: Node, indices: Node): Node {
  const depth = indices.shape[indices.shape.length - 1];
  const [leading, trailing] = [params.shape.slice(0, depth), params.shape.slice(depth)];
  const rows = rowPositions(indices, leading);
  requireInside('gatherND', rows, params.shape);
  return take(params, elementPositions(rows, sizeOf(trailing)), [...indices.shape.slice(0, -1), ...trailing]);
}

function requireInside(what: string, rows: Node, shape: Shape): void {
  const outside = knownValues(rows)?.findIndex(at => at < 0) ?? -1;
  if (outside >= 0)
    throw new ShapeError(
      'index-out-of-range',
      `${what}: index ${outside} lies outside the shape [${shape.join(', ')}].`,
      {index: outside, shape: [...shape]},
    );
}

/** How many leading axes of the target one index names; indices of one axis name one each. */
const depthOf = (indices: Node): number => (indices.shape.length > 1 ? indices.shape[indices.shape.length - 1] : 1);

interface Scatter {
  readonly rows: Node;
  readonly width: number;
}

function scatterRows(what: string, indices: Node, shape: Shape): Scatter {
  const depth = depthOf(indices);
  const rows = rowPositions(indices, shape.slice(0, depth));
  requireInside(what, rows, shape);
  return {rows, width: sizeOf(shape.slice(depth))};
}

/** Values at equal positions add up. */
function scatterNd(indices: Node, updates: Node, shape: Shape): Node {
  const {rows, width} = scatterRows('scatterND', indices, shape);
  return put(updates, elementPositions(rows, width), shape);
}

/** Values replace what is there; of several for one place the last does. */
function overwrite(what: string, target: Node, indices: Node, updates: Node): Node {
  const {rows, width} = scatterRows(what, indices, target.shape);
  const filled = reshape(
    broadcastTo(updates.size === 1 ? reshape(updates, [1]) : reshape(updates, [updates.size]), [rows.size * width]),
    [rows.size, width],
  );
  const known = knownValues(rows);
  if (known !== undefined) return overwriteKnown(target, known, filled);
  const positions = elementPositions(lastOfEach(rows), width);
  const written = put(full(1, positions.shape), positions, target.shape);
  return select(binary('greater', written, scalar(0)), put(filled, positions, target.shape), target);
}

/** One table into target and updates laid end to end. */
function overwriteKnown(target: Node, rows: Float64Array, updates: Node): Node {
  const width = updates.shape[1];
  const table = Float64Array.from({length: target.size}, (_, i) => i);
  rows.forEach((row, i) => {
    for (let k = 0; k < width; k++) table[row * width + k] = target.size + i * width + k;
  });
  const all = concat([reshape(target, [target.size]), reshape(updates, [updates.size])], 0);
  return take(all, constant(table, [table.length], 'int'), target.shape);
}

/** Positions that a later one repeats become −1: every pair is compared. */
function lastOfEach(rows: Node): Node {
  const n = rows.size;
  const same = binary('equal', reshape(rows, [n, 1]), reshape(rows, [1, n]));
  const later = constant(
    Float64Array.from({length: n * n}, (_, at) => (at % n > Math.floor(at / n) ? 1 : 0)),
    [n, n],
    'bool',
  );
  const repeated = sum(cast(binary('and', same, later), 'int'), [1]);
  return select(binary('greater', repeated, whole(0)), whole(-1), rows);
}

function sparseToDense(indices: Node, values: Node, fallback: Node, shape: Shape): Node {
  return overwrite('sparseToDense', cast(broadcastTo(reshape(fallback, []), shape), values.dtype), indices, values);
}

// ------------------------------------------------------------------ segments, counts, order

function segmentSum(x: Node, segments: Node, count: number): Node {
  const rest = x.shape.slice(segments.shape.length);
  const known = knownValues(segments);
  if (known !== undefined) {
    const width = sizeOf(rest);
    const table = new Int32Array(known.length * width).fill(-1);
    known.forEach((row, i) => {
      if (row >= 0 && row < count) for (let w = 0; w < width; w++) table[i * width + w] = row * width + w;
    });
    return scatter(x, table, [count, ...rest]);
  }
  const rows = reshape(inside(segments, segments, count), [segments.size]);
  return put(x, elementPositions(rows, sizeOf(rest)), [count, ...rest]);
}

/** Counts, or sums of weights, of whole numbers below `size`, for each row of x. */
function binCount(x: Node, weights: Node, size: number, binary01: boolean): Node {
  const rows = x.shape.length === 2 ? x.shape[0] : 1;
  const value = reshape(x, [rows, x.size / rows]);
  const shape = x.shape.length === 2 ? [rows, size] : [size];
  const positions = inside(add(value, counting([rows, 1], size)), value, size);
  const weighted = weights.size > 0 && !binary01 ? weights : full(1, value.shape, weights.dtype);
  const counts = put(weighted, positions, shape);
  return binary01 ? cast(unary('nonzero', counts), weights.dtype) : counts;
}

/** The k largest along the last axis, by rank: how many entries are larger, or equal and earlier. */
function topK(x: Node, k: number): Node[] {
  const n = x.shape[x.shape.length - 1];
  const outer = x.shape.slice(0, -1);
  const rows = sizeOf(outer);
  const [one, other] = [reshape(x, [rows, n, 1]), reshape(x, [rows, 1, n])];
  const earlier = constant(
    Float64Array.from({length: n * n}, (_, at) => (at % n < Math.floor(at / n) ? 1 : 0)),
    [1, n, n],
    'bool',
  );
  const before = binary('or', binary('greater', other, one), binary('and', binary('equal', other, one), earlier));
  const rank = sum(cast(before, 'int'), [2]);
  const wanted = binary('equal', reshape(rank, [rows, 1, n]), counting([1, k, 1]));
  const index = sum(mul(cast(wanted, 'int'), counting([1, 1, n])), [2]);
  const positions = add(index, counting([rows, 1], n));
  return [reshape(gatherAt(x, positions), [...outer, k]), reshape(index, [...outer, k])];
}

export const indexing: Lowerings = {
  GatherV2: lower<{x: Node; indices: Node}, tf.GatherV2Attrs>(({x, indices}, {axis, batchDims}) =>
    gather(x, indices, tf.util.parseAxisParam(axis, [...x.shape])[0], batchDims ?? 0),
  ),
  GatherNd: lower<{params: Node; indices: Node}>(({params, indices}) => gatherNd(params, indices)),
  ScatterNd: lower<{indices: Node; updates: Node}, tf.ScatterNdAttrs>(({indices, updates}, {shape}) =>
    scatterNd(indices, updates, shape),
  ),
  TensorScatterUpdate: lower<{tensor: Node; indices: Node; updates: Node}>(({tensor, indices, updates}) =>
    overwrite('tensorScatterUpdate', tensor, indices, updates),
  ),
  SparseToDense: lower<{sparseIndices: Node; sparseValues: Node; defaultValue: Node}, tf.SparseToDenseAttrs>(
    ({sparseIndices, sparseValues, defaultValue}, {outputShape}) =>
      sparseToDense(sparseIndices, sparseValues, defaultValue, outputShape),
  ),
  UnsortedSegmentSum: lower<{x: Node; segmentIds: Node}, tf.UnsortedSegmentSumAttrs>(({x, segmentIds}, {numSegments}) =>
    segmentSum(x, segmentIds, numSegments),
  ),
  Bincount: lower<{x: Node; weights: Node}, tf.BincountAttrs>(({x, weights}, {size}) =>
    binCount(x, weights, size, false),
  ),
  DenseBincount: lower<{x: Node; weights: Node}, tf.DenseBincountAttrs>(({x, weights}, {size, binaryOutput}) =>
    binCount(x, weights, size, binaryOutput === true),
  ),
  SearchSorted: lower<{sortedSequence: Node; values: Node}, tf.SearchSortedAttrs>(({sortedSequence, values}, {side}) =>
    searchSorted(sortedSequence, values, side),
  ),
  TopK: lower<Unary, tf.TopKAttrs>(({x}, {k}) => topK(x, k)),
};
