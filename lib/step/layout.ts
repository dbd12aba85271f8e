/** Named blocks in one flat vector: how a state or an unknown lies in memory, and what its rows are called. */
import type {Shape} from '../graph/node.js';
import {sizeOf} from '../graph/node.js';
import {indexText} from '../system/places.js';

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
}
