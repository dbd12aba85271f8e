/** The blocks of a layout as tensors, in a trace: splits a flat tensor into blocks, and joins them again. */
import * as tf from '@tensorflow/tfjs';
import {nearestName, shown} from '../checks.js';
import {ShapeError} from '../errors.js';
import type {Blocks} from '../system/equations.js';
import type {Block, Layout} from './layout.js';

/** The blocks of a flat tensor, as a scheme sees them. */
export function splitBlocks(layout: Layout, flat: tf.Tensor): Blocks {
  return sliceBlocks(layout.schemeBlocks, layout.size, flat);
}

/** The blocks of a flat tensor, as the user names them. @param whole the blocks as the scheme sees them */
export function namedBlocks(layout: Layout, flat: tf.Tensor, whole: Blocks): Blocks {
  return layout.schemeBlocks === layout.blocks ? whole : sliceBlocks(layout.blocks, layout.size, flat);
}

const sliceBlocks = (blocks: readonly Block[], total: number, flat: tf.Tensor): Blocks =>
  Object.fromEntries(
    blocks.map(({name, shape, offset, size}) => [
      name,
      tf.reshape(size === total ? flat : tf.slice(flat, [offset], [size]), [...shape]),
    ]),
  );

/**
 * One flat tensor from blocks of a scheme.
 * @throws ShapeError where a block is missing or has another shape; `what` names the function that made them
 */
export function joinBlocks(layout: Layout, blocks: Blocks, what: string): tf.Tensor {
  return concatBlocks(layout.schemeBlocks, blocks, what);
}

/** One flat tensor from blocks as the user names them. @throws ShapeError as `joinBlocks` */
export function joinNamed(layout: Layout, blocks: Blocks, what: string): tf.Tensor {
  return concatBlocks(layout.blocks, blocks, what);
}

function concatBlocks(expected: readonly Block[], blocks: Blocks, what: string): tf.Tensor {
  const parts = expected.map(({name, shape, size}) => {
    const part = (blocks as Partial<Blocks> | undefined)?.[name];
    if (!(part instanceof tf.Tensor) || part.size !== size) {
      throw new ShapeError(
        'block-shape',
        `${what} must give '${name}' of shape [${shape.join(', ')}]; it gave ${describeGiven(name, expected, blocks)}`,
        {term: what, block: name},
      );
    }
    return tf.reshape(part, [size]);
  });
  return parts.length === 1 ? parts[0] : parts.length === 0 ? tf.tensor1d([]) : tf.concat(parts);
}

/** What was given in place of a block: one of another shape, or others, among them perhaps the same misspelt. */
function describeGiven(name: string, expected: readonly Block[], blocks: unknown): string {
  if (typeof blocks !== 'object' || blocks === null) return `${shown(blocks)}, not an object of blocks.`;
  const part = (blocks as {readonly [name: string]: tf.Tensor | undefined})[name];
  if (part instanceof tf.Tensor) return `shape [${part.shape.join(', ')}].`;
  if (part !== undefined) return `${shown(part)}, not a tensor.`;
  const names = Object.keys(blocks);
  if (names.length === 0) return 'no blocks.';
  const strange = names.filter(one => !expected.some(block => block.name === one));
  const nearest = nearestName(name, strange);
  const hint = nearest === undefined ? '' : ` Is '${nearest}' meant to be '${name}'?`;
  return `only ${names.map(one => `'${one}'`).join(', ')}.${hint}`;
}
