/**
 * Kernels whose output is piecewise constant: comparisons, logic, indices, rounding division. tfjs has no
 * gradient for most of them, so that `where(x.greater(c), ..)` fails under a tape; the gradient is zero.
 */
import * as tf from '@tensorflow/tfjs';
import {zero} from './broadcast.js';

/** Zero gradients for every input of a kernel. */
function constant(kernelName: string, ...inputs: string[]): tf.GradConfig {
  return {
    kernelName,
    inputsToSave: inputs,
    gradFunc: (_, saved) => Object.fromEntries(inputs.map((name, i) => [name, () => zero(saved[i])])),
  };
}

export const comparison: readonly tf.GradConfig[] = [
  ...[tf.Equal, tf.NotEqual, tf.Greater, tf.GreaterEqual, tf.Less, tf.LessEqual].map(name => constant(name, 'a', 'b')),
  ...[tf.LogicalAnd, tf.LogicalOr, tf.LogicalXor].map(name => constant(name, 'a', 'b')),
  ...[tf.LogicalNot, tf.All, tf.Any, tf.IsNan, tf.IsInf, tf.IsFinite, tf.ArgMax, tf.ArgMin].map(name =>
    constant(name, 'x'),
  ),
  ...[tf.SearchSorted, tf.LowerBound, tf.UpperBound].map(name => constant(name, 'sortedSequence', 'values')),
  constant(tf.FloorDiv, 'a', 'b'), // tfjs gives it the gradient of the exact quotient
  {
    // A cast to whole numbers or booleans is constant almost everywhere; tfjs passes dy through it.
    kernelName: tf.Cast,
    gradFunc: (dy, _, {dtype}) => ({
      x: () => (dtype === 'int32' || dtype === 'bool' ? zero(dy as tf.Tensor) : tf.clone(dy as tf.Tensor)),
    }),
  },
];
