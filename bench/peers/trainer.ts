/** A training step of tfjs: what the workloads of training time. */
import * as tf from '@tensorflow/tfjs';
import {rate, restart} from '../spiral.js';

/** Parameters and optimizer begin anew now and then, so that what is timed does not depend on how often it was. */
export class Trainer {
  private optimizer = tf.train.adam(rate);
  private readonly begin: readonly tf.Tensor[];
  private count = 0;

  /** @param loss of a step's number since the beginning */
  constructor(
    private readonly variables: readonly tf.Variable[],
    private readonly loss: (step: number) => tf.Scalar,
  ) {
    this.begin = variables.map(variable => tf.tensor(variable.dataSync(), variable.shape));
  }

  step(): void {
    if (this.count === restart) {
      this.variables.forEach((variable, i) => variable.assign(this.begin[i]));
      this.optimizer.dispose();
      this.optimizer = tf.train.adam(rate);
      this.count = 0;
    }
    this.optimizer.minimize(() => tf.tidy(() => this.loss(this.count)), false, [...this.variables]);
    this.count++;
  }
}

export function gradientNorm(gradients: readonly Float64Array[]): number {
  return Math.sqrt(gradients.reduce((sum, gradient) => sum + gradient.reduce((squares, x) => squares + x * x, 0), 0));
}
