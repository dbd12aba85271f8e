/**
 * The adjoint of one step with its time t and length h as arguments, in addition to those of the implicit adjoint
 * (implicit-pull.ts); and the derivative of its end with respect to its length, x⁺_h = U_h − U_z J⁻¹ R_h, which
 * the time of an event needs.
 */
import type {StepExecutable} from '../step/buffers.js';
import type {StepContext} from '../step/context.js';
import type {HistoryAdjointProgram} from '../step/history-programs.js';
import type {AdjointProgram} from '../step/programs.js';
import {GridPull} from './implicit-pull.js';
import type {ParameterCotangents} from './parameter-cotangents.js';
import {jacobianFactor} from './jacobian-factor.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';
import {TangentResidual} from './tangent-residual.js';

export interface TimedStep {
  /**
   * Replaces the cotangent of the end by that of the beginning, with those of the unknown and of `inside`, where dense
   * output has some.
   * @returns those of t and h
   */
  pull(
    record: StepRecord,
    k: number,
    xCotangent: Float64Array,
    zCotangent?: Float64Array,
    insideCotangent?: Float64Array,
  ): {readonly tCotangent: number; readonly hCotangent: number};
}

/** @param executable the context's historyAdjoint */
export function timedStep(
  context: StepContext,
  executable: StepExecutable<AdjointProgram>,
  cotangents: ParameterCotangents,
): TimedStep {
  const steps = new GridPull(context, executable, cotangents, jacobianFactor(context, executable, true));
  const inside = executable.optionalBuffer('insideCotangent');
  const [t, h] = (['tCotangent', 'hCotangent'] as const).map(name => executable.buffer(name));
  const set = (to: Float64Array | undefined, from: Float64Array | undefined): void => {
    if (from === undefined) to?.fill(0);
    else to?.set(from);
  };
  return {
    pull(record, k, xCotangent, zCotangent, insideCotangent) {
      set(inside, insideCotangent);
      set(steps.fromDense, zCotangent);
      steps.pull(record, k, xCotangent, true);
      return {tCotangent: t[0], hCotangent: h[0]};
    },
  };
}

/**
 * The derivatives by the length of a step: of its end, of what dense output reads inside it, and of its unknown. They
 * are the executable's own buffers, until its next use.
 */
export interface ByLength {
  readonly dNext: Float64Array;
  readonly dInside?: Float64Array;
  readonly dz?: Float64Array;
}

/** @param executable one with pushLength, loaded with parameters */
export function lengthDerivative(
  context: StepContext,
  executable: StepExecutable<HistoryAdjointProgram>,
): (record: StepRecord, k: number) => ByLength {
  const jacobian = jacobianFactor(context, executable);
  const buffers = stepBuffers(executable);
  const dNext = executable.buffer('dNextH');
  const dInside = executable.optionalBuffer('dInsideH');
  const dz = jacobian === undefined ? undefined : executable.buffer('dzH');
  const rhs = jacobian === undefined ? undefined : executable.buffer('rhsH');
  const remainder = new TangentResidual(context, 1, {dh: Float64Array.of(1), dz});
  return (record, k) => {
    record.load(k, buffers);
    if (jacobian !== undefined && dz !== undefined && rhs !== undefined) {
      jacobian.refresh();
      executable.run('pushLength');
      remainder.setStep(record, k);
      jacobian.solve(rhs, dz, 1, remainder.residual);
    }
    executable.run('pushLengthUpdate');
    return {dNext, dInside, dz};
  };
}
