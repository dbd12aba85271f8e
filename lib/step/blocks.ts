/** The blocks of a layout as tensors, in a trace: a flat tensor taken apart, and put together again. */
import * as tf from '@tensorflow/tfjs';
import {ShapeError} from '../errors.js';
import type {Blocks} from '../system/equations.js';
import type {Layout} from './layout.js';

/** The blocks of a flat tensor. */
export function splitBlocks(layout: Layout, flat: tf.Tensor): Blocks {
  return Object.fromEntries(
    layout.blocks.map(({name, shape, offset, size}) => [
      name,
      tf.reshape(size === layout.size ? flat : tf.slice(flat, [offset], [size]), [...shape]),
    ]),
  );
}

/**
 * One flat tensor from blocks.
 * @throws ShapeError where a block is missing or has another shape; `what` names the function that made them
 */
export function joinBlocks(layout: Layout, blocks: Blocks, what: string): tf.Tensor {
  const parts = layout.blocks.map(({name, shape, size}) => {
    const part = blocks[name] as tf.Tensor | undefined;
    if (!(part instanceof tf.Tensor) || part.size !== size) {
      const got = part instanceof tf.Tensor ? `shape [${part.shape.join(', ')}]` : 'nothing';
      throw new ShapeError(
        'block-shape',
        `${what} must give '${name}' of shape [${shape.join(', ')}]; it gave ${got}.`,
        {term: what, block: name},
      );
    }
    return tf.reshape(part, [size]);
  });
  return parts.length === 1 ? parts[0] : parts.length === 0 ? tf.tensor1d([]) : tf.concat(parts);
}
