/**
 * The adjoint of the implicit function: Jᵀw = U_zᵀx̄⁺, x̄ = U_xᵀx̄⁺ − R_xᵀw, p̄ likewise, with J at the
 * converged z. One transposed solve and one vector–Jacobian product per step.
 */
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters} from '../step/context.js';
import type {AdjointProgram} from '../step/programs.js';
import {addTo} from './add-to.js';
import {ParameterCotangents} from './parameter-cotangents.js';
import type {PullTogether, StepPull, TransitionPull} from './gradient.js';
import {pullRows} from './gradient.js';
import type {JacobianFactor} from './jacobian-factor.js';
import {jacobianFactor} from './jacobian-factor.js';
import type {PulledTogether} from './pull-blocks.js';
import {PullBlocks} from './pull-blocks.js';
import {stepBuffers} from './record.js';

export function implicitPull(
  context: StepContext,
  executable: StepExecutable<AdjointProgram>,
  cotangents: ParameterCotangents,
): StepPull {
  return stepwise(context, executable, cotangents, jacobianFactor(context, executable)).pull;
}

export function stepwise(
  context: StepContext,
  executable: StepExecutable<AdjointProgram>,
  cotangents: ParameterCotangents,
  jacobian: JacobianFactor | undefined,
  blocks?: PulledTogether,
): {readonly pull: StepPull; readonly together: PullTogether | undefined} {
  const buffers = stepBuffers(executable);
  const pullUnknown = jacobian === undefined ? undefined : executable.program('pullUnknown');
  const pullStep = executable.program('pullStep');
  const zCotangent = executable.find('zCotangent');
  const nextCotangent = executable.find('nextCotangent');
  // The end of a step and its beginning share one where they are of one size.
  const result = executable.find('xCotangent') ?? executable.buffer('nextCotangent');
  const w = executable.find('w');
  /** Asked for by the first step that goes on from another: what begins a run is pulled back alone, by other programs. */
  let carries: boolean | undefined;
  /** Length of the steps whose zCotangent lies there already. */
  let carried: number | undefined;
  /** The step is linear in its cotangents: those of the rest of w are added. */
  const pullRest = (rest: Float64Array): void => {
    const [own, ownZCotangent] = [result.slice(), zCotangent?.slice()];
    nextCotangent?.fill(0);
    w?.set(rest);
    pullStep();
    cotangents.add();
    addTo(result, own);
    addTo(zCotangent, ownZCotangent);
  };
  const pull: StepPull = (record, k, xCotangent, isNew) => {
    record.load(k, buffers);
    if (xCotangent !== nextCotangent) nextCotangent?.set(xCotangent);
    if (jacobian !== undefined) {
      const length = buffers.h === undefined ? 0 : buffers.h[0];
      if (isNew || carried !== length || !(carries ??= context.compiled.carriesOn)) pullUnknown?.();
      carried = length;
      if (w !== undefined && zCotangent !== undefined) jacobian.solveTransposed(zCotangent, w, record, k);
    }
    pullStep();
    cotangents.add();
    if (jacobian?.rest !== undefined) pullRest(jacobian.rest);
    if (xCotangent !== result) xCotangent.set(result);
  };
  const together: PullTogether | undefined = blocks && {
    most: () => blocks.most,
    pull(record, from, count, ends, isNew) {
      const pulled = blocks.pull(record, from, count, ends, isNew, carried);
      if (pulled > 0) carried = blocks.lengthOf(count - pulled);
      return pulled;
    },
  };
  return {pull, together};
}

/** Back over a grid, by what is kept of its steps (step/kept.ts), or by whole ones. */
export function implicitBack(context: StepContext): TransitionPull {
  const {compiled, keeps, linear} = context;
  const solver = compiled.matrices.sweepSolver(linear);
  const executable = keeps === 'narrow' ? compiled.adjoint(solver) : compiled.wholeAdjoint(solver);
  loadParameters(executable, context);
  const cotangents = new ParameterCotangents(context, executable, compiled.addsUp);
  const jacobian = jacobianFactor(context, executable);
  const blocks = cotangents.untouched ? PullBlocks.of(context, executable, jacobian) : undefined;
  const {pull, together} = stepwise(context, executable, cotangents, jacobian, blocks);
  return pullRows(context, executable, cotangents, pull, together);
}
