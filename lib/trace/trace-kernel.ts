/** Lets a trace use a refused kernel of tfjs, or one of a user's own, as other tfjs operations. */
import * as tf from '@tensorflow/tfjs';
import type {TensorInfo} from '@tensorflow/tfjs';
import {OptionError} from '../errors.js';
import {callable, requireValue, text} from '../checks.js';
import {backendName, supportedKernels} from './backend.js';
import {immediate, within} from './trace.js';

/** The result of a kernel, as tfjs calls it: its inputs by name ('0', '1', … of a list), and its attributes. */
export type KernelMeaning = (
  inputs: {readonly [name: string]: tf.Tensor},
  attributes: Readonly<Record<string, unknown>>,
) => tf.Tensor | tf.Tensor[];

/**
 * Lets traced functions use another tfjs kernel, written with supported operations. It is traced with them, so
 * derivatives of any order follow; a tf.grad inside a traced function needs the kernels of tfjs's own gradient.
 * @returns a function that undoes it
 * @throws OptionError 'bad-kernel' if the kernel is already supported
 */
export function traceKernel(kernelName: string, meaning: KernelMeaning): () => void {
  requireValue(kernelName, text, 'traceKernel: the name of the kernel', 'bad-kernel');
  requireValue(meaning, callable, 'traceKernel: its meaning', 'bad-kernel');
  if (supportedKernels.includes(kernelName))
    throw new OptionError('bad-kernel', `traceKernel: ${kernelName} is already supported.`, {kernel: kernelName});
  const before = tf.getKernel(kernelName, backendName) as tf.KernelConfig | undefined;
  if (before !== undefined) tf.unregisterKernel(kernelName, backendName);
  tf.registerKernel({
    kernelName,
    backendName,
    kernelFunc: ({inputs, attrs = {}}) => {
      const given = Object.entries(inputs)
        .filter((entry): entry is [string, TensorInfo] => entry[1] != null)
        .map(
          ([name, info]) =>
            [name, info instanceof tf.Tensor ? info : tf.engine().makeTensorFromTensorInfo(info)] as const,
        );
      return tf.tidy(() => within(kernelName, () => immediate(meaning(Object.fromEntries(given), attrs))));
    },
  });
  return () => {
    tf.unregisterKernel(kernelName, backendName);
    if (before !== undefined) tf.registerKernel(before);
  };
}
