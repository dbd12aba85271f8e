/**
 * Kernels that copy entries about: gathers, scatters, slices with strides, padding, tiling, stacking.
 * Each output entry is one input entry, so the gradient adds every cotangent back to where its entry came
 * from: a scatter; and the gradient of a scatter is a gather. tfjs lacks most of these; its tile stops
 * at rank four, its mirrorPad forgets the mirrored part, and gather's runs on UnsortedSegmentSum,
 * which the wasm backend does not have.
 */
import * as tf from '@tensorflow/tfjs';
import {axes, several, single, size, zero} from './broadcast.js';

/** Adds cotangent entry i to entry origin[i] of a zero tensor: the transpose of a copy known from shapes alone. */
function scatterBack(dy: tf.Tensor, origin: number[], shape: number[]): tf.Tensor {
  if (origin.length === 0) {
    return tf.zeros(shape);
  }
  const indices = tf.tensor2d(origin, [origin.length, 1], 'int32');
  return tf.reshape(tf.scatterND(indices, tf.reshape(dy, [origin.length]), [size(shape)]), shape);
}

/** For each entry of a tensor of `shape`, row-major, its coordinates handed to `visit`, whose answers are listed. */
function eachEntry(shape: number[], visit: (at: number[]) => number): number[] {
  const at = shape.map(() => 0);
  return Array.from({length: size(shape)}, () => {
    const result = visit(at);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      if (++at[axis] < shape[axis]) {
        break;
      }
      at[axis] = 0;
    }
    return result;
  });
}

const flat = (at: number[], shape: number[]): number =>
  at.reduce((offset, position, axis) => offset * shape[axis] + position, 0);

/** Where entry i of a mirrored axis of length n comes from: 'reflect' does not repeat the edge, 'symmetric' does. */
function mirrored(i: number, n: number, mode: tf.Attribute): number {
  const edge = mode === 'reflect' ? 0 : 1;
  if (i < 0) {
    return -i - edge;
  }
  return i < n ? i : 2 * n - 2 - i + edge;
}

/** Indices [..., k] and what they address as a list of rows: [N, k] and [N, ...]. tfjs misreads a single row's rank. */
function asRows(indices: tf.Tensor, entries: tf.Tensor, inner: number[]): [indices: tf.Tensor, entries: tf.Tensor] {
  const depth = indices.rank === 0 ? 1 : indices.shape[indices.rank - 1];
  const rows = indices.size / depth;
  return [tf.reshape(indices, [rows, depth]), tf.reshape(entries, [rows, ...inner])];
}

/** The slices of `shape` that `depth` leading indices leave. */
const innerShape = (shape: number[], indices: tf.Tensor): number[] => shape.slice(indices.shape[indices.rank - 1]);

/**
 * gather(x, i) along one axis, with leading batch dimensions: x is [batch, outer, axis, inner], i [batch, picks].
 * Batches and picks become one list of rows, so one scatter of rows serves every case.
 */
function gatherGradient(dy: tf.Tensor, x: tf.Tensor, indices: tf.Tensor, axis: number, batchDims: number): tf.Tensor {
  const batch = size(x.shape.slice(0, batchDims));
  const outer = size(x.shape.slice(batchDims, axis));
  const length = x.shape[axis];
  const inner = size(x.shape.slice(axis + 1));
  const picks = batch === 0 ? 0 : indices.size / batch;
  const starts = Array.from({length: batch}, (_, b) => b * length);
  const rows = tf.add(tf.reshape(tf.cast(indices, 'int32'), [batch, picks]), tf.tensor2d(starts, [batch, 1], 'int32'));
  const updates = tf.transpose(tf.reshape(dy, [batch, outer, picks, inner]), [0, 2, 1, 3]);
  const sums = tf.scatterND(tf.reshape(rows, [batch * picks, 1]), tf.reshape(updates, [batch * picks, outer * inner]), [
    batch * length,
    outer * inner,
  ]);
  return tf.reshape(tf.transpose(tf.reshape(sums, [batch, length, outer, inner]), [0, 2, 1, 3]), x.shape);
}

export const indexing: readonly tf.GradConfig[] = [
  {
    kernelName: tf.GatherV2,
    inputsToSave: ['x', 'indices'],
    gradFunc: (dy, [x, indices], attrs) => ({
      x: () =>
        gatherGradient(
          single(dy),
          x,
          indices,
          axes(attrs.axis, x.rank)[0],
          (attrs.batchDims as number | undefined) ?? 0,
        ),
      indices: () => zero(indices),
    }),
  },
  {
    kernelName: tf.GatherNd,
    inputsToSave: ['params', 'indices'],
    gradFunc: (dy, [params, indices]) => ({
      params: () => {
        const [rows, updates] = asRows(indices, single(dy), innerShape(params.shape, indices));
        return tf.scatterND(rows, updates, params.shape);
      },
      indices: () => zero(indices),
    }),
  },
  {
    // A rank-1 list of indices addresses entries of the first axis, one each
    kernelName: tf.ScatterNd,
    inputsToSave: ['indices', 'updates'],
    gradFunc: (dy, [indices, updates]) => ({
      indices: () => zero(indices),
      updates: () => {
        const rows = indices.rank === 1 ? tf.expandDims(indices, 1) : indices;
        return tf.reshape(tf.gatherND(single(dy), rows), updates.shape);
      },
    }),
  },
  {
    // Where indices repeat, the last update stands in the result; each of them gets the cotangent here, as in TensorFlow.
    // The overwritten entries are masked, not overwritten with zeros: tfjs's cpu kernel writes into its own input.
    kernelName: tf.TensorScatterUpdate,
    inputsToSave: ['indices', 'updates'],
    gradFunc: (dy, [indices, updates]) => ({
      tensor: () => {
        const overwritten = tf.greater(tf.scatterND(indices, tf.onesLike(updates), single(dy).shape), 0);
        return tf.where(overwritten, tf.zerosLike(single(dy)), single(dy));
      },
      indices: () => zero(indices),
      updates: () =>
        tf.reshape(tf.gatherND(single(dy), indices.rank === 1 ? tf.expandDims(indices, 1) : indices), updates.shape),
    }),
  },
  {
    // sparseValues may be one number for all indices; indices of rank one address a vector, rank zero one entry
    kernelName: tf.SparseToDense,
    inputsToSave: ['sparseIndices', 'sparseValues'],
    gradFunc: (dy, [indices, values]) => {
      const picked = (): tf.Tensor =>
        tf.gatherND(single(dy), indices.rank === 2 ? indices : tf.reshape(indices, [indices.size, 1]));
      return {
        sparseIndices: () => zero(indices),
        sparseValues: () => (values.rank === 0 ? tf.sum(picked()) : tf.reshape(picked(), values.shape)),
        defaultValue: () => tf.sub(tf.sum(single(dy)), tf.sum(picked())),
      };
    },
  },
  {
    kernelName: tf.StridedSlice,
    inputsToSave: ['x'],
    gradFunc: (dy, [x], attrs) => ({
      x: () => {
        const list = (name: string): number[] => attrs[name] as number[];
        const mask = (name: string): number => attrs[name] as number;
        const {begin, end, strides} = tf.slice_util.sliceInfo(
          x.shape,
          list('begin'),
          list('end'),
          list('strides'),
          mask('beginMask'),
          mask('endMask'),
          mask('ellipsisMask'),
          mask('newAxisMask'),
          mask('shrinkAxisMask'),
        );
        const counts = begin.map((first, axis) => Math.max(0, Math.ceil((end[axis] - first) / strides[axis])));
        const origin = eachEntry(counts, at =>
          flat(
            at.map((i, axis) => begin[axis] + i * strides[axis]),
            x.shape,
          ),
        );
        return scatterBack(single(dy), origin, x.shape);
      },
    }),
  },
  {
    kernelName: tf.MirrorPad,
    inputsToSave: ['x'],
    gradFunc: (dy, [x], {paddings, mode}) => ({
      x: () => {
        const widths = paddings as [number, number][];
        const padded = x.shape.map((n, axis) => n + widths[axis][0] + widths[axis][1]);
        const origin = eachEntry(padded, at =>
          flat(
            at.map((i, axis) => mirrored(i - widths[axis][0], x.shape[axis], mode)),
            x.shape,
          ),
        );
        return scatterBack(single(dy), origin, x.shape);
      },
    }),
  },
  {
    kernelName: tf.Diag,
    inputsToSave: ['x'],
    gradFunc: (dy, [x]) => ({
      x: () => {
        const onDiagonal = Array.from({length: x.size}, (_, i) => i * (x.size + 1));
        const entries = tf.gather(tf.reshape(single(dy), [x.size * x.size]), tf.tensor1d(onDiagonal, 'int32'));
        return tf.reshape(entries, x.shape);
      },
    }),
  },
  {
    // One axis after another, so that no tensor has more than three dimensions (WebGL's shaders stop at six)
    kernelName: tf.Tile,
    inputsToSave: ['x'],
    gradFunc: (dy, [x], {reps}) => ({
      x: () => {
        let sum = single(dy);
        (reps as number[]).forEach((count, axis) => {
          if (count !== 1) {
            const before = size(x.shape.slice(0, axis));
            sum = tf.sum(tf.reshape(sum, [before, count, sum.size / Math.max(1, before * count)]), 1);
          }
        });
        return tf.reshape(sum, x.shape);
      },
    }),
  },
  {
    kernelName: tf.TopK,
    inputsToSave: ['x'],
    gradFunc: (dys, [x], {k, sorted}) => ({
      x: () => {
        const length = x.shape[x.rank - 1];
        const [values] = several(dys);
        if (length < 2) {
          return values; // tfjs refuses one-hot vectors of length one; the place of the largest is no question
        }
        const {indices} = tf.topk(x, k as number, sorted as boolean);
        const places = tf.cast(tf.oneHot(tf.cast(indices, 'int32'), length), 'float32');
        return tf.sum(tf.mul(places, tf.expandDims(values, -1)), -2);
      },
    }),
  },
  // With one output tfjs passes the cotangent itself, not a list of one, and its own gradients fail
  {
    kernelName: tf.Unpack,
    gradFunc: (dys, _, {axis}) => ({value: () => tf.stack(several(dys), axis as number)}),
  },
  {
    kernelName: tf.SplitV,
    gradFunc: (dys, _, {axis}) => ({x: () => tf.concat(several(dys), axis as number)}),
  },
  {
    // The inverse rearrangement; its own gradient is the first again
    kernelName: tf.DepthToSpace,
    gradFunc: (dy, _, {blockSize, dataFormat}) => ({
      x: () => spaceToDepth(single(dy), blockSize as number, dataFormat as string),
    }),
  },
];

function spaceToDepth(y: tf.Tensor, block: number, format: string): tf.Tensor {
  if (format === 'NCHW') {
    const [batch, channels, height, width] = y.shape;
    const blocks = tf.reshape(y, [batch, channels, height / block, block, width / block, block]);
    return tf.reshape(tf.transpose(blocks, [0, 3, 5, 1, 2, 4]), [
      batch,
      channels * block * block,
      height / block,
      width / block,
    ]);
  }
  const [batch, height, width, channels] = y.shape;
  const blocks = tf.reshape(y, [batch, height / block, block, width / block, block, channels]);
  return tf.reshape(tf.transpose(blocks, [0, 1, 3, 2, 4, 5]), [
    batch,
    height / block,
    width / block,
    channels * block * block,
  ]);
}
