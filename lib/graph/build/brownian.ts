/** Brownian paths, see primitives/brownian.ts. */
import type {Node} from '../node.js';
import {sameShape} from '../node.js';
import {make, mismatch} from './make.js';

/** @param count of independent components */
export function brownian(seed: Node, t: Node, count: number): Node<'brownian'> {
  if (!sameShape(seed.shape, t.shape)) throw mismatch('brownian', seed, t);
  return make('brownian', [seed, t], {count}, [...t.shape, 2, count], 'float');
}
