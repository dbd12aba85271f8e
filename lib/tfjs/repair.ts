/**
 * Gradients tfjs 4.22 lacks or has wrong, registered when this file is first imported. A simulation is differentiated
 * by our own graph; these matter where a user's function calls `tf.grad`, and wherever tfjs's tape runs
 * through ordinary code. Every gradient here saves inputs only and is made of public tfjs operations, so it
 * can be differentiated again, on any backend, and can be traced: nothing reads a value.
 *
 * What stays as tfjs has it, because the operation brings its own gradient past the registry
 * (`tf.customGrad`): logSoftmax, whose second derivative is wrong on the tape (take
 * `tf.log(tf.softmax(x))` or differentiate a traced graph), and losses.softmaxCrossEntropy, whose
 * gradient by the labels is wrong.
 */
import * as tf from '@tensorflow/tfjs';
import {comparison} from './gradients/comparison.js';
import {convolution} from './gradients/convolution.js';
import {elementwise} from './gradients/elementwise.js';
import {indexing} from './gradients/indexing.js';
import {product} from './gradients/product.js';
import {reduction} from './gradients/reduction.js';
import {window} from './gradients/window.js';

const gradients: readonly tf.GradConfig[] = [
  ...comparison,
  ...elementwise,
  ...reduction,
  ...indexing,
  ...product,
  ...convolution,
  ...window,
];

/** The kernels whose gradient is ours. */
export const repaired: readonly string[] = gradients.map(({kernelName}) => kernelName);

/** Registers what is not registered yet; a second call does nothing. */
export function repairGradients(): void {
  for (const gradient of gradients) {
    if (tf.getGradient(gradient.kernelName) !== gradient) {
      tf.registerGradient(gradient);
    }
  }
}

repairGradients();
