/** Named blocks in one flat vector: how a state or an unknown lies in memory, and what its rows are called. */
import * as tf from '@tensorflow/tfjs';
import {ShapeError} from '../errors.js';
import type {Shape} from '../graph/node.js';
import {sizeOf} from '../graph/node.js';
import type {Blocks} from '../system/equations.js';
import {indexText} from '../system/numeric.js';

export interface Block {
  readonly name: string;
  readonly shape: Shape;
  readonly offset: number;
  readonly size: number;
}

export class Layout {
  readonly blocks: readonly Block[];
  readonly size: number;

  constructor(parts: readonly {readonly name: string; readonly shape: Shape}[]) {
    let offset = 0;
    this.blocks = parts.map(({name, shape}) => {
      const block = {name, shape: [...shape], offset, size: sizeOf(shape)};
      offset += block.size;
      return block;
    });
    this.size = offset;
  }

  block(name: string): Block | undefined {
    return this.blocks.find(block => block.name === name);
  }

  /** What row i is: 'v[3]', 'q[0, 2]'. */
  rowName(row: number): string {
    const block = this.blocks.find(({offset, size}) => row >= offset && row < offset + size);
    return block === undefined ? `row ${row}` : `${block.name}${indexText(block.shape, row - block.offset)}`;
  }

  /** The blocks of a flat tensor, in a trace. */
  split(flat: tf.Tensor): Blocks {
    return Object.fromEntries(this.blocks.map(({name, shape, offset, size}) => [
      name, tf.reshape(size === this.size ? flat : tf.slice(flat, [offset], [size]), [...shape]),
    ]));
  }

  /**
   * One flat tensor from blocks, in a trace.
   * @throws ShapeError where a block is missing or has another shape; `what` names the function that made them
   */
  join(blocks: Blocks, what: string): tf.Tensor {
    const parts = this.blocks.map(({name, shape, size}) => {
      const part = blocks[name] as tf.Tensor | undefined;
      if (!(part instanceof tf.Tensor) || part.size !== size) {
        const got = part instanceof tf.Tensor ? `shape [${part.shape.join(', ')}]` : 'nothing';
        throw new ShapeError('block-shape', `${what} must give '${name}' of shape [${shape.join(', ')}]; it gave ${got}.`, {term: what, block: name});
      }
      return tf.reshape(part, [size]);
    });
    return parts.length === 1 ? parts[0] : parts.length === 0 ? tf.tensor1d([]) : tf.concat(parts);
  }
}
