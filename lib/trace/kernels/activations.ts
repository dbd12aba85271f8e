/**
 * Activations of networks. Each branch of a kinked function is written so that it, and its
 * derivatives, stay finite where the other one is taken: expm1(min(x, 0)), not expm1(x).
 */
import * as tf from '@tensorflow/tfjs';
import {binary, div, expandReduced, max, mul, scalar, scale, select, sub, sum, unary} from '../../graph/build.js';
import type {Node} from '../../graph/node.js';
import type {Lowerings, Unary} from '../lowering.js';
import {axisOf, lower} from '../lowering.js';

const zero = scalar(0);

function elu(x: Node): Node {
  return select(binary('greaterEqual', x, zero), x, unary('expm1', binary('minimum', x, zero)));
}

function selu(x: Node): Node {
  const {SELU_SCALE, SELU_SCALEALPHA} = tf.backend_util;
  return select(
    binary('greaterEqual', x, zero),
    scale(x, SELU_SCALE),
    scale(unary('expm1', binary('minimum', x, zero)), SELU_SCALEALPHA),
  );
}

function relu6(x: Node): Node {
  return binary('minimum', unary('relu', x), scalar(6));
}

/** x, or alpha·x below zero. */
function prelu(x: Node, alpha: Node): Node {
  return select(binary('less', x, zero), mul(alpha, x), x);
}

/** Shifted by the largest entry, so that nothing overflows. */
function softmax(logits: Node, axis: number): Node {
  const shifted = sub(logits, expandReduced(max(logits, [axis]), logits.shape, [axis]));
  const weights = unary('exp', shifted);
  return div(weights, expandReduced(sum(weights, [axis]), logits.shape, [axis]));
}

/** The activation tfjs fuses into a layer's product. */
export function activate(
  x: Node,
  activation: tf.fused.Activation | undefined | null,
  alpha: Node | undefined,
  leak: number | undefined,
): Node {
  switch (activation) {
    case 'relu':
      return unary('relu', x);
    case 'relu6':
      return relu6(x);
    case 'elu':
      return elu(x);
    case 'sigmoid':
      return unary('sigmoid', x);
    case 'leakyrelu':
      return prelu(x, scalar(leak ?? 0.2));
    case 'prelu':
      return prelu(x, alpha ?? zero);
    default:
      return x;
  }
}

export const activations: Lowerings = {
  Elu: lower<Unary>(({x}) => elu(x)),
  Selu: lower<Unary>(({x}) => selu(x)),
  Relu6: lower<Unary>(({x}) => relu6(x)),
  LeakyRelu: lower<Unary, tf.LeakyReluAttrs>(({x}, {alpha}) => prelu(x, scalar(alpha))),
  Prelu: lower<{x: Node; alpha: Node}>(({x, alpha}) => prelu(x, alpha)),
  Softmax: lower<{logits: Node}, tf.SoftmaxAttrs>(({logits}, {dim}) => softmax(logits, axisOf(dim, logits.shape))),
};
