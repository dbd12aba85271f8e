/** Hard contacts without friction (`holds: 'contact'`): 0 ≤ λ ⟂ φ ≥ 0, and what lands stops at once. */
import * as tf from '@tensorflow/tfjs';
import type {PhasePoint, RowScale} from '../constraints.js';
import {Contact} from './contact.js';

export class HardUnilateral extends Contact {
  override positions(at: PhasePoint, placeholder: tf.Tensor, give?: tf.Tensor): tf.Tensor {
    return give === undefined ? tf.minimum(this.gap(at), 0) : this.apart(at, this.own(placeholder), give);
  }

  override velocities(at: PhasePoint, placeholder: tf.Tensor, _ofVelocities: boolean, closed?: tf.Tensor): tf.Tensor {
    return closed === undefined
      ? this.own(placeholder)
      : tf.where(this.own(closed), this.rate(at), this.own(placeholder));
  }

  override accelerations(at: PhasePoint, a: tf.Tensor, placeholder: tf.Tensor, closed: tf.Tensor): tf.Tensor {
    return tf.where(this.own(closed), this.second(at, a), this.own(placeholder));
  }

  /** The two sides of complementarity as lengths: the larger is the one that is not zero. */
  override activeContacts(at: PhasePoint, lambda: tf.Tensor, {stepCompliance, regularization}: RowScale): tf.Tensor {
    const reach = tf.mul(tf.mul(this.own(lambda), stepCompliance), tf.sub(1, regularization));
    return tf.greater(reach, this.gap(at));
  }

  protected override slips(): readonly tf.Tensor[] {
    return [];
  }

  protected override frictions(): readonly tf.Tensor[] {
    return [];
  }
}
