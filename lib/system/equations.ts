/** A system as a scheme sees it: pure functions of tensors, for one state. */
import type * as tf from '@tensorflow/tfjs';

/** Named parts of a state or an unknown: q and v, or y, and what a scheme carries beside them. */
export interface Blocks {
  readonly [name: string]: tf.Tensor;
}

/** A system as tensor functions: what a scheme is written in. */
export interface Equations {
  readonly kind: 'mechanics' | 'ode';
  /** The applied force f(q, v, t). Mechanics only. */
  force(q: tf.Tensor, v: tf.Tensor, t: tf.Tensor): tf.Tensor;
  /** M(q) w. Mechanics only. */
  mass(q: tf.Tensor, w: tf.Tensor): tf.Tensor;
  /** M(q) itself, in the shape the user gave it. Mechanics only. */
  massAt(q: tf.Tensor): tf.Tensor;
  /** M(q)⁻¹ f(q, v, t). Mechanics only. */
  acceleration(q: tf.Tensor, v: tf.Tensor, t: tf.Tensor): tf.Tensor;
  /** The first-order form: the time derivative of {q, v}, or of {y}. */
  rate(x: Blocks, t: tf.Tensor): Blocks;
}
