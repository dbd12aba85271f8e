/**
 * A dense network beside a linear map, W x + b + a tanh network: a system that is nearly linear is learnt from its
 * linear part on (Beintema, Tóth & Schoukens 2021, sect. 4). Weights as Glorot & Bengio (2010) draw them.
 */
import * as tf from '@tensorflow/tfjs';
import type {Random} from './random.js';

/** The weights are tf.Variables, which a training step finds by tracing `apply`. */
export interface ResidualNetwork {
  /** Matrices and biases in turn, the linear part first. */
  readonly variables: readonly tf.Variable[];
  /** The matrices among them, for a ridge. */
  readonly matrices: readonly tf.Variable[];
  /** [rows, in] → [rows, out]. */
  apply(x: tf.Tensor): tf.Tensor;
}

/** @param sizes [in, hidden …, out] */
export function residualNetwork(sizes: readonly number[], random: Random): ResidualNetwork {
  const [first, last] = [sizes[0], sizes[sizes.length - 1]];
  const layer = (rows: number, columns: number): {matrix: tf.Variable; bias: tf.Variable} => {
    const limit = Math.sqrt(6 / (rows + columns));
    const values = Float32Array.from({length: rows * columns}, () => limit * (2 * random.uniform() - 1));
    const [matrix, bias] = [tf.tensor2d(values, [rows, columns]), tf.zeros([columns])];
    const made = {matrix: tf.variable(matrix), bias: tf.variable(bias)};
    tf.dispose([matrix, bias]);
    return made;
  };
  const direct = layer(first, last);
  const layers = sizes.slice(1).map((columns, i) => layer(sizes[i], columns));
  const all = [direct, ...layers];
  const through = (x: tf.Tensor, {matrix, bias}: (typeof all)[number]): tf.Tensor =>
    tf.add(tf.matMul(x as tf.Tensor2D, matrix as tf.Variable<tf.Rank.R2>), bias);
  return {
    variables: all.flatMap(({matrix, bias}) => [matrix, bias]),
    matrices: all.map(({matrix}) => matrix),
    apply: x =>
      tf.add(
        through(x, direct),
        layers.reduce((h, one, i) => (i === 0 ? through(h, one) : through(tf.tanh(h), one)), x),
      ),
  };
}
