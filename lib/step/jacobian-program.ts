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
 * @param options.nearNullSpace see `Pattern.nearNullSpace`; left out where its vectors have another size
 * @param options.once it runs once a run
 */
export function jacobianProgram(
  residual: Node,
  z: Node,
  {
    weak,
    once,
    nearNullSpace,
  }: {
    readonly weak?: Int32Array | undefined;
    readonly once?: boolean | undefined;
    readonly nearNullSpace?: readonly Float64Array[] | undefined;
  } = {},
): JacobianProgram {
  const {pattern, ...program} = jacobian(residual, z, once);
  const {rows: n, pointers: rowPointers, indices: columns} = pattern;
  const found = {n, rowPointers, columns, symmetric: false, dense: columns.length === n * n};
  // Other unknowns (multipliers, several stages) have more numbers than the vectors.
  const isNearNullSpace = nearNullSpace?.every(({length}) => length === n) === true;
  return {
    ...program,
    pattern: {
      ...found,
      ...(weak === undefined ? {} : {deferredPivots: weak}),
      ...(isNearNullSpace ? {nearNullSpace} : {}),
    },
  };
}
