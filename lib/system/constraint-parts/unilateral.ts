/** Hard contacts without friction (`holds: 'contact'`): 0 ≤ λ ⟂ φ ≥ 0, and what lands stops at once. */
import * as tf from '@tensorflow/tfjs';
import type {Place, RowScale} from '../constraints.js';
import {Contact} from './contact.js';

export class HardUnilateral extends Contact {
  override positions(at: Place, idle: tf.Tensor, give?: tf.Tensor): tf.Tensor {
    return give === undefined ? tf.minimum(this.gap(at), 0) : this.apart(at, this.own(idle), give);
  }

  override velocities(at: Place, idle: tf.Tensor, _ofVelocities: boolean, closed?: tf.Tensor): tf.Tensor {
    return closed === undefined ? this.own(idle) : tf.where(this.own(closed), this.rate(at), this.own(idle));
  }

  override accelerations(at: Place, a: tf.Tensor, idle: tf.Tensor, closed: tf.Tensor): tf.Tensor {
    return tf.where(this.own(closed), this.second(at, a), this.own(idle));
  }

  /** The two sides of complementarity as lengths: the larger is the one that is not zero. */
  override closed(at: Place, lambda: tf.Tensor, {give, regularization}: RowScale): tf.Tensor {
    const reach = tf.mul(tf.mul(this.own(lambda), give), tf.sub(1, regularization));
    return tf.greater(reach, this.gap(at));
  }

  protected override slips(): readonly tf.Tensor[] {
    return [];
  }

  protected override frictions(): readonly tf.Tensor[] {
    return [];
  }
}
