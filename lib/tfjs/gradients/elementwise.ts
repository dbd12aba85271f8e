/**
 * Elementwise kernels. tfjs saves the *output* of exp, tanh, sigmoid, elu and pow for the gradient; that
 * copy does not stand on the tape, so second derivatives lose every term through it, silently. Here the
 * input is saved and the output formed again. Others do not sum over what broadcasting repeated
 * (maximum, minimum, squaredDifference, prelu), or give NaN at points where the function is smooth.
 */
import * as tf from '@tensorflow/tfjs';
import {float, single, sumTo, zero} from './broadcast.js';

/** y = f(x): x̄ = ȳ·f′(x). */
function unary(kernelName: string, derivative: (x: tf.Tensor) => tf.Tensor): tf.GradConfig {
  return {
    kernelName,
    inputsToSave: ['x'],
    gradFunc: (dy, [x]) => ({x: () => tf.mul(single(dy), derivative(float(x)))}),
  };
}

/** y = f(a, b), broadcast: each input's cotangent is ȳ times its partial, summed to its shape. */
function binary(
  kernelName: string,
  [a, b]: readonly [string, string],
  partials: readonly [
    (a: tf.Tensor, b: tf.Tensor, dy: tf.Tensor) => tf.Tensor,
    (a: tf.Tensor, b: tf.Tensor, dy: tf.Tensor) => tf.Tensor,
  ],
): tf.GradConfig {
  return {
    kernelName,
    inputsToSave: [a, b],
    gradFunc: (dy, saved) => {
      const partial = (i: 0 | 1) => () => {
        const [left, right] = saved.map(float);
        return sumTo(partials[i](left, right, single(dy)), saved[i].shape);
      };
      return {[a]: partial(0), [b]: partial(1)};
    },
  };
}

const where = (condition: tf.Tensor, dy: tf.Tensor): tf.Tensor => tf.mul(dy, tf.cast(condition, 'float32'));

/** Klambauer et al., "Self-normalizing neural networks" (2017): the constants tfjs's kernel has. */
const SELU_SCALE = 1.0507009873554804934193349852946;
const SELU_SCALE_ALPHA = 1.7580993408473768599402175208123;

export const elementwise: readonly tf.GradConfig[] = [
  unary(tf.Exp, tf.exp),
  unary(tf.Tanh, x => tf.sub(1, tf.square(tf.tanh(x)))),
  // σ′ = σ(x)σ(−x); 1 − σ(x) would lose its digits where σ is near one
  unary(tf.Sigmoid, x => tf.mul(tf.sigmoid(x), tf.sigmoid(tf.neg(x)))),
  // exp of min(x, 0) is one for x ≥ 0 and cannot overflow in the branch that is not taken
  unary(tf.Elu, x => tf.exp(tf.minimum(x, 0))),
  unary(tf.Selu, x =>
    tf.where(tf.greater(x, 0), tf.fill(x.shape, SELU_SCALE), tf.mul(tf.exp(tf.minimum(x, 0)), SELU_SCALE_ALPHA)),
  ),
  // Abs keeps tfjs's slope ±1, −1 at 0: so |x|², of which tf.norm is made, has its second derivative at 0 too.

  binary(
    tf.Maximum,
    ['a', 'b'],
    [(a, b, dy) => where(tf.greaterEqual(a, b), dy), (a, b, dy) => where(tf.less(a, b), dy)],
  ),
  binary(
    tf.Minimum,
    ['a', 'b'],
    [(a, b, dy) => where(tf.lessEqual(a, b), dy), (a, b, dy) => where(tf.greater(a, b), dy)],
  ),
  binary(
    tf.SquaredDifference,
    ['a', 'b'],
    [(a, b, dy) => tf.mul(dy, tf.mul(tf.sub(a, b), 2)), (a, b, dy) => tf.mul(dy, tf.mul(tf.sub(b, a), 2))],
  ),
  binary(
    tf.Prelu,
    ['x', 'alpha'],
    [
      (x, alpha, dy) => tf.add(where(tf.greater(x, 0), dy), where(tf.lessEqual(x, 0), tf.mul(dy, alpha))),
      (x, _, dy) => where(tf.lessEqual(x, 0), tf.mul(dy, x)),
    ],
  ),
  binary(tf.Pow, ['a', 'b'], [powerByBase, powerByExponent]),

  {
    // dy·0 in the branch not taken would be NaN for an infinite dy: the branch gets a true zero
    kernelName: tf.Select,
    inputsToSave: ['condition'],
    gradFunc: (dy, [condition]) => {
      const cotangent = single(dy);
      return {
        condition: () => zero(condition),
        t: () => tf.where(condition, cotangent, tf.zerosLike(cotangent)),
        e: () => tf.where(condition, tf.zerosLike(cotangent), cotangent),
      };
    },
  },
];

/** ∂aᵇ/∂a = b·aᵇ⁻¹, where b = 0 gives 0, not 0·a⁻¹: at a = 0 that would be NaN, also in higher derivatives. */
function powerByBase(a: tf.Tensor, b: tf.Tensor, dy: tf.Tensor): tf.Tensor {
  const lowered = tf.where(tf.equal(b, 0), tf.onesLike(b), tf.sub(b, 1));
  return tf.mul(dy, tf.mul(b, tf.pow(a, lowered)));
}

/** ∂aᵇ/∂b = aᵇ·log a for a > 0, and 0 elsewhere as in TensorFlow; the logarithm is taken of a safe number there. */
function powerByExponent(a: tf.Tensor, b: tf.Tensor, dy: tf.Tensor): tf.Tensor {
  const logarithm = tf.log(tf.where(tf.greater(a, 0), a, tf.onesLike(a)));
  return tf.mul(dy, tf.mul(tf.pow(a, b), logarithm));
}
