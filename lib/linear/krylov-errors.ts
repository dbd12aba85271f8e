/** What Krylov methods and their preconditioners say of matrices that they are not for. */
import {StiffgradError} from '../errors.js';

export function throwIndefinite(method: string, what: string, data: Record<string, unknown>): never {
  throw new StiffgradError(
    'not-positive-definite',
    `${method}: the matrix or its preconditioner is not positive definite: ${what}. `
      + 'Use minres() for symmetric matrices, gmres() for others.',
    data,
  );
}

/** An operator cannot be looked at entry by entry: it shows in what is computed with it. */
export function throwNotFinite(method: string, what: string, data: Record<string, unknown>): never {
  throw new StiffgradError(
    'not-finite',
    `${method}: the matrix or its preconditioner is not finite: ${what}. `
      + 'Check the state at which it was computed, and divisions, roots and logarithms in the forces.',
    data,
  );
}
