/** The Jacobian of a recorded step, factored again for its tangent or cotangent. */
import type {Executable} from '../engine/engine.js';
import type {Factor} from '../linear/index.js';
import {directSolver, solverKey} from '../step/solvers.js';
import type {StepContext} from '../step/context.js';

export interface JacobianFactor {
  /** Evaluates J where the executable's buffers say, or its variant at a guess, and factors it. */
  refresh(program?: 'startJacobian'): Factor;
}

/** undefined for an explicit scheme. */
export function jacobianFactor({compiled, linear}: StepContext, executable: Executable): JacobianFactor | undefined {
  if (!compiled.implicit) return undefined;
  const solver = directSolver(linear);
  const refactor = executable.factorization(compiled.analysis(solver, solverKey(solver), 'jacobian'));
  const values = executable.buffer('J');
  const evaluate = executable.program('jacobian');
  return {
    refresh(program) {
      if (program === undefined) evaluate();
      else executable.run(program);
      return refactor(values);
    },
  };
}
