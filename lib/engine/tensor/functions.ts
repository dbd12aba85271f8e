/** Functions of numbers as kernels of tfjs, and what runs where a backend lacks one. */
import * as tf from '@tensorflow/tfjs';
import type {BinaryName, Node, UnaryName} from '../../graph/node.js';
import {primitiveOf} from '../../graph/primitives/index.js';
import {numbersOf} from '../../read.js';
import {binaries, roundings, unaries} from '../../trace/kernels/elementwise.js';

/** A function of numbers as tfjs computes it; shapes broadcast. */
interface TensorFunction {
  /** The kernels it takes, beside those that every backend has. */
  readonly kernels: readonly string[];
  readonly apply: (...operands: tf.Tensor[]) => tf.Tensor;
}

export const toFloat = (x: tf.Tensor): tf.Tensor => tf.cast(x, 'float32');

/** Kernels of tfjs that are one of our functions, by the function, as a trace reads them. */
function kernelsByFunction<F extends string>(names: Readonly<Record<string, F>>, inputs: readonly string[]) {
  return Object.entries(names).map(([kernel, fn]): [F, TensorFunction] => [
    fn,
    {
      kernels: [kernel],
      apply: (...operands) =>
        toFloat(tf.engine().runKernel(kernel, Object.fromEntries(inputs.map((name, i) => [name, operands[i]])))),
    },
  ]);
}

const isNonzero = (x: tf.Tensor): tf.Tensor => tf.notEqual(x, 0);

/** tfjs's own wants operands of one shape. */
function bitwiseAnd(a: tf.Tensor, b: tf.Tensor): tf.Tensor {
  const shape = tf.backend_util.assertAndGetBroadcastShape(a.shape, b.shape);
  const [left, right] = [a, b].map(x => tf.cast(tf.broadcastTo(x, shape), 'int32'));
  return toFloat(tf.bitwiseAnd(left, right));
}

/** Functions that take more than one kernel, or another one than in a trace. */
const composed: {readonly [F in UnaryName | BinaryName]?: TensorFunction} = {
  positive: {kernels: ['Greater'], apply: x => toFloat(tf.greater(x, 0))},
  truncate: {kernels: ['Sign', 'Floor', 'Abs'], apply: x => tf.mul(tf.sign(x), tf.floor(tf.abs(x)))},
  not: {kernels: ['Equal'], apply: x => toFloat(tf.equal(x, 0))},
  nonzero: {kernels: ['NotEqual'], apply: x => toFloat(isNonzero(x))},
  // tfjs's own quotient is int32, which ends at 2³¹.
  floorDiv: {kernels: ['Floor', 'RealDiv'], apply: (a, b) => tf.floor(tf.div(a, b))},
  and: {kernels: ['NotEqual', 'LogicalAnd'], apply: (a, b) => toFloat(tf.logicalAnd(isNonzero(a), isNonzero(b)))},
  or: {kernels: ['NotEqual', 'LogicalOr'], apply: (a, b) => toFloat(tf.logicalOr(isNonzero(a), isNonzero(b)))},
  bitwiseAnd: {kernels: ['BitwiseAnd'], apply: bitwiseAnd},
};

const functions = new Map<string, TensorFunction>([
  ...kernelsByFunction({...unaries, ...roundings}, ['x']),
  ...kernelsByFunction(binaries, ['a', 'b']),
  ...Object.entries(composed),
]);

export function functionOf(name: UnaryName | BinaryName): TensorFunction {
  const found = functions.get(name);
  if (found === undefined) throw new Error(`the tensor engine has no ${name}`);
  return found;
}

/** Whether the active backend can do it. */
export function hasKernels(kernels: readonly string[]): boolean {
  const backend = tf.getBackend();
  return kernels.every(kernel => tf.getKernel(kernel, backend) !== undefined);
}

/** Numbers as a tensor. tf.tensor looks closer at arrays than a trace in double precision allows. */
export function upload(numbers: Float64Array, shape: number[]): tf.Tensor {
  const dataId = tf.backend().write(Float32Array.from(numbers), shape, 'float32');
  return tf.engine().makeTensorFromTensorInfo({dataId, shape, dtype: 'float32'});
}

/** The interpreter's own loop, on values read back from the backend. */
export function onHost(node: Node, shape: number[]): (operands: readonly tf.Tensor[]) => tf.Tensor {
  const kernel = primitiveOf(node).evaluate(node);
  return operands => {
    const out = new Float64Array(node.size);
    kernel(operands.map(numbersOf), out);
    return upload(out, shape);
  };
}
