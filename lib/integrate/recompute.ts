/** Recomputes transitions of a run from a stored state, the same to the bit. */
import type {StepRecord} from '../adjoint/record.js';
import type {StepHistory} from '../adjoint/step-history.js';
import {noCounts} from './counters.js';
import {GridStepper} from './grid-stepper.js';
import {Integrator} from './history/integrator.js';
import type {RunContext} from './run-context.js';
import {Stepper} from './stepper.js';

export interface Recomputer {
  /** The present state: set it, and read it. */
  readonly state: Float64Array;
  /** A copy of all that the next transition depends on. What is not in it is discarded. */
  takeSnapshot(): Float64Array;
  /** Goes on from what `takeSnapshot` gave. */
  restore(snapshot: Float64Array): void;
  /** Transition n, whose rows go to the record. */
  take(n: number, record: StepRecord | undefined): void;
}

const failed = 'a step that had succeeded failed when taken again';

/**
 * Steps of the grid.
 * @param iterations Newton's are recorded, too
 * @param apart they depend on the state alone, not on the matrix of the step before
 */
export function recomputeGrid(prepared: RunContext, iterations: boolean, apart: boolean): Recomputer {
  const {poll} = prepared.options;
  const stepper = new Stepper(prepared, new Float64Array(prepared.traced.state.size), iterations, apart);
  const steps = new GridStepper(prepared, stepper);
  return {
    state: stepper.state,
    takeSnapshot: () => stepper.takeSnapshot(),
    restore: snapshot => stepper.restore(snapshot),
    take(n, record) {
      poll?.();
      stepper.recorder.record = record;
      const status = steps.take(n);
      stepper.release();
      if (status !== 'completed') throw stepper.error ?? new Error(failed);
    },
  };
}

/** Transitions of a step history, with the lengths they had. */
export function recomputeHistory(prepared: RunContext, history: StepHistory): Recomputer {
  const {poll} = prepared.options;
  const integrator = new Integrator(prepared, noCounts(), true);
  const {state, stepper} = integrator;
  const before = new Float64Array(state.length);
  return {
    state,
    takeSnapshot: () => state.slice(),
    restore: snapshot => state.set(snapshot),
    take(n, record) {
      poll?.();
      integrator.beginAgain(history, n);
      if (record !== undefined) before.set(state);
      if (integrator.recompute(history, n) !== 'completed') throw new Error(failed);
      record?.append(history.t[n], history.h[n], before, stepper.z);
    },
  };
}
