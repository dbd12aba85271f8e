/** What a user's function gives has the shape of y, or the error says which one it has: derivative and history have one check. */
import * as tf from '@tensorflow/tfjs';
import {shown} from '../checks.js';
import {ShapeError} from '../errors.js';
import {sameShape} from '../graph/node.js';

/**
 * @param said who returned it: 'The derivative'
 * @throws ShapeError '<term>-shape'
 */
export function ofStateShape(result: unknown, y: tf.Tensor, term: 'derivative' | 'history', said: string): tf.Tensor {
  if (result instanceof tf.Tensor && sameShape((result as tf.Tensor).shape, y.shape)) return result as tf.Tensor;
  const got =
    result instanceof tf.Tensor
      ? `a tensor of shape [${(result as tf.Tensor).shape.join(', ')}]`
      : Array.isArray(result)
        ? 'an array (tf.stack makes a tensor of scalars)'
        : result === undefined
          ? 'nothing'
          : `${shown(result)}, of type ${typeof result}`;
  throw new ShapeError(`${term}-shape`, `${said} returned ${got}, but y has shape [${y.shape.join(', ')}].`, {
    term,
    y: y.shape,
  });
}
