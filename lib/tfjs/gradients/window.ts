/**
 * Kernels that weigh entries along one axis at a time with constant weights: mean pooling, resizing, and the window
 * sums of local response normalization. Each axis is a product with a constant matrix, so the gradient is the
 * product with its transpose. tfjs has kernels of its own for these gradients, which have no gradient
 * themselves; those of the mean pools divide by the whole window where padding cuts it off, and those of the resizes
 * ignore `halfPixelCenters`.
 */
import * as tf from '@tensorflow/tfjs';
import {single, size} from './broadcast.js';

/** One axis: row o of the matrix holds the weights of the n inputs in output o. */
export type Weights = number[][];

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

const weigh = (outputs: number, inputs: number, weight: (output: number, input: number) => number): Weights =>
  Array.from({length: outputs}, (_, o) => Array.from({length: inputs}, (__, i) => weight(o, i)));

/** The mean over the part of each window that lies inside. */
function pool(inputs: number, outputs: number, window: number, stride: number, before: number): Weights {
  return weigh(outputs, inputs, (o, i) => {
    const start = o * stride - before;
    const inside = Math.min(start + window, inputs) - Math.max(start, 0);
    return i >= start && i < start + window ? 1 / inside : 0;
  });
}

/** How sample points lie among those of the input. */
export interface Resize {
  alignCorners: boolean;
  halfPixelCenters: boolean;
}

function scale(inputs: number, outputs: number, alignCorners: boolean): number {
  return alignCorners && outputs > 1 ? (inputs - 1) / (outputs - 1) : inputs / outputs;
}

/** Linear interpolation at the sample points of tfjs's (and TensorFlow's) resizeBilinear. */
export function linear(inputs: number, outputs: number, {alignCorners, halfPixelCenters}: Resize): Weights {
  const ratio = scale(inputs, outputs, alignCorners);
  return weigh(outputs, inputs, (o, i) => {
    const at = halfPixelCenters ? ratio * (o + 0.5) - 0.5 : ratio * o;
    const lower = Math.max(0, Math.floor(at));
    const upper = Math.min(inputs - 1, Math.ceil(at));
    const share = at - lower;
    return (i === lower ? 1 - share : 0) + (i === upper ? share : 0);
  });
}

/** The nearest of them, as tfjs's resizeNearestNeighbor takes it. */
export function nearest(inputs: number, outputs: number, {alignCorners, halfPixelCenters}: Resize): Weights {
  const ratio = scale(inputs, outputs, alignCorners);
  return weigh(outputs, inputs, (o, i) => {
    const at = ratio * (halfPixelCenters ? o + 0.5 : o);
    return i === Math.max(0, Math.min(inputs - 1, alignCorners ? Math.round(at) : Math.floor(at))) ? 1 : 0;
  });
}

function resize(kernelName: string, interpolate: typeof linear): tf.GradConfig {
  return {
    kernelName,
    inputsToSave: ['images'],
    gradFunc: (dy, [images], attrs) => ({
      images: () => {
        const how = {alignCorners: attrs.alignCorners === true, halfPixelCenters: attrs.halfPixelCenters === true};
        return [1, 2].reduce(
          (t, axis) => transposedAlong(t, axis, interpolate(images.shape[axis], t.shape[axis], how)),
          single(dy),
        );
      },
    }),
  };
}

type Pair = [number, number];
type Triple = [number, number, number];

export const window: readonly tf.GradConfig[] = [
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
  resize(tf.ResizeBilinear, linear),
  resize(tf.ResizeNearestNeighbor, nearest),
  {
    // y = x·s^(−β) with s = bias + αΣx² over the channels within the radius, a symmetric window W:
    // x̄ = ȳs^(−β) − 2αβ·x·W(ȳ·x·s^(−β−1))
    kernelName: tf.LRN,
    inputsToSave: ['x'],
    gradFunc: (dy, [x], attrs) => ({
      x: () => {
        const [radius, bias, alpha, beta] = ['depthRadius', 'bias', 'alpha', 'beta'].map(name => attrs[name] as number);
        const [channels] = x.shape.slice(3);
        const near = weigh(channels, channels, (o, i) => (Math.abs(o - i) <= radius ? 1 : 0));
        const s = tf.add(tf.mul(transposedAlong(tf.square(x), 3, near), alpha), bias);
        const through = transposedAlong(tf.mul(tf.mul(single(dy), x), tf.pow(s, -beta - 1)), 3, near);
        return tf.sub(tf.mul(single(dy), tf.pow(s, -beta)), tf.mul(tf.mul(x, through), 2 * alpha * beta));
      },
    }),
  },
];
