/** Named blocks in one flat vector: the memory layout of a state or an unknown, and the names of its rows. */
import type {Shape} from '../graph/node.js';
import {sizeOf} from '../graph/node.js';
import {indexText} from '../system/places.js';

export interface Block {
  readonly name: string;
  readonly shape: Shape;
  readonly offset: number;
  readonly size: number;
  /** What a scheme carries from step to step, under a name of its own. */
  readonly carried?: boolean;
  /** The block holds multipliers, which have no mass and no typical size of their own. */
  readonly isMultiplier?: boolean;
  /** What the user calls each row, where that is not the block's name: of multipliers, their constraints. */
  readonly labels?: readonly (string | undefined)[];
  /** Which time derivative of q, or y, it is; undefined where its scheme does not say. */
  readonly derivative?: number;
  /** The block it is a part of for a scheme: hidden states are parts of its v. */
  readonly partOf?: string;
}

export type BlockPart = Omit<Block, 'offset' | 'size'>;

export class Layout {
  /** Blocks as the user names them. */
  readonly blocks: readonly Block[];
  /** Blocks as a scheme sees them: parts of one block are joined, flat. */
  readonly schemeBlocks: readonly Block[];
  readonly size: number;

  constructor(parts: readonly BlockPart[]) {
    let offset = 0;
    this.blocks = parts.map(part => {
      const block = {...part, shape: [...part.shape], offset, size: sizeOf(part.shape)};
      offset += block.size;
      return block;
    });
    this.size = offset;
    this.schemeBlocks = parts.every(({partOf}) => partOf === undefined) ? this.blocks : joinParts(this.blocks);
  }

  /** The block that row i is in. */
  blockOf(row: number): Block | undefined {
    return this.blocks.find(({offset, size}) => row >= offset && row < offset + size);
  }

  block(name: string): Block | undefined {
    return this.blocks.find(block => block.name === name);
  }

  /**
   * What row i is: 'v[3]', 'q[0, 2]', 'lambda[4] (constraints[1] row 2)'; of a block whose name says where it belongs,
   * 'a[3] in stage 2'; of what a scheme carries for a velocity, 'what the scheme carries for v[3]'.
   */
  rowName(row: number): string {
    const block = this.blockOf(row);
    if (block === undefined) return `row ${row}`;
    const index = indexText(block.shape, row - block.offset);
    if (block.carried === true) {
      const own = this.blocks.find(({name, size}) => (name === 'v' || name === 'y') && size === block.size);
      return `what the scheme carries${own === undefined ? '' : ` for ${own.name}${index}`}`;
    }
    const label = block.labels?.[row - block.offset];
    const [, quantity, place] = /^(.*?)((?:,| at | in | of | over ).*)?$/.exec(block.name) ?? [];
    return `${quantity}${index}${place ?? ''}${label === undefined ? '' : ` (${label})`}`;
  }
}

function joinParts(blocks: readonly Block[]): Block[] {
  const whole: Block[] = [];
  for (const block of blocks) {
    const last = whole.at(-1);
    if (block.partOf === undefined || last?.name !== block.partOf) {
      whole.push({...block, name: block.partOf ?? block.name});
      continue;
    }
    const size = last.size + block.size;
    whole[whole.length - 1] = {name: last.name, shape: [size], offset: last.offset, size, derivative: last.derivative};
  }
  return whole;
}
