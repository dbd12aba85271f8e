/** How kernels that read whole arrays find them: in a stored value, by strides, without a copy where that can be. */
import type {Node} from '../../graph/node.js';
import {sameShape, stridesOf} from '../../graph/node.js';
import type {Access} from './access.js';
import {joinAxes, splitByAxes} from './access.js';
import {bare} from './view.js';
import type {Views} from './view-cache.js';

/** Elements of `of`, from offset, by a stride for each axis of the operand's shape. */
export interface LoopOperand {
  readonly of: Node;
  readonly offset: number;
  readonly strides: readonly number[];
}

/**
 * The operand as strides into a value below its views, if there is one; the value found is computed
 * or given, and has to be stored.
 */
export function stridedOperand(node: Node, views: Views, isStored: (node: Node) => boolean): LoopOperand {
  let access: Access = {offset: 0, coefficients: stridesOf(node.shape)};
  let at = node;
  for (;;) {
    if (at.op === 'reshape') {
      at = at.operands[0];
      continue;
    }
    if (isStored(at) || (at.op !== 'transpose' && at.op !== 'slice' && at.op !== 'broadcast')) break;
    const view = views.of(at);
    const indices = splitByAxes(access, node.shape, view.shape);
    if (indices === undefined || 'dim' in indices) break;
    const below = joinAxes(indices, view.strides, view.offset);
    // Pointers only move forwards.
    if (below.coefficients.some(c => c < 0)) break;
    access = below;
    at = at.operands[0];
  }
  return {of: at, offset: access.offset, strides: access.coefficients};
}

/** The operand as one contiguous block: a part of a stored value, or else the operand itself. */
export function contiguousOperand(node: Node, views: Views, isStored: (node: Node) => boolean): LoopOperand {
  const found = stridedOperand(node, views, isStored);
  const rowMajor = stridesOf(node.shape);
  if (
    sameShape(
      found.strides.map((stride, axis) => (node.shape[axis] === 1 ? rowMajor[axis] : stride)),
      rowMajor,
    )
  )
    return {...found, strides: rowMajor};
  return {of: bare(node), offset: 0, strides: rowMajor};
}
