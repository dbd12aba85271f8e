/**
 * The adjoint of Newton's own iterations z' = z − sΔ, J(z)Δ = R(z), in reverse: with w = s J⁻ᵀz̄' and
 * F = R − JΔ at fixed Δ, z̄ = z̄' − F_zᵀw and x̄ = −F_xᵀw. It differentiates what was computed, whether
 * it converged or not; s counts as a constant.
 */
import {OptionError} from '../errors.js';
import type {JacobianUse} from '../newton/index.js';
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import {loadParameters} from '../step/context.js';
import type {UnrolledProgram} from '../step/programs.js';
import {isMatrixFree} from '../step/solvers.js';
import type {TracedStep} from '../step/traced-step.js';
import type {StepPull, TransitionPull} from './gradient.js';
import {pullRows} from './gradient.js';
import {ParameterCotangents} from './parameter-cotangents.js';
import {jacobianFactor} from './jacobian-factor.js';
import type {IterationRecord, StepRecord} from './record.js';
import {stepBuffers} from './record.js';

/** @throws OptionError where the iteration's Jacobian was not its own */
export function checkUnrollable(jacobian: JacobianUse, context: Pick<StepContext, 'linear'>): void {
  if ((jacobian !== 'fresh' && jacobian !== 'by-cost') || isMatrixFree(context.linear)) {
    throw new OptionError(
      'bad-adjoint',
      "unrolledAdjoint needs a new Jacobian in every iteration: use newton({jacobian: 'fresh'}) and a direct "
        + 'linear solver, or implicitAdjoint().',
    );
  }
}

/** @throws OptionError where Newton's matrix is a model of the Jacobian: its derivative is not known */
export function checkExactMatrix({functions}: TracedStep): void {
  if (functions.residualModel !== undefined) {
    throw new OptionError(
      'bad-adjoint',
      "unrolledAdjoint needs the exact Jacobian: use elements({hessian: 'exact'}), or implicitAdjoint().",
    );
  }
}

function unrolledPull(
  context: StepContext,
  executable: StepExecutable<UnrolledProgram>,
  cotangents: ParameterCotangents,
): StepPull {
  const jacobian = jacobianFactor(context, executable);
  const buffers = stepBuffers(executable);
  const defectOf = context.traced.functions.defect === undefined ? undefined : guessDefects(context);
  const zCotangent = new Float64Array(context.traced.unknown.size);
  const total = new Float64Array(context.traced.state.size);
  const w = executable.optionalBuffer('w');
  const collect = (): void => {
    const xCotangent = executable.buffer('xCotangent');
    for (let i = 0; i < total.length; i++) total[i] += xCotangent[i];
    cotangents.add();
  };
  /** w = −s J⁻ᵀ z̄: the sign of −F_xᵀw goes with w. */
  const solve = (program: 'startJacobian' | undefined, length: number): void => {
    jacobian?.refresh(program);
    if (w === undefined || jacobian === undefined) return;
    jacobian.solveTransposedUnrefined(zCotangent, w);
    for (let i = 0; i < w.length; i++) w[i] *= -length;
  };
  const pullIteration = ({z, delta, length}: IterationRecord): void => {
    executable.optionalBuffer('z')?.set(z);
    executable.optionalBuffer('delta')?.set(delta);
    solve(undefined, length);
    executable.run('pullIteration');
    const moved = executable.buffer('zCotangent');
    for (let i = 0; i < zCotangent.length; i++) zCotangent[i] += moved[i];
    collect();
  };
  /** The first iteration from a guess with its own residual: F₀ is a function of x alone, the guess within it. */
  const pullFirst = (record: StepRecord, k: number, {z, delta}: IterationRecord): void => {
    executable.optionalBuffer('z')?.set(z);
    executable.optionalBuffer('delta')?.set(delta);
    if (defectOf !== undefined) executable.optionalBuffer('defect')?.set(defectOf(record, k));
    solve('startJacobian', 1);
    executable.run('pullFirst');
    collect();
  };
  return (record, k, xCotangent) => {
    const iterations = record.iterations[k];
    total.fill(0);
    record.load(k, buffers);
    executable.optionalBuffer('nextCotangent')?.set(xCotangent);
    executable.run('pullUnknown');
    zCotangent.set(executable.buffer('zCotangent'));
    executable.run('pullUpdate');
    collect();
    for (let i = iterations.length - 1; i >= 0; i--) {
      if (iterations[i].first) pullFirst(record, k, iterations[i]);
      else pullIteration(iterations[i]);
    }
    executable.optionalBuffer('zCotangent')?.set(zCotangent);
    executable.run('pullGuess');
    collect();
    xCotangent.set(total);
  };
}

/** Back over a grid of implicit steps. */
export function unrolledBack(context: StepContext): TransitionPull {
  const executable = context.compiled.unrolled;
  loadParameters(executable, context);
  const cotangents = new ParameterCotangents(context, executable, false);
  return pullRows(context, executable, cotangents, unrolledPull(context, executable, cotangents));
}

/** The defects of steps' guesses, evaluated anew. */
function guessDefects(context: StepContext): (record: StepRecord, k: number) => Float64Array {
  const forward = context.compiled.forward(context.linear);
  loadParameters(forward, context);
  const buffers = stepBuffers(forward);
  return (record, k) => {
    record.load(k, buffers);
    forward.run('guess');
    return forward.buffer('defect');
  };
}
