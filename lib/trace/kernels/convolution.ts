/**
 * Convolutions, pooling and resizing over two axes (those over one are reshaped to these by tfjs). A window's numbers
 * are gathered side by side through a table that is known when the function is traced (im2col), and a convolution is
 * then a product of matrices; resizing is a product with constant weights along each axis. The kernels that go back are
 * the transposes of these programs, so that value and gradient are of one definition.
 */
import * as tf from '@tensorflow/tfjs';
import {
  add,
  cast,
  constant,
  div,
  full,
  gather,
  input,
  matMul,
  max,
  mul,
  reshape,
  select,
  sum,
  transpose,
} from '../../graph/build.js';
import {orZeros, pullback} from '../../graph/differentiate.js';
import type {Node, Shape} from '../../graph/node.js';
import {replaceNodes} from '../../graph/simplify.js';
import type {Lowering, Lowerings} from '../lowering.js';
import {lower} from '../lowering.js';
import {activate} from './activations.js';
import {linear, nearest, type Resize, type Weights} from './resize-weights.js';

type Shape4 = [number, number, number, number];
type Window = Pick<
  tf.backend_util.Conv2DInfo,
  | 'batchSize'
  | 'inHeight'
  | 'inWidth'
  | 'inChannels'
  | 'outHeight'
  | 'outWidth'
  | 'outChannels'
  | 'filterHeight'
  | 'filterWidth'
  | 'strideHeight'
  | 'strideWidth'
  | 'dilationHeight'
  | 'dilationWidth'
  | 'padInfo'
>;

const four = (shape: Shape): Shape4 => [...shape] as Shape4;

/** Where each place of each window lies in [rows, columns] of the input, −1 outside: [outputs, places]. */
function places(w: Window): Int32Array {
  const {outHeight, outWidth, filterHeight, filterWidth, inHeight, inWidth} = w;
  const table = new Int32Array(outHeight * outWidth * filterHeight * filterWidth);
  let at = 0;
  for (let row = 0; row < outHeight; row++)
    for (let column = 0; column < outWidth; column++)
      for (let i = 0; i < filterHeight; i++)
        for (let j = 0; j < filterWidth; j++) {
          const y = row * w.strideHeight - w.padInfo.top + i * w.dilationHeight;
          const x = column * w.strideWidth - w.padInfo.left + j * w.dilationWidth;
          table[at++] = y >= 0 && y < inHeight && x >= 0 && x < inWidth ? y * inWidth + x : -1;
        }
  return table;
}

/** The windows of x, zero outside of it: [batch · outputs, places, channels]. */
function windows(x: Node, w: Window): Node {
  const table = places(w);
  const {batchSize, inChannels, inHeight, inWidth} = w;
  const whole = new Int32Array(batchSize * table.length * inChannels);
  let at = 0;
  for (let n = 0; n < batchSize; n++)
    for (const place of table)
      for (let c = 0; c < inChannels; c++)
        whole[at++] = place < 0 ? -1 : (n * inHeight * inWidth + place) * inChannels + c;
  const count = w.filterHeight * w.filterWidth;
  return gather(x, whole, [whole.length / (count * inChannels), count, inChannels]);
}

const outputShape = ({batchSize, outHeight, outWidth, outChannels}: Window): Shape4 => [
  batchSize,
  outHeight,
  outWidth,
  outChannels,
];

const product = (a: Node, b: Node): Node => matMul(reshape(a, [1, ...a.shape]), reshape(b, [1, ...b.shape]));

function convolve(x: Node, filter: Node, w: Window): Node {
  const columns = windows(x, w);
  const inner = columns.shape[1] * columns.shape[2];
  return reshape(
    product(reshape(columns, [columns.shape[0], inner]), reshape(filter, [inner, w.outChannels])),
    outputShape(w),
  );
}

/** Each channel with filters of its own: [.., channels · multiplier]. */
function convolveDepthwise(x: Node, filter: Node, w: Window): Node {
  const columns = windows(x, w);
  const [rows, count, channels] = columns.shape;
  const multiplier = filter.shape[3];
  const weighted = mul(reshape(columns, [rows, count, channels, 1]), reshape(filter, [1, count, channels, multiplier]));
  return reshape(sum(weighted, [1]), outputShape(w));
}

interface ConvolutionAttributes {
  readonly strides: number | [number, number];
  readonly pad: Parameters<typeof tf.backend_util.computeConv2DInfo>[4];
  readonly dataFormat?: 'NHWC' | 'NCHW';
  readonly dilations?: number | [number, number] | null;
  readonly dimRoundingMode?: 'floor' | 'round' | 'ceil';
}

const windowOf = (
  x: Shape,
  filter: Shape,
  {strides, pad, dilations, dimRoundingMode, dataFormat}: ConvolutionAttributes,
  depthwise: boolean,
): Window =>
  tf.backend_util.computeConv2DInfo(
    four(x),
    four(filter),
    strides,
    // Layers give null for none.
    dilations ?? 1,
    pad,
    dimRoundingMode,
    depthwise,
    depthwise ? 'channelsLast' : tf.backend_util.convertConv2DDataFormat(dataFormat ?? 'NHWC'),
  );

/** With channels first, the same on channels last. */
function convolution(x: Node, filter: Node, attributes: ConvolutionAttributes): Node {
  const w = windowOf(x.shape, filter.shape, attributes, false);
  if (attributes.dataFormat !== 'NCHW') return convolve(x, filter, w);
  return transpose(convolve(transpose(x, [0, 2, 3, 1]), filter, w), [0, 3, 1, 2]);
}

const depthwise = (x: Node, filter: Node, attributes: ConvolutionAttributes): Node =>
  convolveDepthwise(x, filter, windowOf(x.shape, filter.shape, attributes, true));

type Convolution = typeof convolution;

/**
 * The cotangent of the input, or of the filter, of a convolution with that output cotangent: by an input that stands
 * for it, as a view of a view does not read what lies between. The result is linear in it, so that its values do not
 * matter; where they do, they are `at`.
 */
function back(f: (wrt: Node<'input'>) => Node, shape: Shape, dy: Node, at?: Node): Node {
  const wrt = input('convolved', shape);
  const cotangent = orZeros(pullback([f(wrt)], [wrt], [dy])[0], wrt);
  return at === undefined ? cotangent : replaceNodes([cotangent], new Map<Node, Node>([[wrt, at]]))[0];
}

const toInput = (f: Convolution): Lowering =>
  lower<{dy: Node; filter: Node}, ConvolutionAttributes & {inputShape: Shape}>(({dy, filter}, attributes) =>
    back(x => f(x, filter, attributes), attributes.inputShape, dy),
  );

const toFilter = (f: Convolution): Lowering =>
  lower<{x: Node; dy: Node}, ConvolutionAttributes & {filterShape: Shape}>(({x, dy}, attributes) =>
    back(filter => f(x, filter, attributes), attributes.filterShape, dy),
  );

interface FusedOperands {
  readonly x: Node;
  readonly filter: Node;
  readonly bias?: Node;
  readonly preluActivationWeights?: Node;
}
type FusedAttributes = ConvolutionAttributes & {
  readonly activation?: tf.fused.Activation;
  readonly leakyreluAlpha?: number;
};

const fused = (f: Convolution): Lowering =>
  lower<FusedOperands, FusedAttributes>(({x, filter, bias, preluActivationWeights: alpha}, attributes) => {
    const y = f(x, filter, attributes);
    // With channels first tfjs takes a bias and slopes of one number a channel.
    const spread = (one: Node): Node =>
      attributes.dataFormat === 'NCHW' && one.shape.length === 1 ? reshape(one, [one.size, 1, 1]) : one;
    return activate(
      bias === undefined ? y : add(y, spread(bias)),
      attributes.activation,
      alpha === undefined ? undefined : spread(alpha),
      attributes.leakyreluAlpha,
    );
  });

interface PoolAttributes {
  readonly filterSize: number | [number, number];
  readonly strides: number | [number, number];
  readonly pad: ConvolutionAttributes['pad'];
  readonly dimRoundingMode?: 'floor' | 'round' | 'ceil';
}

const poolOf = (x: Shape, {filterSize, strides, pad, dimRoundingMode}: PoolAttributes): Window =>
  tf.backend_util.computePool2DInfo(four(x), filterSize, strides, 1, pad, dimRoundingMode);

/** 1 where a place of an output's window lies inside: [batch · outputs, places, 1]. */
function inside(w: Window): Node {
  const table = places(w);
  const count = w.filterHeight * w.filterWidth;
  const outputs = table.length / count;
  const values = new Float64Array(w.batchSize * table.length);
  values.forEach((_, i) => (values[i] = table[i % table.length] < 0 ? 0 : 1));
  return constant(values, [w.batchSize * outputs, count, 1]);
}

/** The mean over the part of each window that lies inside. */
function meanPool(x: Node, attributes: PoolAttributes): Node {
  const w = poolOf(x.shape, attributes);
  return reshape(div(sum(windows(x, w), [1]), sum(inside(w), [1])), outputShape(w));
}

function maxPool(x: Node, attributes: PoolAttributes): Node {
  const w = poolOf(x.shape, attributes);
  const all = windows(x, w);
  const there = inside(w);
  const isThere = cast(there, 'bool');
  return reshape(max(select(isThere, all, full(-Infinity, all.shape)), [1]), outputShape(w));
}

/** The product with weights [outputs, inputs] along one axis. */
function along(x: Node, axis: number, weights: Weights): Node {
  const order = [...x.shape.keys()].filter(i => i !== axis).concat(axis);
  const rows = transpose(x, order);
  const [outputs, inputs] = [weights.length, weights[0].length];
  const matrix = constant(Float64Array.from(weights.flat()), [1, outputs, inputs]);
  const made = matMul(reshape(rows, [1, x.size / inputs, inputs]), matrix, false, true);
  return transpose(
    reshape(made, [...rows.shape.slice(0, -1), outputs]),
    [...x.shape.keys()].map(i => order.indexOf(i)),
  );
}

const resize = (weightsOf: (inputs: number, outputs: number, how: Resize) => Weights): Lowering =>
  lower<{images: Node}, Resize & {size: [number, number]}>(({images}, {size, alignCorners, halfPixelCenters}) =>
    [0, 1].reduce(
      (x, i) => along(x, i + 1, weightsOf(images.shape[i + 1], size[i], {alignCorners, halfPixelCenters})),
      cast(images, 'float'),
    ),
  );

export const convolutions: Lowerings = {
  Conv2D: lower<{x: Node; filter: Node}, ConvolutionAttributes>(({x, filter}, attributes) =>
    convolution(x, filter, attributes),
  ),
  Conv2DBackpropInput: toInput(convolution),
  Conv2DBackpropFilter: toFilter(convolution),
  FusedConv2D: fused(convolution),
  DepthwiseConv2dNative: lower<{x: Node; filter: Node}, ConvolutionAttributes>(({x, filter}, attributes) =>
    depthwise(x, filter, attributes),
  ),
  DepthwiseConv2dNativeBackpropInput: toInput(depthwise),
  DepthwiseConv2dNativeBackpropFilter: toFilter(depthwise),
  FusedDepthwiseConv2D: fused(depthwise),
  AvgPool: lower<{x: Node}, PoolAttributes>(({x}, attributes) => meanPool(x, attributes)),
  MaxPool: lower<{x: Node}, PoolAttributes>(({x}, attributes) => maxPool(x, attributes)),
  MaxPoolGrad: lower<{dy: Node; input: Node; output: Node}, PoolAttributes>(({dy, input: x}, attributes) =>
    back(wrt => maxPool(wrt, attributes), x.shape, dy, x),
  ),
  ResizeNearestNeighbor: resize(nearest),
  ResizeBilinear: resize(linear),
};
