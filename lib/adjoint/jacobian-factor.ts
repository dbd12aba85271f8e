/** The Jacobian of a recorded step, factored again for its tangent or cotangent. */
import type {Executable} from '../engine/engine.js';
import type {Factor} from '../linear/index.js';
import {directSolver, solverKey} from '../step/solvers.js';
import type {StepContext} from '../step/context.js';
import {SteadyFactor} from '../step/steady-factor.js';

export interface JacobianFactor {
  /** Evaluates J where the executable's buffers say, or its variant at a guess, and factors it. */
  refresh(program?: 'startJacobian'): Factor;
  /** Jᵀx = b with the Jacobian where the buffers say, which is solved with once. */
  solveTransposed(b: Float64Array, x: Float64Array): void;
}

/** undefined for an explicit scheme. */
export function jacobianFactor({compiled, linear}: StepContext, executable: Executable): JacobianFactor | undefined {
  if (!compiled.implicit) return undefined;
  const solver = directSolver(linear);
  const analysis = compiled.analysis(solver, solverKey(solver), 'jacobian');
  const steady = compiled.isSteady('jacobian');
  const refactor = executable.factorization(analysis, steady);
  const solveOnce = executable.transposedSolve(analysis);
  const values = executable.buffer('J');
  const evaluate = executable.program('jacobian');
  const kept = steady ? new SteadyFactor(executable.find('h')) : undefined;
  const refresh = (program?: 'startJacobian'): Factor => {
    const present = program === undefined ? kept?.present : undefined;
    if (present !== undefined) return present;
    kept?.forget();
    if (program === undefined) evaluate();
    else executable.run(program);
    const factor = refactor(values);
    if (program === undefined) kept?.keep(factor);
    return factor;
  };
  return {
    refresh,
    solveTransposed(b, x) {
      if (steady) {
        refresh().solveTransposed(b, x);
        return;
      }
      evaluate();
      solveOnce(values, b, x);
    },
  };
}
