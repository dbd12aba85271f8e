/**
 * Mean pooling weighs entries along one axis at a time with constant weights, so that the gradient is a product with
 * the transposed weights along each axis. tfjs has kernels of its own for these gradients, which have no gradient
 * themselves and divide by the whole window where padding cuts it off.
 */
import * as tf from '@tensorflow/tfjs';
import {single, size} from './broadcast.js';

/** One axis: row o of the matrix holds the weights of the n inputs in output o. */
type Weights = number[][];

/** Multiplies along one axis with the transpose of `weights`: [.., outputs, ..] → [.., n, ..]. */
function transposedAlong(t: tf.Tensor, axis: number, weights: Weights): tf.Tensor {
  const outputs = weights.length;
  const n = weights[0].length;
  const last = t.rank - 1;
  const order = t.shape.map((_, i) => (i === axis ? last : i === last ? axis : i));
  const rows = tf.transpose(t, order); // its own inverse: a swap of two axes
  const product = tf.matMul(
    tf.reshape(rows, [size(t.shape) / outputs, outputs]),
    tf.tensor2d(weights, [outputs, n], 'float32'),
  );
  return tf.transpose(tf.reshape(product, [...rows.shape.slice(0, -1), n]), order);
}

/** The mean over the part of each window that lies inside. */
function pool(inputs: number, outputs: number, window: number, stride: number, before: number): Weights {
  return Array.from({length: outputs}, (_, o) => {
    const start = o * stride - before;
    const inside = Math.min(start + window, inputs) - Math.max(start, 0);
    return Array.from({length: inputs}, (__, i) => (i >= start && i < start + window ? 1 / inside : 0));
  });
}

type Pair = [number, number];
type Triple = [number, number, number];

export const pooling: readonly tf.GradConfig[] = [
  {
    kernelName: tf.AvgPool,
    inputsToSave: ['x'],
    gradFunc: (dy, [x], {filterSize, strides, pad, dimRoundingMode}) => ({
      x: () => {
        const c = tf.backend_util.computePool2DInfo(
          x.shape as [number, number, number, number],
          filterSize as Pair,
          strides as Pair,
          1,
          pad as 'same' | 'valid' | number,
          dimRoundingMode as 'floor' | undefined,
        );
        const rows = pool(c.inHeight, c.outHeight, c.effectiveFilterHeight, c.strideHeight, c.padInfo.top);
        const columns = pool(c.inWidth, c.outWidth, c.effectiveFilterWidth, c.strideWidth, c.padInfo.left);
        return transposedAlong(transposedAlong(single(dy), 1, rows), 2, columns);
      },
    }),
  },
  {
    kernelName: tf.AvgPool3D,
    inputsToSave: ['x'],
    gradFunc: (dy, [x], {filterSize, strides, pad, dimRoundingMode}) => ({
      x: () => {
        const c = tf.backend_util.computePool3DInfo(
          x.shape as [number, number, number, number, number],
          filterSize as Triple,
          strides as Triple,
          1,
          pad as 'same' | 'valid' | number,
          dimRoundingMode as 'floor' | undefined,
        );
        const slices = pool(c.inDepth, c.outDepth, c.effectiveFilterDepth, c.strideDepth, c.padInfo.front);
        const rows = pool(c.inHeight, c.outHeight, c.effectiveFilterHeight, c.strideHeight, c.padInfo.top);
        const columns = pool(c.inWidth, c.outWidth, c.effectiveFilterWidth, c.strideWidth, c.padInfo.left);
        return transposedAlong(transposedAlong(transposedAlong(single(dy), 1, slices), 2, rows), 3, columns);
      },
    }),
  },
];
