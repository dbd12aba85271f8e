/**
 * Values that are put into a trace as nodes. tfjs's tape, which runs within a traced function inside tf.grad, knows
 * kernels alone: without an entry of their own such values would be constants to it, in silence.
 */
import type * as tf from '@tensorflow/tfjs';
import {input} from '../graph/build.js';
import {orZeros, pullback} from '../graph/differentiate.js';
import type {Node} from '../graph/node.js';
import {replaceNodes} from '../graph/replace-nodes.js';
import {tensorOf} from './backend.js';
import {isTapeOn, recordOnTape} from './internals.js';
import {requireSession} from './session.js';

/** The tensor of a node that is made from the nodes of these tensors; a tape differentiates it by them. */
export function tensorFrom(from: readonly tf.Tensor[], make: (nodes: readonly Node[]) => Node): tf.Tensor {
  const session = requireSession();
  const places = from.map(tensor => session.nodeOf(tensor));
  if (!isTapeOn()) return tensorOf(make(places));
  // Made from inputs of its own, as one of the tensors may be made from another, and to be differentiated there.
  const inputs = places.map(({shape, dtype}) => input('taped', shape, dtype));
  const value = make(inputs);
  const here = new Map<Node, Node>(inputs.map((node, i) => [node, places[i]]));
  const output = tensorOf(replaceNodes([value], here)[0]);
  recordOnTape(from, output, cotangent => {
    const gradients = pullback([value], inputs, [session.nodeOf(cotangent)]);
    return replaceNodes(
      inputs.map((node, i) => orZeros(gradients[i], node)),
      here,
    ).map(tensorOf);
  });
  return output;
}
