/** The functions of numbers as tfjs operations, and what to do where a backend lacks the kernel of one. */
import * as tf from '@tensorflow/tfjs';
import type {BinaryName, Node, UnaryName} from '../../graph/node.js';
import {primitiveOf} from '../../graph/primitives/index.js';
import {numbersOf} from '../../read.js';

interface UnaryFunction {
  /** The kernels it takes, beside those that every backend has. */
  readonly kernels: readonly string[];
  readonly apply: (x: tf.Tensor) => tf.Tensor;
}

interface BinaryFunction {
  readonly kernels: readonly string[];
  /** Shapes broadcast as they do in tfjs. */
  readonly apply: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor;
}

export const toFloat = (x: tf.Tensor): tf.Tensor => tf.cast(x, 'float32');
const isNonzero = (x: tf.Tensor): tf.Tensor => tf.notEqual(x, 0);

/** tfjs's own wants operands of one shape. */
function bitwiseAnd(a: tf.Tensor, b: tf.Tensor): tf.Tensor {
  const shape = tf.backend_util.assertAndGetBroadcastShape(a.shape, b.shape);
  const [left, right] = [a, b].map(x => tf.cast(tf.broadcastTo(x, shape), 'int32'));
  return toFloat(tf.bitwiseAnd(left, right));
}

export const unaryFunctions: {readonly [F in UnaryName]: UnaryFunction} = {
  neg: {kernels: ['Neg'], apply: tf.neg},
  abs: {kernels: ['Abs'], apply: tf.abs},
  sign: {kernels: ['Sign'], apply: tf.sign},
  square: {kernels: ['Square'], apply: tf.square},
  sqrt: {kernels: ['Sqrt'], apply: tf.sqrt},
  rsqrt: {kernels: ['Rsqrt'], apply: tf.rsqrt},
  reciprocal: {kernels: ['Reciprocal'], apply: tf.reciprocal},
  exp: {kernels: ['Exp'], apply: tf.exp},
  expm1: {kernels: ['Expm1'], apply: tf.expm1},
  log: {kernels: ['Log'], apply: tf.log},
  log1p: {kernels: ['Log1p'], apply: tf.log1p},
  sin: {kernels: ['Sin'], apply: tf.sin},
  cos: {kernels: ['Cos'], apply: tf.cos},
  tan: {kernels: ['Tan'], apply: tf.tan},
  asin: {kernels: ['Asin'], apply: tf.asin},
  acos: {kernels: ['Acos'], apply: tf.acos},
  atan: {kernels: ['Atan'], apply: tf.atan},
  sinh: {kernels: ['Sinh'], apply: tf.sinh},
  cosh: {kernels: ['Cosh'], apply: tf.cosh},
  tanh: {kernels: ['Tanh'], apply: tf.tanh},
  asinh: {kernels: ['Asinh'], apply: tf.asinh},
  acosh: {kernels: ['Acosh'], apply: tf.acosh},
  atanh: {kernels: ['Atanh'], apply: tf.atanh},
  sigmoid: {kernels: ['Sigmoid'], apply: tf.sigmoid},
  softplus: {kernels: ['Softplus'], apply: tf.softplus},
  erf: {kernels: ['Erf'], apply: tf.erf},
  relu: {kernels: ['Relu'], apply: tf.relu},
  positive: {kernels: ['Greater'], apply: x => toFloat(tf.greater(x, 0))},
  floor: {kernels: ['Floor'], apply: tf.floor},
  ceil: {kernels: ['Ceil'], apply: tf.ceil},
  round: {kernels: ['Round'], apply: tf.round},
  truncate: {kernels: ['Sign', 'Floor', 'Abs'], apply: x => tf.mul(tf.sign(x), tf.floor(tf.abs(x)))},
  isNaN: {kernels: ['IsNan'], apply: x => toFloat(tf.isNaN(x))},
  isInf: {kernels: ['IsInf'], apply: x => toFloat(tf.isInf(x))},
  isFinite: {kernels: ['IsFinite'], apply: x => toFloat(tf.isFinite(x))},
  not: {kernels: ['Equal'], apply: x => toFloat(tf.equal(x, 0))},
  nonzero: {kernels: ['NotEqual'], apply: x => toFloat(isNonzero(x))},
};

export const binaryFunctions: {readonly [F in BinaryName]: BinaryFunction} = {
  add: {kernels: ['Add'], apply: tf.add},
  sub: {kernels: ['Sub'], apply: tf.sub},
  mul: {kernels: ['Multiply'], apply: tf.mul},
  div: {kernels: ['RealDiv'], apply: tf.div},
  pow: {kernels: ['Pow'], apply: (a, b) => tf.pow(a, b)},
  maximum: {kernels: ['Maximum'], apply: tf.maximum},
  minimum: {kernels: ['Minimum'], apply: tf.minimum},
  mod: {kernels: ['Mod'], apply: tf.mod},
  // tfjs's own quotient is int32, which ends at 2³¹.
  floorDiv: {kernels: ['Floor', 'RealDiv'], apply: (a, b) => tf.floor(tf.div(a, b))},
  atan2: {kernels: ['Atan2'], apply: tf.atan2},
  equal: {kernels: ['Equal'], apply: (a, b) => toFloat(tf.equal(a, b))},
  notEqual: {kernels: ['NotEqual'], apply: (a, b) => toFloat(tf.notEqual(a, b))},
  less: {kernels: ['Less'], apply: (a, b) => toFloat(tf.less(a, b))},
  lessEqual: {kernels: ['LessEqual'], apply: (a, b) => toFloat(tf.lessEqual(a, b))},
  greater: {kernels: ['Greater'], apply: (a, b) => toFloat(tf.greater(a, b))},
  greaterEqual: {kernels: ['GreaterEqual'], apply: (a, b) => toFloat(tf.greaterEqual(a, b))},
  and: {kernels: ['NotEqual', 'LogicalAnd'], apply: (a, b) => toFloat(tf.logicalAnd(isNonzero(a), isNonzero(b)))},
  or: {kernels: ['NotEqual', 'LogicalOr'], apply: (a, b) => toFloat(tf.logicalOr(isNonzero(a), isNonzero(b)))},
  bitwiseAnd: {kernels: ['BitwiseAnd'], apply: bitwiseAnd},
};

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
