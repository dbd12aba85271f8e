/** Normalization over a batch, and over neighbouring channels. */
import type * as tf from '@tensorflow/tfjs';
import {add, binary, constant, div, matMul, mul, reshape, scalar, scale, sub, unary} from '../../graph/build.js';
import type {Node} from '../../graph/node.js';
import type {Lowerings, Unary} from '../lowering.js';
import {lower} from '../lowering.js';

interface BatchNormInputs extends Unary {
  readonly mean: Node;
  readonly variance: Node;
  readonly scale?: Node;
  readonly offset?: Node;
}

function batchNorm({x, mean, variance, scale: gain, offset}: BatchNormInputs, epsilon: number): Node {
  const inverse = unary('rsqrt', add(variance, scalar(epsilon)));
  const normalized = mul(sub(x, mean), gain === undefined ? inverse : mul(gain, inverse));
  return offset === undefined ? normalized : add(normalized, offset);
}

/** For every channel the sum over the channels at most `radius` away: a product with a band of ones. */
function neighbourhoodSum(x: Node, radius: number): Node {
  const channels = x.shape[x.shape.length - 1];
  const band = Float64Array.from({length: channels * channels}, (_, at) =>
    Math.abs((at % channels) - Math.floor(at / channels)) <= radius ? 1 : 0,
  );
  return reshape(
    matMul(reshape(x, [1, x.size / channels, channels]), constant(band, [1, channels, channels])),
    x.shape,
  );
}

/** bias + alpha Σ x² over the neighbourhood. */
function energy(x: Node, {depthRadius, bias, alpha}: tf.LRNAttrs): Node {
  return add(scale(neighbourhoodSum(unary('square', x), depthRadius), alpha), scalar(bias));
}

function localResponse(x: Node, attributes: tf.LRNAttrs): Node {
  return mul(x, binary('pow', energy(x, attributes), scalar(-attributes.beta)));
}

/** The transpose of the derivative of y = x·e^(−β): e^(−β) dy − 2αβ x Σ y dy / e. */
function localResponseGradient({x, y, dy}: {x: Node; y: Node; dy: Node}, attributes: tf.LRNGradAttrs): Node {
  const {depthRadius, alpha, beta} = attributes;
  const e = energy(x, attributes);
  const shared = neighbourhoodSum(div(mul(y, dy), e), depthRadius);
  return sub(mul(binary('pow', e, scalar(-beta)), dy), scale(mul(x, shared), 2 * alpha * beta));
}

export const normalization: Lowerings = {
  // tfjs takes 0.001 where none is given.
  FusedBatchNorm: lower<BatchNormInputs, tf.FusedBatchNormAttrs>((inputs, {varianceEpsilon}) =>
    batchNorm(inputs, varianceEpsilon ?? 0.001),
  ),
  LRN: lower<Unary, tf.LRNAttrs>(({x}, attributes) => localResponse(x, attributes)),
  LRNGrad: lower<{x: Node; y: Node; dy: Node}, tf.LRNGradAttrs>((inputs, attributes) =>
    localResponseGradient(inputs, attributes),
  ),
};
