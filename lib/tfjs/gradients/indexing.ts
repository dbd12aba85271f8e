/**
 * Gathers and scatters. Each output entry is one input entry, so the gradient adds every cotangent back to where its
 * entry came from: a scatter of rows; and the gradient of a scatter is a gather. tfjs lacks most of these, and gather's
 * runs on UnsortedSegmentSum, which the wasm backend does not have.
 */
import * as tf from '@tensorflow/tfjs';
import {axes, several, single, size, zero} from './broadcast.js';

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
    // Where indices repeat, the last update stands in the result; each of them gets the cotangent here, as in
    // TensorFlow. The overwritten entries are masked, not overwritten with zeros: tfjs's cpu kernel writes into its own
    // input.
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
];
