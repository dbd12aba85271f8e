/**
 * Forward sensitivities of a run: J ż = −R_x ẋ − R_p ṗ, ẋ⁺ = U_z ż + U_x ẋ + U_p ṗ, for several
 * directions at once (equations.md §5). The mode for few parameters and many residuals.
 */
import type {StepContext} from '../step/context.js';
import {loadParameters, loadStart} from '../step/context.js';
import {jacobianFactor} from './jacobian-factor.js';
import type {StepRecord} from './record.js';
import {stepBuffers} from './record.js';

/** Directions in the space of initial state and parameters; each array holds `count` of them, one after another. */
export interface Directions {
  readonly count: number;
  readonly initial: Float64Array;
  readonly parameters: readonly Float64Array[];
}

/** Tangents of the saved states, [count, saved, state]. */
export function sweepForward(context: StepContext, record: StepRecord, directions: Directions, saved: number): Float64Array {
  const {count} = directions;
  const size = record.stateSize;
  const result = new Float64Array(count * saved * size);
  const executable = context.compiled.tangent(count);
  loadParameters(executable, context);
  directions.parameters.forEach((dp, i) => executable.find(`dp.${i}`)?.set(dp));
  const jacobian = jacobianFactor(context, executable);
  const dx = pushStart(context, directions);
  const keep = (steps: number): void => {
    const at = record.savedAfter.get(steps);
    if (at === undefined) return;
    for (let k = 0; k < count; k++) result.set(dx.subarray(k * size, (k + 1) * size), (k * saved + at) * size);
  };
  const buffers = stepBuffers(executable);
  const dxIn = executable.find('dx');
  const dz = executable.find('dz');
  keep(0);
  for (let k = 0; k < record.count; k++) {
    record.load(k, buffers);
    dxIn?.set(dx);
    if (jacobian !== undefined) {
      const factor = jacobian.refresh();
      executable.run('pushResidual');
      if (dz !== undefined) factor.solve(executable.buffer('rhs'), dz, count);
    }
    executable.run('pushUpdate');
    dx.set(executable.buffer('dNext'));
    keep(k + 1);
  }
  return result;
}

function pushStart(context: StepContext, {initial, parameters, count}: Directions): Float64Array {
  const startPush = context.compiled.startPush(count);
  loadStart(startPush, context);
  startPush.find('dGiven')?.set(initial);
  parameters.forEach((dp, i) => startPush.find(`dp.${i}`)?.set(dp));
  startPush.run('startPush');
  return startPush.buffer('dx').slice();
}
