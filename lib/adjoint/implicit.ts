/**
 * The adjoint of the implicit function: Jᵀw = U_zᵀx̄⁺, x̄ = U_xᵀx̄⁺ − R_xᵀw, p̄ likewise, with J at the
 * converged z. One transposed solve and one vector–Jacobian product a step.
 */
import type {Executable} from '../engine/engine.js';
import type {StepContext} from '../step/context.js';
import type {ParameterBars, StepPull} from './backward.js';
import {jacobianFactor} from './jacobian-factor.js';
import {stepBuffers} from './record.js';

export function implicitPull(context: StepContext, executable: Executable, bars: ParameterBars): StepPull {
  const jacobian = jacobianFactor(context, executable);
  const buffers = stepBuffers(executable);
  const pullUnknown = jacobian === undefined ? undefined : executable.program('pullUnknown');
  const pullStep = executable.program('pullStep');
  const zBar = executable.find('zBar');
  const result = executable.buffer('xBar');
  const nextBar = executable.find('nextBar');
  const w = executable.find('w');
  const {vectors} = executable;
  return (record, k, xBar) => {
    record.load(k, buffers);
    if (xBar !== nextBar) nextBar?.set(xBar);
    if (jacobian !== undefined) {
      pullUnknown?.();
      const factor = jacobian.refresh();
      if (w !== undefined && zBar !== undefined) factor.solveTransposed(zBar, w);
    }
    pullStep();
    if (xBar === nextBar) vectors.copy(xBar, result);
    else xBar.set(result);
    bars.add();
  };
}
