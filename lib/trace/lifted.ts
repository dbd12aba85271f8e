/**
 * Intermediate values with equations that tell them from their neighbours': what adds up along a chain depends on all
 * of it as a function, but each sum on the one before it as an equation. Newton's matrix of an implicit step is made
 * from the equations (step/lift.ts), after Albersmeyer & Diehl, The lifted Newton method, SIAM J. Optim. 20 (2010).
 */
import * as tf from '@tensorflow/tfjs';
import {ShapeError} from '../errors.js';
import {input} from '../graph/build.js';
import {tensorOf} from './backend.js';
import {currentSession} from './session.js';

/**
 * Values that solve equations. An implicit step whose residual reads them has a sparse matrix where the equations have
 * one; its solution, and everything else, are those of the values given.
 * @param name what errors call them: 'rotations'
 * @param equations of unknowns in place of the values: for each a tensor of its shape that is zero there, with a
 * regular derivative
 *   by all of them
 * @returns the values, to be used in place of those given: what reads the latter does not get the sparse matrix
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
  const tensors = unknowns.map(tensorOf) as unknown as T;
  const zeros = equations(tensors);
  if (zeros.length !== values.length || zeros.some(({shape}, i) => !tf.util.arraysEqual(shape, values[i].shape)))
    throw new ShapeError(
      'lifted-shape',
      `lifted: ${name} has values of shapes ${shapes(values)}, but equations of shapes ${shapes(zeros)}. Return `
        + 'one equation of the same shape for each value.',
      {name},
    );
  unknowns.forEach((unknown, i) =>
    session.lifts.push({unknown, value: session.nodeOf(values[i]), equation: session.nodeOf(zeros[i])}),
  );
  return tensors;
}

const shapes = (tensors: readonly tf.Tensor[]): string => tensors.map(({shape}) => `[${shape.join(', ')}]`).join(', ');
