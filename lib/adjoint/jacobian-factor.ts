/** The Jacobian of a recorded step, factored again for its tangent or cotangent. */
import type {Executable} from '../engine/engine.js';
import type {Factor} from '../linear/index.js';
import {auto} from '../linear/index.js';
import {isMatrixFree, solverKey} from '../step/solvers.js';
import type {StepContext} from '../step/context.js';

export interface JacobianFactor {
  /** Evaluates J where the executable's buffers say, or its variant at a guess, and factors it. */
  refresh(program?: 'startJacobian'): Factor;
}

/** One solver value for every sweep whose own solver works without a matrix: the adjoint has the matrix. */
const directSolver = auto();

/** undefined for an explicit scheme. */
export function jacobianFactor({compiled, linear}: StepContext, executable: Executable): JacobianFactor | undefined {
  if (compiled.jacobian === undefined) return undefined;
  const solver = isMatrixFree(linear) ? directSolver : linear;
  const analysis = compiled.analysis(solver, solverKey(solver), 'jacobian');
  const values = executable.buffer('J');
  const evaluate = executable.program('jacobian');
  return {
    refresh(program) {
      if (program === undefined) evaluate();
      else executable.run(program);
      return analysis.factor(values);
    },
  };
}
