/** Shapes of the arguments of linalg, and how their batch dimensions broadcast. */
import * as tf from '@tensorflow/tfjs';
import {ShapeError} from '../errors.js';

/** A float32 tensor of square matrices [..., n, n], or an error in the operation's name. */
export function squareMatrices(operation: string, name: string, a: tf.TensorLike | tf.Tensor): tf.Tensor {
  const matrices = float(a);
  const {rank, shape} = matrices;
  if (rank < 2 || shape[rank - 1] !== shape[rank - 2]) {
    throw new ShapeError(
      'linalg-not-square',
      `${operation}: ${name} must be one square matrix or a batch of them, [..., n, n], but has shape [${shape}].`,
      {operation, argument: name, shape},
    );
  }
  return matrices;
}

/** A float32 tensor of matrices [..., m, n], neither m nor n zero, or an error in the operation's name. */
export function anyMatrices(operation: string, name: string, a: tf.TensorLike | tf.Tensor): tf.Tensor {
  const matrices = float(a);
  const {rank, shape} = matrices;
  if (rank < 2 || shape[rank - 1] === 0 || shape[rank - 2] === 0) {
    throw new ShapeError(
      'linalg-not-matrix',
      `${operation}: ${name} must be a matrix or a batch of them, [..., m, n], but has shape [${shape}].`,
      {operation, argument: name, shape},
    );
  }
  return matrices;
}

export function float(a: tf.TensorLike | tf.Tensor): tf.Tensor {
  const values = a instanceof tf.Tensor ? a : tf.tensor(a);
  return values.dtype === 'float32' ? values : tf.cast(values, 'float32');
}

/**
 * Runs `solve` on matrices a [..., m, n] and right sides b [..., m, k] whose batch dimensions have been
 * broadcast against each other. A right side of rank 1, [m], is one column; so is the result, [..., n].
 */
export function withRightSide(
  operation: string,
  a: tf.Tensor,
  b: tf.TensorLike | tf.Tensor,
  solve: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor,
): tf.Tensor {
  const rightSide = float(b);
  const vector = rightSide.rank === 1;
  const columns = vector ? tf.expandDims(rightSide, 1) : rightSide;
  const [m, n] = a.shape.slice(-2);
  if (columns.rank < 2 || columns.shape[columns.rank - 2] !== m) {
    throw new ShapeError(
      'linalg-right-side',
      `${operation}: with ${m} × ${n} matrices of shape [${a.shape}] the right side must be [..., ${m}, k] or `
        + `[${m}], but has shape [${rightSide.shape}].`,
      {operation, matrix: a.shape, rightSide: rightSide.shape},
    );
  }
  const batch = broadcastBatch(operation, a, columns);
  const x = solve(broadcast(a, batch), broadcast(columns, batch));
  return vector ? tf.squeeze(x, [x.rank - 1]) : x;
}

function broadcastBatch(operation: string, a: tf.Tensor, b: tf.Tensor): number[] {
  const [left, right] = [a.shape.slice(0, -2), b.shape.slice(0, -2)];
  const rank = Math.max(left.length, right.length);
  return Array.from({length: rank}, (_, i) => {
    const [l, r] = [left[i - rank + left.length] ?? 1, right[i - rank + right.length] ?? 1];
    if (l !== r && l !== 1 && r !== 1) {
      throw new ShapeError(
        'linalg-batch',
        `${operation}: the batch dimensions [${left}] and [${right}] do not broadcast: each pair from the right `
          + 'must be equal or have a 1.',
        {operation, matrix: a.shape, rightSide: b.shape},
      );
    }
    return l === 1 ? r : l;
  });
}

function broadcast(a: tf.Tensor, batch: number[]): tf.Tensor {
  const shape = [...batch, ...a.shape.slice(-2)];
  return tf.util.arraysEqual(shape, a.shape) ? a : tf.broadcastTo(a, shape);
}
