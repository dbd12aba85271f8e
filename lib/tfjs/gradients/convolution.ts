/**
 * Convolutions are bilinear: with ⟨·,·⟩ the sum of products, ⟨g, F(x, w)⟩ = ⟨x, I(g, w)⟩ = ⟨w, H(x, g)⟩ for the forward
 * kernel F, the one that goes back to the input, I, and the one that goes back to the filter, H. So the
 * gradients of I and H are again F, I and H. tfjs has those of F, and of I for Conv2D; with the rest
 * the three kernels are closed under differentiation.
 */
import * as tf from '@tensorflow/tfjs';
import {single} from './broadcast.js';

interface Family {
  forward: string;
  toInput: string;
  toFilter: string;
  /** Attributes the forward kernel needs and the other two do not carry. */
  defaults: tf.NamedAttrMap;
}

function family({forward, toInput, toFilter, defaults}: Family): tf.GradConfig[] {
  const run = (kernel: string, inputs: tf.NamedTensorMap, attrs: tf.NamedAttrMap): tf.Tensor =>
    tf.engine().runKernel(kernel, inputs, {...defaults, ...attrs});
  return [
    {
      kernelName: toInput,
      inputsToSave: ['dy', 'filter'],
      gradFunc: (g, [dy, filter], attrs) => ({
        dy: () => run(forward, {x: single(g), filter}, attrs),
        filter: () => run(toFilter, {x: single(g), dy}, {...attrs, filterShape: filter.shape}),
      }),
    },
    {
      kernelName: toFilter,
      inputsToSave: ['x', 'dy'],
      gradFunc: (g, [x, dy], attrs) => ({
        x: () => run(toInput, {dy, filter: single(g)}, {...attrs, inputShape: x.shape}),
        dy: () => run(forward, {x, filter: single(g)}, attrs),
      }),
    },
  ];
}

export const convolution: readonly tf.GradConfig[] = [
  ...family({
    forward: tf.Conv2D,
    toInput: tf.Conv2DBackpropInput,
    toFilter: tf.Conv2DBackpropFilter,
    defaults: {dataFormat: 'NHWC', dilations: [1, 1]},
  }),
  ...family({
    forward: tf.DepthwiseConv2dNative,
    toInput: tf.DepthwiseConv2dNativeBackpropInput,
    toFilter: tf.DepthwiseConv2dNativeBackpropFilter,
    defaults: {dilations: [1, 1]},
  }),
  ...family({
    forward: tf.Conv3D,
    toInput: tf.Conv3DBackpropInputV2,
    toFilter: tf.Conv3DBackpropFilterV2,
    defaults: {dataFormat: 'NDHWC', dilations: [1, 1, 1]},
  }),
];
