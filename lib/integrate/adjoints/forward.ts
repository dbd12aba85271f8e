/**
 * Gradients by tangents computed along with the simulation (adjoint/gradient-from-tangents.ts), so that its steps need
 * not be stored.
 */
import {contract, unitDirections} from '../../adjoint/gradient-from-tangents.js';
import {StepRecord} from '../../adjoint/record.js';
import type {SavedStates, StepHistory} from '../../adjoint/step-history.js';
import type {Sensitivities} from '../../adjoint/sweep-forward.js';
import {pushRows, SweepForward} from '../../adjoint/sweep-forward.js';
import {TimedPush} from '../../adjoint/timed-push.js';
import {noCounts} from '../counters.js';
import {requireHistoryMemory} from '../checkpointer.js';
import {restart} from '../history/integrator.js';
import {savedCount} from '../history/plan.js';
import {bytesPerNumber, fewerSaved, requireMemory} from '../memory.js';
import type {Directions} from '../../adjoint/directions.js';
import type {BackwardPolicy, BackwardRecorder, BackwardTape} from '../path.js';
import {run} from '../run.js';
import type {RunContext} from '../run-context.js';
import {noStartTime} from './adjoint.js';
import type {Adjoint, AdjointFactory, PreparedAdjoint} from './adjoint.js';

/**
 * Tangents computed along with the simulation, one for each number of the initial state, the params and
 * every captured variable, contracted with the cotangents at the end: exact, like `implicitAdjoint`. Costs a
 * solve and a tangent per step for each of these numbers, and memory for as many states as these numbers
 * times the saved states, whatever the number of steps (`saveAt: 'end'` keeps two). For few parameters and
 * long runs; each further pullback is only a matrix product.
 */
export function forwardSensitivity(): Adjoint {
  return method;
}

const name = 'forwardSensitivity';

export const forward: PreparedAdjoint = {
  run: prepared =>
    run(prepared, {
      begin: (context, start, saved, history) => alongside(context, unitDirections(context), start, saved, history),
      requireMemory: requireTangentMemory,
    }),
  takesTangents: true,
  // A product with sensitivities is worth no thread.
  threads: {
    plain: {name},
    paysOff: false,
    deserializeTape: ({sensitivities}) => keptTangents(sensitivities ?? {count: 0, states: []}),
  },
};

const method: AdjointFactory = {name, prepare: () => forward};

function requireTangentMemory(prepared: RunContext): void {
  requireHistoryMemory(prepared);
  const count = prepared.parameterValues.reduce((sum, {length}) => sum + length, prepared.initialValues.length);
  const saved = savedCount(prepared.options);
  requireMemory(
    saved * count * prepared.traced.state.size * bytesPerNumber,
    `the tangents of ${saved} saved states along ${count} directions`,
    'Take implicitAdjoint(), which keeps none. ' + fewerSaved,
  );
}

/** Tangents along some directions, computed with the run; no step is kept. */
export const tangentsAlong = (directions: Directions): BackwardPolicy => ({
  begin: (prepared, start, saved, history) => alongside(prepared, directions, start, saved, history),
});

/** @param start the step that began the run */
function alongside(
  prepared: RunContext,
  directions: Directions,
  start: StepRecord,
  saved: SavedStates,
  history?: StepHistory,
): BackwardRecorder {
  const {traced, compiled} = prepared;
  const push =
    history === undefined
      ? pushRows(prepared, directions)
      : new TimedPush(prepared, history, restart(prepared, noCounts()), directions);
  const sweep = new SweepForward(prepared, saved, start, directions, push);
  // The transition under way.
  const record = new StepRecord(traced.state.size, !compiled.implicit ? 0 : traced.unknown.size, 1);
  const reach = (n: number, state: Float64Array): void => {
    if (n === 0) return;
    sweep.follow(n - 1, record, 0, record.count, state);
    record.clear();
  };
  return {
    // The tangents of a step take the place of its factor.
    record,
    independentSteps: true,
    reach,
    finish(n, state) {
      reach(n, state);
      return keptTangents(sweep.finish());
    },
  };
}

/** Plain values already. */
function keptTangents(sensitivities: Sensitivities): BackwardTape {
  return {
    pull(prepared, _path, cotangents) {
      if (cotangents.t0 === true) throw noStartTime(name);
      return contract(prepared, sensitivities, cotangents);
    },
    push: () => sensitivities,
    serialize: () => ({sensitivities}),
  };
}
