/**
 * The adjoint of the implicit function: Jᵀw = U_zᵀx̄⁺, x̄ = U_xᵀx̄⁺ − R_xᵀw, p̄ likewise, with J at the
 * converged z. One transposed solve and one vector–Jacobian product a step.
 */
import type {Executable} from '../engine/engine.js';
import type {StepContext} from '../step/context.js';
import type {ParameterBars, StepPull} from './backward.js';
import {jacobianFactor} from './jacobian-factor.js';
import type {StepRecord} from './record.js';

export function implicitPull(context: StepContext, record: StepRecord, executable: Executable, bars: ParameterBars): StepPull {
  const jacobian = jacobianFactor(context, executable);
  const load = record.loader(executable);
  const nextBar = executable.find('nextBar');
  const w = executable.find('w');
  return (k, xBar) => {
    load(k);
    nextBar?.set(xBar);
    if (jacobian !== undefined) {
      executable.run('pullUnknown');
      const factor = jacobian.refresh('jacobian');
      if (w !== undefined) factor.solveTransposed(executable.buffer('zBar'), w);
    }
    executable.run('pullStep');
    xBar.set(executable.buffer('xBar'));
    bars.add();
  };
}
