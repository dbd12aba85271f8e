/** Failures of an iteration that are caused by a factorization or a linear solve. */
import {SingularMatrixError, StiffgradError} from '../errors.js';

export interface LinearFailure {
  readonly status: 'singular' | 'not-finite' | 'newton-diverged';
  readonly cause: StiffgradError;
}

/**
 * A failed factorization or linear solve is a result of the iteration, with its reason kept.
 * @throws the error itself where it is no such failure: a wrong Jacobian, or a fault of the program
 */
export function linearFailure(error: unknown): LinearFailure {
  if (!(error instanceof StiffgradError) || error.code === 'jacobian-pattern') throw error;
  if (error instanceof SingularMatrixError && error.code === 'singular-matrix')
    return {status: 'singular', cause: error};
  return {status: error.code === 'not-finite' ? 'not-finite' : 'newton-diverged', cause: error};
}
