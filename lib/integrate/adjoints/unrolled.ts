/** The derivative of the performed Newton iterations (adjoint/unrolled.ts). */
import {implicitBack} from '../../adjoint/implicit.js';
import {checkExactMatrix, checkUnrollable, unrolledBack} from '../../adjoint/unrolled.js';
import {OptionError} from '../../errors.js';
import type {GridSteps} from '../checkpointer.js';
import {keepSteps, keptStepsOf} from '../checkpointer.js';
import {run} from '../run.js';
import type {Adjoint, AdjointMethod, PreparedAdjoint} from './adjoint.js';

/** An explicit step has no iterations. */
const steps: GridSteps = {
  narrow: ({compiled}) => !compiled.implicit,
  iterations: true,
  pull: context => (context.compiled.implicit ? unrolledBack : implicitBack)(context),
};

const name = 'unrolledAdjoint';

export const unrolled: PreparedAdjoint = {
  ownJacobians: true,
  run: prepared => run(prepared, keepSteps(Infinity, steps)),
  threads: {plain: {name}, gain: true, kept: (plain, completed) => keptStepsOf(plain, steps, completed)},
};

const method: AdjointMethod = {
  name,
  check({options: {plan, newton}}) {
    if (plan !== undefined)
      throw new OptionError(
        'bad-adjoint',
        'unrolledAdjoint supports only constant steps, saved at their ends, without events: use implicitAdjoint().',
      );
    checkUnrollable(newton.jacobian, newton);
  },
  prepare({traced}) {
    checkExactMatrix(traced);
    return unrolled;
  },
};

/** The derivative of Newton's iterations themselves: that of what was computed, for steps truncated on purpose. */
export function unrolledAdjoint(): Adjoint {
  return method;
}
