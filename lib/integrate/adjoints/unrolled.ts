/** The derivative of the performed Newton iterations (adjoint/unrolled-pull.ts). */
import {implicitGridPull} from '../../adjoint/implicit-pull.js';
import {checkExactMatrix, checkUnrollable, unrolledBack} from '../../adjoint/unrolled-pull.js';
import {OptionError} from '../../errors.js';
import type {GridSteps} from '../checkpointer.js';
import {recordSteps, deserializeTape} from '../checkpointer.js';
import {run} from '../run.js';
import type {Adjoint, AdjointFactory, PreparedAdjoint} from './adjoint.js';

/** An explicit step has no iterations. */
const steps: GridSteps = {
  storesReduced: ({compiled}) => !compiled.implicit,
  iterations: true,
  pull: context => (context.compiled.implicit ? unrolledBack : implicitGridPull)(context),
};

const name = 'unrolledAdjoint';

export const unrolled: PreparedAdjoint = {
  freshJacobians: true,
  run: prepared => run(prepared, recordSteps(Infinity, steps)),
  threads: {
    plain: {name},
    paysOff: true,
    deserializeTape: (plain, completed) => deserializeTape(plain, steps, completed),
  },
};

const method: AdjointFactory = {
  name,
  check({options: {plan, newton}}) {
    if (plan !== undefined)
      throw new OptionError(
        'bad-adjoint',
        'unrolledAdjoint supports only constant steps, saved at their ends, without events, switches or inputs that '
          + 'jump within steps: use implicitAdjoint().',
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
