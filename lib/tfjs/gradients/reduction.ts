/**
 * Reductions and scans. tfjs saves the output of max, min and softmax (see elementwise.ts); its
 * cumsum transposes its gradient off the last axis; cumprod has none, so prod has no second one; max
 * and min give the whole cotangent to each of several equal extremes.
 */
import * as tf from '@tensorflow/tfjs';
import {axes, float, kept, single, size} from './broadcast.js';

/** The extreme's cotangent, shared equally where several entries attain it (as TensorFlow does; the central difference agrees). */
function extreme(kernelName: string, reduce: typeof tf.max, attribute: string): tf.GradConfig {
  return {
    kernelName,
    inputsToSave: ['x'],
    gradFunc: (dy, [x], attrs) => ({
      x: () => {
        const reduced = axes(attrs[attribute], x.rank);
        const attained = tf.cast(tf.equal(x, reduce(x, reduced, true)), 'float32');
        const share = tf.div(tf.reshape(single(dy), kept(x.shape, reduced)), tf.sum(attained, reduced, true));
        return tf.mul(attained, share);
      },
    }),
  };
}

/** Moves the entries of a scan's axis by `shift` towards its end, with `fill` where none comes from. */
function shifted(x: tf.Tensor, axis: number, shift: number, fill: number): tf.Tensor {
  const length = x.shape[axis];
  const count = Math.min(Math.abs(shift), length);
  const begin = x.shape.map((_, i) => (i === axis && shift < 0 ? count : 0));
  const extent = x.shape.map((n, i) => (i === axis ? n - count : n));
  const padding = x.shape.map((_, i): [number, number] => (i !== axis ? [0, 0] : shift > 0 ? [count, 0] : [0, count]));
  return count === length ? tf.fill(x.shape, fill) : tf.pad(tf.slice(x, begin, extent), padding, fill);
}

/**
 * yᵢ = Π_{j≤i} xⱼ: x̄ₖ = Eₖ·Rₖ with Eₖ = Π_{j<k} xⱼ, the exclusive product, and Rₖ = Σ_{i≥k} ȳᵢ Π_{k<j≤i} xⱼ, which obeys
 * Rₖ = ȳₖ + xₖ₊₁Rₖ₊₁. Nothing is divided by x, so zeros do no harm, to any order. The recurrence is solved by
 * doubling (Hillis & Steele 1986): (s, r) spans twice as many entries each time, in log₂ n steps.
 */
function cumulativeProductGradient(x: tf.Tensor, dy: tf.Tensor, axis: number): tf.Tensor {
  let span = shifted(x, axis, -1, 1);
  let sum = dy;
  for (let reach = 1; reach < x.shape[axis]; reach *= 2) {
    sum = tf.add(sum, tf.mul(span, shifted(sum, axis, -reach, 0)));
    span = tf.mul(span, shifted(span, axis, -reach, 1));
  }
  return tf.mul(tf.cumprod(x, axis, true, false), sum);
}

export const reduction: readonly tf.GradConfig[] = [
  extreme(tf.Max, tf.max, 'reductionIndices'),
  extreme(tf.Min, tf.min, 'axis'),
  {
    kernelName: tf.Softmax,
    inputsToSave: ['logits'],
    gradFunc: (dy, [logits], {dim}) => ({
      logits: () => {
        const y = tf.softmax(logits, dim as number);
        const weighted = tf.mul(single(dy), y);
        return tf.sub(weighted, tf.mul(tf.sum(weighted, dim as number, true), y));
      },
    }),
  },
  {
    kernelName: tf.LogSoftmax,
    inputsToSave: ['logits'],
    gradFunc: (dy, [logits], {axis}) => ({
      logits: () => {
        const [last] = axes(axis, logits.rank);
        return tf.sub(single(dy), tf.mul(tf.sum(single(dy), last, true), tf.softmax(logits, last)));
      },
    }),
  },
  {
    kernelName: tf.Cumsum,
    inputsToSave: ['x'],
    gradFunc: (dy, [x], {axis, exclusive, reverse}) => ({
      x: () => tf.cumsum(single(dy), axes(axis, x.rank)[0], exclusive === true, reverse !== true),
    }),
  },
  {
    kernelName: tf.Cumprod,
    inputsToSave: ['x'],
    gradFunc: (dy, [x], attrs) => ({
      x: () => {
        const [axis] = axes(attrs.axis, x.rank);
        const turn = (t: tf.Tensor): tf.Tensor => (attrs.reverse === true ? tf.reverse(t, axis) : t);
        const cotangent = turn(single(dy));
        // an exclusive product is the inclusive one, one entry later
        const inclusive = attrs.exclusive === true ? shifted(cotangent, axis, -1, 0) : cotangent;
        return turn(cumulativeProductGradient(turn(x), inclusive, axis));
      },
    }),
  },
  {
    // x̄ₖ = ȳ·Π_{j<k} xⱼ·Π_{j>k} xⱼ over the reduced axes, put last and made one
    kernelName: tf.Prod,
    inputsToSave: ['x'],
    gradFunc: (dy, [x], attrs) => ({
      x: () => {
        const reduced = axes(attrs.axis, x.rank);
        const others = x.shape.flatMap((_, axis) => (reduced.includes(axis) ? [] : [axis]));
        const order = [...others, ...reduced];
        const outer = others.map(axis => x.shape[axis]);
        const permuted = tf.transpose(float(x), order);
        const rows = tf.reshape(permuted, [...outer, size(x.shape) / Math.max(1, size(outer))]);
        const rest = tf.mul(tf.cumprod(rows, others.length, true, false), tf.cumprod(rows, others.length, true, true));
        const gradient = tf.mul(tf.reshape(single(dy), [...outer, 1]), rest);
        return tf.transpose(tf.reshape(gradient, permuted.shape), tf.backend_util.getUndoAxesPermutation(order));
      },
    }),
  },
];
