/** ∂R/∂z as a program (graph/jacobian.ts), with its pattern as linear solvers take it. */
import {jacobian, type Jacobian} from '../graph/jacobian.js';
import type {Node} from '../graph/node.js';
import type {Pattern} from '../linear/index.js';

export interface JacobianProgram extends Omit<Jacobian, 'pattern'> {
  readonly pattern: Pattern;
}

/**
 * ∂R/∂z, or Newton's matrix where R is a model of the residual.
 * @param options.weak see `Pattern.deferredPivots`
 * @param options.once it runs once a run
 */
export function jacobianProgram(
  residual: Node,
  z: Node,
  {weak, once}: {readonly weak?: Int32Array | undefined; readonly once?: boolean | undefined} = {},
): JacobianProgram {
  const {pattern, ...program} = jacobian(residual, z, once);
  const {rows: n, pointers: rowPointers, indices: columns} = pattern;
  const found = {n, rowPointers, columns, symmetric: false, dense: columns.length === n * n};
  return {...program, pattern: weak === undefined ? found : {...found, deferredPivots: weak}};
}
