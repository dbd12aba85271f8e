/**
 * Intermediate values with equations that tell them from their neighbours': what adds up along a chain depends on all of it
 * as a function, but each sum on the one before it as an equation. An implicit step takes such values for unknowns of its own
 * (step/lift.ts; Albersmeyer & Diehl, The lifted Newton method, SIAM J. Optim. 20, 2010), so that Newton's matrix is sparse.
 */
import * as tf from '@tensorflow/tfjs';
import {ShapeError} from '../errors.js';
import {input} from '../graph/build.js';
import type {Node} from '../graph/node.js';
import {tensorOf} from './backend.js';
import {currentSession} from './session.js';

/** Values of one kind, what stands for them as unknowns, and what is zero where these have those values. */
export interface Lifted {
  readonly name: string;
  readonly values: readonly Node[];
  readonly unknowns: readonly Node<'input'>[];
  readonly equations: readonly Node[];
}

/**
 * Tells a trace that these tensors solve equations of their own; returns them. In the residual of an implicit step they become
 * unknowns, found together with the step's; everywhere else, and outside a trace, they are the values given.
 * @param name what errors call them: 'rotations'
 * @param equations of unknowns in place of the values: for each a tensor of its shape that is zero there, with a regular derivative
 *   by all of them. Others that are lifted may be used as they are.
 * @throws ShapeError where an equation has another shape than its value
 */
export function lifted<T extends readonly tf.Tensor[]>(
  name: string,
  values: T,
  equations: (unknowns: T) => readonly tf.Tensor[],
): T {
  const session = currentSession();
  if (session === undefined) return values;
  const unknowns = values.map(({shape}) => input('lifted', shape));
  const zeros = equations(unknowns.map(tensorOf) as unknown as T);
  if (zeros.length !== values.length || zeros.some(({shape}, i) => !tf.util.arraysEqual(shape, values[i].shape)))
    throw new ShapeError(
      'lifted-shape',
      `lifted: ${name} has values of shapes ${shapes(values)}, but equations of shapes ${shapes(zeros)}; give one of the same shape for each.`,
      {name},
    );
  session.lifted.push({
    name,
    unknowns,
    values: values.map(tensor => session.nodeOf(tensor)),
    equations: zeros.map(tensor => session.nodeOf(tensor)),
  });
  return values;
}

const shapes = (tensors: readonly tf.Tensor[]): string => tensors.map(({shape}) => `[${shape.join(', ')}]`).join(', ');
