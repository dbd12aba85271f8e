/**
 * Constraints that always hold (`holds: 'always'`), of positions, φ(q, t) = 0, and of velocities, ψ(q, v, t) = 0.
 * Stabilizations and starts keep their derivatives at zero too, and impacts do not move them.
 */
import * as tf from '@tensorflow/tfjs';
import {derivativeAlong} from '../../trace/differentials.js';
import type {ConstraintMotion, ImpactMultipliers, ImpactStep, PhasePoint, RowScale} from '../constraints.js';
import {ConstraintPart} from './part.js';

/** φ(q, t) = 0: a joint. */
export class HeldPositions extends ConstraintPart {
  override positions(at: PhasePoint): tf.Tensor {
    return this.gap(at);
  }

  override velocities(at: PhasePoint): tf.Tensor {
    return this.rate(at);
  }

  override velocityJacobianProduct(
    at: PhasePoint,
    w: tf.Tensor,
    _placeholder: tf.Tensor,
    motion: ConstraintMotion,
  ): tf.Tensor {
    return derivativeAlong(place => this.gap({...at, ...place}), {q: at.q}, {q: motion.positionRate(at.q, w, at.t)});
  }

  override accelerations(at: PhasePoint, a: tf.Tensor): tf.Tensor {
    return this.second(at, a);
  }

  override accelerationLevelRows(
    at: PhasePoint,
    a: tf.Tensor,
    lambda: tf.Tensor,
    scale: RowScale,
    h: tf.Tensor,
  ): tf.Tensor {
    const {regularization, stepCompliance} = this.gentle(scale);
    const unit = tf.div(stepCompliance, tf.square(h));
    return this.condition(this.second(at, a), this.own(lambda), tf.mul(regularization, unit), unit);
  }

  /**
   * The velocity at the end is in the tangent plane of the start, as positions and their impulses are; φ = 0 at the
   * end.
   */
  override impact(step: ImpactStep, multipliers: ImpactMultipliers, scale: RowScale): ImpactMultipliers {
    const {start, end, h} = step;
    const soft = tf.mul(scale.regularization, tf.div(scale.stepCompliance, h));
    return {
      lambda: tf.add(this.rate({...start, v: end.v}), tf.mul(soft, this.own(multipliers.lambda))),
      pi: tf.add(tf.div(this.gap(end), h), tf.mul(soft, this.own(multipliers.pi))),
      ...this.compression(step, multipliers, scale),
    };
  }

  protected override heldVelocity(at: PhasePoint): tf.Tensor {
    return this.rate(at);
  }
}

/** ψ(q, v, t) = 0: rolling, a driven velocity. */
export class HeldVelocities extends ConstraintPart {
  /** A displacement in place of the velocity. */
  override restRows(at: PhasePoint, displacement: tf.Tensor, lambda: tf.Tensor, scale: RowScale): tf.Tensor {
    const {regularization, stepCompliance} = this.gentle(scale);
    const moved = tf.sub(this.gap({...at, v: displacement}), this.gap(at));
    return this.condition(moved, this.own(lambda), tf.mul(regularization, stepCompliance), stepCompliance);
  }

  override velocities(at: PhasePoint, placeholder: tf.Tensor, ofVelocities: boolean): tf.Tensor {
    return ofVelocities ? this.gap(at) : this.own(placeholder);
  }

  override accelerationLevelRows(
    at: PhasePoint,
    a: tf.Tensor,
    lambda: tf.Tensor,
    scale: RowScale,
    h: tf.Tensor,
  ): tf.Tensor {
    const {regularization, stepCompliance} = this.gentle(scale);
    const unit = tf.div(stepCompliance, tf.square(h));
    return this.condition(this.rate(at, a), this.own(lambda), tf.mul(regularization, unit), unit);
  }

  protected override heldVelocity(at: PhasePoint): tf.Tensor {
    return this.gap(at);
  }
}
