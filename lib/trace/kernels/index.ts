/** Every kernel that can be traced. What cannot stands in refusals.ts, with its reason. */
import type {Node} from '../../graph/node.js';
import type {Lowered, Lowerings} from '../lowering.js';
import {activations} from './activations.js';
import {contractions} from './contractions.js';
import {convolutions} from './convolution.js';
import {creation} from './creation.js';
import {elementwise} from './elementwise.js';
import {gradientKernel, gradientLowering} from './gradient.js';
import {indexing} from './indexing.js';
import {linalg} from './linalg.js';
import {normalization} from './normalization.js';
import {reductions} from './reductions.js';
import {shapes} from './shapes.js';

export const lowerings: Lowerings = {
  ...elementwise,
  ...activations,
  ...reductions,
  ...contractions,
  ...convolutions,
  ...shapes,
  ...creation,
  ...indexing,
  ...normalization,
  ...linalg,
  [gradientKernel]: gradientLowering(() => lowerings),
};

/** The nodes of a kernel with several outputs; undefined for one with a single output. */
export function asList(lowered: Lowered): readonly Node[] | undefined {
  return Array.isArray(lowered) ? (lowered as readonly Node[]) : undefined;
}
