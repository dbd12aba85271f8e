/**
 * One function for every differentiable kernel of tfjs, and one for every way of calling it that takes another path.
 * Points keep away from kinks, so that central differences see a smooth function.
 */
import * as tf from '@tensorflow/tfjs';
import {point} from './finite-differences.js';
import type {Point} from './finite-differences.js';

export interface Case {
  f: (...xs: tf.Tensor[]) => tf.Tensor | tf.Tensor[];
  xs: Point[];
  /** False where only the first derivative is right: see repair.ts. */
  second?: boolean;
  tolerance?: number;
}

const signed = (...shape: number[]): Point => point(shape, at => 1.3 * Math.sin(1.1 + 2.7 * at) + 0.05);
const positive = (...shape: number[]): Point => point(shape, at => 1.2 + 0.9 * Math.sin(0.4 + 1.9 * at));
const inUnit = (...shape: number[]): Point => point(shape, at => 0.7 * Math.sin(0.9 + 2.3 * at));
const int = (values: number[], shape = [values.length]): tf.Tensor => tf.tensor(values, shape, 'int32');

const unary = (f: (x: tf.Tensor) => tf.Tensor, x: Point = signed(2, 3)): Case => ({f: a => f(a), xs: [x]});
const binary = (
  f: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor,
  a: (...s: number[]) => Point,
  b: (...s: number[]) => Point,
) => ({
  same: {f, xs: [a(2, 3), b(2, 3)]} as Case,
  left: {f, xs: [a(3), b(2, 3)]} as Case,
  right: {f, xs: [a(2, 3), b(2, 1)]} as Case,
  scalar: {f, xs: [a(2, 3), b()]} as Case,
});
const shifted = (...shape: number[]): Point => point(shape, at => 0.9 * Math.cos(0.3 + 1.3 * at));

const binaries = {
  Add: binary(tf.add, signed, positive),
  Sub: binary(tf.sub, signed, positive),
  Multiply: binary(tf.mul, signed, positive),
  RealDiv: binary(tf.div, signed, positive),
  DivNoNan: binary(tf.divNoNan, signed, positive),
  Maximum: binary(tf.maximum, signed, shifted),
  Minimum: binary(tf.minimum, signed, shifted),
  SquaredDifference: binary(tf.squaredDifference, signed, shifted),
  Atan2: binary(tf.atan2, signed, shifted),
  Mod: binary(tf.mod, signed, positive),
  FloorDiv: binary((a, b) => tf.mul(tf.add(a, b), tf.floorDiv(a, b)), signed, positive),
  Pow: binary(tf.pow, positive, signed),
  Prelu: binary(tf.prelu, signed, positive),
};

export const cases: Record<string, Case> = {
  Abs: unary(tf.abs),
  Acos: unary(tf.acos, inUnit(2, 3)),
  Acosh: unary(x => tf.acosh(tf.add(x, 1.5)), positive(2, 3)),
  AddN: {f: (a, b, c) => tf.addN([a, b, c, a]), xs: [signed(2, 3), positive(2, 3), inUnit(2, 3)]},
  Asin: unary(tf.asin, inUnit(2, 3)),
  Asinh: unary(tf.asinh),
  Atan: unary(tf.atan),
  Atanh: unary(tf.atanh, inUnit(2, 3)),
  Ceil: unary(x => tf.mul(x, tf.ceil(x))),
  ClipByValue: unary(x => tf.clipByValue(x, -0.5, 0.7)),
  Cos: unary(tf.cos),
  Cosh: unary(tf.cosh),
  Elu: unary(tf.elu),
  // tfjs's erf is Abramowitz & Stegun 7.1.26, off by 1.5e-7; the gradient is that of the true function
  Erf: {f: x => tf.erf(x), xs: [signed(2, 3)], tolerance: 1e-5},
  Exp: unary(tf.exp),
  Expm1: unary(tf.expm1),
  Floor: unary(x => tf.mul(x, tf.floor(x))),
  LeakyRelu: unary(x => tf.leakyRelu(x, 0.3)),
  Log: unary(tf.log, positive(2, 3)),
  Log1p: unary(tf.log1p, positive(2, 3)),
  Neg: unary(tf.neg),
  'Pow constant 2': unary(x => tf.pow(x, 2)),
  'Pow constant 3, negative base': unary(
    x => tf.pow(x, 3),
    point([2, 2], at => -0.5 - at),
  ),
  'Pow constant 0': unary(x => tf.pow(x, 0)),
  'Pow constant 1': unary(x => tf.pow(x, 1)),
  'Pow 2 of zero': unary(
    x => tf.pow(x, 2),
    point([3], at => at),
  ),
  Reciprocal: unary(tf.reciprocal, positive(2, 3)),
  'Reciprocal negative': unary(
    tf.reciprocal,
    point([3], at => -1 - at),
  ),
  Relu: unary(tf.relu),
  Relu6: unary(x => tf.relu6(tf.mul(x, 6))),
  Round: unary(x => tf.mul(x, tf.round(x))),
  Rsqrt: unary(tf.rsqrt, positive(2, 3)),
  Selu: unary(tf.selu),
  Sigmoid: unary(tf.sigmoid),
  LogSigmoid: unary(tf.logSigmoid),
  Sign: unary(x => tf.mul(x, tf.sign(x))),
  Sin: unary(tf.sin),
  Sinh: unary(tf.sinh),
  Softplus: unary(tf.softplus),
  Sqrt: unary(tf.sqrt, positive(2, 3)),
  Square: unary(tf.square),
  Step: unary(x => tf.mul(x, tf.step(x, 0.2))),
  Tan: unary(tf.tan, inUnit(2, 3)),
  Tanh: unary(tf.tanh),
  'tanh twice': unary(x => tf.tanh(tf.tanh(x))),
  'x·tanh x': unary(x => tf.mul(x, tf.tanh(x))),
  Cast: unary(x => tf.mul(x, tf.cast(tf.cast(x, 'int32'), 'float32'))),
  'Cast bool': unary(x => tf.mul(x, tf.cast(tf.cast(x, 'bool'), 'float32'))),
  ZerosLike: unary(x => tf.add(x, tf.zerosLike(x))),
  OnesLike: unary(x => tf.add(x, tf.onesLike(x))),
  Identity: unary(tf.clone),

  ...Object.fromEntries(
    Object.entries(binaries).flatMap(([name, by]) =>
      Object.entries(by).map(([shape, c]): [string, Case] => [`${name} ${shape}`, c]),
    ),
  ),

  'Sum all': unary(x => tf.sum(x)),
  'Sum axis': unary(x => tf.sum(x, 1), signed(2, 3, 2)),
  'Sum negative axis': unary(x => tf.sum(x, -1), signed(2, 3, 2)),
  'Sum kept': unary(x => tf.sum(x, [0, 2], true), signed(2, 3, 2)),
  'Mean axis': unary(x => tf.mean(x, [0, -1]), signed(2, 3, 2)),
  'Mean kept': unary(x => tf.mean(x, 1, true), signed(2, 3, 2)),
  'Max all': unary(x => tf.max(x)),
  'Max axis': unary(x => tf.max(x, 1), signed(2, 3, 2)),
  'Max negative axis, kept': unary(x => tf.max(x, -2, true), signed(2, 3, 2)),
  'Min axis': unary(x => tf.min(x, [0, 2]), signed(2, 3, 2)),
  'Min last': unary(x => tf.min(x, -1), signed(2, 3, 2)),
  'Prod all': unary(x => tf.prod(x)),
  'Prod axis': unary(x => tf.prod(x, 1), signed(2, 3, 2)),
  'Prod negative axis': unary(x => tf.prod(x, -1), signed(2, 3)),
  'Prod first axis': unary(x => tf.prod(x, 0), signed(3, 2)),
  'Prod two axes': unary(x => tf.prod(x, [0, 2]), signed(2, 3, 2)),
  'Prod kept': unary(x => tf.prod(x, 0, true), signed(2, 3)),
  'Prod with one zero': unary(
    x => tf.prod(x, 1),
    point([2, 3], at => (at === 1 ? 0 : 1 + at)),
  ),
  'Prod with two zeros': unary(
    x => tf.prod(x, 1),
    point([2, 3], at => (at === 1 || at === 2 ? 0 : 1 + at)),
  ),
  'Cumsum last': unary(x => tf.cumsum(x, 1)),
  'Cumsum first': unary(x => tf.cumsum(x, 0), signed(2, 3, 2)),
  'Cumsum middle exclusive': unary(x => tf.cumsum(x, 1, true), signed(2, 3, 2)),
  'Cumsum first of four, reversed': unary(x => tf.cumsum(x, 0, false, true), signed(2, 3, 2, 2)),
  'Cumprod last': unary(x => tf.cumprod(x, 1)),
  'Cumprod first': unary(x => tf.cumprod(x, 0), signed(3, 2)),
  'Cumprod exclusive reversed': unary(x => tf.cumprod(x, 1, true, true), signed(2, 3)),
  'Cumprod exclusive': unary(x => tf.cumprod(x, 1, true, false), signed(2, 3)),
  'Cumprod with zeros': unary(
    x => tf.cumprod(x, 0),
    point([4], at => (at === 1 || at === 2 ? 0 : 1 + at)),
  ),
  LogSumExp: unary(x => tf.logSumExp(x, 1)),
  Softmax: unary(x => tf.softmax(x)),
  'Softmax three': unary(x => tf.softmax(x), signed(2, 2, 3)),
  'x·softmax x': unary(x => tf.mul(x, tf.softmax(x))),
  Moments: {
    f: x => {
      const {mean, variance} = tf.moments(x, 0);
      return [mean, variance];
    },
    xs: [signed(3, 2)],
  },
  'Norm euclidean': unary(x => tf.norm(x, 'euclidean', 1)),
  'Norm 1': unary(x => tf.norm(x, 1, 1)),
  'Norm inf': unary(x => tf.norm(x, Infinity, 1)),
  'Norm fro': unary(x => tf.norm(x, 'fro', [0, 1])),
  'Norm 2': unary(x => tf.norm(x, 2)),

  BatchMatMul: {f: (a, b) => tf.matMul(a, b), xs: [signed(2, 3), positive(3, 2)]},
  'BatchMatMul ta': {f: (a, b) => tf.matMul(a, b, true), xs: [signed(3, 2), positive(3, 2)]},
  'BatchMatMul tb': {f: (a, b) => tf.matMul(a, b, false, true), xs: [signed(2, 3), positive(2, 3)]},
  'BatchMatMul ta tb': {f: (a, b) => tf.matMul(a, b, true, true), xs: [signed(3, 2), positive(2, 3)]},
  'BatchMatMul batch': {f: (a, b) => tf.matMul(a, b), xs: [signed(2, 2, 3), positive(2, 3, 2)]},
  'BatchMatMul left broadcast': {f: (a, b) => tf.matMul(a, b), xs: [signed(2, 3), positive(2, 3, 2)]},
  'BatchMatMul right broadcast': {f: (a, b) => tf.matMul(a, b, true), xs: [signed(2, 3, 2), positive(1, 3, 2)]},
  'BatchMatMul right broadcast ta tb': {
    f: (a, b) => tf.matMul(a, b, true, true),
    xs: [signed(2, 3, 2), positive(2, 3)],
  },
  Dot: {f: (a, b) => tf.dot(a, b), xs: [signed(2, 3), positive(3)]},
  OuterProduct: {f: (a, b) => tf.outerProduct(a as tf.Tensor1D, b as tf.Tensor1D), xs: [signed(2), positive(3)]},
  'Einsum matrix product': {f: (a, b) => tf.einsum('ij,jk->ik', a, b), xs: [signed(2, 3), positive(3, 2)]},
  'Einsum transposed': {f: a => tf.einsum('ij->ji', a), xs: [signed(2, 3)]},
  'Einsum permuted': {f: a => tf.einsum('ijk->kij', a), xs: [signed(2, 3, 2)]},
  'Einsum batch': {f: (a, b) => tf.einsum('bij,bjk->bik', a, b), xs: [signed(2, 2, 3), positive(2, 3, 2)]},
  'Einsum scalar': {f: (a, b) => tf.einsum('ij,ij->', a, b), xs: [signed(2, 3), positive(2, 3)]},
  'Einsum outer': {f: (a, b) => tf.einsum('i,j->ij', a, b), xs: [signed(2), positive(3)]},
  'Einsum row sums': {f: a => tf.einsum('ij->i', a), xs: [signed(2, 3)]},

  Reshape: unary(x => tf.reshape(x, [3, 2])),
  ExpandDims: unary(x => tf.expandDims(x, 1)),
  Squeeze: unary(x => tf.squeeze(x), signed(1, 3, 1)),
  Transpose: unary(x => tf.transpose(x, [2, 0, 1]), signed(2, 3, 2)),
  'Transpose default': unary(x => tf.transpose(x), signed(2, 3, 2)),
  Concat: {f: (a, b) => tf.concat([a, b], 1), xs: [signed(2, 3), positive(2, 1)]},
  'Concat negative axis': {f: (a, b) => tf.concat([a, b], -1), xs: [signed(2, 3), positive(2, 1)]},
  'Concat of integers too': {f: a => tf.concat([a, tf.tensor([[1], [2]])], 1), xs: [signed(2, 3)]},
  Pack: {f: (a, b) => tf.stack([a, b], 1), xs: [signed(2, 3), positive(2, 3)]},
  'Pack one': {f: a => tf.stack([a], 0), xs: [signed(2, 3)]},
  'Pack negative axis': {f: (a, b) => tf.stack([a, b], -1), xs: [signed(2, 3), positive(2, 3)]},
  Unpack: {f: a => tf.unstack(a, 1), xs: [signed(2, 3)]},
  'Unpack negative axis': {f: a => tf.unstack(a, -1), xs: [signed(2, 3)]},
  'Unpack one': {f: a => tf.unstack(a, 0), xs: [signed(1, 3)]},
  'Unpack some': {f: a => tf.unstack(a, 1)[1], xs: [signed(2, 3)]},
  SplitV: {f: a => tf.split(a, [1, 2], 1), xs: [signed(2, 3)]},
  'SplitV equal': {f: a => tf.split(a, 2, 0), xs: [signed(2, 3)]},
  'SplitV negative axis': {f: a => tf.split(a, 3, -1), xs: [signed(2, 3)]},
  'SplitV one': {f: a => tf.split(a, 1, 0), xs: [signed(2, 3)]},
  'SplitV some': {f: a => tf.split(a, 3, 1)[0], xs: [signed(2, 3)]},
  Slice: unary(x => tf.slice(x, [0, 1], [2, 2])),
  'Slice to the end': unary(x => tf.slice(x, [1, 1], [-1, -1])),
  StridedSlice: unary(x => tf.stridedSlice(x, [0, 0], [2, 3], [1, 2])),
  'StridedSlice reversed': unary(x => tf.stridedSlice(x, [1, 2], [-3, -4], [-1, -1])),
  'StridedSlice shrunk': unary(x => tf.stridedSlice(x, [1, 0], [2, 3], [1, 1], 0, 0, 0, 0, 1), signed(2, 3)),
  'StridedSlice new axis': unary(x => tf.stridedSlice(x, [0, 0, 0], [2, 1, 3], [1, 1, 2], 0, 0, 0, 2, 0), signed(2, 3)),
  'StridedSlice ellipsis': unary(x => tf.stridedSlice(x, [0, 1], [0, 2], [1, 1], 0, 0, 1, 0, 0), signed(2, 2, 3)),
  'StridedSlice begin and end masks': unary(
    x => tf.stridedSlice(x, [5, 1], [5, 9], [1, 2], 1, 3, 0, 0, 0),
    signed(3, 5),
  ),
  Reverse: unary(x => tf.reverse(x, 1)),
  'Reverse all': unary(x => tf.reverse(x), signed(2, 3)),
  'Reverse negative axis': unary(x => tf.reverse(x, -1), signed(2, 3, 2)),
  PadV2: unary(x =>
    tf.pad(
      x,
      [
        [1, 0],
        [0, 2],
      ],
      0.5,
    ),
  ),
  'MirrorPad reflect': unary(x =>
    tf.mirrorPad(
      x,
      [
        [1, 0],
        [2, 1],
      ],
      'reflect',
    ),
  ),
  'MirrorPad symmetric': unary(x =>
    tf.mirrorPad(
      x,
      [
        [1, 2],
        [3, 1],
      ],
      'symmetric',
    ),
  ),
  'MirrorPad vector': unary(x => tf.mirrorPad(x, [[2, 3]], 'symmetric'), signed(4)),
  'Tile vector': unary(x => tf.tile(x, [3]), signed(2)),
  Tile: unary(x => tf.tile(x, [2, 3])),
  'Tile five': unary(x => tf.tile(x, [2, 1, 1, 1, 2]), signed(1, 2, 1, 1, 2)),
  'Tile scalar': unary(x => tf.tile(x, []), signed()),
  BroadcastTo: unary(x => tf.broadcastTo(x, [2, 3, 2]), signed(3, 1)),
  'BroadcastTo five': unary(x => tf.broadcastTo(x, [2, 1, 2, 1, 2]), signed(1, 1, 2)),
  GatherV2: unary(x => tf.gather(x, int([2, 0, 2]), 1)),
  'GatherV2 first': unary(x => tf.gather(x, int([1, 0, 1])), signed(2, 3)),
  'GatherV2 matrix of indices': unary(x => tf.gather(x, int([1, 0, 2, 1], [2, 2]), 1), signed(2, 3, 2)),
  'GatherV2 scalar index': unary(x => tf.gather(x, tf.scalar(1, 'int32'), 1), signed(2, 3, 2)),
  'GatherV2 negative axis': unary(x => tf.gather(x, int([1, 0, 2, 1]), -1), signed(2, 3)),
  'GatherV2 batch 1': unary(x => tf.gather(x, int([1, 0, 2, 1], [2, 2]), 1, 1), signed(2, 3)),
  'GatherV2 batch 1 axis 2': unary(x => tf.gather(x, int([1, 0, 1, 1], [2, 2]), 2, 1), signed(2, 3, 2)),
  'GatherV2 batch 1 inner': unary(x => tf.gather(x, int([1, 0, 1, 2], [2, 2]), 1, 1), signed(2, 3, 2)),
  'GatherV2 batch 2': unary(x => tf.gather(x, int([1, 0, 2, 1, 0, 0, 1, 2], [2, 2, 2]), 2, 2), signed(2, 2, 3)),
  GatherNd: unary(x => tf.gatherND(x, int([1, 2, 0, 0, 1, 2], [3, 2]))),
  'GatherNd rows': unary(x => tf.gatherND(x, int([1, 0, 1], [3, 1]))),
  'GatherNd one': unary(x => tf.gatherND(x, int([1, 2], [2]))),
  ScatterNd: {f: u => tf.scatterND(int([4, 1, 4], [3, 1]), u, [5]), xs: [signed(3)]},
  'ScatterNd rows': {f: u => tf.scatterND(int([2, 0, 2], [3, 1]), u, [4, 2]), xs: [signed(3, 2)]},
  TensorScatterUpdate: {
    f: (x, u) => tf.tensorScatterUpdate(x, int([1, 2], [2, 1]), u),
    xs: [signed(4), positive(2)],
  },
  'TensorScatterUpdate entries': {
    f: (x, u) => tf.tensorScatterUpdate(x, int([1, 2, 0, 0], [2, 2]), u),
    xs: [signed(2, 3), positive(2)],
  },
  'TensorScatterUpdate rows': {
    f: (x, u) => tf.tensorScatterUpdate(x, int([2, 0], [2, 1]), u),
    xs: [signed(4, 2), positive(2, 2)],
  },
  SparseToDense: {f: v => tf.sparseToDense(int([1, 3]), v, [5], 0), xs: [signed(2)]},
  UnsortedSegmentSum: unary(x => tf.unsortedSegmentSum(x, tf.tensor1d([1, 0, 1], 'int32'), 3), signed(3, 2)),
  'UnsortedSegmentSum dropping': unary(
    x => tf.unsortedSegmentSum(x, tf.tensor1d([1, -1, 0], 'int32'), 2),
    signed(3, 2),
  ),
  Diag: unary(x => tf.diag(x), signed(3)),
  'Diag of a matrix': unary(x => tf.diag(x), signed(2, 2)),
  'MaxPool first': {f: x => tf.maxPool(x as tf.Tensor3D, 2, 1, 'same'), xs: [signed(3, 3, 2)], second: false},
  'MaxPool3D first': {f: x => tf.maxPool3d(x as tf.Tensor4D, 2, 1, 'valid'), xs: [signed(3, 2, 2, 1)], second: false},
  'Dilation2D first': {
    f: (x, w) => tf.dilation2d(x as tf.Tensor3D, w as tf.Tensor3D, 1, 'valid'),
    xs: [signed(3, 3, 1), inUnit(2, 2, 1)],
    second: false,
  },
  'LogSoftmax first': {f: x => tf.logSoftmax(x), xs: [signed(2, 3)], second: false},
  MatrixBandPart: unary(x => tf.linalg.bandPart(x, 1, 0), signed(3, 3)),
  'TopK values': {f: x => tf.topk(x, 2).values, xs: [signed(2, 4)]},
  Select: {f: (a, b) => tf.where(tf.greater(a, b), tf.square(a), b), xs: [signed(2, 3), shifted(2, 3)]},
  'Select broadcast': {f: (a, b) => tf.where(tf.less(a, 0.2), tf.square(a), b), xs: [signed(2, 3), shifted()]},
  'Select, broken branch': {f: a => tf.where(tf.greater(a, 0.1), tf.log(tf.abs(a)), tf.mul(a, 2)), xs: [signed(2, 3)]},
  Equal: {f: (a, b) => tf.where(tf.equal(a, b), b, tf.square(a)), xs: [signed(2, 3), shifted(2, 3)]},
  NotEqual: {f: (a, b) => tf.where(tf.notEqual(a, b), b, tf.square(a)), xs: [signed(2, 3), shifted(2, 3)]},
  GreaterEqual: {f: (a, b) => tf.where(tf.greaterEqual(a, b), b, tf.square(a)), xs: [signed(2, 3), shifted(3)]},
  Less: {f: (a, b) => tf.mul(a, tf.cast(tf.less(a, b), 'float32')), xs: [signed(2, 3), shifted(2, 3)]},
  LessEqual: {f: (a, b) => tf.mul(a, tf.cast(tf.lessEqual(a, b), 'float32')), xs: [signed(2, 3), shifted(2, 3)]},
  Logical: {
    f: (a, b) => {
      const [p, q, r] = [tf.greater(a, 0), tf.greater(b, 0), tf.less(a, b)];
      return tf.where(
        tf.logicalXor(tf.logicalAnd(p, tf.logicalNot(q)), tf.logicalOr(q, r)),
        tf.square(a),
        tf.mul(a, b),
      );
    },
    xs: [signed(2, 3), shifted(2, 3)],
  },
  IsNan: unary(x => tf.where(tf.logicalOr(tf.isNaN(x), tf.logicalNot(tf.isFinite(x))), tf.zerosLike(x), tf.square(x))),
  All: unary(x => tf.where(tf.all(tf.greater(x, -5)), tf.square(x), x)),
  ArgMax: unary(x => tf.gather(x, tf.argMax(x, 0) as tf.Tensor1D), signed(3, 2)),

  Conv2D: {
    f: (x, w) => tf.conv2d(x as tf.Tensor3D, w as tf.Tensor4D, 1, 'same'),
    xs: [signed(3, 3, 2), positive(2, 2, 2, 2)],
  },
  'Conv2D strided': {
    f: (x, w) => tf.conv2d(x as tf.Tensor3D, w as tf.Tensor4D, 2, 'valid'),
    xs: [signed(4, 4, 1), positive(2, 2, 1, 2)],
  },
  Conv1D: {
    f: (x, w) => tf.conv1d(x as tf.Tensor2D, w as tf.Tensor3D, 1, 'same'),
    xs: [signed(5, 2), positive(3, 2, 2)],
  },
  Conv2DBackpropInput: {
    f: (x, w) => tf.conv2dTranspose(x as tf.Tensor3D, w as tf.Tensor4D, [4, 4, 2], 2, 'same'),
    xs: [signed(2, 2, 2), positive(2, 2, 2, 2)],
  },
  DepthwiseConv2dNative: {
    f: (x, w) => tf.depthwiseConv2d(x as tf.Tensor3D, w as tf.Tensor4D, 1, 'same'),
    xs: [signed(3, 3, 2), positive(2, 2, 2, 1)],
  },
  Conv3D: {
    f: (x, w) => tf.conv3d(x as tf.Tensor4D, w as tf.Tensor5D, 1, 'same'),
    xs: [signed(2, 2, 2, 1), positive(2, 1, 2, 1, 2)],
  },
  AvgPool: unary(x => tf.avgPool(x as tf.Tensor3D, 2, 1, 'same'), signed(3, 3, 2)),
  AvgPool3D: unary(x => tf.avgPool3d(x as tf.Tensor4D, 2, 1, 'valid'), signed(3, 2, 2, 1)),
  'AvgPool3D same': unary(x => tf.avgPool3d(x as tf.Tensor4D, [2, 3, 2], [1, 2, 1], 'same'), signed(2, 3, 2, 2)),
  'AvgPool strided': unary(x => tf.avgPool(x as tf.Tensor3D, [3, 2], [2, 1], 'same'), signed(4, 3, 2)),
  LRN: unary(x => tf.localResponseNormalization(x as tf.Tensor3D, 1, 1, 0.7, 0.6), signed(2, 2, 4)),
  FusedBatchNorm: {
    f: (x, m, v, o, s) =>
      tf.batchNorm(x as tf.Tensor2D, m as tf.Tensor1D, v as tf.Tensor1D, o as tf.Tensor1D, s as tf.Tensor1D, 0.01),
    xs: [signed(3, 2), signed(2), positive(2), inUnit(2), positive(2)],
  },
  'FusedBatchNorm four': {
    f: (x, m, v, o, s) =>
      tf.batchNorm(x as tf.Tensor4D, m as tf.Tensor1D, v as tf.Tensor1D, o as tf.Tensor1D, s as tf.Tensor1D, 0.01),
    xs: [signed(2, 2, 1, 2), signed(2), positive(2), inUnit(2), positive(2)],
  },
  'ResizeBilinear half pixels': unary(
    x => tf.image.resizeBilinear(x as tf.Tensor3D, [5, 3], false, true),
    signed(2, 4, 2),
  ),
  'ResizeBilinear aligned': unary(x => tf.image.resizeBilinear(x as tf.Tensor3D, [5, 3], true), signed(2, 4, 2)),
  'ResizeNearestNeighbor half pixels': unary(
    x => tf.image.resizeNearestNeighbor(x as tf.Tensor3D, [5, 3], false, true),
    signed(2, 4, 2),
  ),
  'ResizeNearestNeighbor aligned': unary(
    x => tf.image.resizeNearestNeighbor(x as tf.Tensor3D, [5, 3], true),
    signed(2, 4, 2),
  ),
  ResizeBilinear: unary(x => tf.image.resizeBilinear(x as tf.Tensor3D, [4, 3]), signed(2, 2, 1)),
  ResizeNearestNeighbor: unary(x => tf.image.resizeNearestNeighbor(x as tf.Tensor3D, [4, 3]), signed(2, 2, 1)),
  DepthToSpace: unary(x => tf.depthToSpace(x as tf.Tensor4D, 2), signed(1, 2, 1, 4)),
  SpaceToBatchND: unary(x => tf.spaceToBatchND(x, [2], [[1, 1]]), signed(1, 4, 2)),
  BatchToSpaceND: unary(x => tf.batchToSpaceND(x, [2], [[1, 0]]), signed(2, 3, 2)),
  _FusedMatMul: {
    f: (a, b, c) => tf.fused.matMul({a: a as tf.Tensor2D, b: b as tf.Tensor2D, bias: c, activation: 'relu'}),
    xs: [signed(2, 3), positive(3, 2), inUnit(2)],
  },
  '_FusedMatMul elu': {
    f: (a, b, c) => tf.fused.matMul({a: a as tf.Tensor2D, b: b as tf.Tensor2D, bias: c, activation: 'elu'}),
    xs: [signed(2, 3), positive(3, 2), inUnit(2)],
  },
  LinalgQr: {f: a => tf.linalg.qr(a)[1], xs: [positive(2, 2)]},
  GramSchmidt: {f: a => tf.linalg.gramSchmidt(a as tf.Tensor2D) as tf.Tensor, xs: [positive(2, 2)]},
  HuberLoss: {f: (a, b) => tf.losses.huberLoss(a, b), xs: [signed(2, 3), positive(2, 3)]},
  MeanSquaredError: {f: (a, b) => tf.losses.meanSquaredError(a, b), xs: [signed(2, 3), positive(2, 3)]},
  SigmoidCrossEntropy: {f: (a, b) => tf.losses.sigmoidCrossEntropy(a, b), xs: [inUnit(2, 3), signed(2, 3)]},
  Mish: unary(x => tf.mul(x, tf.tanh(tf.softplus(x)))),
  Dense: {
    f: (x, w, b) => tf.tanh(tf.add(tf.matMul(x, w), b)),
    xs: [signed(2, 3), positive(3, 2), inUnit(2)],
  },
};
