/**
 * Forward sensitivities of a run: J ż = −R_x ẋ − R_p ṗ, ẋ⁺ = U_z ż + U_x ẋ + U_p ṗ, for several
 * directions at once (equations.md §5). The mode for few parameters and many residuals.
 */
import type {StepContext} from '../step/context.js';
import {loadParameters, startContext} from '../step/context.js';
import {setDirections} from './derived-cotangents.js';
import type {Directions} from './directions.js';
import {jacobianFactor} from './jacobian-factor.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';
import {heldTangents, negated, StepTangents} from './step-tangents.js';
import {TangentResidual} from './tangent-residual.js';

/** One step for all directions: dx [count, state] becomes that of the step's end. */
export type TangentPush = (record: StepRecord, k: number, dx: Float64Array) => Float64Array;

/** The result is the executable's own buffer, until the next push. */
export function stepPush(context: StepContext, directions: Directions): TangentPush {
  const {count} = directions;
  const executable = context.compiled.tangent(count, context.compiled.matrices.sweepSolver(context.linear));
  loadParameters(executable, context);
  setDirections(context, executable, directions);
  const jacobian = jacobianFactor(context, executable);
  const buffers = stepBuffers(executable);
  const dxIn = executable.optionalBuffer('dx');
  const dz = executable.optionalBuffer('dz');
  const rhs = executable.optionalBuffer('rhs');
  const pushResidual = jacobian === undefined ? undefined : executable.program('pushResidual');
  const pushUpdate = executable.program('pushUpdate');
  const dNext = executable.buffer('dNext');
  const remainder = new TangentResidual(context, count, {dx: dxIn, dz}, directions);
  return (record, k, dx) => {
    record.load(k, buffers);
    dxIn?.set(dx);
    if (jacobian !== undefined) {
      jacobian.refresh();
      pushResidual?.();
      remainder.setStep(record, k);
      if (dz !== undefined && rhs !== undefined) jacobian.solve(rhs, dz, count, remainder.residual);
    }
    pushUpdate();
    return dNext;
  };
}

/** Directions of what the step that begins the run starts from: those of the user's blocks, and zeros of modes. */
export function initialTangents({start, initialValues}: StepContext, {count, initial}: Directions): Float64Array {
  const [size, given] = [start.traced.inputs.x.size, initialValues.length];
  if (size === given) return initial;
  const whole = new Float64Array(count * size);
  for (let d = 0; d < count; d++) whole.set(initial.subarray(d * given, (d + 1) * given), d * size);
  return whole;
}

/**
 * Through the step that begins the run, where there is one. If the time of the start moves, the end of the first step
 * stays, and its length gives what the start's time takes.
 */
export function startTangent(context: StepContext, start: StepRecord, directions: Directions): Float64Array {
  const {t0} = directions;
  if (context.resumed === true) return directions.initial.slice();
  const initial = initialTangents(context, directions);
  const own = startContext(context);
  const pushed =
    t0 === undefined
      ? stepPush(own, directions)(start, 0, initial)
      : new StepTangents(own, directions).push(start, 0, initial, t0, negated(t0));
  const held = heldTangents(own, directions, pushed);
  if (held === undefined) return pushed.slice();
  const dt = t0 ?? new Float64Array(directions.count);
  return held.push(start, 0, initial, dt, negated(dt)).slice();
}
